/* Makes caches of the dynamic linker for tests (glibc, sysdeps/generic/dl-cache.h). */
#pragma once
#include <check.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

struct made_entry {
    const char *name, *path;
    uint32_t flags;
    uint64_t capabilities;
};

struct made_cache {
    uint8_t bytes[8192];
    size_t length;
};

static inline void made_cache_put(struct made_cache *out, size_t at, uint64_t value, size_t size,
                                  bool is_big)
{
    for (size_t i = 0; i < size; i++)
        out->bytes[at + i] = (uint8_t)(value >> 8 * (is_big ? size - 1 - i : i));
}

/* says_order: the head tells the byte order, as since glibc 2.33. has_old: a cache in the older
 * format, with one entry, precedes. */
static inline void made_cache(const struct made_entry *entries, size_t count, bool is_big,
                              bool says_order, bool has_old, struct made_cache *out)
{
    static const char old[] = "ld.so-1.7.0\0\1\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0";
    size_t head = has_old ? 32 : 0, texts = head + 48 + count * 24;

    *out = (struct made_cache){ .length = texts };
    if (has_old)
        memcpy(out->bytes, old, sizeof old - 1);
    memcpy(out->bytes + head, "glibc-ld.so.cache1.1", 20);
    made_cache_put(out, head + 20, count, 4, is_big);
    out->bytes[head + 28] = says_order ? (is_big ? 3 : 2) : 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = head + 48 + i * 24;
        made_cache_put(out, at, entries[i].flags, 4, is_big);
        made_cache_put(out, at + 4, out->length - head, 4, is_big);
        strcpy((char *)out->bytes + out->length, entries[i].name);
        out->length += strlen(entries[i].name) + 1;
        made_cache_put(out, at + 8, out->length - head, 4, is_big);
        strcpy((char *)out->bytes + out->length, entries[i].path);
        out->length += strlen(entries[i].path) + 1;
        made_cache_put(out, at + 16, entries[i].capabilities, 8, is_big);
    }
    ck_assert_uint_le(out->length, sizeof out->bytes);
}
