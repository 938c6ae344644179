/*
 * A full screen by ncursesw.
 *
 * curses installs handlers that draw and exit in signal context. They never run, because the
 * signals are blocked and read from a descriptor.
 *
 * Colours are those of the terminal's own palette (use_default_colors), so light and dark
 * backgrounds both stay readable.
 */
#include "config.h"

#include "cli/tui/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/tui/terminal_state.h"

enum { ESCAPE_DELAY_MS = 25, CTRL_C = 3 };

/* The facts that a crash handler needs to restore the terminal. Handlers get no argument. */
static struct {
    bool is_taken;
    struct termios state;
    char leave[96]; /* the terminal's sequences "leave full screen" and "show cursor" */
} shared;

static const int crashes[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };

static void restore_after_crash(int number)
{
    if (shared.is_taken && write(STDOUT_FILENO, shared.leave, strlen(shared.leave)) >= 0)
        tcsetattr(STDIN_FILENO, TCSANOW, &shared.state);
    raise(number); /* SA_RESETHAND: the signal now ends the process */
}

/* Only replaces default actions: a sanitizer may have handlers of its own. */
void ath_screen_watch_crashes(bool is_on)
{
    struct sigaction now,
        mine = { .sa_handler = restore_after_crash, .sa_flags = (int)SA_RESETHAND };
    struct sigaction standard = { .sa_handler = SIG_DFL };

    for (size_t i = 0; i < ATH_COUNT(crashes); i++) {
        sigaction(crashes[i], NULL, &now);
        if (is_on && now.sa_handler == SIG_DFL)
            sigaction(crashes[i], &mine, NULL);
        if (!is_on && now.sa_handler == restore_after_crash)
            sigaction(crashes[i], &standard, NULL);
    }
}

bool ath_screen_is_possible(void)
{
    const char *term = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb");
}

static int report_no_terminal(struct ath_err *err)
{
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        ath_err_set(err, -ENOTTY, ATH_E_NO_TERMINAL,
                    _("cannot show the menus: standard input and output must both be a terminal"));
    else
        ath_err_set(err, -ENOTTY, ATH_E_NO_TERMINAL,
                    _("cannot show the menus: TERM is '%s', a terminal without cursor positioning"),
                    term ? term : "");
    return ath_err_hint(err, -ENOTTY,
                        "aitherion configure --show, aitherion configure --set KEY=VALUE");
}

/* Signals that nohup or our parent ignores stay ignored. */
static void add_signal(sigset_t *set, int number)
{
    struct sigaction now;
    if (!sigaction(number, NULL, &now) && now.sa_handler != SIG_IGN)
        sigaddset(set, number);
}

static int open_signals(struct ath_screen_terminal *terminal, struct ath_err *err)
{
    static const int wanted[] = { SIGTERM, SIGINT,  SIGHUP,   SIGQUIT,
                                  SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ATH_COUNT(wanted); i++)
        add_signal(&set, wanted[i]);
    sigprocmask(SIG_BLOCK, &set, &terminal->old_mask);
    terminal->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (terminal->signals < 0)
        return ath_err_system(err, -errno, _("cannot watch for signals"));
    return 0;
}

/* Returns a capability of the terminal, or NULL. curses returns NULL for a missing capability, and
 * -1 for one that is not a string. */
static const char *capability(const struct ath_screen_terminal *terminal, const char *name)
{
    const char *text = terminal->curses.tigetstr(name);
    return (intptr_t)text == -1 ? NULL : text;
}

/* Colours of medium brightness, which can be read on light and dark backgrounds: of the palette of
 * 256 (xterm's), else of the terminal's own. */
static void add_hues(const struct ath_screen_terminal *terminal)
{
    static const short many[ATH_HUES] = { 39, 170, 208, 37, 99, 178 };
    static const short few[ATH_HUES] = { COLOR_BLUE, COLOR_MAGENTA, COLOR_YELLOW,
                                         COLOR_CYAN, COLOR_RED,     COLOR_GREEN };
    const short *hues = terminal->curses.tigetnum("colors") >= 256 ? many : few;

    for (int i = 0; i < ATH_HUES; i++)
        terminal->curses.init_pair((short)(ATH_ROLE_COUNT + i), hues[i], -1);
}

static void add_pairs(struct ath_screen_terminal *terminal)
{
    static const short colors[ATH_ROLE_COUNT] = {
        [ATH_ROLE_NAME] = COLOR_CYAN,
        [ATH_ROLE_GOOD] = COLOR_GREEN,
        [ATH_ROLE_WARN] = COLOR_YELLOW,
        [ATH_ROLE_BAD] = COLOR_RED,
    };
    if (!terminal->style.is_color || !terminal->curses.has_colors()) {
        terminal->style.is_color = false;
        return;
    }
    terminal->curses.start_color();
    terminal->curses.use_default_colors();
    for (int role = 1; role < ATH_ROLE_COUNT; role++)
        terminal->curses.init_pair((short)role, colors[role] ? colors[role] : (short)-1, -1);
    add_hues(terminal);
}

static void make_window(struct ath_screen_terminal *terminal)
{
    const struct ath_curses *curses = &terminal->curses;
    if (terminal->window)
        curses->delwin(terminal->window);
    terminal->window = curses->newwin(terminal->rows, terminal->columns, 0, 0);
    curses->keypad(terminal->window, true);
    curses->nodelay(terminal->window, true);
    curses->clearok(terminal->window, true);
}

void ath_screen_measure(struct ath_screen_terminal *terminal)
{
    struct winsize size = { 0 };
    bool is_known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col;

    terminal->rows = is_known ? size.ws_row : ATH_SCREEN_ROWS;
    terminal->columns = is_known ? size.ws_col : ATH_SCREEN_COLUMNS;
    terminal->style.columns = terminal->columns;
    terminal->curses.resizeterm(terminal->rows, terminal->columns);
    make_window(terminal);
}

static void note_for_crashes(const struct ath_screen_terminal *terminal)
{
    static const char *const names[] = { "sgr0", "rmkx", "rmcup", "cnorm" };
    static const char no_mouse[] = "\033[?1006;1000l"; /* curses knows xterm's mouse alone */
    size_t used = 0;

    for (size_t i = 0; i < ATH_COUNT(names); i++) {
        const char *text = capability(terminal, names[i]);
        size_t length =
            text && !strstr(text, "$<") ? strlen(text) : 0; /* leave out sequences with padding */
        if (used + length < sizeof shared.leave && length) {
            memcpy(shared.leave + used, text, length);
            used += length;
        }
    }
    shared.leave[used] = '\0';
    if (terminal->has_mouse && used + sizeof no_mouse <= sizeof shared.leave)
        memcpy(shared.leave + used, no_mouse, sizeof no_mouse);
    shared.is_taken = true;
    ath_screen_watch_crashes(true);
}

/* Only presses are asked for, and none is held back to see whether it becomes a double click. */
static void take_mouse(struct ath_screen_terminal *terminal)
{
    terminal->curses.mouseinterval(0);
    terminal->has_mouse =
        terminal->curses.mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL) != 0;
}

/* newterm() installs handlers for some signals. Restores those that were there before. */
static SCREEN *new_screen(const struct ath_curses *curses)
{
    static const int touched[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };
    struct sigaction before[ATH_COUNT(touched)];

    for (size_t i = 0; i < ATH_COUNT(touched); i++)
        sigaction(touched[i], NULL, &before[i]);
    SCREEN *screen = curses->newterm(NULL, stdout, stdin);
    for (size_t i = 0; i < ATH_COUNT(touched); i++)
        sigaction(touched[i], &before[i], NULL);
    return screen;
}

static int begin(struct ath_screen_terminal *terminal, struct ath_err *err)
{
    const struct ath_curses *curses = &terminal->curses;

    tcgetattr(STDIN_FILENO, &shared.state);
    curses->use_env(false); /* use the terminal's size, not LINES and COLUMNS */
    curses->use_tioctl(true);
    terminal->screen = new_screen(curses);
    if (!terminal->screen)
        return report_no_terminal(err);
    curses->set_escdelay(ESCAPE_DELAY_MS);
    curses->cbreak();
    curses->noecho();
    curses->nonl();
    if (!capability(terminal, "cup")) {
        curses->endwin();
        return report_no_terminal(err);
    }
    if (!capability(terminal, "acsc")) /* no line-drawing characters */
        terminal->style.is_utf8 = false;
    add_pairs(terminal);
    take_mouse(terminal);
    ath_screen_measure(terminal);
    note_for_crashes(terminal);
    return 0;
}

int ath_screen_open(const struct ath_style *style, struct ath_screen_terminal **out,
                    struct ath_err *err)
{
    struct ath_screen_terminal *terminal = ath_xalloc(sizeof *terminal);
    terminal->style = *style;
    terminal->signals = terminal->watched = terminal->waking = -1;
    sigprocmask(SIG_SETMASK, NULL, &terminal->old_mask);

    int status = ath_screen_is_possible() ? ath_curses_load(&terminal->curses, err)
                                          : report_no_terminal(err);
    if (!status)
        status = open_signals(terminal, err);
    if (!status)
        status = begin(terminal, err);
    if (status) {
        ath_screen_close(terminal);
        return status;
    }
    *out = terminal;
    return 0;
}

void ath_screen_close(struct ath_screen_terminal *terminal)
{
    if (!terminal)
        return;
    if (terminal->window) {
        terminal->curses.curs_set(1);
        terminal->curses.delwin(terminal->window);
        terminal->curses.endwin();
    }
    if (terminal->screen)
        terminal->curses.delscreen(terminal->screen);
    if (shared.is_taken) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &shared.state);
        ath_screen_watch_crashes(false);
        shared.is_taken = false;
    }
    if (terminal->signals >= 0)
        close(terminal->signals);
    /* closing has answered a signal that came meanwhile */
    sigprocmask(SIG_SETMASK, &terminal->old_mask, NULL);
    free(terminal);
}

int ath_screen_rows(const struct ath_screen_terminal *terminal)
{
    return terminal->rows;
}

int ath_screen_columns(const struct ath_screen_terminal *terminal)
{
    return terminal->columns;
}

struct ath_style ath_screen_style(const struct ath_screen_terminal *terminal)
{
    return terminal->style;
}

int ath_screen_signal(const struct ath_screen_terminal *terminal)
{
    return terminal->ended_by;
}

/* ---- keys and signals ---- */

/* Does the default action of SIGTSTP. The kernel ignores it if no shell could continue us (orphaned
 * process group). */
void ath_screen_stop_here(void)
{
    sigset_t stop;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    sigprocmask(SIG_BLOCK, &stop, NULL);
}

/* Handles a signal. Returns the key that stands for it. */
static int answer(struct ath_screen_terminal *terminal, int number)
{
    switch (number) {
    case SIGTSTP:
        terminal->curses.endwin();
        ath_screen_stop_here();
        ath_screen_measure(terminal);
        return ATH_KEY_RESIZE;
    case SIGWINCH:
    case SIGCONT:
        ath_screen_measure(terminal);
        return ATH_KEY_RESIZE;
    case SIGCHLD:
        return ATH_KEY_PROGRAM;
    case SIGINT:
        if (terminal->watched >= 0)
            return CTRL_C;
        __attribute__((fallthrough));
    default:
        terminal->ended_by = number;
        return ATH_KEY_END;
    }
}

int ath_screen_read_signal(struct ath_screen_terminal *terminal)
{
    struct signalfd_siginfo info;
    if (read(terminal->signals, &info, sizeof info) != sizeof info)
        return 0;
    return (int)info.ssi_signo;
}

/* Returns the key of a mouse event and notes its place; ATH_KEY_NONE for an event without a key. */
static int take_mouse_key(struct ath_screen_terminal *terminal)
{
    MEVENT event;

    if (terminal->curses.getmouse(&event) != OK)
        return ATH_KEY_NONE;
    terminal->mouse_row = event.y;
    terminal->mouse_column = event.x;
    return event.bstate & BUTTON1_PRESSED   ? ATH_KEY_CLICK
           : event.bstate & BUTTON4_PRESSED ? ATH_KEY_WHEEL_UP
           : event.bstate & BUTTON5_PRESSED ? ATH_KEY_WHEEL_DOWN
                                            : ATH_KEY_NONE;
}

/* Returns a key that was pressed already, or ATH_KEY_NONE. */
static int take_key(struct ath_screen_terminal *terminal)
{
    for (;;) {
        wint_t letter;
        int status = terminal->curses.wget_wch(terminal->window, &letter);
        if (status == OK)
            return (int)letter;
        if (status != KEY_CODE_YES)
            return ATH_KEY_NONE;
        int key = letter == KEY_RESIZE  ? ATH_KEY_NONE
                  : letter == KEY_MOUSE ? take_mouse_key(terminal)
                                        : ATH_KEY_FUNCTION + (int)letter;
        if (key != ATH_KEY_NONE)
            return key;
    }
}

void ath_screen_mouse(const struct ath_screen_terminal *terminal, int *out_row, int *out_column)
{
    *out_row = terminal->mouse_row;
    *out_column = terminal->mouse_column;
}

void ath_screen_wake(struct ath_screen_terminal *terminal, int fd)
{
    terminal->waking = fd;
}

static int hang_up(struct ath_screen_terminal *terminal)
{
    terminal->ended_by = SIGHUP;
    return ATH_KEY_END;
}

int ath_screen_key(struct ath_screen_terminal *terminal, int timeout_ms)
{
    struct pollfd inputs[] = { { .fd = terminal->signals, .events = POLLIN },
                               { .fd = STDIN_FILENO, .events = POLLIN },
                               { .fd = terminal->watched, .events = POLLIN },
                               { .fd = terminal->waking, .events = POLLIN } };

    for (int misses = 0; !terminal->ended_by;) {
        int key = take_key(terminal);
        if (key != ATH_KEY_NONE)
            return key;
        int ready = poll(inputs, ATH_COUNT(inputs), timeout_ms);
        if (ready == 0)
            return ATH_KEY_NONE;
        int number = ready > 0 && inputs[0].revents ? ath_screen_read_signal(terminal) : 0;
        key = number ? answer(terminal, number) : ATH_KEY_NONE;
        if (key != ATH_KEY_NONE)
            return key;
        if (ready > 0 && inputs[2].revents)
            return ATH_KEY_PROGRAM;
        if (ready > 0 && inputs[3].revents)
            return ATH_KEY_WAKE;
        /* readable without a key, again and again: the terminal is gone */
        misses = ready > 0 && inputs[1].revents ? misses + 1 : 0;
        if (misses > 64 || (inputs[1].revents & (POLLHUP | POLLERR | POLLNVAL)))
            return hang_up(terminal);
    }
    return ATH_KEY_END;
}
