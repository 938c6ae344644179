/* The dynamic linker's cache in both byte orders and formats, broken caches, the configuration. */
#include "config.h"

#include "container/linker/ld_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "made_cache.h"
#include "tree.h"
#include "unit.h"

static const struct made_entry entries[] = {
    { "libc.so.6", "/lib/libc.so.6", 0x0303, 0 },
    { "libm.so.6", "/lib/glibc-hwcaps/x86-64-v3/libm.so.6", 0x0303, UINT64_C(1) << 62 },
    { "libm.so.6", "/lib/libm.so.6", 0x0303, 0 },
};

static void take(const struct made_cache *made, size_t length, struct ath_ld_cache *out)
{
    uint8_t *bytes = malloc(length + 1);
    memcpy(bytes, made->bytes, length);
    ath_ld_cache_take(bytes, length, out);
}

LOOP_TEST(reads_each_format, 0, 8)
{
    struct made_cache made;
    ATH_AUTO(ath_ld_cache) cache = { 0 };
    struct ath_ld_entry entry;
    size_t place = 0;

    made_cache(entries, ATH_COUNT(entries), _i & 1, _i & 2, _i & 4, &made);
    take(&made, made.length, &cache);
    ck_assert_uint_eq(cache.count, 3);
    for (size_t i = 0; i < ATH_COUNT(entries); i++) {
        ck_assert(ath_ld_cache_next(&cache, &place, &entry));
        ck_assert_str_eq(entry.name, entries[i].name);
        ck_assert_str_eq(entry.path, entries[i].path);
        ck_assert_uint_eq(entry.flags, 0x0303);
        ck_assert_int_eq(entry.is_for_a_few, i == 1);
    }
    ck_assert(!ath_ld_cache_next(&cache, &place, &entry));
}

TEST(reads_complete_entries_of_a_broken_cache)
{
    struct made_cache made;
    made_cache(entries, ATH_COUNT(entries), false, true, false, &made);
    for (size_t length = 0; length < made.length; length++) {
        ATH_AUTO(ath_ld_cache) cache = { 0 };
        struct ath_ld_entry entry;
        size_t place = 0, count = 0;
        take(&made, length, &cache);
        while (ath_ld_cache_next(&cache, &place, &entry))
            count++;
        ck_assert_uint_lt(count, 3);
    }
}

TEST(skips_invalid_entries)
{
    static const struct made_entry strange[] = {
        { "libc.so.6", "lib/libc.so.6", 0x0303, 0 },
        { "a/libc.so.6", "/lib/libc.so.6", 0x0303, 0 },
        { "libc.so.6", "/lib/libc.so.6", 0x0303, 0 },
    };
    struct made_cache made;
    ATH_AUTO(ath_ld_cache) cache = { 0 };
    struct ath_ld_entry entry;
    size_t place = 0;

    made_cache(strange, ATH_COUNT(strange), false, true, false, &made);
    take(&made, made.length, &cache);
    ck_assert(ath_ld_cache_next(&cache, &place, &entry));
    ck_assert_uint_eq(place, 3);
    ck_assert(!ath_ld_cache_next(&cache, &place, &entry));
}

TEST(is_empty_without_a_cache)
{
    struct tree tree;
    ATH_AUTO(ath_root) root = { .fd = -1 };
    ATH_AUTO(ath_ld_cache) cache = { 0 };
    struct ath_err err;

    tree_make(&tree);
    tree_put(&tree, "something else", "etc/ld.so.cache");
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    ath_ld_cache_read(&root, &cache);
    ck_assert_uint_eq(cache.count, 0);
    ck_assert_ptr_null(cache.bytes);
    tree_remove(&tree);
}

static char *folders_of(const struct tree *tree)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    ATH_AUTO(ath_texts) folders = { 0 };
    struct ath_text text = { 0 };
    struct ath_err err;

    ck_assert_int_eq(ath_root_open(tree->path, &root, &err), 0);
    ath_ld_folders_read(&root, &folders);
    for (size_t i = 0; i < folders.count; i++)
        ath_text_add_part(&text, " ", "%s", folders.items[i]);
    return ath_text_take(&text);
}

TEST(reads_the_configuration)
{
    struct tree tree;
    tree_make(&tree);
    tree_put(&tree,
             "# first\n/opt/a/lib\n  /opt/b/lib # behind\ninclude ld.so.conf.d/*.conf\n"
             "/opt/c/lib=libc6\nhwcap 0 nosegneg\nrelative/lib\n",
             "etc/ld.so.conf");
    tree_put(&tree, "/two\n", "etc/ld.so.conf.d/2.conf");
    tree_put(&tree, "/one", "etc/ld.so.conf.d/1.conf");
    tree_put(&tree, "/hidden", "etc/ld.so.conf.d/.0.conf");
    tree_put(&tree, "/other", "etc/ld.so.conf.d/3.txt");
    ath_auto_free char *folders = folders_of(&tree);
    ck_assert_str_eq(folders, "/opt/a/lib /opt/b/lib /one /two /opt/c/lib");
    tree_remove(&tree);
}

TEST(limits_includes)
{
    struct tree tree;
    tree_make(&tree);
    tree_put(&tree, "/a\ninclude /etc/ld.so.conf\n", "etc/ld.so.conf");
    ath_auto_free char *folders = folders_of(&tree);
    ck_assert_ptr_nonnull(strstr(folders, "/a /a"));
    ck_assert_uint_lt(strlen(folders), 100);
    tree_remove(&tree);
}
