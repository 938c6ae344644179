/* Facts about the terminal, and the pager. */
#include "config.h"

#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/i18n.h"
#include "base/text.h"

bool ath_terminal_is_utf8(void)
{
    return ath_locale_is_utf8();
}

static struct winsize terminal_size(int fd)
{
    struct winsize size = { 0 };
    if (ioctl(fd, TIOCGWINSZ, &size))
        size = (struct winsize){ 0 };
    return size;
}

static int columns_of(int fd)
{
    struct winsize size = terminal_size(fd);
    const char *text = getenv("COLUMNS");
    int columns = 0;

    if (size.ws_col)
        return size.ws_col;
    if (text && ath_parse_int(text, 20, 10000, &columns))
        columns = 0;
    return columns;
}

int ath_terminal_columns(void)
{
    return columns_of(STDOUT_FILENO);
}

int ath_terminal_error_columns(void)
{
    return columns_of(STDERR_FILENO);
}

int ath_terminal_rows(void)
{
    return terminal_size(STDOUT_FILENO).ws_row;
}

int ath_terminal_prose_columns(void)
{
    int columns = ath_terminal_columns();
    if (!columns)
        return 80;
    return columns < ATH_TEXT_COLUMNS_MAX ? columns : ATH_TEXT_COLUMNS_MAX;
}

static bool is_dumb(void)
{
    const char *term = getenv("TERM");
    return !term || !*term || !strcmp(term, "dumb");
}

bool ath_terminal_can_redraw(void)
{
    return isatty(STDOUT_FILENO) && !is_dumb();
}

bool ath_terminal_has_color(void)
{
    const char *no_color = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !is_dumb() && !(no_color && *no_color);
}

static bool fits_on_screen(const char *text, size_t length)
{
    struct winsize size = terminal_size(STDOUT_FILENO);
    size_t lines = 1; /* one more for the shell's prompt */
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return !size.ws_row || lines <= size.ws_row;
}

/* Returns the pager's command, or NULL for none. */
static const char *pager(void)
{
    const char *command = getenv("PAGER");
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) || is_dumb())
        return NULL;
    if (!command)
        return access("/usr/bin/less", X_OK) ? NULL : "less";
    return *command && strcmp(command, "cat") ? command : NULL;
}

/* Returns true if the pager showed the text. */
static bool show_in_pager(const char *command, const char *text, size_t length)
{
    fflush(stdout);
    /* quit if the text fits, keep colours and long lines, leave the text on the screen */
    setenv("LESS", "FRSX", 0);
    FILE *pipe = popen(command, "w");
    if (!pipe)
        return false;
    struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
    sigaction(SIGPIPE, &ignore, &old);
    fwrite(text, 1, length, pipe);
    int status = pclose(pipe);
    sigaction(SIGPIPE, &old, NULL);
    return status != 127 << 8; /* exit status 127 of a shell: no such command */
}

int ath_terminal_print(const char *text, size_t length, struct ath_err *err)
{
    const char *command = pager();
    if (command && !fits_on_screen(text, length) && show_in_pager(command, text, length))
        return 0;
    if (fwrite(text, 1, length, stdout) != length || fflush(stdout)) {
        int status = errno ? -errno : -EIO;
        return ath_err_system(err, status, _("cannot write to standard output"));
    }
    return 0;
}
