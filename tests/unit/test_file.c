/* Files are replaced whole, and two writers do not meet. */
#include "config.h"

#include "base/file.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"

static struct tree tree;
static struct ath_err err;

static void setup(void)
{
    tree_make(&tree);
    err = (struct ath_err){ 0 };
}

static void teardown(void)
{
    tree_remove(&tree);
}

/* The path of a file in the tree; the caller frees it. */
static char *path_of(const char *name)
{
    return ath_xasprintf("%s/%s", tree.path, name);
}

static void expect_file(const char *path, const char *expected)
{
    size_t length;
    ath_auto_free char *text = NULL;
    ck_assert_int_eq(ath_file_read(path, 1 << 20, &text, &length, &err), 0);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(length, strlen(expected));
}

START_TEST(saves_and_reads)
{
    ath_auto_free char *path = path_of("a.yaml");
    ath_auto_free char *left = path_of(".a.yaml.new");
    struct stat status;

    ck_assert_int_eq(ath_file_save(path, "one", 3, &err), 0);
    expect_file(path, "one");
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0644);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(ath_file_save(path, "", 0, &err), 0);
    expect_file(path, "");
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0640);
    ck_assert_int_ne(access(left, F_OK), 0);
}
END_TEST

START_TEST(follows_a_link)
{
    ath_auto_free char *link = path_of("link.yaml");
    ath_auto_free char *real = path_of("real.yaml");
    struct stat status;

    tree_put(&tree, "old", "real.yaml");
    ck_assert_int_eq(symlink("real.yaml", link), 0);
    ck_assert_int_eq(ath_file_save(link, "new", 3, &err), 0);
    expect_file(real, "new");
    ck_assert_int_eq(lstat(link, &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
}
END_TEST

START_TEST(follows_a_link_that_leads_nowhere_yet)
{
    ath_auto_free char *link = path_of("link.yaml");
    ath_auto_free char *real = path_of("folder/real.yaml");
    struct stat status;

    tree_put(&tree, "", "folder/other");
    ck_assert_int_eq(symlink("folder/real.yaml", link), 0);
    ck_assert_int_eq(ath_file_save(link, "new", 3, &err), 0);
    expect_file(real, "new");
    ck_assert_int_eq(lstat(link, &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
}
END_TEST

/* As in a container with `docker run -v FILE:FILE`. */
START_TEST(says_what_to_do_about_a_mounted_file)
{
    ath_auto_free char *path = path_of("a.yaml");

    if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL)) {
        puts("skipped test: says_what_to_do_about_a_mounted_file: only root may mount");
        return;
    }
    tree_put(&tree, "old", "a.yaml");
    ck_assert_int_eq(mount(path, path, "none", MS_BIND, NULL), 0);
    ck_assert_int_eq(ath_file_save(path, "new", 3, &err), -EBUSY);
    ck_assert_ptr_nonnull(strstr(err.hint, "folder"));
    expect_file(path, "old");
    ck_assert_int_eq(umount(path), 0);
}
END_TEST

START_TEST(changes_nothing_where_the_folder_cannot_be_synced)
{
    ath_auto_free char *path = path_of("folder/a.yaml");
    ath_auto_free char *folder = path_of("folder");
    struct stat status;

    if (!geteuid()) {
        puts("skipped test: changes_nothing_where_the_folder_cannot_be_synced: root may open every "
             "folder");
        return;
    }
    tree_put(&tree, "old", "folder/a.yaml");
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(chmod(folder, 0300), 0);
    ck_assert_int_eq(ath_file_save(path, "new", 3, &err), -EACCES);
    ck_assert_int_eq(chmod(folder, 0700), 0);
    expect_file(path, "old");
}
END_TEST

START_TEST(keeps_the_old_file_when_there_is_no_room)
{
    ath_auto_free char *path = path_of("a.yaml");
    ath_auto_free char *left = path_of(".a.yaml.new");
    char data[8192];
    struct rlimit limit = { 4096, 4096 };

    memset(data, 'x', sizeof data);
    tree_put(&tree, "old", "a.yaml");
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_lt(ath_file_save(path, data, sizeof data, &err), 0);
    expect_file(path, "old");
    ck_assert_int_ne(access(left, F_OK), 0);
    ck_assert_ptr_nonnull(strstr(err.message, "a.yaml'"));
}
END_TEST

START_TEST(refuses_what_is_no_plain_file)
{
    ath_auto_free char *fifo = path_of("fifo");
    ath_auto_free char *large = path_of("large");
    ath_auto_free char *missing = path_of("missing");
    char *text = NULL;
    size_t length;

    ck_assert_int_eq(mkfifo(fifo, 0644), 0);
    tree_put(&tree, "12345", "large");
    ck_assert_int_lt(ath_file_read(fifo, 100, &text, &length, &err), 0);
    ck_assert_int_eq(ath_file_read(large, 4, &text, &length, &err), -EFBIG);
    ck_assert_int_eq(ath_file_read(missing, 4, &text, &length, &err), -ENOENT);
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    ck_assert_int_lt(ath_file_read(tree.path, 4, &text, &length, &err), 0);
    ck_assert_ptr_null(text);
}
END_TEST

START_TEST(locks_out_a_second_writer)
{
    ath_auto_free char *path = path_of("deep/er/a.yaml");
    int first = -1, second = -1;

    ck_assert_int_eq(ath_file_lock(path, 0, &first, &err), 0);
    ck_assert_int_eq(ath_file_lock(path, 50, &second, &err), -EAGAIN);
    ck_assert_int_eq(err.code, ATH_E_LOCKED);
    ck_assert_uint_gt(strlen(err.hint), 0);
    close(first);
    ck_assert_int_eq(ath_file_lock(path, 0, &second, &err), 0);
    close(second);
}
END_TEST

/* A reader sees the old or the new text whenever the writer is killed. */
START_TEST(survives_being_killed)
{
    ath_auto_free char *path = path_of("a.yaml");
    char data[65536];

    memset(data, 'a', sizeof data);
    ck_assert_int_eq(ath_file_save(path, data, sizeof data, &err), 0);
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        if (child == 0)
            for (int i = 0;; i++) {
                memset(data, 'a' + i % 26, sizeof data);
                ath_file_save(path, data, sizeof data, &err);
            }
        usleep(3000u + (unsigned int)round * 500u);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);

        size_t length;
        ath_auto_free char *text = NULL;
        ck_assert_int_eq(ath_file_read(path, 1 << 20, &text, &length, &err), 0);
        ck_assert_uint_eq(length, sizeof data);
        ck_assert_uint_eq(strspn(text, (char[]){ text[0], '\0' }), sizeof data);
    }
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("file");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, saves_and_reads);
    tcase_add_test(cases, follows_a_link);
    tcase_add_test(cases, follows_a_link_that_leads_nowhere_yet);
    tcase_add_test(cases, says_what_to_do_about_a_mounted_file);
    tcase_add_test(cases, changes_nothing_where_the_folder_cannot_be_synced);
    tcase_add_test(cases, keeps_the_old_file_when_there_is_no_room);
    tcase_add_test(cases, refuses_what_is_no_plain_file);
    tcase_add_test(cases, locks_out_a_second_writer);
    tcase_add_test(cases, survives_being_killed);
    return run_case(cases, "file");
}
