/*
 * Where the dynamic linker looks for libraries: its cache, the folders of its configuration, those
 * built into it. Read from a root, live or another system's.
 *
 * The cache is /etc/ld.so.cache in the format "glibc-ld.so.cache1.1" (glibc,
 * sysdeps/generic/dl-cache.h), also where the older format stands in front of it, in either byte
 * order.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "config/schema.h"

/* All zero is an empty one. */
struct ath_ld_cache {
    uint8_t *bytes; /* of the file */
    size_t begin, length;
    size_t count; /* entries that are whole */
    bool is_big;
};

/* Texts belong to the cache. */
struct ath_ld_entry {
    const char *name;  /* "libc.so.6" */
    const char *path;  /* "/lib/x86_64-linux-gnu/libc.so.6" */
    uint32_t flags;    /* kind and architecture: 0x0303 is x86-64, 0x0503 ppc64le, 0x0a03 arm64 */
    bool is_for_a_few; /* only for processors with some capability: a folder of glibc-hwcaps */
};

/* An unreadable, missing or broken cache is an empty one. The second takes the file's bytes over,
 * which may be NULL. */
void ath_ld_cache_read(const struct ath_root *root, struct ath_ld_cache *out);
void ath_ld_cache_take(uint8_t *bytes, size_t length, struct ath_ld_cache *out);
void ath_ld_cache_free(struct ath_ld_cache *cache);

/* The next entry that makes sense, from *place (0 to begin with) on; false at the end. */
bool ath_ld_cache_next(const struct ath_ld_cache *cache, size_t *place, struct ath_ld_entry *out);

/* The folders of /etc/ld.so.conf and of the files that it includes, in their order. */
void ath_ld_folders_read(const struct ath_root *root, struct ath_texts *out);
