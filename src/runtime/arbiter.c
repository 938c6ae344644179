/* The loop of the arbiter's process, and its start as a helper of the listening process. */
#include "config.h"

#include "runtime/arbiter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/process_name.h"
#include "runtime/clients.h"
#include "runtime/event_log.h"
#include "runtime/session_turns.h"

enum {
    APART_US = 50,  /* the least time from one look to the next */
    APART_PART = 4, /* and this many times as long as a look takes */
    US_IN_S = 1000000,
};

/* ---- its process ---- */

static int64_t now_us(void)
{
    return (int64_t)(ath_now_ns() / 1000);
}

static struct timespec time_of(int64_t us)
{
    return (struct timespec){ .tv_sec = us / US_IN_S, .tv_nsec = us % US_IN_S * 1000 };
}

/* Takes the bytes that have come before the look, which makes later ones come to the next. */
static void drain(int fd)
{
    static char bytes[64 << 10]; /* a whole pipe (pipe(7)) */
    (void)!read(fd, bytes, sizeof bytes);
}

/* Waits until a byte comes or a moment is there; INT64_MAX: for a byte only. */
static void wait_for_byte(int fd, int64_t end_us)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    int64_t left_us = end_us - now_us();
    struct timespec left = time_of(left_us > 0 ? left_us : 0);
    if (ppoll(&one, 1, end_us == INT64_MAX ? NULL : &left, NULL) > 0)
        drain(fd);
}

static void rest_until(int64_t end_us)
{
    int64_t left_us = end_us - now_us();
    struct timespec left = time_of(left_us);
    if (left_us > 0)
        nanosleep(&left, NULL);
}

__attribute__((noreturn)) static void give_turns(const struct ath_server *server, int fd)
{
    struct ath_session_turns *turns =
        ath_session_turns_make(server->board, server->devices.count, server->sharing, now_us());
    if (!turns)
        _exit(EXIT_FAILURE);
    for (;;) {
        int64_t begin_us = now_us();
        int64_t next_us = ath_session_turns_look(turns, begin_us);
        int64_t apart_us = APART_PART * (now_us() - begin_us);
        wait_for_byte(fd, next_us);
        rest_until(begin_us + (apart_us > APART_US ? apart_us : APART_US));
        drain(fd);
    }
}

static int lock_in(const struct ath_listener *listener, struct ath_err *err)
{
    const struct ath_sandbox_plan plan = { .sandbox = &listener->sandbox,
                                           .user = listener->arbiter.user,
                                           .identity = ".arbiter",
                                           .kept = &listener->arbiter.pipe_fd,
                                           .kept_count = 1 };
    if (listener->arbiter.user == (uid_t)-1 && listener->sandbox.changes_user)
        return ath_err_system(err, -ENOSPC, "%s", "no user is left for the arbiter");
    return ath_sandbox_enter(&plan, err);
}

static void run(struct ath_listener *listener, pid_t parent)
{
    static _Atomic uint64_t missing_lines; /* those of this process are not counted on the board */
    struct ath_err err;
    ath_clients_leave(listener, parent);
    ath_secret_free(&listener->server.secret);
    ath_event_log_count_in(&missing_lines);
    if (ath_session_board_confine_arbiter(listener->server.board))
        _exit(EXIT_FAILURE);
    if (lock_in(listener, &err)) {
        ath_event_log(ATH_EVENT_ERROR, "no-arbiter", "reason", err.message, NULL);
        _exit(EXIT_FAILURE);
    }
    give_turns(&listener->server, listener->arbiter.pipe_fd);
}

/* ---- in the listening process ---- */

/* Without a program's session it sleeps. */
static bool is_busy(const struct ath_listener *listener)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        const struct ath_process *process = &listener->processes.items[i];
        if (process->session && process->is_proven && process->purpose == ATH_GPU_PURPOSE_CUDA)
            return true;
    }
    return false;
}

static const _Atomic uint64_t *beat_ms(const struct ath_session_board *board)
{
    return &board->turns.beat_ms;
}

/* Sessions go on without turns after ATH_TURNS_STALE_MS, so it is replaced before. */
const struct ath_helper_kind ath_arbiter_kind = {
    .name = "arbiter",
    .process_name = ATH_ARBITER_NAME,
    .begin_ms = 3000,
    .hangs_ms = 3000,
    .look_ms = 1000,
    .pause_ms = 100,
    .longest_pause_ms = 60000,
    .soon_ms = 60000,
    .returns_at_once = true,
    .is_busy = is_busy,
    .beat_ms = beat_ms,
    .run = run,
};

int ath_arbiter_open_pipe(struct ath_server *server)
{
    char path[64];
    if (server->turns_fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", server->turns_fd);
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    close(server->turns_fd);
    server->turns_fd = fd;
    return 0;
}

int ath_arbiter_prepare(struct ath_listener *listener, struct ath_err *err)
{
    int ends[2];
    if (listener->server.sharing == ATH_GPU_SHARING_FREE) {
        listener->arbiter.helper.is_useless = true;
        listener->arbiter.pipe_fd = -1;
        return 0;
    }
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return ath_err_system(err, -errno, "%s", _("no pipe for turns on the GPUs"));
    /* A session opens it again, to write, and takes no bytes of others out. */
    if (fchmod(ends[1], S_IWUSR)) {
        int status = -errno;
        close(ends[0]);
        close(ends[1]);
        return ath_err_system(err, status, "%s", _("no pipe for turns on the GPUs"));
    }
    listener->arbiter.pipe_fd = ends[0];
    listener->server.turns_fd = ends[1];
    listener->arbiter.user = ath_sandbox_users_find(&listener->users, ".arbiter");
    return 0;
}

void ath_arbiter_wake(const struct ath_server *server)
{
    atomic_fetch_add(&server->board->changes, 1);
    if (server->turns_fd >= 0)
        (void)!write(server->turns_fd, "", 1); /* a full pipe wakes it, too */
}
