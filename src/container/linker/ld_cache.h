/*
 * The places in which the dynamic linker searches libraries: its cache, and the folders of its
 * configuration. Read from a root, live or another system's.
 *
 * The cache is /etc/ld.so.cache in the format "glibc-ld.so.cache1.1" (glibc,
 * sysdeps/generic/dl-cache.h), in either byte order. The older format may precede it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "config/schema.h"

/* All zero is an empty cache. */
struct ath_ld_cache {
    uint8_t *bytes; /* of the file */
    size_t begin, length;
    size_t count; /* complete entries */
    bool is_big;
};

/* Texts belong to the cache. */
struct ath_ld_entry {
    const char *name;  /* "libc.so.6" */
    const char *path;  /* "/lib/x86_64-linux-gnu/libc.so.6" */
    uint32_t flags;    /* kind and architecture: 0x0303 is x86-64, 0x0503 ppc64le, 0x0a03 arm64 */
    bool is_for_a_few; /* needs a processor with some capability: a folder of glibc-hwcaps */
};

/* Read the cache of a root, or from the bytes of a file, which are taken over and may be NULL. An
 * unreadable, missing or broken cache is an empty one. */
void ath_ld_cache_read(const struct ath_root *root, struct ath_ld_cache *out);
void ath_ld_cache_take(uint8_t *bytes, size_t length, struct ath_ld_cache *out);
void ath_ld_cache_free(struct ath_ld_cache *cache);

/* Returns the next valid entry, starting at *place (initially 0); false at the end. */
bool ath_ld_cache_next(const struct ath_ld_cache *cache, size_t *place, struct ath_ld_entry *out);

/* Lists the folders of /etc/ld.so.conf and its includes, in their order. */
void ath_ld_folders_read(const struct ath_root *root, struct ath_texts *out);
