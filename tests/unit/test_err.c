/* Errors: messages, their codes, and what is cut from long ones. */
#include "config.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"
#include "unit.h"

LOOP_TEST(system_errors_have_the_code_of_their_errno, 0, 7)
{
    static const struct {
        int status;
        enum ath_error code;
        const char *message;
    } cases[] = {
        { -ENOENT, ATH_E_NOT_FOUND, "cannot read 'a': No such file or directory" },
        { -EACCES, ATH_E_NO_ACCESS, "cannot read 'a': Permission denied" },
        { -ENOSPC, ATH_E_NO_SPACE, "cannot read 'a': No space left on device" },
        { -EEXIST, ATH_E_EXISTS, "cannot read 'a': File exists" },
        { -EBUSY, ATH_E_BUSY, "cannot read 'a': Device or resource busy" },
        { -EOPNOTSUPP, ATH_E_UNSUPPORTED, "cannot read 'a': Operation not supported" },
        { -EIO, ATH_E_IO, "cannot read 'a': Input/output error" },
    };
    struct ath_err err = { .hint = "old" };
    ck_assert_int_eq(ath_err_system(&err, cases[_i].status, "cannot read '%s'", "a"),
                     cases[_i].status);
    ck_assert_int_eq(err.code, cases[_i].code);
    ck_assert_str_eq(err.message, cases[_i].message);
    ck_assert_str_eq(err.hint, "");
}

/* Paths may have PATH_MAX bytes, but a message has room for 1,023. */
TEST(long_messages_are_cut_at_the_end_of_the_buffer)
{
    struct ath_err err = { 0 };
    ath_auto_free char *path = ath_xalloc(4097);

    memset(path, 'p', 900);
    ath_err_system(&err, -EIO, "cannot read '%s'", path);
    ck_assert_uint_eq(strlen(err.message), strlen("cannot read '': Input/output error") + 900);
    ck_assert_ptr_nonnull(strstr(err.message, "p': Input/output error"));

    memset(path, 'p', 4096);
    ath_err_system(&err, -EIO, "cannot read '%s'", path);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
    ath_err_set(&err, -EIO, ATH_E_IO, "cannot read '%s'", path);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
}

TEST(context_stands_before_the_message)
{
    struct ath_err err = { 0 };
    ath_err_set(&err, -EIO, ATH_E_IO, "it failed");
    ath_err_hint(&err, -EIO, "try %s", "again");
    ck_assert_int_eq(ath_err_wrap(&err, -EIO, "step %d", 2), -EIO);
    ck_assert_str_eq(err.message, "step 2: it failed");
    ck_assert_str_eq(err.hint, "try again");
}

TEST(appended_text_stands_behind_the_message)
{
    struct ath_err err = { 0 };
    ath_err_set(&err, -EIO, ATH_E_IO, "it failed");
    ck_assert_int_eq(ath_err_append(&err, -EIO, "; step %d too", 2), -EIO);
    ck_assert_str_eq(err.message, "it failed; step 2 too");

    for (int i = 0; i < 200; i++)
        ath_err_append(&err, -EIO, "0123456789");
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
}

TEST(the_error_may_be_null)
{
    struct ath_err err = { .code = ATH_E_IO, .message = "it failed", .hint = "try again" };
    struct ath_err copy = { 0 };

    ck_assert_int_eq(ath_err_set(NULL, -EIO, ATH_E_IO, "it failed"), -EIO);
    ck_assert_int_eq(ath_err_system(NULL, -ENOENT, "cannot read '%s'", "a"), -ENOENT);
    ck_assert_int_eq(ath_err_hint(NULL, -EIO, "try again"), -EIO);
    ck_assert_int_eq(ath_err_wrap(NULL, -EIO, "step %d", 2), -EIO);
    ck_assert_int_eq(ath_err_append(NULL, -EIO, "; step %d", 2), -EIO);
    ath_err_copy(NULL, &err);
    ath_err_copy(&copy, &err);
    ck_assert_int_eq(copy.code, ATH_E_IO);
    ck_assert_str_eq(copy.message, "it failed");
    ck_assert_str_eq(copy.hint, "try again");
}

TEST(every_code_has_a_word_and_a_meaning)
{
    for (int code = ATH_E_NONE; code < ATH_E_COUNT; code++) {
        ck_assert_str_ne(ath_error_word((enum ath_error)code), "");
        ck_assert_str_ne(ath_error_meaning((enum ath_error)code), "");
    }
    ck_assert_str_eq(ath_error_word(ATH_E_COUNT), "unknown");
}
