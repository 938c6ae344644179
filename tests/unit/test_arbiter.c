/* The arbiter's process: it gives turns to processes of sessions, is replaced when it is killed or
 * hangs, and goes on when a session is killed or floods it. This process is the listening one. */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/process_name.h"
#include "patience.h"
#include "runtime/listener.h"
#include "unit.h"

enum { WORK_NS = 1000000, WAIT_NS = 100000000, TABLE_WAY = 2 };

static struct ath_listener listener;

static void setup(void)
{
    struct ath_err err;
    listener = (struct ath_listener){ .server = { .board = ath_session_board_make(),
                                                  .sharing = ATH_GPU_SHARING_TURNS,
                                                  .report_fd = -1 },
                                      .sandbox = { .listener = getpid() } };
    ck_assert_ptr_nonnull(listener.server.board);
    listener.server.devices.count = 1;
    listener.processes.board = listener.server.board;
    listener.processes.most_of_source = ATH_SESSION_BOARD_MAX;
    for (size_t i = 0; i < ATH_POLL_COUNT; i++)
        listener.polls[i].fd = -1;
    ck_assert_int_eq(ath_arbiter_prepare(&listener, &err), 0);
}

static void teardown(void)
{
    ath_helper_end(&listener.arbiter.helper);
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (listener.processes.items[i].session)
            kill(listener.processes.items[i].pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    close(listener.arbiter.pipe_fd);
    close(listener.server.turns_fd);
    ath_session_board_free(listener.server.board);
}

FIXTURE(setup, teardown);
SECONDS(120);

/* ---- a session's process ---- */

static void wake(void)
{
    (void)!write(listener.server.turns_fd, "", 1);
}

/* Waits for a turn, works for a millisecond, counts that, and gives the turn back when asked. */
__attribute__((noreturn)) static void be_session(struct ath_session_board_entry *entry)
{
    struct ath_session_board *board = listener.server.board;
    size_t slot = ath_session_board_slot_of(board, entry);
    struct ath_turn_grant *grant = &board->turns.grants[slot];
    const struct timespec work = { .tv_nsec = WORK_NS }, most = { .tv_nsec = WAIT_NS };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ath_session_board_confine(board, entry))
        _exit(1);
    atomic_store(&entry->turn.devices, 1);
    for (;;) {
        uint32_t word = atomic_load(&grant->word);
        bool is_own = atomic_load(&grant->session) == atomic_load(&entry->id);
        if (is_own && word & ATH_TURN_GIVEN && !(word & ATH_TURN_BACK)) {
            nanosleep(&work, NULL);
            atomic_fetch_add(&entry->counts.calls, 1);
            continue;
        }
        atomic_store(&entry->turn.wants, 1);
        if (is_own && word & ATH_TURN_GIVEN)
            atomic_store(&entry->turn.returned, ath_turn_number(word));
        wake();
        syscall(SYS_futex, &grant->word, FUTEX_WAIT, word, &most, NULL, 0);
    }
}

static size_t start_session(void)
{
    const struct ath_newcomer newcomer = { .peer = "test", .way = TABLE_WAY, .is_trusted = true };
    const struct ath_session_report report = { .purpose = ATH_GPU_PURPOSE_CUDA };
    struct ath_process *process, *leaves;
    ck_assert_int_eq(ath_process_table_add(&listener.processes, &newcomer, 0, &process, &leaves),
                     ATH_PLACE_GIVEN);
    size_t slot = ath_process_table_slot(&listener.processes, process);
    ath_process_table_note(process, &report);
    ath_session_board_note(listener.server.board, slot, report.purpose, "");
    atomic_store(&listener.server.board->known[slot].allowed_devices, 1);
    process->pid = fork();
    if (!process->pid)
        be_session(ath_session_board_at(listener.server.board, slot));
    ck_assert_int_gt(process->pid, 0);
    ath_arbiter_wake(&listener.server);
    return slot;
}

static uint64_t done(size_t slot)
{
    return atomic_load(&listener.server.board->slots[slot].entry.counts.calls);
}

static uint32_t word(size_t slot)
{
    return atomic_load(&listener.server.board->turns.grants[slot].word);
}

/* ---- the listening process ---- */

static void reap(void)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        struct ath_process *process = ath_process_table_find_pid(&listener.processes, pid);
        if (ath_helper_take_end(&listener.arbiter.helper, &ath_arbiter_kind, pid, status) ||
            !process)
            continue;
        ath_process_table_remove(&listener.processes, process);
        ath_arbiter_wake(&listener.server);
    }
}

static void listen_once(void)
{
    reap();
    ath_helper_look(&listener, &listener.arbiter.helper, &ath_arbiter_kind);
    nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

static void listen_for(uint64_t ms)
{
    for (uint64_t end_ms = ath_now_ms() + ms; ath_now_ms() < end_ms;)
        listen_once();
}

/* Listens until both sessions have worked again. Returns after how many milliseconds. */
static uint64_t await_work(size_t one, size_t other)
{
    uint64_t begin_ms = ath_now_ms(), before = done(one), other_before = done(other);
    while (done(one) == before || done(other) == other_before) {
        ck_assert_uint_lt(ath_now_ms() - begin_ms, (uint64_t)PATIENCE_MS);
        listen_once();
    }
    return ath_now_ms() - begin_ms;
}

/* ---- tests ---- */

TEST(gives_turns_to_processes)
{
    size_t one = start_session(), other = start_session();
    await_work(one, other);
    listen_for(300);
    for (int i = 0; i < 1000; i++) {
        uint32_t first = word(one), second = word(other);
        if (word(one) == first) /* else a turn has ended between the looks */
            ck_assert_uint_eq(first & second & ATH_TURN_GIVEN, 0);
        listen_once();
    }
    await_work(one, other);
}

TEST(goes_on_after_a_killed_arbiter)
{
    size_t one = start_session(), other = start_session();
    await_work(one, other);
    pid_t first = listener.arbiter.helper.pid;
    kill(first, SIGKILL);
    while (listener.arbiter.helper.pid == first || !listener.arbiter.helper.pid)
        listen_once();
    printf("killed arbiter: both sessions worked again after %llu ms\n",
           (unsigned long long)await_work(one, other));
    ck_assert_uint_eq(listener.arbiter.helper.failures, 1);
}

/* A replacement that ends at once, too, has pauses before it. */
TEST(pauses_between_arbiters)
{
    listen_once();
    for (unsigned int i = 0; i < 3; i++) {
        struct ath_helper *helper = &listener.arbiter.helper;
        uint64_t begin_ms = ath_now_ms();
        kill(helper->pid, SIGKILL);
        while (helper->failures == i)
            listen_once();
        ck_assert_uint_ge(helper->next_ms, begin_ms + (i ? 100u << i : 0));
        while (!helper->pid)
            listen_once();
        ck_assert_uint_ge(helper->started_ms, begin_ms + (i ? 100u << i : 0));
    }
}

TEST(replaces_one_that_hangs)
{
    size_t one = start_session(), other = start_session();
    await_work(one, other);
    pid_t first = listener.arbiter.helper.pid;
    kill(first, SIGSTOP);
    uint64_t begin_ms = ath_now_ms();
    while (listener.arbiter.helper.pid == first || !listener.arbiter.helper.pid) {
        ck_assert_uint_lt(ath_now_ms() - begin_ms, (uint64_t)PATIENCE_MS);
        listen_once();
    }
    ck_assert_uint_ge(ath_now_ms() - begin_ms, ath_arbiter_kind.hangs_ms - 1000);
    await_work(one, other);
}

/* Without a session it gives no sign of life, and is left alone. */
TEST(leaves_a_sleeping_one_alone)
{
    listen_for(500);
    pid_t first = listener.arbiter.helper.pid;
    uint64_t beat_ms = atomic_load(&listener.server.board->turns.beat_ms);
    ck_assert_int_eq(ath_helper_patience_ms(&listener, &listener.arbiter.helper, &ath_arbiter_kind),
                     -1);
    listen_for(ath_arbiter_kind.hangs_ms + 1500);
    ck_assert_int_eq(listener.arbiter.helper.pid, first);
    ck_assert_uint_eq(atomic_load(&listener.server.board->turns.beat_ms), beat_ms);
    size_t one = start_session();
    await_work(one, one);
    ck_assert_int_eq(listener.arbiter.helper.pid, first);
    ck_assert_int_eq(ath_helper_patience_ms(&listener, &listener.arbiter.helper, &ath_arbiter_kind),
                     1000);
}

TEST(goes_on_after_a_killed_holder)
{
    uint64_t longest_ns = 0;
    size_t other = start_session();
    for (int i = 0; i < 10; i++) {
        size_t holder = start_session();
        await_work(holder, other);
        while (!(word(holder) & ATH_TURN_GIVEN))
            listen_once();
        kill(listener.processes.items[holder].pid, SIGKILL);
        uint64_t begin_ns = ath_now_ns();
        while ((word(other) & (ATH_TURN_GIVEN | ATH_TURN_BACK)) != ATH_TURN_GIVEN)
            listen_once();
        uint64_t took_ns = ath_now_ns() - begin_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
        listen_once();
    }
    printf("killed holder: the other had its turn after %.1f ms at most\n",
           (double)longest_ns / 1e6);
    ck_assert_uint_lt(longest_ns, UINT64_C(1000000000)); /* a busy machine; 100 ms on a quiet one */
}

/* A session that makes its writes wait makes only its own wait. */
TEST(gives_each_process_an_open_file_of_its_own)
{
    int status;
    pid_t child = fork();
    if (!child)
        _exit(ath_arbiter_open_pipe(&listener.server) ||
              fcntl(listener.server.turns_fd, F_SETFL, 0) ||
              write(listener.server.turns_fd, "", 1) != 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(fcntl(listener.server.turns_fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    char byte;
    ck_assert_int_eq(read(listener.arbiter.pipe_fd, &byte, 1), 1);
}

static uint64_t processor_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    ck_assert_int_eq(clock_getcpuclockid(pid, &clock), 0);
    ck_assert_int_eq(clock_gettime(clock, &used), 0);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* A session that writes bytes without end costs the server less than half a processor, and others
 * get their turns. */
TEST(withstands_a_flood)
{
    size_t one = start_session(), other = start_session();
    await_work(one, other);
    pid_t arbiter = listener.arbiter.helper.pid, flood = fork();
    if (!flood)
        for (prctl(PR_SET_PDEATHSIG, SIGKILL);;)
            wake();
    uint64_t begin_ns = ath_now_ns(), before_ns = processor_ns(arbiter);
    uint64_t works = done(one) + done(other);
    listen_for(2000);
    double part = (double)(processor_ns(arbiter) - before_ns) / (double)(ath_now_ns() - begin_ns);
    works = done(one) + done(other) - works;
    kill(flood, SIGKILL);
    printf("flood: the arbiter took %.1f %% of a processor, and sessions worked %llu times\n",
           100 * part, (unsigned long long)works);
    ck_assert_double_lt(part, 0.5);
    ck_assert_int_eq(listener.arbiter.helper.pid, arbiter);
    await_work(one, other);
}
