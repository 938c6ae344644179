/* Reads the dynamic linker's cache and configuration (ldconfig(8), glibc's elf/ldconfig.c). */
#include "config.h"

#include "container/linker/ld_cache.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

/* ---- the cache ---- */

static const char magic[] = "glibc-ld.so.cache1.1";

/* Offsets of the fields of struct cache_file_new and struct file_entry_new. */
enum {
    HEAD_COUNT = 20,
    HEAD_FLAGS = 28,
    HEAD_BYTES = 48,
    ENTRY_FLAGS = 0,
    ENTRY_NAME = 4, /* offsets of texts, counted from the head */
    ENTRY_PATH = 8,
    ENTRY_CAPABILITIES = 16,
    ENTRY_BYTES = 24,
    IS_LITTLE = 2, /* in the head's flags, since glibc 2.33; 0: unknown */
    IS_BIG = 3,
    ORDER_MASK = 3,
    INCLUDES_MAX = 8, /* levels */
};

static uint32_t number_at(const struct ath_ld_cache *cache, size_t offset)
{
    const uint8_t *bytes = cache->bytes + cache->begin + offset;
    uint32_t value = 0;
    for (size_t i = 0; i < sizeof value; i++)
        value = value << 8 | bytes[cache->is_big ? i : sizeof value - 1 - i];
    return value;
}

static size_t whole_entries(const struct ath_ld_cache *cache)
{
    size_t room = (cache->length - HEAD_BYTES) / ENTRY_BYTES;
    uint32_t count = number_at(cache, HEAD_COUNT);
    return count < room ? count : room;
}

/* If the head does not tell, the order is the one in which the entries fit into the file. */
static void find_order(struct ath_ld_cache *cache)
{
    int order = cache->bytes[cache->begin + HEAD_FLAGS] & ORDER_MASK;

    cache->is_big = order == IS_BIG;
    if (order != IS_LITTLE && order != IS_BIG &&
        number_at(cache, HEAD_COUNT) > (cache->length - HEAD_BYTES) / ENTRY_BYTES)
        cache->is_big = true;
}

void ath_ld_cache_take(uint8_t *bytes, size_t length, struct ath_ld_cache *out)
{
    const uint8_t *head = bytes ? memmem(bytes, length, magic, sizeof magic - 1) : NULL;

    *out = (struct ath_ld_cache){ 0 };
    if (!head || length - (size_t)(head - bytes) < HEAD_BYTES) {
        free(bytes);
        return;
    }
    out->bytes = bytes;
    out->begin = (size_t)(head - bytes);
    out->length = length - out->begin;
    find_order(out);
    out->count = whole_entries(out);
}

void ath_ld_cache_read(const struct ath_root *root, struct ath_ld_cache *out)
{
    size_t length = 0;
    uint8_t *bytes = ath_root_read_bytes(root, "etc/ld.so.cache", &length);
    ath_ld_cache_take(bytes, length, out);
}

void ath_ld_cache_free(struct ath_ld_cache *cache)
{
    if (!cache)
        return;
    free(cache->bytes);
    *cache = (struct ath_ld_cache){ 0 };
}

/* Returns a text that ends inside the cache, or NULL. */
static const char *text_at(const struct ath_ld_cache *cache, uint32_t offset)
{
    if (offset >= cache->length)
        return NULL;
    const char *text = (const char *)cache->bytes + cache->begin + offset;
    return memchr(text, '\0', cache->length - offset) ? text : NULL;
}

bool ath_ld_cache_next(const struct ath_ld_cache *cache, size_t *place, struct ath_ld_entry *out)
{
    while (*place < cache->count) {
        size_t at = HEAD_BYTES + (*place)++ * ENTRY_BYTES;
        out->flags = number_at(cache, at + ENTRY_FLAGS);
        out->name = text_at(cache, number_at(cache, at + ENTRY_NAME));
        out->path = text_at(cache, number_at(cache, at + ENTRY_PATH));
        out->is_for_a_few = number_at(cache, at + ENTRY_CAPABILITIES) ||
                            number_at(cache, at + ENTRY_CAPABILITIES + 4);
        if (out->name && out->path && out->path[0] == '/' && !strchr(out->name, '/'))
            return true;
    }
    return false;
}

/* ---- the configuration ---- */

static void read_configuration(const struct ath_root *root, const char *path, int depth,
                               struct ath_texts *out);

/* The last part of the pattern may contain wildcards, as in "ld.so.conf.d" followed by "*.conf". A
 * pattern without a leading slash is below /etc. */
static void include(const struct ath_root *root, const char *pattern, int depth,
                    struct ath_texts *out)
{
    ath_auto_free char *path =
        pattern[0] == '/' ? ath_xstrdup(pattern + 1) : ath_xasprintf("etc/%s", pattern);
    char *slash = strrchr(path, '/');
    char **names;
    size_t count;

    if (!slash || depth == INCLUDES_MAX)
        return;
    *slash = '\0';
    ath_root_list(root, path, &names, &count);
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *inside = ath_xasprintf("%s/%s", path, names[i]);
        if (!fnmatch(slash + 1, names[i], FNM_PERIOD))
            read_configuration(root, inside, depth + 1, out);
    }
    ath_names_free(names, count);
}

/* Reads "/usr/local/lib", which "=TYPE" may follow, or "include PATTERN"; ignores the old "hwcap
 * ...". */
static void read_line(const struct ath_root *root, char *line, int depth, struct ath_texts *out)
{
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\r");
    size_t length = strcspn(line, " \t\r=");

    if (length == strlen("include") && ath_starts_with(line, "include")) {
        char *rest = line + length, *word;
        while ((word = strsep(&rest, " \t\r")))
            if (*word)
                include(root, word, depth, out);
    } else if (line[0] == '/') {
        line[length] = '\0';
        ath_texts_add(out, line);
    }
}

static void read_configuration(const struct ath_root *root, const char *path, int depth,
                               struct ath_texts *out)
{
    ath_auto_free char *text = ath_root_read(root, "%s", path);
    char *rest = text, *line;

    while ((line = strsep(&rest, "\n")))
        read_line(root, line, depth, out);
}

void ath_ld_folders_read(const struct ath_root *root, struct ath_texts *out)
{
    *out = (struct ath_texts){ 0 };
    read_configuration(root, "etc/ld.so.conf", 0, out);
}
