/* Finding libraries as the dynamic linker does, in made-up roots of made-up files. */
#include "config.h"

#include "container/closure.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "made_cache.h"
#include "made_elf.h"
#include "tree.h"

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

/* The program, with the loader that it asks for. */
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

/* "/lib/liba.so /lib/libb.so": where libraries were found, in their order. */
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

START_TEST(a_static_program_is_all)
{
    static const struct ath_closure_late late = { "libx.so", true };
    ATH_AUTO(ath_closure) closure = { 0 };
    struct ath_err err;

    put("bin/program", (struct made_elf){ .type = ET_EXEC });
    ck_assert_int_eq(find_late(&late, 1, &closure, &err), 0);
    ck_assert_uint_eq(closure.count, 1);
    ck_assert(!closure.has_loader);
}
END_TEST

/* Widest first; each once; who first needed it. The loader is known by its name. */
START_TEST(walks_through_all)
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
END_TEST

START_TEST(looks_in_the_order_of_the_linker)
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
    /* With a cache the configuration is in it. */
    put_cache(&cached, 1);
    check("/lib/x86_64-linux-gnu/liba.so");
    put_library("cached/liba.so");
    check("/cached/liba.so");
    put_library("run2/liba.so");
    check("/run2/liba.so");
    put_library("run1/liba.so");
    check("/run1/liba.so");
}
END_TEST

/* An RPATH counts for what is needed further down, a RUNPATH does not, and hides an RPATH. */
START_TEST(hands_down_rpath_alone)
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
END_TEST

START_TEST(knows_origin)
{
    put_program((struct made_elf){ .needed = { "liba.so" }, .runpath = "$LIB:relative::/own" });
    put("own/liba.so",
        (struct made_elf){ .needed = { "libb.so" }, .runpath = "$ORIGIN/more:${ORIGIN}/../other" });
    put_library("other/libb.so");
    check("/own/liba.so /own/../other/libb.so");
    put_library("own/more/libb.so");
    check("/own/liba.so /own/more/libb.so");
}
END_TEST

START_TEST(takes_the_make_for_every_processor)
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
END_TEST

/* Other machines, byte orders, programs and texts of the name are passed over. */
START_TEST(passes_over_what_does_not_fit)
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
END_TEST

START_TEST(keeps_links_inside_the_root)
{
    put_program((struct made_elf){ .needed = { "liba.so" } });
    put_library("opt/liba.so.1");
    tree_link(&tree, "/opt/liba.so.1", "lib/liba.so");
    check("/lib/liba.so");
}
END_TEST

START_TEST(names_what_is_missing)
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
END_TEST

START_TEST(names_a_missing_loader)
{
    put("bin/program", (struct made_elf){ .loader = "/lib64/none.so" });
    ck_assert_ptr_nonnull(strstr(refuse(-ENOENT, ATH_E_LIBRARY).message, "/lib64/none.so"));
}
END_TEST

START_TEST(may_be_told_to_leave_the_folders_alone)
{
    put_program((struct made_elf){ .needed = { "liba.so" }, .flags_1 = DF_1_NODEFLIB });
    put_library("lib/liba.so");
    refuse(-ENOENT, ATH_E_LIBRARY);
}
END_TEST

START_TEST(leaves_the_driver_to_the_host)
{
    ATH_AUTO(ath_closure) closure = { 0 };
    struct ath_err err;

    put_program((struct made_elf){ .needed = { "libcuda.so.1", "liba.so" } });
    put("lib/liba.so", (struct made_elf){ .needed = { "libcuda.so.1", "libnvidia-ml.so.1" } });
    put("lib/libcuda.so.1", (struct made_elf){ .needed = { "libdriver.so" } });
    ck_assert_int_eq(find_late(NULL, 0, &closure, &err), 0);
    ck_assert_uint_eq(closure.count, 3);
    ck_assert_uint_eq(closure.from_host.count, 2);
    ck_assert_str_eq(closure.from_host.items[0], "libcuda.so.1");
    ck_assert_str_eq(closure.from_host.items[1], "libnvidia-ml.so.1");
    ck_assert(!ath_closure_is_from_host("libcudart.so.12"));
}
END_TEST

START_TEST(adds_what_is_opened_late)
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
END_TEST

START_TEST(misses_what_must_be_opened_late)
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
END_TEST

/* Names become paths, of an archive too. */
START_TEST(refuses_names_that_no_file_can_have)
{
    static const char *const names[] = { "", "..", "a\nb", "/../etc/x", "lib\033[2J", "/lib/" };
    put_program((struct made_elf){ .needed = { names[_i] } });
    refuse(-ENOEXEC, ATH_E_BINARY);
}
END_TEST

START_TEST(refuses_what_is_no_program)
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
END_TEST

/* Each library needs the next: an end is set. */
START_TEST(does_not_walk_for_ever)
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
END_TEST

int main(void)
{
    TCase *cases = tcase_create("closure");
    tcase_add_checked_fixture(cases, make_tree, remove_tree);
    tcase_add_test(cases, a_static_program_is_all);
    tcase_add_test(cases, walks_through_all);
    tcase_add_test(cases, looks_in_the_order_of_the_linker);
    tcase_add_test(cases, hands_down_rpath_alone);
    tcase_add_test(cases, knows_origin);
    tcase_add_test(cases, takes_the_make_for_every_processor);
    tcase_add_test(cases, passes_over_what_does_not_fit);
    tcase_add_test(cases, keeps_links_inside_the_root);
    tcase_add_test(cases, names_what_is_missing);
    tcase_add_test(cases, names_a_missing_loader);
    tcase_add_test(cases, may_be_told_to_leave_the_folders_alone);
    tcase_add_test(cases, leaves_the_driver_to_the_host);
    tcase_add_test(cases, adds_what_is_opened_late);
    tcase_add_test(cases, misses_what_must_be_opened_late);
    tcase_add_loop_test(cases, refuses_names_that_no_file_can_have, 0, 6);
    tcase_add_test(cases, refuses_what_is_no_program);
    tcase_add_test(cases, does_not_walk_for_ever);
    return run_case(cases, "closure");
}
