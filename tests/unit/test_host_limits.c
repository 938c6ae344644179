/* Limits of a session on the server's host: the memory of its control groups, and what all sessions
 * take together. */
#include "config.h"

#include "runtime/host_limits.h"

#include <stdint.h>
#include <sys/resource.h>

#include "base/host_budget.h"
#include "base/unknown.h"
#include "runtime/session_board.h"
#include "tree.h"
#include "unit.h"

/* ---- the memory of control groups ---- */

static struct tree tree;
static struct ath_root root;

static void open_tree(void)
{
    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, NULL), 0);
}

static void remove_tree(void)
{
    ath_root_free(&root);
    tree_remove(&tree);
}

static int64_t machine(void)
{
    return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

static int64_t memory(void)
{
    return ath_host_limits_memory(&root);
}

FIXTURE(open_tree, remove_tree);

TEST(without_control_groups_it_is_the_machines)
{
    ck_assert_int_eq(memory(), machine());
    tree_put(&tree, "", "proc/self/cgroup");
    ck_assert_int_eq(memory(), machine());
    tree_put(&tree, "0\nnonsense\n:\n::\n0:x\n", "proc/self/cgroup");
    ck_assert_int_eq(memory(), machine());
}

TEST(the_least_limit_of_a_group_and_those_above_counts)
{
    tree_put(&tree, "0::/a/b\n", "proc/self/cgroup");
    ck_assert_int_eq(memory(), machine());
    tree_put(&tree, "30000000\n", "sys/fs/cgroup/a/b/memory.max");
    ck_assert_int_eq(memory(), 30000000);
    tree_put(&tree, "20000000\n", "sys/fs/cgroup/a/memory.max");
    ck_assert_int_eq(memory(), 20000000);
    tree_put(&tree, "10000000\n", "sys/fs/cgroup/memory.max");
    ck_assert_int_eq(memory(), 10000000);
    tree_put(&tree, "max\n", "sys/fs/cgroup/memory.max");
    ck_assert_int_eq(memory(), 20000000);
    tree_put(&tree, "max\n", "sys/fs/cgroup/a/memory.max");
    ck_assert_int_eq(memory(), 30000000);
    tree_put(&tree, "5000\n", "sys/fs/cgroup/a/other/memory.max");
    tree_put(&tree, "5000\n", "sys/fs/cgroup/b/memory.max");
    ck_assert_int_eq(memory(), 30000000);
    tree_put(&tree, "9000000000000000000\n", "sys/fs/cgroup/a/b/memory.max");
    ck_assert_int_eq(memory(), machine());
}

TEST(a_group_whose_name_begins_alike_is_another)
{
    tree_put(&tree, "0::/ab/cd\n", "proc/self/cgroup");
    tree_put(&tree, "5000\n", "sys/fs/cgroup/a/memory.max");
    tree_put(&tree, "5000\n", "sys/fs/cgroup/ab/c/memory.max");
    tree_put(&tree, "5000\n", "sys/fs/cgroup/ab/cde/memory.max");
    ck_assert_int_eq(memory(), machine());
}

/* In a container the path may be the host's. */
TEST(a_path_that_is_not_here_leaves_the_root_folder)
{
    tree_put(&tree, "0::/docker/0123\n", "proc/self/cgroup");
    tree_put(&tree, "40000000\n", "sys/fs/cgroup/memory.max");
    ck_assert_int_eq(memory(), 40000000);
    tree_put(&tree, "0::/\n", "proc/self/cgroup");
    ck_assert_int_eq(memory(), 40000000);
}

TEST(version_1_has_a_line_for_memory)
{
    tree_put(&tree, "12:cpuset:/a\n9:memory:/a/b\n1:name=systemd:/a\n", "proc/self/cgroup");
    tree_put(&tree, "5000\n", "sys/fs/cgroup/memory.max"); /* of version 2 */
    tree_put(&tree, "5000\n", "sys/fs/cgroup/cpuset/memory.limit_in_bytes");
    tree_put(&tree, "9223372036854771712\n", "sys/fs/cgroup/memory/memory.limit_in_bytes");
    ck_assert_int_eq(memory(), machine());
    tree_put(&tree, "50000000\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes");
    ck_assert_int_eq(memory(), 50000000);
    tree_put(&tree, "60000000\n", "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes");
    ck_assert_int_eq(memory(), 50000000);
}

/* ---- what sessions take ---- */

enum { OWN = 2, OTHERS = 3 };
static struct ath_server server;

static void begin(void)
{
    server = (struct ath_server){ .host_fraction = 0.25, .board = ath_session_board_make() };
    ck_assert_ptr_nonnull(server.board);
    for (size_t i = 0; i < OWN + 1 + OTHERS; i++)
        ath_session_board_add(server.board, i, i + 1, "test");
    ath_host_limits_apply(&server, &server.board->slots[OWN].entry);
}

static void end(void)
{
    ath_session_board_free(server.board);
}

/* The amount that another session has taken. */
static void others(size_t slot, enum ath_host_kind kind, int64_t amount)
{
    atomic_store(&server.board->slots[slot].entry.host_taken[kind], amount);
}

static int64_t own(enum ath_host_kind kind)
{
    return atomic_load(&server.board->slots[OWN].entry.host_taken[kind]);
}

/* The memory of this machine or of the test's control group. */
static int64_t all_memory(void)
{
    struct ath_root here;
    ck_assert_int_eq(ath_root_open("/", &here, NULL), 0);
    const int64_t bytes = ath_host_limits_memory(&here);
    ath_root_free(&here);
    return bytes;
}

FIXTURE(begin, end);

TEST(a_session_has_its_part_of_the_memory)
{
    const int64_t part = (int64_t)((double)all_memory() * 0.25);
    ck_assert(ath_host_take(ATH_HOST_BYTES, (uint64_t)part));
    ck_assert(!ath_host_take(ATH_HOST_BYTES, 1));
    ck_assert_int_eq(own(ATH_HOST_BYTES), part); /* what was refused does not count */
    ath_host_give(ATH_HOST_BYTES, 10);
    ck_assert(!ath_host_take(ATH_HOST_BYTES, 11));
    ck_assert(ath_host_take(ATH_HOST_BYTES, 10));
    ath_host_give(ATH_HOST_BYTES, (uint64_t)part);
    ck_assert_int_eq(own(ATH_HOST_BYTES), 0);
}

TEST(all_sessions_together_leave_memory_for_the_host)
{
    const int64_t all = all_memory() / 8 * 7;
    others(0, ATH_HOST_BYTES, all - 1000);
    ck_assert(ath_host_take(ATH_HOST_BYTES, 1000));
    ck_assert(!ath_host_take(ATH_HOST_BYTES, 1));
    ath_host_give(ATH_HOST_BYTES, 1000);
    others(OWN + 1, ATH_HOST_BYTES, 600);
    ck_assert(!ath_host_take(ATH_HOST_BYTES, 401));
    ck_assert(ath_host_take(ATH_HOST_BYTES, 400));
    ath_session_board_remove(server.board, OWN + 1); /* an ended session has nothing */
    ck_assert(ath_host_take(ATH_HOST_BYTES, 600));
}

TEST(amounts_do_not_overflow)
{
    static const uint64_t amounts[] = { UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1,
                                        INT64_MAX / ATH_SESSION_BOARD_MAX + 1 };
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        ck_assert(!ath_host_take(ATH_HOST_BYTES, amounts[i]));
    ck_assert_int_eq(own(ATH_HOST_BYTES), 0);
}

TEST(each_session_has_some_threads_and_all_share_the_others)
{
    others(0, ATH_HOST_THREADS, ATH_HOST_THREADS_OWN + ATH_HOST_THREADS_ALL);
    for (int i = 0; i < ATH_HOST_THREADS_OWN; i++)
        ck_assert(ath_host_take(ATH_HOST_THREADS, 1));
    ck_assert(!ath_host_take(ATH_HOST_THREADS, 1));
    others(0, ATH_HOST_THREADS, ATH_HOST_THREADS_OWN + ATH_HOST_THREADS_ALL - 2);
    ck_assert(ath_host_take(ATH_HOST_THREADS, 2));
    ck_assert(!ath_host_take(ATH_HOST_THREADS, 1));
    others(1, ATH_HOST_THREADS, ATH_HOST_THREADS_OWN); /* its own, which no other may have */
    ath_host_give(ATH_HOST_THREADS, 1);
    ck_assert(ath_host_take(ATH_HOST_THREADS, 1));
    ck_assert_int_eq(own(ATH_HOST_THREADS), ATH_HOST_THREADS_OWN + 2);
}

TEST(descriptors_have_a_limit)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_uint_le(limit.rlim_cur, ATH_HOST_DESCRIPTORS);
    if (limit.rlim_max <= ATH_HOST_DESCRIPTORS) /* it was applied, or the system's is lower */
        return;
    limit.rlim_cur = ATH_HOST_DESCRIPTORS + 1;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ath_host_limits_apply(&server, &server.board->slots[OWN].entry);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_uint_eq(limit.rlim_cur, ATH_HOST_DESCRIPTORS);
    ck_assert_uint_eq(limit.rlim_max, ATH_HOST_DESCRIPTORS);
}

TEST(the_kernel_ends_a_session_before_the_server)
{
    char text[16] = "";
    if (access("/proc/self/oom_score_adj", W_OK)) {
        printf("skipped test: the_kernel_ends_a_session_before_the_server: /proc is read-only\n");
        return;
    }
    FILE *file = fopen("/proc/self/oom_score_adj", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    ck_assert_int_ge(atoi(text), ATH_HOST_OOM_SCORE);
}
