/* Captured roots: facts are read, and a hostile root neither hangs us nor leads outside. */
#include "config.h"

#include "base/root.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/pcidev.h"
#include "tree.h"
#include "unit.h"

static struct tree tree;
static struct ath_root root;

static void setup(void)
{
    struct ath_err err;
    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
}

static void teardown(void)
{
    ath_root_free(&root);
    tree_remove(&tree);
}

static void expect_text(const char *path, const char *expected)
{
    ath_auto_free char *text = ath_root_read(&root, "%s", path);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, expected);
}

static void expect_nothing(const char *path)
{
    ath_auto_free char *text = ath_root_read(&root, "%s", path);
    ck_assert_msg(!text, "'%s' gave '%s'", path, text);
}

FIXTURE(setup, teardown);

/* The memory of a process is a file that can be opened, and whose first byte cannot be read. */
TEST(a_file_that_cannot_be_read_gives_nothing)
{
    struct ath_root whole;
    struct ath_err err;
    ck_assert_int_eq(ath_root_open("/", &whole, &err), 0);
    errno = 0;
    ck_assert_ptr_null(ath_root_read(&whole, "proc/self/mem"));
    ck_assert_int_eq(errno, EIO);
    ath_root_free(&whole);
}

TEST(trims_blanks_and_newlines)
{
    tree_put(&tree, "100000\n", "speed");
    tree_put(&tree, "", "empty");
    tree_put(&tree, " 1 \n\n", "blanks");
    tree_put_bytes(strcat(strcpy((char[128]){ 0 }, tree.path), "/model"), "8335-GTW\0", 9);
    expect_text("speed", "100000");
    expect_text("empty", "");
    expect_text("blanks", " 1");
    expect_text("model", "8335-GTW");
    expect_nothing("missing");
}

TEST(reads_numbers_strictly)
{
    static const struct {
        const char *text;
        int64_t expected;
    } rows[] = { { "0x030200\n", 0x30200 },
                 { "-1\n", -1 },
                 { "42", 42 },
                 { "4x", -7 },
                 { "", -7 },
                 { "- 1", -7 },
                 { "+1", -7 },
                 { "--1", -7 },
                 { "99999999999999999999", -7 },
                 { "1\n2\n", -7 } };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        tree_put(&tree, rows[i].text, "number");
        ck_assert_int_eq(ath_root_read_number(&root, -7, "number"), rows[i].expected);
    }
    ck_assert_int_eq(ath_root_read_number(&root, -7, "none"), -7);
}

/* openat2() refuses O_PATH together with other flags; because of that these two functions once
 * found nothing in captures. */
TEST(sees_links_and_existence)
{
    tree_put(&tree, "x", "sys/devices/pci0000:00/0000:00:03.0/class");
    tree_link(&tree, "../../devices/pci0000:00/0000:00:03.0", "sys/bus/pci/it");
    ck_assert(ath_root_exists(&root, "sys/devices/%s", "pci0000:00"));
    ck_assert(!ath_root_exists(&root, "sys/nothing"));
    ath_auto_free char *link = ath_root_link(&root, "sys/bus/pci/it");
    ck_assert_ptr_nonnull(link);
    ck_assert_str_eq(link, "../../devices/pci0000:00/0000:00:03.0");
    ck_assert_ptr_null(ath_root_link(&root, "sys/devices"));
}

/* This must also hold without openat2(), which valgrind and qemu-user lack: the test runs under
 * both. */
TEST(stays_inside)
{
    struct tree outside;
    char target[128];
    tree_make(&outside);
    tree_put(&outside, "secret", "secret");
    tree_put(&tree, "inside", "etc/name");
    snprintf(target, sizeof target, "%s/secret", outside.path);
    tree_link(&tree, target, "absolute");
    snprintf(target, sizeof target, "../..%s/secret", outside.path);
    tree_link(&tree, target, "relative");
    tree_link(&tree, "/etc/name", "own");
    tree_link(&tree, "../../../..", "sys/class/up");
    tree_link(&tree, "./up//etc/../own", "sys/class/far");
    expect_nothing("absolute");
    expect_nothing("relative");
    expect_nothing("sys/class/none/own");
    expect_nothing("sys/class/none/../far");
    expect_nothing("own/../etc/name");
    ck_assert(!ath_root_exists(&root, "own/."));
    ck_assert(ath_root_exists(&root, "sys/class/."));
    expect_text("own", "inside");
    expect_text("../own", "inside");
    expect_text("sys/class/up/own", "inside");
    expect_text("sys/class/far", "inside");
    ath_auto_free char *link = ath_root_link(&root, "sys/class/up/own");
    ck_assert_ptr_nonnull(link);
    ck_assert_str_eq(link, "/etc/name");
    tree_remove(&outside);
}

TEST(does_not_hang_on_odd_files)
{
    char path[128];
    snprintf(path, sizeof path, "%s/fifo", tree.path);
    ck_assert_int_eq(mkfifo(path, 0644), 0);
    tree_link(&tree, "loop-b", "loop-a");
    tree_link(&tree, "loop-a", "loop-b");
    tree_folder(&tree, "folder");
    expect_nothing("fifo");
    expect_nothing("loop-a");
    expect_nothing("folder");
    ck_assert(!ath_root_exists(&root, "loop-a"));
}

TEST(reads_no_more_than_a_mebibyte)
{
    size_t size = 8 << 20, length = 0;
    ath_auto_free char *text = ath_xalloc(size + 1);
    memset(text, 'x', size);
    tree_put(&tree, text, "large");
    ath_auto_free uint8_t *bytes = ath_root_read_bytes(&root, "large", &length);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_ge(length, 1 << 20);
    ck_assert_uint_le(length, (1 << 20) + 65536);
}

TEST(lists_by_number)
{
    static const char *const expected[] = { "node8", "node10", "node250" };
    char **names;
    size_t count;
    tree_folder(&tree, "n/node250");
    tree_folder(&tree, "n/node10");
    tree_folder(&tree, "n/node8");
    ck_assert_int_eq(ath_root_list(&root, "n", &names, &count), 0);
    ck_assert_uint_eq(count, ATH_COUNT(expected));
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(names[i], expected[i]);
    ath_names_free(names, count);
    ck_assert_int_eq(ath_root_list(&root, "missing", &names, &count), -ENOENT);
    ck_assert_uint_eq(count, 0);
}

static atomic_bool is_enough;

static void *rename_to_and_fro(void *folder)
{
    char one[256], other[256];
    snprintf(one, sizeof one, "%s/one", (const char *)folder);
    snprintf(other, sizeof other, "%s/other", (const char *)folder);
    while (!is_enough)
        ck_assert(!rename(one, other) && !rename(other, one));
    return NULL;
}

TEST(reads_through_links_while_others_rename)
{
    enum { TURNS = 100 }; /* a long walk meets a rename nearly always */
    pthread_t threads[2];
    char folders[2][256], target[TURNS * 16] = "../devices/pci";
    for (int i = 0; i < TURNS; i++)
        strcat(target, "/../pci");
    tree_put(&tree, "enP51p1s0f0", "sys/devices/pci/netdev");
    tree_link(&tree, target, "sys/class/port");
    for (size_t i = 0; i < ATH_COUNT(threads); i++) {
        snprintf(folders[i], sizeof folders[i], "%s/busy%zu", tree.path, i);
        tree_folder(&tree, "busy%zu/one", i);
        ck_assert(!pthread_create(&threads[i], NULL, rename_to_and_fro, folders[i]));
    }
    for (int i = 0; i < 4000; i++)
        expect_text("sys/class/port/netdev", "enP51p1s0f0");
    is_enough = true;
    for (size_t i = 0; i < ATH_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
}

TEST(names_a_missing_root)
{
    struct ath_root other;
    struct ath_err err;
    ck_assert_int_lt(ath_root_open("/nonexistent/capture", &other, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "'/nonexistent/capture'"));
}

TEST(reads_pci_functions)
{
    struct ath_pcidev *list;
    size_t count;
    struct ath_pci address;
    tree_pci(&tree, "pci0004:00/0004:00:00.0", "0004:01:00.0", "0x030200\n", "0x10de", "0x1db1");
    tree_pci(&tree, "platform/soc/pci0000:00", "0000:00:02.0", "junk", "0x15b3", "0x1017");
    tree_put(&tree, "0x020000", "sys/bus/pci/devices/0000:0A:00.0/class");
    tree_put(&tree, "0x020000", "sys/bus/pci/devices/nonsense/class");
    ck_assert_int_eq(ath_pcidev_list(&root, &list, &count), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(list[0].class, -1);
    ck_assert_int_eq(list[1].class, 0x0302);
    ck_assert_ptr_eq(ath_pcidev_find(list, count, &list[1].address), &list[1]);

    ath_auto_free char *place = ath_pcidev_place(&root, &list[1].address);
    ck_assert_str_eq(place, "pci0004:00/0004:00:00.0");
    ath_auto_free char *below_platform = ath_pcidev_place(&root, &list[0].address);
    ck_assert_str_eq(below_platform, "pci0000:00");
    ck_assert_int_eq(ath_pcidev_number(&root, &list[0].address, "vendor"), 0x15b3);
    ck_assert_int_eq(ath_pcidev_number(&root, &list[0].address, "numa_node"), -1);
    ck_assert(!ath_pcidev_is_virtual(&root, &list[0].address, &address));
    free(list);
}

TEST(finds_the_physical_function_of_a_virtual_one)
{
    struct ath_pci function, parent;
    tree_pci(&tree, "pci0000:00", "0000:00:02.0", "0x020000", "0x15b3", "0x1017");
    tree_pci(&tree, "pci0000:00", "0000:00:02.1", "0x020000", "0x15b3", "0x1018");
    tree_pci(&tree, "pci0000:00", "0000:00:09.1", "0x020000", "0x15b3", "0x1018");
    tree_link(&tree, "../0000:00:02.0", "sys/devices/pci0000:00/0000:00:02.1/physfn");
    tree_link(&tree, "../0000:00:09.0", "sys/devices/pci0000:00/0000:00:09.1/physfn");
    ck_assert_int_eq(ath_pci_parse("0000:00:02.1", &function), 0);
    ck_assert(ath_pcidev_is_virtual(&root, &function, &parent));
    ck_assert_uint_eq(parent.function, 0);
    ck_assert_int_eq(ath_pci_parse("0000:00:09.1", &function), 0);
    ck_assert(!ath_pcidev_is_virtual(&root, &function, &parent));
}
