/* Finding libraries as the dynamic linker does, in roots and files made by the test. */
#include "config.h"

#include "container/linker/closure.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "made_cache.h"
#include "made_elf.h"
#include "tree.h"
#include "unit.h"

#define LOADER "/lib64/ld-linux-x86-64.so.2"

static struct tree tree;

static void make_tree(void)
{
    tree_make(&tree);
}

static void remove_tree(void)
{
    tree_remove(&tree);
}

/* Writes an ELF file below the tree. */
static void put(const char *path, struct made_elf elf)
{
    struct made_bytes file;
    char whole[512];

    tree_put(&tree, "", "%s", path);
    snprintf(whole, sizeof whole, "%s/%s", tree.path, path);
    made_elf(&elf, &file);
    tree_put_bytes(whole, file.bytes, file.length);
}

static void put_library(const char *path)
{
    put(path, (struct made_elf){ 0 });
}

/* Writes the program, and the loader that it names. */
static void put_program(struct made_elf elf)
{
    elf.loader = LOADER;
    put("bin/program", elf);
    put_library(&LOADER[1]);
}

static int find_late(const struct ath_closure_late *lates, size_t count, struct ath_closure *out,
                     struct ath_err *err)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    char program[128];

    snprintf(program, sizeof program, "%s/bin/program", tree.path);
    ck_assert_int_eq(ath_root_open(tree.path, &root, err), 0);
    return ath_closure_find(program, &root, lates, count, out, err);
}

/* Returns "/lib/liba.so /lib/libb.so", the found libraries in their order. */
static char *found(const struct ath_closure *closure)
{
    struct ath_text text = { 0 };
    for (size_t i = 1 + closure->has_loader; i < closure->count; i++)
        ath_text_add_part(&text, " ", "%s", closure->items[i].path);
    return ath_text_take(&text);
}

static void check(const char *wanted)
{
    ATH_AUTO(ath_closure) closure = { 0 };
    struct ath_err err = { 0 };
    int status = find_late(NULL, 0, &closure, &err);
    ck_assert_msg(!status, "%s", err.message);
    ath_auto_free char *text = found(&closure);
    ck_assert_str_eq(text, wanted);
}

static struct ath_err refuse(int wanted, enum ath_error code)
{
    struct ath_closure closure;
    struct ath_err err = { 0 };
    ck_assert_int_eq(find_late(NULL, 0, &closure, &err), wanted);
    ck_assert_int_eq(err.code, code);
    return err;
}

static void put_cache(const struct made_entry *entries, size_t count)
{
    struct made_cache cache;
    char path[128];

    made_cache(entries, count, false, true, false, &cache);
    tree_put(&tree, "", "etc/ld.so.cache");
    snprintf(path, sizeof path, "%s/etc/ld.so.cache", tree.path);
    tree_put_bytes(path, cache.bytes, cache.length);
}

FIXTURE(make_tree, remove_tree);

TEST(packs_a_static_program_alone)
{
    static const struct ath_closure_late late = { "libx.so", true };
    ATH_AUTO(ath_closure) closure = { 0 };
    struct ath_err err;

    put("bin/program", (struct made_elf){ .type = ET_EXEC });
    ck_assert_int_eq(find_late(&late, 1, &closure, &err), 0);
    ck_assert_uint_eq(closure.count, 1);
    ck_assert(!closure.has_loader);
}

/* Breadth first, each library once, with its first needer. The loader counts under its file name.
 */
TEST(finds_libraries_of_libraries)
{
    ATH_AUTO(ath_closure) closure = { 0 };
    struct ath_err err;

    put_program((struct made_elf){ .needed = { "liba.so", "libb.so" } });
    put("lib/liba.so", (struct made_elf){ .needed = { "libc.so", "libb.so" } });
    put("lib/libb.so", (struct made_elf){ .needed = { "liba.so", "ld-linux-x86-64.so.2" } });
    put("lib/libc.so", (struct made_elf){ .needed = { "liba.so", "libc.so" } });
    ck_assert_int_eq(find_late(NULL, 0, &closure, &err), 0);
    ath_auto_free char *text = found(&closure);
    ck_assert_str_eq(text, "/lib/liba.so /lib/libb.so /lib/libc.so");
    ck_assert_str_eq(closure.items[1].path, LOADER);
    ck_assert_ptr_null(closure.items[0].needer);
    ck_assert_str_eq(closure.items[2].needer, "program");
    ck_assert_str_eq(closure.items[4].needer, "liba.so");
    ck_assert_int_gt(closure.items[2].size_bytes, 0);
}

TEST(searches_in_the_linkers_order)
{
    static const struct made_entry cached = { "liba.so", "/cached/liba.so", 0x0303, 0 };

    put_program((struct made_elf){ .needed = { "liba.so" }, .runpath = "/run1:/run2" });
    put_library("usr/lib/liba.so");
    check("/usr/lib/liba.so");
    put_library("lib/x86_64-linux-gnu/liba.so");
    check("/lib/x86_64-linux-gnu/liba.so");
    tree_put(&tree, "/configured\n", "etc/ld.so.conf");
    put_library("configured/liba.so");
    check("/configured/liba.so");
    /* A cache contains the folders of the configuration. */
    put_cache(&cached, 1);
    check("/lib/x86_64-linux-gnu/liba.so");
    put_library("cached/liba.so");
    check("/cached/liba.so");
    put_library("run2/liba.so");
    check("/run2/liba.so");
    put_library("run1/liba.so");
    check("/run1/liba.so");
}

/* An RPATH counts for the libraries further down. A RUNPATH does not, and disables an RPATH. */
TEST(hands_down_rpath_only)
{
    put_program((struct made_elf){ .needed = { "liba.so" }, .rpath = "/own" });
    put("own/liba.so", (struct made_elf){ .needed = { "libb.so" } });
    put_library("own/libb.so");
    put_library("lib/libb.so");
    check("/own/liba.so /own/libb.so");
    put_program((struct made_elf){ .needed = { "liba.so" }, .runpath = "/own" });
    check("/own/liba.so /lib/libb.so");
    put_program((struct made_elf){ .needed = { "liba.so" }, .rpath = "/own" });
    put("own/liba.so", (struct made_elf){ .needed = { "libb.so" }, .runpath = "/nowhere" });
    check("/own/liba.so /lib/libb.so");
}

TEST(expands_origin)
{
    put_program((struct made_elf){ .needed = { "liba.so" }, .runpath = "$LIB:relative::/own" });
    put("own/liba.so",
        (struct made_elf){ .needed = { "libb.so" }, .runpath = "$ORIGIN/more:${ORIGIN}/../other" });
    put_library("other/libb.so");
    check("/own/liba.so /own/../other/libb.so");
    put_library("own/more/libb.so");
    check("/own/liba.so /own/more/libb.so");
}

TEST(takes_the_variant_for_every_processor)
{
    static const struct made_entry cached[] = {
        { "liba.so", "/lib/glibc-hwcaps/x86-64-v3/liba.so", 0x0303, UINT64_C(1) << 62 },
        { "liba.so", "/lib/liba.so", 0x0303, 0 },
    };
    put_program((struct made_elf){ .needed = { "liba.so" } });
    put_library("lib/glibc-hwcaps/x86-64-v3/liba.so");
    put_library("lib/liba.so");
    put_cache(cached, 2);
    check("/lib/liba.so");
}

/* Libraries for other machines or byte orders, programs and texts of the same name are skipped. */
TEST(skips_unsuitable_files)
{
    static const struct made_entry cached[] = {
        { "liba.so", "/lib32/liba.so", 0x0303, 0 },
        { "liba.so", "/lib/liba.so", 0x0303, 0 },
    };
    put_program((struct made_elf){ .needed = { "liba.so" }, .runpath = "/a:/b:/c:/d" });
    put("a/liba.so", (struct made_elf){ .machine = EM_PPC64 });
    put("b/liba.so", (struct made_elf){ .is_big = true });
    put("c/liba.so", (struct made_elf){ .type = ET_EXEC });
    tree_put(&tree, "INPUT(liba.so.1)\n", "d/liba.so");
    put("lib32/liba.so", (struct made_elf){ .machine = EM_386 });
    put_library("lib/liba.so");
    put_cache(cached, 2);
    check("/lib/liba.so");
}

TEST(keeps_links_inside_the_root)
{
    put_program((struct made_elf){ .needed = { "liba.so" } });
    put_library("opt/liba.so.1");
    tree_link(&tree, "/opt/liba.so.1", "lib/liba.so");
    check("/lib/liba.so");
}

TEST(names_a_missing_library)
{
    put_program((struct made_elf){ .needed = { "liba.so" } });
    struct ath_err err = refuse(-ENOENT, ATH_E_LIBRARY);
    ck_assert_ptr_nonnull(strstr(err.message, "'liba.so'"));
    ck_assert_ptr_nonnull(strstr(err.message, "'program'"));
    put("lib/liba.so", (struct made_elf){ .needed = { "libb.so" } });
    err = refuse(-ENOENT, ATH_E_LIBRARY);
    ck_assert_ptr_nonnull(strstr(err.message, "'libb.so'"));
    ck_assert_ptr_nonnull(strstr(err.message, "'liba.so'"));
}

TEST(names_a_missing_loader)
{
    put("bin/program", (struct made_elf){ .loader = "/lib64/none.so" });
    ck_assert_ptr_nonnull(strstr(refuse(-ENOENT, ATH_E_LIBRARY).message, "/lib64/none.so"));
}

TEST(respects_nodeflib)
{
    put_program((struct made_elf){ .needed = { "liba.so" }, .flags_1 = DF_1_NODEFLIB });
    put_library("lib/liba.so");
    refuse(-ENOENT, ATH_E_LIBRARY);
}

TEST(leaves_the_driver_to_the_host)
{
    ATH_AUTO(ath_closure) closure = { 0 };
    struct ath_err err;

    put_program((struct made_elf){ .needed = { "libcuda.so.1", "liba.so" } });
    put("lib/liba.so",
        (struct made_elf){ .needed = { "libcuda.so.1", "libnvidia-ml.so.1", "libb.so" } });
    put("lib/libb.so", (struct made_elf){ .needed = { "libnvidia-ml.so.1", "libcuda.so.1" } });
    put("lib/libcuda.so.1", (struct made_elf){ .needed = { "libdriver.so" } });
    ck_assert_int_eq(find_late(NULL, 0, &closure, &err), 0);
    ck_assert_uint_eq(closure.count, 4);
    ck_assert_uint_eq(closure.from_host.count, 2);
    ck_assert_str_eq(closure.from_host.items[0], "libcuda.so.1");
    ck_assert_str_eq(closure.from_host.items[1], "libnvidia-ml.so.1");
    ck_assert(!ath_closure_is_from_host("libcudart.so.12"));
}

TEST(adds_libraries_opened_late)
{
    static const struct ath_closure_late lates[] = {
        { "libd.so", true },
        { "libnone.so", false },
    };
    ATH_AUTO(ath_closure) closure = { 0 };
    struct ath_err err;

    put_program((struct made_elf){
        .late = "[{\"soname\":[\"libx.so.2\",\"libx.so.1\"],\"priority\":\"required\"},"
                "{\"soname\":[\"liby.so\"],\"priority\":\"suggested\"},"
                "{\"soname\":[\"libz.so\"]}]" });
    put("lib/libx.so.1", (struct made_elf){ .needed = { "libe.so" } });
    put("lib/libd.so",
        (struct made_elf){ .late = "[{\"soname\":[\"libe.so\"]},"
                                   "{\"soname\":[\"libf.so\"],\"priority\":\"required\"}]" });
    put_library("lib/liby.so");
    put_library("lib/libe.so");
    put_library("lib/libf.so");
    ck_assert_int_eq(find_late(lates, 2, &closure, &err), 0);
    ath_auto_free char *text = found(&closure);
    ck_assert_str_eq(text, "/lib/libx.so.1 /lib/liby.so /lib/libe.so /lib/libd.so /lib/libf.so");
}

TEST(refuses_a_missing_required_late_library)
{
    static const struct ath_closure_late late = { "libd.so", true };
    struct ath_closure closure;
    struct ath_err err;

    put_program((struct made_elf){ .needed = { NULL } });
    ck_assert_int_eq(find_late(&late, 1, &closure, &err), -ENOENT);
    put_program((struct made_elf){
        .late = "[{\"soname\":[\"libx.so.2\",\"libx.so.1\"],\"priority\":\"required\"}]" });
    ck_assert_ptr_nonnull(strstr(refuse(-ENOENT, ATH_E_LIBRARY).message, "libx.so.2"));
}

/* Names become paths, also in an archive. */
LOOP_TEST(refuses_impossible_names, 0, 6)
{
    static const char *const names[] = { "", "..", "a\nb", "/../etc/x", "lib\033[2J", "/lib/" };
    put_program((struct made_elf){ .needed = { names[_i] } });
    refuse(-ENOEXEC, ATH_E_BINARY);
}

TEST(refuses_other_files_than_programs)
{
    refuse(-ENOENT, ATH_E_NOT_FOUND);
    tree_folder(&tree, "bin/program");
    refuse(-ENOEXEC, ATH_E_BINARY);
    remove_tree();
    make_tree();
    put("bin/program", (struct made_elf){ .needed = { "liba.so" } });
    ck_assert_ptr_nonnull(strstr(refuse(-ENOEXEC, ATH_E_BINARY).message, "a library"));
    tree_put(&tree, "#!/bin/sh\n", "bin/program");
    refuse(-ENOEXEC, ATH_E_BINARY);
}

/* Each library needs the next one: the number of files is limited. */
TEST(limits_the_number_of_libraries)
{
    put_program((struct made_elf){ .needed = { "lib0.so" } });
    for (int i = 0; i < 600; i++) {
        char path[32], next[32];
        snprintf(path, sizeof path, "lib/lib%d.so", i);
        snprintf(next, sizeof next, "lib%d.so", i + 1);
        put(path, (struct made_elf){ .needed = { next } });
    }
    ck_assert_ptr_nonnull(strstr(refuse(-ENOEXEC, ATH_E_BINARY).message, "more than"));
}
