/* What runs in a child process: its answer, its end, its limits. */
#include "config.h"

#include "base/isolated.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree.h"

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

START_TEST(brings_the_answer)
{
    ck_assert_int_eq(run_answer(0), 0);
    ck_assert_int_eq(run_answer(7), 7);
    char *shared = mmap(NULL, 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    ck_assert_int_eq(ath_run_isolated(leave_word, shared, NULL, 10000), 0);
    ck_assert_str_eq(shared, "told");
    munmap(shared, 64);
}
END_TEST

START_TEST(outlives_crashes_and_hangs)
{
    ck_assert_int_eq(ath_run_isolated(crash, NULL, NULL, 10000), -EFAULT);
    ck_assert_int_eq(ath_run_isolated(hang, NULL, NULL, 50), -ETIMEDOUT);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}
END_TEST

/* nohup, some supervisors and shells leave SIGCHLD ignored, and no status can be had then. */
START_TEST(needs_no_exit_status)
{
    signal(SIGCHLD, SIG_IGN);
    ck_assert_int_eq(run_answer(0), 0);
    ck_assert_int_eq(run_answer(3), 3);
    ck_assert_int_eq(ath_run_isolated(crash, NULL, NULL, 10000), -EFAULT);
    ck_assert_int_eq(ath_run_isolated(hang, NULL, NULL, 50), -ETIMEDOUT);
    signal(SIGCHLD, SIG_DFL);
}
END_TEST

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

START_TEST(sets_limits_in_the_child_alone)
{
    ck_assert_int_eq(ath_run_isolated(is_limited, NULL, NULL, 10000), 0);
    ck_assert_int_eq(ath_run_isolated(is_limited, NULL, limit_files, 10000), 1);
    ck_assert_int_eq(is_limited(NULL), 0);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("isolated");
    tcase_add_test(cases, brings_the_answer);
    tcase_add_test(cases, outlives_crashes_and_hangs);
    tcase_add_test(cases, needs_no_exit_status);
    tcase_add_test(cases, sets_limits_in_the_child_alone);
    return run_case(cases, "isolated");
}
