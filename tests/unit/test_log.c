/* The levels of logs: their names, and which one the environment asks for. */
#include "config.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

TEST(reads_the_name_of_each_level)
{
    enum ath_level level;
    struct ath_err err;
    for (int i = 0; i < ATH_LEVEL_COUNT; i++) {
        level = ATH_LEVEL_COUNT;
        ck_assert_int_eq(ath_level_read("--log-level", ath_level_names[i], &level, &err), 0);
        ck_assert_int_eq(level, i);
    }
    ck_assert_ptr_null(ath_level_names[ATH_LEVEL_COUNT]);
}

TEST(a_wrong_level_names_all_levels)
{
    enum ath_level level = ATH_LEVEL_COUNT;
    struct ath_err err = { 0 };
    ck_assert_int_eq(ath_level_read("--log-level", "warn", &level, &err), -EINVAL);
    ck_assert_int_eq(level, ATH_LEVEL_COUNT);
    ck_assert_int_eq(err.code, ATH_E_USAGE);
    ck_assert_ptr_nonnull(strstr(err.message, "--log-level is 'warn'"));
    for (int i = 0; i < ATH_LEVEL_COUNT; i++)
        ck_assert_ptr_nonnull(strstr(err.message, ath_level_names[i]));
    ck_assert_int_eq(ath_level_read("--log-level", "debugg", &level, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.hint, "'debug'"));
    ck_assert_int_eq(ath_level_read("--log-level", "", &level, &err), -EINVAL);
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, true);
    else
        unsetenv(name);
}

LOOP_TEST(takes_the_level_of_the_environment, 0, 8)
{
    static const struct {
        const char *now, *older;
        int level; /* negative: refused */
    } cases[] = {
        { NULL, NULL, ATH_LOG_NORMAL },        { "", "", ATH_LOG_NORMAL },
        { "error", NULL, ATH_LOG_QUIET },      { "debug", "error", ATH_LOG_DEBUG },
        { NULL, "info", ATH_LOG_VERBOSE },     { "", "warning", ATH_LOG_NORMAL },
        { "warning", "loud", ATH_LOG_NORMAL }, { "loud", "info", -EINVAL },
    };
    enum ath_log_level level = (enum ath_log_level)ATH_LEVEL_COUNT;
    struct ath_err err = { 0 };
    set("AITHERION_LOG_LEVEL", cases[_i].now);
    set("AITHERION_LOG", cases[_i].older);
    int status = ath_log_level_of_environment(&level, &err);
    ck_assert_int_eq(status, cases[_i].level < 0 ? cases[_i].level : 0);
    if (!status)
        ck_assert_int_eq(level, cases[_i].level);
    else
        ck_assert_ptr_nonnull(strstr(err.message, "AITHERION_LOG_LEVEL is 'loud'"));
    set("AITHERION_LOG_LEVEL", NULL);
    set("AITHERION_LOG", NULL);
}

/* Unit tests with sanitizers run in one process, so the level is set back. */
TEST(has_the_messages_of_a_level_and_of_those_before_it)
{
    for (int set_level = ATH_LOG_QUIET; set_level <= ATH_LOG_DEBUG; set_level++) {
        ath_log_set_level((enum ath_log_level)set_level);
        for (int level = ATH_LOG_QUIET; level <= ATH_LOG_DEBUG; level++)
            ck_assert_int_eq(ath_log_has((enum ath_log_level)level), level <= set_level);
    }
    ath_log_set_level(ATH_LOG_NORMAL);
}
