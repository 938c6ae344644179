/* A child process and the pipe from it. */
#include "config.h"

#include "cli/tui/look.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* The child must not reach the terminal, not even if it crashes. */
static void leave_terminal(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            _exit(EXIT_FAILURE);
}

static bool write_all(int fd, const char *text)
{
    size_t length = strlen(text);
    while (length) {
        ssize_t written = write(fd, text, length);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return true;
}

static _Noreturn void be_child(int fd, pid_t parent, char *(*make)(void *context), void *context)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    leave_terminal();
    char *text = make(context);
    _exit(text && write_all(fd, text) ? EXIT_SUCCESS : EXIT_FAILURE);
}

int ath_look_begin(struct ath_look *look, char *(*make)(void *context), void *context)
{
    int ends[2];
    pid_t parent = getpid();

    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    ath_auto_close int read_end = ends[0], write_end = ends[1];
    fcntl(read_end, F_SETFL, O_NONBLOCK);
    pid_t child = fork();
    if (child < 0)
        return -errno;
    if (!child)
        be_child(write_end, parent, make, context);
    *look = (struct ath_look){ .child = child,
                               .fd = ath_steal_fd(&read_end),
                               .began_ms = ath_now_ms() };
    return look->fd;
}

/* Waits for the child, which has ended or is about to. Returns whether it succeeded. */
static bool reap(struct ath_look *look)
{
    int status = -1;
    close(look->fd);
    while (waitpid(look->child, &status, 0) < 0 && errno == EINTR)
        ;
    look->child = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

bool ath_look_take(struct ath_look *look, char **out)
{
    char bytes[4096];
    ssize_t got;

    while ((got = read(look->fd, bytes, sizeof bytes)) > 0)
        ath_text_add_bytes(&look->text, bytes, (size_t)got);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    bool is_good = reap(look);
    char *text = ath_text_take(&look->text);
    if (!is_good)
        free(ath_steal(&text));
    *out = text;
    return true;
}

void ath_look_wait(const struct ath_look *look, int timeout_ms)
{
    struct pollfd output = { .fd = look->fd, .events = POLLIN };
    if (look->child)
        poll(&output, 1, timeout_ms);
}

void ath_look_end(struct ath_look *look)
{
    if (!look->child)
        return;
    kill(look->child, SIGKILL);
    (void)reap(look);
    ath_text_free(&look->text);
}
