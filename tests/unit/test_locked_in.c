/* The board, shares, users and limits of a session's process. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/sandbox/file_access.h"
#include "runtime/sandbox/sandbox.h"
#include "runtime/sandbox/system_calls.h"
#include "runtime/sandbox/users.h"
#include "runtime/session_report.h"
#include "runtime/share_table.h"

#include "unit.h"

enum { DEVICE = 5, SHARED = 700 };

static struct ath_session_board *board;
static struct ath_share_table *shares;

static void setup(void)
{
    board = ath_session_board_make();
    shares = calloc(1, sizeof *shares);
    ck_assert(board && shares);
    shares->board = board;
}

static void teardown(void)
{
    ath_session_board_free(board);
    free(shares);
}

static struct ath_session_board_entry *new_session(size_t slot)
{
    return ath_session_board_add(board, slot, slot + 1, "test");
}

static int64_t held(size_t slot)
{
    struct ath_session_board_entry copy;
    ck_assert(ath_session_board_read(board, slot, &copy));
    return atomic_load(&copy.used_bytes[DEVICE]);
}

/* Runs a step in a child process. Returns its exit code, or minus the signal that ended it. */
static int in_child(void (*step)(void))
{
    int status;
    pid_t child = fork();
    if (!child) {
        step();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

FIXTURE(setup, teardown);
SECONDS(60);

/* ---- the board ---- */

static void confine(size_t slot)
{
    if (ath_session_board_confine(board, ath_session_board_at(board, slot)))
        _exit(9);
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report it */
}

static void write_own(void)
{
    confine(1);
    atomic_store(&ath_session_board_at(board, 1)->used_bytes[DEVICE], 77);
    memset(ath_session_board_at(board, 1)->program, 'x', ATH_SESSION_BOARD_PROGRAM);
}

static void write_neighbour(void)
{
    confine(1);
    atomic_store(&ath_session_board_at(board, 2)->used_bytes[DEVICE], 77);
}

static void write_before(void)
{
    confine(1);
    atomic_store(&ath_session_board_at(board, 0)->used_bytes[DEVICE], 77);
}

static void write_known(void)
{
    confine(1);
    atomic_store(&board->known[1].is_proven, true);
}

static void write_fraction(void)
{
    confine(1);
    atomic_store(&board->vram_fraction, 0.01);
}

static void write_samples(void)
{
    confine(1);
    atomic_store(&board->samples.beat_ms, 1);
}

/* The sampler has pages of its own, too. */
static void confine_sampler(void)
{
    if (ath_session_board_confine_sampler(board))
        _exit(9);
    signal(SIGSEGV, SIG_DFL);
}

static void sample_all(void)
{
    confine_sampler();
    memset(&board->samples, 7, sizeof board->samples);
}

static void sample_first_entry(void)
{
    confine_sampler();
    atomic_store(&ath_session_board_at(board, 0)->used_bytes[DEVICE], 77);
}

static void sample_known(void)
{
    confine_sampler();
    atomic_store(&board->asked_ms, 77);
}

static void write_turns(void)
{
    confine(1);
    atomic_store(&board->turns.grants[1].word, ATH_TURN_GIVEN);
}

static void sample_turns(void)
{
    confine_sampler();
    atomic_store(&board->turns.grants[0].word, ATH_TURN_GIVEN);
}

/* So has the arbiter. */
static void confine_arbiter(void)
{
    if (ath_session_board_confine_arbiter(board))
        _exit(9);
    signal(SIGSEGV, SIG_DFL);
}

static void give_all_turns(void)
{
    confine_arbiter();
    memset(&board->turns, 7, sizeof board->turns);
}

static void give_first_entry(void)
{
    confine_arbiter();
    atomic_store(&ath_session_board_at(board, 0)->used_bytes[DEVICE], 77);
}

static void give_known(void)
{
    confine_arbiter();
    atomic_store(&board->known[0].set_share, 77);
}

static void give_samples(void)
{
    confine_arbiter();
    atomic_store(&board->samples.devices[ATH_DEVICES_MAX - 1].figures[0], 77);
}

static void make_writable(void)
{
    confine(1);
    if (!mprotect(board, sizeof board->known, PROT_READ | PROT_WRITE) || errno != EACCES)
        _exit(1);
    if (!mprotect(ath_session_board_at(board, 2), ATH_SESSION_BOARD_PAGE, PROT_READ | PROT_WRITE))
        _exit(2);
}

TEST(gives_each_session_its_own_pages)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        struct ath_session_board_entry *entry = ath_session_board_at(board, i);
        ck_assert_uint_eq((uintptr_t)entry % ATH_SESSION_BOARD_PAGE, 0);
        ck_assert_uint_eq(ath_session_board_slot_of(board, entry), i);
    }
}

TEST(writes_its_own_entry_only)
{
    static void (*const forbidden[])(void) = { write_neighbour, write_before,  write_known,
                                               write_fraction,  write_samples, write_turns };
    for (size_t i = 0; i < 4; i++)
        new_session(i);
    ck_assert_int_eq(in_child(write_own), 0);
    ck_assert_int_eq(held(1), 77);
    for (size_t i = 0; i < ATH_COUNT(forbidden); i++)
        ck_assert_int_eq(in_child(forbidden[i]), -SIGSEGV);
    ck_assert_int_eq(in_child(make_writable), 0);
    ck_assert(!held(0) && !held(2));
    ck_assert(!atomic_load(&board->known[1].is_proven));
}

TEST(samples_and_writes_no_more)
{
    static void (*const forbidden[])(void) = { sample_first_entry, sample_known, sample_turns };
    new_session(0);
    ck_assert_int_eq(in_child(sample_all), 0);
    ck_assert_uint_eq(atomic_load(&board->samples.sessions[ATH_SAMPLED_SESSIONS - 1].id),
                      UINT64_C(0x0707070707070707));
    for (size_t i = 0; i < ATH_COUNT(forbidden); i++)
        ck_assert_int_eq(in_child(forbidden[i]), -SIGSEGV);
    ck_assert(!held(0));
}

TEST(gives_turns_and_writes_no_more)
{
    static void (*const forbidden[])(void) = { give_first_entry, give_known, give_samples };
    new_session(0);
    ck_assert_int_eq(in_child(give_all_turns), 0);
    ck_assert_uint_eq(atomic_load(&board->turns.shown[ATH_SESSION_BOARD_MAX - 1].waits_for),
                      UINT64_C(0x0707070707070707));
    for (size_t i = 0; i < ATH_COUNT(forbidden); i++)
        ck_assert_int_eq(in_child(forbidden[i]), -SIGSEGV);
    ck_assert(!held(0));
}

/* A slot's next session begins without the wishes and terms of the one before. */
TEST(begins_without_turns)
{
    struct ath_session_board_entry *entry = new_session(1);
    memset(&entry->turn, 0x7f, sizeof entry->turn);
    atomic_store(&entry->asked_share, 50);
    atomic_store(&entry->asked_cap, 1);
    atomic_store(&entry->asked_priority, ATH_GPU_PRIORITY_HIGH);
    atomic_store(&board->known[1].set_share, 50);
    atomic_store(&board->known[1].set_priority, ATH_GPU_PRIORITY_HIGH);
    ath_session_board_remove(board, 1);
    entry = new_session(1);
    ck_assert_uint_eq(atomic_load(&entry->turn.devices), 0);
    ck_assert_uint_eq(atomic_load(&entry->turn.wants), 0);
    ck_assert_uint_eq(atomic_load(&entry->turn.returned), 0);
    ck_assert_int_eq(atomic_load(&entry->asked_share), 0);
    ck_assert_int_eq(atomic_load(&entry->asked_cap), 0);
    ck_assert_int_eq(atomic_load(&entry->asked_priority), ATH_GPU_PRIORITY_UNSET);
    ck_assert_int_eq(atomic_load(&board->known[1].set_share), -1);
    ck_assert_int_eq(atomic_load(&board->known[1].set_cap), -1);
    ck_assert_int_eq(atomic_load(&board->known[1].set_priority), ATH_GPU_PRIORITY_UNSET);
}

/* The words of a session about itself name no other, and no claim breaks the sums of others. */
TEST(believes_the_listener_about_a_session)
{
    struct ath_session_board_entry copy, *entry = new_session(1);
    ath_session_board_note(board, 1, 4, "alice");
    new_session(2);
    memset(entry, 0x7f, sizeof *entry);
    ck_assert(ath_session_board_read(board, 1, &copy));
    ck_assert_uint_eq(copy.id, 2);
    ck_assert_str_eq(copy.peer, "test");
    ck_assert_str_eq(copy.identity, "alice");
    ck_assert_int_eq(atomic_load(&copy.purpose), 4);
    ck_assert_uint_eq(strlen(copy.program), ATH_SESSION_BOARD_PROGRAM - 1);
    ck_assert_int_eq(ath_session_board_memory(board, DEVICE, NULL), (int64_t)1 << 50);
    atomic_store(&entry->used_bytes[DEVICE], INT64_MIN);
    ck_assert_int_eq(ath_session_board_memory(board, DEVICE, NULL), 0);
    ck_assert_uint_eq(ath_session_board_broken(board), 0); /* it could take its claim back */
    ath_session_board_remove(board, 1);
    ck_assert_uint_eq(ath_session_board_broken(board), 1);
    ck_assert_uint_eq(ath_session_board_refused(board, ATH_CONTROL_REASON_UNKNOWN), 1);
    ck_assert_uint_eq(atomic_load(&board->missing_lines), 1 << 20);
    ck_assert(!ath_session_board_read(board, 1, &copy));
}

enum { TAKERS = 4, TAKES = 2000, PART = 10 };

static void *take_all(void *argument)
{
    struct ath_session_board_entry *entry = argument;
    for (int i = 0; i < TAKES; i++) {
        if (!ath_session_board_take_memory(board, entry, DEVICE, PART, PART))
            continue;
        if (ath_session_board_memory(board, DEVICE, NULL) < PART)
            return entry; /* another thread took it away */
        ath_session_board_give_memory(entry, DEVICE, PART);
    }
    return NULL;
}

/* Room for one: a thread that takes it has it alone. */
TEST(takes_no_more_than_there_is_at_the_same_time)
{
    pthread_t threads[TAKERS];
    void *fault;
    for (size_t i = 0; i < TAKERS; i++)
        pthread_create(&threads[i], NULL, take_all, new_session(i));
    for (size_t i = 0; i < TAKERS; i++) {
        pthread_join(threads[i], &fault);
        ck_assert_ptr_null(fault);
    }
    ck_assert_int_eq(ath_session_board_memory(board, DEVICE, NULL), 0);
}

/* ---- shares ---- */

TEST(counts_shared_memory_once)
{
    enum { MAKER = 1, ONE = 2, OTHER = 3 };
    for (size_t slot = MAKER; slot <= OTHER; slot++)
        new_session(slot);
    uint64_t share = ath_share_table_make(shares, MAKER, "a", DEVICE, SHARED);
    ck_assert(share && ath_share_table_hold(shares, MAKER, "a", share)); /* it does */
    ck_assert_uint_eq(ath_share_table_find(shares, "a", 77), 0);
    ath_share_table_name(shares, ONE, share, 77); /* is no holder */
    ck_assert_uint_eq(ath_share_table_find(shares, "a", 77), 0);
    ath_share_table_name(shares, MAKER, share, 77);
    ck_assert_uint_eq(ath_share_table_find(shares, "a", 77), share);
    ck_assert_uint_eq(ath_share_table_find(shares, "b", 77), 0);
    ck_assert(!ath_share_table_hold(shares, ONE, "b", share));
    ck_assert(ath_share_table_hold(shares, ONE, "a", share) &&
              ath_share_table_hold(shares, OTHER, "a", share));
    atomic_store(&ath_session_board_at(board, OTHER)->limit_bytes[DEVICE], SHARED - 1);
    ck_assert_int_eq(held(MAKER), SHARED);
    ath_share_table_drop(shares, MAKER, share);
    ath_share_table_drop(shares, MAKER, share); /* has none any more */
    ck_assert(!held(MAKER) && held(ONE) == SHARED && !held(OTHER));
    ath_share_table_drop_all(shares, ONE);
    ck_assert_int_eq(held(OTHER), SHARED); /* whatever its limit */
    ck_assert(ath_session_board_is_beyond(board, ath_session_board_at(board, OTHER), DEVICE));
    ck_assert_int_eq(ath_session_board_memory(board, DEVICE, NULL), SHARED);
    ck_assert(ath_share_table_hold(shares, MAKER, "a", share)); /* comes back */
    ath_share_table_drop(shares, OTHER, share);
    ck_assert(held(MAKER) == SHARED && !held(OTHER));
    ath_share_table_drop(shares, MAKER, share);
    ck_assert_int_eq(ath_session_board_memory(board, DEVICE, NULL), 0);
    ck_assert(!ath_share_table_hold(shares, ONE, "a", share)); /* has no holder and is gone */
    ck_assert_uint_eq(ath_share_table_find(shares, "a", 77), 0);
    ck_assert_uint_ne(ath_share_table_make(shares, MAKER, "a", DEVICE, 1), share);
}

TEST(ends_a_share_with_its_last_holder)
{
    new_session(1);
    uint64_t first = ath_share_table_make(shares, 1, "a", DEVICE, 0);
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) /* there are never too many */
        ck_assert(ath_share_table_hold(shares, i, "a", first));
    for (int i = 1; i < ATH_SHARES_OF_SESSION; i++)
        ck_assert_uint_ne(ath_share_table_make(shares, 1, "a", DEVICE, 0), 0);
    ck_assert_uint_eq(ath_share_table_make(shares, 1, "a", DEVICE, 0), 0);
    for (int i = ATH_SHARES_OF_SESSION; i < ATH_SHARES_MAX; i++)
        ck_assert_uint_ne(
            ath_share_table_make(shares, (size_t)(i / ATH_SHARES_OF_SESSION) + 1, "a", DEVICE, 0),
            0);
    ck_assert_uint_eq(ath_share_table_make(shares, 9, "a", DEVICE, 0), 0);
    ck_assert(!ath_share_table_hold(shares, 1, "a", 0));
    ck_assert(!ath_share_table_hold(shares, 1, "a", first | 0xffff));
    ath_share_table_drop_all(shares, 1);
    ck_assert_uint_eq(ath_share_table_make(shares, 9, "a", DEVICE, 0) & 0xffff,
                      2); /* not the first */
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        ath_share_table_drop(shares, i, first);
    ck_assert_uint_eq(ath_share_table_make(shares, 9, "a", DEVICE, 0) & 0xffff, 1);
}

TEST(makes_no_share_of_an_impossible_amount)
{
    new_session(1);
    ck_assert_uint_eq(ath_share_table_make(shares, 1, "a", ATH_DEVICES_MAX, 1), 0);
    ck_assert_uint_eq(ath_share_table_make(shares, 1, "a", DEVICE, -1), 0);
    ck_assert_uint_eq(ath_share_table_make(shares, 1, "a", DEVICE, ((int64_t)1 << 50) + 1), 0);
    ck_assert_uint_ne(ath_share_table_make(shares, 1, "a", DEVICE, (int64_t)1 << 50), 0);
}

/* ---- questions ---- */

TEST(gives_up_on_a_listener_that_has_ended)
{
    int pair[2];
    uint64_t answer = 5;
    const struct ath_session_report question = { .asks = ATH_ASK_USER };
    ck_assert_int_eq(ath_session_report_pair(pair), 0);
    ck_assert_int_eq(ath_session_report_answer(pair[0], 7), 0);
    ck_assert_int_eq(ath_session_report_ask(pair[1], &question, &answer), 0);
    ck_assert_uint_eq(answer, 7);
    ck_assert_int_eq(send(pair[0], "short", 5, 0), 5);
    ck_assert_int_eq(ath_session_report_ask(pair[1], &question, &answer), -ECONNRESET);
    ck_assert_int_eq(shutdown(pair[0], SHUT_WR), 0); /* it reads on, and says no more */
    ck_assert_int_eq(ath_session_report_ask(pair[1], &question, &answer), -ECONNRESET);
    close(pair[0]);
    ck_assert_int_lt(ath_session_report_ask(pair[1], &question, &answer), 0);
    ck_assert_int_lt(ath_session_report_ask(-1, &question, &answer), 0);
    ck_assert_uint_eq(answer, 7);
    close(pair[1]);
}

/* ---- users ---- */

TEST(gives_each_identity_a_user)
{
    struct ath_sandbox_users users;
    ath_sandbox_users_init(&users, "         0          0 4294967295\n");
    uid_t alice = ath_sandbox_users_find(&users, "alice");
    uid_t bob = ath_sandbox_users_find(&users, "bob");
    ck_assert(alice >= 0x70000000 && alice <= 0x7ffdffff && bob >= 0x70000000);
    ck_assert_uint_ne(alice, bob);
    ck_assert_uint_eq(ath_sandbox_users_find(&users, "alice"), alice);
    ath_sandbox_users_free(&users);
    ath_sandbox_users_init(&users, "0 0 4294967295\n"); /* another server of the host */
    ck_assert_uint_eq(ath_sandbox_users_find(&users, "alice"), alice);
    ath_sandbox_users_free(&users);
}

TEST(never_gives_two_identities_one_user)
{
    struct ath_sandbox_users users;
    char name[16];
    ath_sandbox_users_init(&users, "0 100000 1024\n5000 7000 10\n");
    ck_assert_uint_eq(users.first, 512);
    ck_assert_uint_eq(users.count, 512);
    bool seen[1024] = { false };
    for (int i = 0; i < 512; i++) {
        snprintf(name, sizeof name, "n%d", i);
        uid_t user = ath_sandbox_users_find(&users, name);
        ck_assert(user >= 512 && user < 1024 && !seen[user]);
        seen[user] = true;
    }
    ck_assert_uint_eq(ath_sandbox_users_find(&users, "one more"), (uid_t)-1);
    ck_assert_uint_ne(ath_sandbox_users_find(&users, "n511"), (uid_t)-1);
    ath_sandbox_users_free(&users);
}

TEST(takes_users_from_the_namespace_only)
{
    struct ath_sandbox_users users;
    ath_sandbox_users_init(&users, "0 1000 1\n"); /* podman without a range */
    ck_assert_uint_eq(users.count, 0);
    ck_assert_uint_eq(ath_sandbox_users_find(&users, "a"), (uid_t)-1);
    ath_sandbox_users_init(&users, "0 1000 1\n1 100000 65536\n");
    ck_assert_uint_eq(users.first, 32769);
    ck_assert_uint_eq(users.first + users.count, 65534);             /* without 65534 */
    ath_sandbox_users_init(&users, "0 1000 2048\n5000 7000 2048\n"); /* of two the first */
    ck_assert_uint_eq(users.first, 1024);
    ath_sandbox_users_init(&users, "0 1000 2048\n5000 7000 2049\n"); /* the larger one */
    ck_assert_uint_eq(users.first, 6024);
    ath_sandbox_users_init(&users, "0 1000 1023\n"); /* none to spare */
    ck_assert_uint_eq(users.count, 0);
    ath_sandbox_users_init(&users, "0 1000 1024\n");
    ck_assert_uint_eq(users.count, 512);
    ath_sandbox_users_init(&users, "");
    ck_assert_uint_eq(users.count, 0);
    ath_sandbox_users_init(&users, "18446744073709549568 0 4096\n0 1000 1\n"); /* no users */
    ck_assert_uint_eq(users.count, 0);
    ath_sandbox_users_init(&users, "1879048192 1879048192 268304384\n"); /* exactly the range */
    ck_assert_uint_eq(users.first, 0x70000000);
    ath_sandbox_users_init(&users, "1879048192 1879048192 268304383\n"); /* one less */
    ck_assert_uint_gt(users.first, 0x70000000);
}

/* ---- groups of device files ---- */

static char devices[] = "/tmp/ath-devices-XXXXXX";

/* Makes a character device that belongs to a group. Returns false if this process may not. */
static bool make_device(const char *name, mode_t mode, gid_t group)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", devices, name);
    if (mknod(path, S_IFCHR, makedev(1, 3)))
        return false;
    return !chown(path, 0, group) && !chmod(path, mode);
}

static void remove_devices(int count)
{
    char path[64];
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/nvidia%d", devices, i);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/other", devices);
    unlink(path);
    rmdir(devices);
}

static bool has_device_group(const struct ath_sandbox *sandbox, gid_t group)
{
    bool is = false;
    for (size_t i = 0; i < sandbox->group_count; i++)
        is |= sandbox->groups[i] == group;
    return is;
}

TEST(takes_as_many_groups_of_devices_as_there_is_room_for)
{
    enum { FIRST = 3000, DEVICES = ATH_SANDBOX_GROUPS_MAX + 2 };
    struct ath_devices problems = { 0 };
    struct ath_sandbox sandbox = { 0 };
    char name[16];

    ck_assert_ptr_nonnull(mkdtemp(devices));
    bool is_made = make_device("other", 0660, FIRST + DEVICES);
    for (int i = 0; i < DEVICES && is_made; i++) {
        snprintf(name, sizeof name, "nvidia%d", i);
        is_made = make_device(name, 0660, (gid_t)(FIRST + i));
    }
    if (is_made)
        ath_sandbox_find_groups(&sandbox, devices, &problems);
    remove_devices(DEVICES);
    if (!is_made) {
        printf("skipped test: takes_as_many_groups_...: this user cannot make devices\n");
        return;
    }
    ck_assert_uint_eq(sandbox.group_count, ATH_SANDBOX_GROUPS_MAX);
    ck_assert_uint_eq(problems.problem_count, 2);
    ck_assert_str_eq(problems.problems[0].code, "sandbox-device");
    ck_assert(!has_device_group(&sandbox, FIRST + DEVICES));
    for (size_t i = 0; i < sandbox.group_count; i++)
        ck_assert(sandbox.groups[i] >= FIRST && sandbox.groups[i] < FIRST + DEVICES);
}

TEST(takes_each_group_of_devices_once)
{
    struct ath_devices problems = { 0 };
    struct ath_sandbox sandbox = { 0 };

    ck_assert_ptr_nonnull(mkdtemp(strcpy(devices, "/tmp/ath-devices-XXXXXX")));
    bool is_made = make_device("nvidia0", 0660, 3000) && make_device("nvidia1", 0660, 3000) &&
                   make_device("nvidia2", 0666, 3001) && make_device("nvidia3", 0640, 3002) &&
                   make_device("nvidia4", 0660, 0);
    if (is_made)
        ath_sandbox_find_groups(&sandbox, devices, &problems);
    remove_devices(5);
    if (!is_made) {
        printf("skipped test: takes_each_group_...: this user cannot make devices\n");
        return;
    }
    ck_assert_uint_eq(sandbox.group_count, 1);
    ck_assert(has_device_group(&sandbox, 3000));
    ck_assert_uint_eq(problems.problem_count, 2); /* nvidia3 and nvidia4 */
}

/* ---- system calls and files ---- */

static void filter(void)
{
    int fds[2];
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (ath_sandbox_filter_calls(true))
        _exit(1);
    if (kill(getpid(), 0) || !kill(getppid(), 0) || errno != EPERM)
        _exit(2);
    if (fork() != -1 || errno != EPERM)
        _exit(3);
    if (execl("/bin/true", "true", (char *)NULL) != -1 || errno != EPERM)
        _exit(4);
    if (socket(AF_INET, SOCK_STREAM, 0) != -1 || errno != EAFNOSUPPORT)
        _exit(5);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
        _exit(6);
    if (!prctl(PR_SET_PDEATHSIG, 0) || !prctl(PR_SET_DUMPABLE, 1))
        _exit(7);
    if (!setuid(getuid()))
        _exit(8);
    void *block = malloc(1 << 20), *grown = realloc(block, 64 << 20); /* by mremap(), else a copy */
    if (!grown)
        _exit(9);
    free(grown);
}

static void *nothing(void *unused)
{
    return unused;
}

static void filter_threads(void)
{
    pthread_t thread;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (ath_sandbox_filter_calls(true))
        _exit(1);
    if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
        _exit(2);
    abort();
}

TEST(filters_system_calls)
{
    if (!ath_sandbox_filters_calls())
        printf("skipped test: filters_system_calls: the kernel has no seccomp filters\n");
    if (!ath_sandbox_filters_calls())
        return;
    ck_assert_int_eq(in_child(filter), 0);
    ck_assert_int_eq(in_child(filter_threads), -SIGABRT);
}

static char folder[] = "/tmp/ath-locked-XXXXXX", outside[] = "/tmp/ath-outside-XXXXXX";

static int open_status(const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    int status = fd < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return status;
}

static void limit_files(void)
{
    char path[64];
    int version = ath_sandbox_landlock_version();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (ath_sandbox_limit_files(version, false, -1, folder))
        _exit(1);
    snprintf(path, sizeof path, "%s/made", folder);
    if (open_status(path, O_RDWR | O_CREAT) || unlink(path))
        _exit(2);
    if (open_status("/tmp/ath-not-made", O_RDWR | O_CREAT) != EACCES)
        _exit(3);
    if (open_status("/etc/passwd", O_RDONLY) || open_status(outside, O_WRONLY) != EACCES)
        _exit(4);
    if (open_status("/root", O_RDONLY | O_DIRECTORY) != EACCES)
        _exit(5);
    if (open_status("/dev/null", O_RDWR) || open_status("/proc/self/maps", O_RDONLY))
        _exit(6);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
    if (open_status(path, O_RDONLY) != EACCES)
        _exit(7);
}

TEST(limits_files)
{
    if (!ath_sandbox_landlock_version())
        printf("skipped test: limits_files: the kernel has no Landlock\n");
    if (!ath_sandbox_landlock_version())
        return;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    int fd = mkstemp(outside);
    ck_assert_int_ge(fd, 0);
    close(fd);
    int status = in_child(limit_files);
    unlink(outside);
    rmdir(folder);
    ck_assert_int_eq(status, 0);
}
