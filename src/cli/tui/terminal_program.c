/* Programs on the screen's terminal, and beside the screen on a terminal of their own. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/tui/terminal_state.h"

/* ---- running a program ---- */

static void become(const struct ath_screen_terminal *terminal, const char *const *argv)
{
    ath_screen_watch_crashes(false);
    sigprocmask(SIG_SETMASK, &terminal->old_mask, NULL);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

/* Waits for the child. Ctrl-C reaches the child from the terminal and is not meant for us. A signal
 * that ends us ends the child too. */
static int wait_for(struct ath_screen_terminal *terminal, pid_t child)
{
    struct pollfd input = { .fd = terminal->signals, .events = POLLIN };
    int status = 0;

    while (waitpid(child, &status, WNOHANG) == 0) {
        poll(&input, 1, 1000);
        for (int number = ath_screen_read_signal(terminal); number;
             number = ath_screen_read_signal(terminal)) {
            if (number == SIGTERM || number == SIGHUP) {
                terminal->ended_by = number;
                kill(child, number);
            }
            if (number == SIGTSTP)
                ath_screen_stop_here();
        }
    }
    while (ath_screen_read_signal(terminal)) /* drop a Ctrl-C that came as the child ended */
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int ath_screen_run(struct ath_screen_terminal *terminal, const char *const *argv)
{
    terminal->curses.curs_set(1);
    terminal->curses.endwin();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become(terminal, argv);
    int status = child < 0 ? -errno : wait_for(terminal, child);
    ath_screen_measure(terminal);
    return status;
}

/* ---- a program beside the screen ---- */

/* A session leader without a terminal gets the first one that it opens (tty_ioctl(4)). */
static void become_on(const struct ath_screen_terminal *terminal, const char *path,
                      const char *const *argv)
{
    setsid();
    int fd = open(path, O_RDWR);
    if (fd < 0)
        _exit(127);
    for (int i = 0; i <= STDERR_FILENO; i++)
        dup2(fd, i);
    if (fd > STDERR_FILENO)
        close(fd);
    setenv("PAGER", "cat", 1); /* the screen scrolls */
    become(terminal, argv);
}

static int report_no_pty(struct ath_err *err)
{
    return ath_err_system(err, -errno, _("cannot make a terminal for the command"));
}

int ath_screen_start(const struct ath_screen_terminal *terminal, const char *const *argv,
                     const struct winsize *size, pid_t *out_process, int *out_fd,
                     struct ath_err *err)
{
    ath_auto_close int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char path[64];

    if (fd < 0 || grantpt(fd) || unlockpt(fd) || ptsname_r(fd, path, sizeof path) ||
        fcntl(fd, F_SETFL, O_NONBLOCK) || ioctl(fd, TIOCSWINSZ, size))
        return report_no_pty(err);
    fflush(NULL);
    *out_process = fork();
    if (*out_process == 0)
        become_on(terminal, path, argv);
    if (*out_process < 0)
        return report_no_pty(err);
    *out_fd = ath_steal_fd(&fd);
    return 0;
}

void ath_screen_watch(struct ath_screen_terminal *terminal, int fd)
{
    terminal->watched = fd;
}
