/* Starts a command, reads its output to the end, and explains failures. */
#include "config.h"

#include "slurm/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"

enum {
    PATIENCE_MS = 120 * 1000, /* srun itself waits for ten minutes */
    OUT_MAX = 4 << 20,
    ERRORS_MAX = 64 << 10,
    CANNOT_RUN = 126
};

void ath_slurm_output_free(struct ath_slurm_output *output)
{
    ath_text_free(&output->out);
    ath_text_free(&output->errors);
}

/* In the child: becomes the command. Slurm's daemon has threads, blocks signals and has open files
 * of its own, so only system calls stand here. */
static _Noreturn void become(char *const *words, char *const *environment, int out, int errors)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    sigset_t none;

    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0)
        _exit(CANNOT_RUN);
    ath_close_from(3);
    if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
        _exit(CANNOT_RUN);
    execve(words[0], words, environment);
    _exit(CANNOT_RUN);
}

/* Reads what is there. Returns 1 while the pipe is open, 0 at its end, or a negative errno. */
static int take(int fd, struct ath_text *text, size_t most)
{
    char bytes[4096];
    ssize_t count = read(fd, bytes, sizeof bytes);

    if (count < 0)
        return errno == EINTR ? 1 : -errno;
    if (text->length + (size_t)count > most)
        return -E2BIG;
    ath_text_add_bytes(text, bytes, (size_t)count);
    return count > 0;
}

/* Reads both pipes to their ends. Returns 0 or a negative errno. */
static int read_all(int out, int errors, struct ath_slurm_output *output)
{
    uint64_t end = ath_now_ms() + PATIENCE_MS;
    struct pollfd fds[] = { { .fd = out, .events = POLLIN }, { .fd = errors, .events = POLLIN } };

    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        uint64_t now = ath_now_ms();
        int ready = now < end ? poll(fds, 2, (int)(end - now)) : 0;
        if (ready <= 0 && (!ready || errno != EINTR))
            return ready ? -errno : -ETIMEDOUT;
        for (int i = 0; ready > 0 && i < 2; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            int status =
                take(fds[i].fd, i ? &output->errors : &output->out, i ? ERRORS_MAX : OUT_MAX);
            if (status < 0)
                return status;
            fds[i].fd = status ? fds[i].fd : -1;
        }
    }
    return 0;
}

static int exit_code_of(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return CANNOT_RUN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int explain(const char *word, int status, struct ath_err *err)
{
    if (status == -ETIMEDOUT)
        return ath_err_set(err, status, ATH_E_PEER_UNREACHABLE,
                           "'%s run' has not found the GPUs in %d seconds", word,
                           PATIENCE_MS / 1000);
    return ath_err_set(err, status, ATH_E_IO, "cannot read what '%s run' prints: %s", word,
                       strerror(-status));
}

/* A running command, and where to read its output. */
struct child {
    pid_t pid;
    int out, errors;
};

static int start(char *const *words, char *const *environment, struct child *out,
                 struct ath_err *err)
{
    int pipes[2][2] = { { -1, -1 }, { -1, -1 } };
    int status = pipe2(pipes[0], O_CLOEXEC) || pipe2(pipes[1], O_CLOEXEC) ? -errno : 0;
    pid_t pid = status ? -1 : fork();

    if (!pid)
        become(words, environment, pipes[0][1], pipes[1][1]);
    if (!status && pid < 0)
        status = -errno;
    for (int i = 0; i < 2; i++) {
        ath_close_p(&pipes[i][1]);
        if (status)
            ath_close_p(&pipes[i][0]);
    }
    if (status)
        return ath_err_set(err, status, ATH_E_IO, "cannot start '%s': %s", words[0],
                           strerror(-status));
    *out = (struct child){ pid, pipes[0][0], pipes[1][0] };
    return 0;
}

int ath_slurm_command_run(char *const *words, char *const *environment,
                          struct ath_slurm_output *out, struct ath_err *err)
{
    struct child child = { -1, -1, -1 };

    if (faccessat(AT_FDCWD, words[0], X_OK, AT_EACCESS)) {
        int status = -errno;
        ath_err_set(err, status, ATH_E_NOT_FOUND, "cannot run '%s' on this node: %s", words[0],
                    strerror(-status));
        return ath_err_hint(err, status,
                            "install aitherion on the node, or set aitherion=FILE in "
                            "plugstack.conf");
    }
    int status = start(words, environment, &child, err);
    if (status)
        return status;
    status = read_all(child.out, child.errors, out);
    if (status)
        kill(-child.pid, SIGKILL);
    ath_close_p(&child.out);
    ath_close_p(&child.errors);
    out->exit_code = exit_code_of(child.pid);
    return status ? explain(words[0], status, err) : 0;
}
