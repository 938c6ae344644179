/* Saving: whole files, one writer at a time, no lost changes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "config/edit.h"
#include "documents.h"
#include "unit.h"

static char folder[] = "/tmp/aitherion-save-XXXXXX";
static char path[64];

static void make_folder(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/topology.yaml", folder);
}

static void remove_folder(void)
{
    ath_auto_free char *command = ath_xasprintf("rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *text)
{
    struct ath_err err = { 0 };
    ck_assert_msg(!ath_file_save(path, text, strlen(text), &err), "%s", err.message);
}

static void expect_file(const char *expected)
{
    ath_auto_free char *text = NULL;
    size_t length;
    struct ath_err err = { 0 };
    ck_assert_int_eq(ath_file_read(path, ATH_YAML_BYTES_MAX, &text, &length, &err), 0);
    ck_assert_str_eq(text, expected);
}

static int load(struct ath_document *out, struct ath_err *err)
{
    ATH_AUTO(ath_faults) faults = { 0 };
    return ath_document_load(path, out, &faults, err);
}

static int open_locked(int timeout_ms, struct ath_document *out, struct ath_err *err)
{
    ATH_AUTO(ath_faults) faults = { 0 };
    return ath_document_open(path, timeout_ms, out, &faults, err);
}

SECONDS(120);
FIXTURE(make_folder, remove_folder);

TEST(a_change_is_saved_and_the_mode_kept)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    struct stat status;
    write_file("# mine\n" MINIMAL);
    ck_assert_int_eq(chmod(path, 0640), 0);

    ck_assert_int_eq(load(&document, &err), 0);
    ck_assert(!ath_document_is_changed(&document));
    ck_assert_int_eq(ath_document_set(&document, "key_file", "/k", &err), 0);
    ck_assert(ath_document_is_changed(&document));
    ck_assert_int_eq(ath_document_save(&document, &err), 0);
    ck_assert(!ath_document_is_changed(&document));
    expect_file("# mine\n" MINIMAL "key_file: /k\n");
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, 0640);
    ck_assert_int_eq(ath_document_set(&document, "key_file", "/l", &err), 0);
    ck_assert_int_eq(ath_document_save(&document, &err), 0);
    expect_file("# mine\n" MINIMAL "key_file: /l\n");
}

TEST(nothing_changed_is_not_written)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    struct stat before, after;
    write_file(MINIMAL "key_file: /k\n");
    ck_assert_int_eq(stat(path, &before), 0);
    ck_assert_int_eq(load(&document, &err), 0);
    ck_assert_int_eq(ath_document_set(&document, "key_file", "/k", &err), 0);
    ck_assert_int_eq(ath_document_save(&document, &err), 0);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
}

TEST(a_change_by_another_program_is_not_overwritten)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    write_file(MINIMAL);
    ck_assert_int_eq(load(&document, &err), 0);
    ck_assert_int_eq(ath_document_set(&document, "key_file", "/k", &err), 0);
    write_file(MINIMAL "# by an editor\n");
    ck_assert_int_eq(ath_document_save(&document, &err), -ESTALE);
    ck_assert_int_eq(err.code, ATH_E_DOCUMENT_CHANGED);
    expect_file(MINIMAL "# by an editor\n");

    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(ath_document_save(&document, &err), 0);
    expect_file(MINIMAL "key_file: /k\n");
}

TEST(a_symbolic_link_is_followed_and_kept)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    struct stat status;
    ath_auto_free char *target = ath_xasprintf("%s/real.yaml", folder);
    write_file(MINIMAL);
    ck_assert_int_eq(rename(path, target), 0);
    ck_assert_int_eq(symlink("real.yaml", path), 0);
    ck_assert_int_eq(load(&document, &err), 0);
    ck_assert_int_eq(ath_document_set(&document, "key_file", "/k", &err), 0);
    ck_assert_int_eq(ath_document_save(&document, &err), 0);
    ck_assert_int_eq(lstat(path, &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
    expect_file(MINIMAL "key_file: /k\n");
}

/* Runs in a child: holds the lock until a byte or the end arrives in the pipe. */
static void hold_lock(int ready, int go)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    char byte = 0;
    if (open_locked(0, &document, &err) || write(ready, "r", 1) != 1)
        _exit(1);
    (void)!read(go, &byte, 1);
    if (ath_document_set(&document, "numa.0.memory_percent", "55", &err) ||
        ath_document_save(&document, &err))
        _exit(2);
    ath_document_free(&document);
    _exit(0);
}

TEST(a_second_writer_waits_or_gets_an_error)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    int ready[2], go[2], status;
    char byte;
    write_file(MINIMAL);
    ck_assert(!pipe(ready) && !pipe(go));
    pid_t child = fork();
    if (!child)
        hold_lock(ready[1], go[0]);

    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(open_locked(50, &document, &err), -EAGAIN);
    ck_assert_int_eq(err.code, ATH_E_LOCKED);
    ck_assert_ptr_null(document.text);

    ck_assert_int_eq(write(go[1], "g", 1), 1);
    ck_assert_int_eq(open_locked(20000, &document, &err), 0);
    ck_assert_double_eq(document.numa.items[0].memory_percent, 55);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

/* Several processes increment a number, and no increment is lost. */
enum { WRITERS = 4, ROUNDS = 25 };

static void count_up(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        ATH_AUTO(ath_document) document = { 0 };
        struct ath_err err = { 0 };
        if (open_locked(60000, &document, &err))
            _exit(1);
        ath_auto_free char *next = ath_xasprintf("%d", document.numa.items[0].node + 1);
        if (ath_document_set(&document, "numa.0.node", next, &err) ||
            ath_document_save(&document, &err))
            _exit(2);
    }
    _exit(0);
}

TEST(no_change_is_lost_between_processes)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    write_file(MINIMAL);
    for (int i = 0; i < WRITERS; i++)
        if (!fork())
            count_up();
    for (int i = 0, status; i < WRITERS; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(load(&document, &err), 0);
    ck_assert_int_eq(document.numa.items[0].node, WRITERS * ROUNDS);
}

TEST(opening_a_missing_document_makes_no_folder)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    struct stat status;
    ath_auto_free char *below = ath_xasprintf("%s/no/such", folder);
    snprintf(path, sizeof path, "%s/t.yaml", below);
    ck_assert_int_eq(open_locked(0, &document, &err), -ENOENT);
    ck_assert_int_eq(err.code, ATH_E_DOCUMENT_MISSING);
    ck_assert_int_lt(stat(below, &status), 0);
}

TEST(opening_a_faulty_document_releases_the_lock)
{
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    write_file("x: 1\n");
    ck_assert_int_eq(open_locked(0, &document, &err), -EINVAL);
    write_file(MINIMAL);
    ck_assert_int_eq(open_locked(0, &document, &err), 0);
}

TEST(a_new_document_does_not_replace_an_old_one)
{
    struct ath_err err = { 0 };
    snprintf(path, sizeof path, "%s/a/b/t.yaml", folder);
    ck_assert_int_eq(ath_document_create(path, MINIMAL, false, &err), 0);
    expect_file(MINIMAL);
    ck_assert_int_eq(ath_document_create(path, "x: 1\n", false, &err), -EEXIST);
    ck_assert_int_eq(err.code, ATH_E_EXISTS);
    expect_file(MINIMAL);
    ck_assert_int_eq(ath_document_create(path, MINIMAL "# new\n", true, &err), 0);
    expect_file(MINIMAL "# new\n");
}
