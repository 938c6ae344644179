/* Archives checked with tar itself: their contents, their size, reading in pieces of every size. */
#include "config.h"

#include "container/image/tar.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "container/image/digest.h"
#include "tree.h"
#include "unit.h"

static struct tree tree;

static void make_tree(void)
{
    tree_make(&tree);
}

static void remove_tree(void)
{
    tree_remove(&tree);
}

/* Reads the whole archive in pieces of step bytes. */
static void read_all(const struct ath_tar *tar, size_t step, struct ath_text *out)
{
    struct ath_tar_reader reader = { .tar = tar };
    char piece[4096];
    struct ath_err err = { 0 };
    ssize_t got;

    while ((got = ath_tar_read(&reader, piece, step, &err)) > 0)
        ath_text_add_bytes(out, piece, (size_t)got);
    ck_assert_msg(!got, "%s", err.message);
    ck_assert_int_eq(reader.read_bytes, (int64_t)out->length);
    ck_assert_int_eq(ath_tar_read(&reader, piece, step, &err), 0);
    ath_tar_reader_free(&reader);
}

/* Returns the output of `tar` with arguments for the archive. */
static char *ask_tar(const struct ath_tar *tar, const char *arguments)
{
    ATH_AUTO(ath_text) archive = { 0 }, said = { 0 };
    ath_auto_free char *path = ath_xasprintf("%s/archive.tar", tree.path);
    ath_auto_free char *command =
        ath_xasprintf("LC_ALL=C.UTF-8 TZ=UTC tar -f %s %s 2>&1", path, arguments);
    char piece[4096];
    size_t got;

    read_all(tar, sizeof piece, &archive);
    ck_assert_int_eq((int64_t)archive.length, ath_tar_size(tar));
    tree_put_bytes(path, archive.data, archive.length);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    while ((got = fread(piece, 1, sizeof piece, pipe)) > 0)
        ath_text_add_bytes(&said, piece, got);
    ck_assert_int_eq(pclose(pipe), 0);
    return ath_text_take(&said);
}

FIXTURE(make_tree, remove_tree);

TEST(empty_archive_is_two_blocks)
{
    struct ath_tar tar = { 0 };
    ath_auto_free char *said = ask_tar(&tar, "-t");
    ck_assert_str_eq(said, "");
    ck_assert_int_eq(ath_tar_size(&tar), 1024);
}

TEST(tar_reads_each_kind)
{
    ATH_AUTO(ath_tar) tar = { 0 };

    ath_tar_add_folder(&tar, "a", 01777);
    ath_tar_add_bytes(&tar, "a/text", 0644, "hello\n", 6);
    ath_tar_add_bytes(&tar, "a/none", 0600, "", 0);
    ath_tar_add_link(&tar, "l", "a/text");
    ath_auto_free char *said = ask_tar(&tar, "-tv --full-time --numeric-owner");
    ck_assert_str_eq(said, "drwxrwxrwt 0/0               0 1970-01-01 00:00:00 a/\n"
                           "-rw-r--r-- 0/0               6 1970-01-01 00:00:00 a/text\n"
                           "-rw------- 0/0               0 1970-01-01 00:00:00 a/none\n"
                           "lrwxrwxrwx 0/0               0 1970-01-01 00:00:00 l -> a/text\n");
    ath_auto_free char *text = ask_tar(&tar, "-xO a/text");
    ck_assert_str_eq(text, "hello\n");
}

/* Names around the 100 bytes of ustar, and beyond ASCII. */
TEST(keeps_long_and_foreign_names)
{
    ATH_AUTO(ath_tar) tar = { 0 };
    char name[400];
    size_t lengths[] = { 99, 100, 101, 255, 399 };

    for (size_t i = 0; i < ATH_COUNT(lengths); i++) {
        memset(name, 'n', lengths[i]);
        name[lengths[i]] = '\0';
        ath_tar_add_bytes(&tar, name, 0644, "x", 1);
        name[0] = 'l';
        ath_tar_add_link(&tar, name, name);
        name[0] = 'f';
        ath_tar_add_folder(&tar, name, 0755);
    }
    ath_tar_add_bytes(&tar, "节点/ä", 0644, "x", 1);
    ath_auto_free char *said = ask_tar(&tar, "-tv --quoting-style=literal");
    char *line = said;
    for (size_t i = 0; i < ATH_COUNT(lengths); i++) {
        memset(name, 'n', lengths[i]);
        name[lengths[i]] = '\0';
        char *next = strsep(&line, "\n");
        ck_assert_str_eq(strrchr(next, ' ') + 1, name);
        next = strsep(&line, "\n");
        name[0] = 'l';
        ck_assert_str_eq(strrchr(next, ' ') + 1, name);
        ck_assert_ptr_nonnull(strstr(next, " -> "));
        next = strsep(&line, "\n");
        ck_assert_uint_eq(strlen(strrchr(next, ' ') + 1), lengths[i] + 1);
    }
    ck_assert_str_eq(strrchr(strsep(&line, "\n"), ' ') + 1, "节点/ä");
}

/* A size beyond ustar's eleven octal digits. The file of 8 GiB is never read. */
TEST(counts_large_files)
{
    ATH_AUTO(ath_tar) tar = { 0 };
    struct ath_tar_reader reader = { .tar = &tar };
    char head[2048];
    struct ath_err err;
    const int64_t size = INT64_C(8) << 30;

    ath_tar_add_file(&tar, "large", 0644, NULL, "/nonexistent", size);
    ck_assert_int_eq(ath_tar_size(&tar), 3 * 512 + size + 1024);
    ck_assert_int_eq(ath_tar_read(&reader, head, 3 * 512, &err), 3 * 512);
    ck_assert_int_eq(head[156], 'x');
    ck_assert_mem_eq(head + 512, "19 size=8589934592\n", 19);
    ck_assert_int_eq(ath_tar_read(&reader, head, 512, &err), -ENOENT);
    ath_tar_reader_free(&reader);
}

static void make_nested(struct ath_tar *inner, struct ath_tar *outer)
{
    char path[128];
    tree_put(&tree, "from a file\n", "file");
    snprintf(path, sizeof path, "%s/file", tree.path);
    ath_tar_add_file(inner, "file", 0644, NULL, path, 12);
    ath_tar_add_bytes(inner, "bytes", 0644, "from memory\n", 12);
    ath_tar_add_bytes(outer, "before", 0644, "1", 1);
    ath_tar_add_tar(outer, "inner.tar", 0644, inner);
    ath_tar_add_bytes(outer, "behind", 0644, "2", 1);
}

TEST(tar_reads_a_nested_archive)
{
    ATH_AUTO(ath_tar) inner = { 0 }, outer = { 0 };

    make_nested(&inner, &outer);
    ath_auto_free char *said = ask_tar(&outer, "-xO inner.tar | tar -xOf -");
    ck_assert_str_eq(said, "from a file\nfrom memory\n");
    ath_auto_free char *list = ask_tar(&outer, "-t");
    ck_assert_str_eq(list, "before\ninner.tar\nbehind\n");
}

LOOP_TEST(reads_in_pieces_of_any_size, 0, 5)
{
    static const size_t steps[] = { 1, 7, 511, 513, 1000 };
    ATH_AUTO(ath_tar) inner = { 0 }, outer = { 0 };
    ATH_AUTO(ath_text) whole = { 0 }, pieces = { 0 };

    make_nested(&inner, &outer);
    read_all(&outer, 4096, &whole);
    read_all(&outer, steps[_i], &pieces);
    ck_assert_uint_eq(pieces.length, whole.length);
    ck_assert_mem_eq(pieces.data, whole.data, whole.length);
}

/* A file that grew, shrank or disappeared since it was added. */
LOOP_TEST(notices_changed_files, 0, 3)
{
    static const char *const contents[] = { "longer than it was\n", "short\n", NULL };
    ATH_AUTO(ath_tar) inner = { 0 }, outer = { 0 };
    ath_auto_free char *path = ath_xasprintf("%s/file", tree.path);
    char piece[16384];
    struct ath_err err;

    make_nested(&inner, &outer);
    struct ath_tar_reader reader = { .tar = &outer };
    if (contents[_i])
        tree_put(&tree, contents[_i], "file");
    else
        unlink(path);
    ck_assert_int_eq(ath_tar_read(&reader, piece, sizeof piece, &err),
                     contents[_i] ? -EIO : -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.message, path));
    ath_tar_reader_free(&reader);
}

/* SHA-256 of "abc" in two pieces, an example of FIPS 180-4, and of nothing. */
TEST(digests_are_those_of_the_standard)
{
    struct ath_digest digest;
    struct ath_err err;
    char text[ATH_DIGEST_TEXT];

    ck_assert_int_eq(ath_digest_begin(&digest, &err), 0);
    ath_digest_add(&digest, "a", 1);
    ath_digest_add(&digest, "bc", 2);
    ath_digest_end(&digest, text);
    ck_assert_str_eq(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    ck_assert_int_eq(ath_digest_begin(&digest, &err), 0);
    ath_digest_end(&digest, text);
    ck_assert_str_eq(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
