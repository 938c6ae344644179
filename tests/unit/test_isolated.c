/* Functions that run in a child process: result, crash, hang and limits. */
#include "config.h"

#include "base/isolated.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree.h"
#include "unit.h"

static int answer(void *argument)
{
    puts("lost");
    return *(int *)argument;
}

static int crash(void *argument)
{
    (void)argument;
    return raise(SIGKILL);
}

static int hang(void *argument)
{
    (void)argument;
    return pause();
}

static int leave_word(void *argument)
{
    strcpy(argument, "told");
    return 0;
}

static int run_answer(int number)
{
    return ath_run_isolated(answer, &number, NULL, 10000);
}

TEST(returns_the_result)
{
    ck_assert_int_eq(run_answer(0), 0);
    ck_assert_int_eq(run_answer(7), 7);
    char *shared = mmap(NULL, 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    ck_assert_int_eq(ath_run_isolated(leave_word, shared, NULL, 10000), 0);
    ck_assert_str_eq(shared, "told");
    munmap(shared, 64);
}

TEST(survives_crashes_and_hangs)
{
    ck_assert_int_eq(ath_run_isolated(crash, NULL, NULL, 10000), -EFAULT);
    ck_assert_int_eq(ath_run_isolated(hang, NULL, NULL, 50), -ETIMEDOUT);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child process is left */
}

/* nohup, some supervisors and some shells leave SIGCHLD ignored. Then no exit status is
 * available. */
TEST(works_without_exit_status)
{
    signal(SIGCHLD, SIG_IGN);
    ck_assert_int_eq(run_answer(0), 0);
    ck_assert_int_eq(run_answer(3), 3);
    ck_assert_int_eq(ath_run_isolated(crash, NULL, NULL, 10000), -EFAULT);
    ck_assert_int_eq(ath_run_isolated(hang, NULL, NULL, 50), -ETIMEDOUT);
    signal(SIGCHLD, SIG_DFL);
}

enum { FILE_LIMIT = 12345 };

static void limit_files(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ FILE_LIMIT, FILE_LIMIT });
}

static int is_limited(void *argument)
{
    struct rlimit limit;
    (void)argument;
    return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur == FILE_LIMIT;
}

TEST(sets_limits_only_in_the_child)
{
    ck_assert_int_eq(ath_run_isolated(is_limited, NULL, NULL, 10000), 0);
    ck_assert_int_eq(ath_run_isolated(is_limited, NULL, limit_files, 10000), 1);
    ck_assert_int_eq(is_limited(NULL), 0);
}
