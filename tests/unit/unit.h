/*
 * Unit tests that register themselves, so that no test can be forgotten, and main() of the program.
 *
 *     TEST(name) { ... }
 *     LOOP_TEST(name, begin, end) { ... }    runs for each _i from begin to end - 1
 *     FIXTURE(setup, teardown);              around each of the tests below it, up to the next one
 *     SECONDS(60);                           limit of each test of the file (4 by default)
 *     PREPARE(function);                     is called first; another result than 0 is the exit
 * code
 *
 * Tests run in the order of the file. A test that cannot run prints "skipped test: NAME: reason"
 * and returns. Exactly one file of a program includes this header.
 */
#pragma once
#include <assert.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct {
    Suite *suite;
    TCase *group; /* takes the next test */
    int (*prepare)(void);
    double seconds;
    TCase *groups[16];
    size_t group_count;
} unit;

static inline void unit_add_group(void (*setup)(void), void (*teardown)(void))
{
    /* "test_root" tests "root". */
    const char *name = program_invocation_short_name + strlen("test_");
    if (!unit.suite)
        unit.suite = suite_create(name);
    if (unit.group_count == sizeof unit.groups / sizeof *unit.groups)
        abort();
    unit.group = tcase_create(name);
    unit.groups[unit.group_count++] = unit.group;
    suite_add_tcase(unit.suite, unit.group);
    if (setup || teardown)
        tcase_add_checked_fixture(unit.group, setup, teardown);
}

static inline void unit_add_test(const TTest *test, int begin, int end)
{
    if (!unit.group)
        unit_add_group(NULL, NULL);
    tcase_add_loop_test(unit.group, test, begin, end);
}

/* The priority keeps the order of the lines; those up to 100 belong to the C library. */
#define UNIT_AT_START(name)                                                                        \
    __attribute__((constructor(101 + __LINE__))) static void unit_start_##name(void)
#define UNIT_AT_LINE_(line) UNIT_AT_START(line_##line)
#define UNIT_AT_LINE(line) UNIT_AT_LINE_(line)

#define LOOP_TEST(name, begin, end)                                                                \
    static const TTest *name;                                                                      \
    UNIT_AT_START(name)                                                                            \
    {                                                                                              \
        unit_add_test(name, begin, (int)(end));                                                    \
    }                                                                                              \
    START_TEST(name)

#define TEST(name) LOOP_TEST(name, 0, 1)

#define FIXTURE(setup, teardown)                                                                   \
    UNIT_AT_LINE(__LINE__)                                                                         \
    {                                                                                              \
        unit_add_group(setup, teardown);                                                           \
    }                                                                                              \
    static_assert(1, "")

#define SECONDS(limit)                                                                             \
    UNIT_AT_LINE(__LINE__)                                                                         \
    {                                                                                              \
        unit.seconds = limit;                                                                      \
    }                                                                                              \
    static_assert(1, "")

#define PREPARE(function)                                                                          \
    UNIT_AT_LINE(__LINE__)                                                                         \
    {                                                                                              \
        unit.prepare = function;                                                                   \
    }                                                                                              \
    static_assert(1, "")

int main(void)
{
    int code = unit.prepare ? unit.prepare() : 0;
    if (code)
        return code;
    for (size_t i = 0; unit.seconds > 0 && i < unit.group_count; i++)
        tcase_set_timeout(unit.groups[i], unit.seconds);
    SRunner *runner = srunner_create(unit.suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
