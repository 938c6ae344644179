/* The end of a server that no program uses: looks at a file that users lock. */
#include "config.h"

#include "runtime/unused.h"

#include <fcntl.h>
#include <sys/file.h>

#include "tree.h"
#include "unit.h"

enum { LOOKS = 3 }; /* in a row, that find no user */

static struct tree tree;
static char path[96];
static struct ath_unused unused;

static void setup(void)
{
    tree_make(&tree);
    snprintf(path, sizeof path, "%s/users", tree.path);
    ck_assert_int_eq(ath_unused_open(path, &unused, NULL), 0);
}

static void teardown(void)
{
    close(unused.fd);
    tree_remove(&tree);
}

/* A look after the time between two. */
static bool look(bool has_sessions)
{
    unused.since_ms = 0;
    return ath_unused_is_over(&unused, has_sessions);
}

static int use(void)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(flock(fd, LOCK_SH | LOCK_NB), 0);
    return fd;
}

FIXTURE(setup, teardown);

TEST(it_is_over_after_some_looks)
{
    for (int i = 1; i < LOOKS; i++)
        ck_assert(!look(false));
    close(use()); /* a look leaves no lock */
    ck_assert(look(false));
    int late = open(path, O_RDWR | O_CLOEXEC); /* the last one does */
    ck_assert_int_ne(flock(late, LOCK_SH | LOCK_NB), 0);
    close(late);
}

TEST(a_user_begins_the_looks_again)
{
    for (int i = 1; i < LOOKS; i++)
        ck_assert(!look(false));
    int user = use();
    for (int i = 0; i < 2 * LOOKS; i++)
        ck_assert(!look(false));
    close(user);
    for (int i = 1; i < LOOKS; i++)
        ck_assert(!look(false));
    ck_assert(look(false));
}

TEST(sessions_begin_the_looks_again)
{
    for (int i = 1; i < LOOKS; i++)
        ck_assert(!look(false));
    for (int i = 0; i < 2 * LOOKS; i++)
        ck_assert(!look(true));
    for (int i = 1; i < LOOKS; i++)
        ck_assert(!look(false));
    ck_assert(look(false));
}

TEST(looks_are_some_time_apart)
{
    ck_assert(!look(false));
    for (int i = 0; i < 10 * LOOKS; i++)
        ck_assert(!ath_unused_is_over(&unused, false));
    ck_assert_int_eq(unused.looks, 1);
    ck_assert_uint_gt(unused.since_ms, 0);
}

TEST(a_server_without_a_file_serves_on)
{
    struct ath_unused none;
    ck_assert_int_eq(ath_unused_open(NULL, &none, NULL), 0);
    ck_assert_int_eq(none.fd, -1);
    for (int i = 0; i < 2 * LOOKS; i++) {
        none.since_ms = 0;
        ck_assert(!ath_unused_is_over(&none, false));
    }
}

TEST(a_file_that_cannot_be_opened_is_an_error)
{
    struct ath_unused none;
    struct ath_err err = { 0 };
    ck_assert_int_lt(ath_unused_open(tree.path, &none, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.message, tree.path));
    tree_link(&tree, "users", "link"); /* another user's link leads anywhere */
    snprintf(path, sizeof path, "%s/link", tree.path);
    ck_assert_int_lt(ath_unused_open(path, &none, &err), 0);
}
