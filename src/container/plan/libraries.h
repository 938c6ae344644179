/*
 * Shared libraries of the host that a container needs in the host's version: NVIDIA's driver
 * libraries must match the kernel module, RDMA providers the host's card.
 *
 * They are found in the dynamic linker's cache (ld_cache.h), otherwise in the folders that
 * distributions use.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/root.h"

enum ath_library_use { ATH_LIBRARY_DRIVER, ATH_LIBRARY_RDMA };

/* The folder inside the container to which LD_LIBRARY_PATH points. */
#define ATH_LIBRARY_FOLDER "/usr/lib/aitherion/host"

struct ath_library {
    enum ath_library_use use;
    char *name; /* "libcuda.so.1", "libcuda.so.440.33.01" */
    char *path; /* on the host: "/usr/lib64/libcuda.so.1" */
};

struct ath_libraries {
    bool is_known;             /* the root is live, or has a cache or one of these libraries */
    struct ath_library *items; /* by name */
    size_t count;
    char *provider_folder;  /* libibverbs' providers: "/usr/lib64/libibverbs", the same path inside;
                               or NULL */
    bool has_provider_list; /* /etc/libibverbs.d */
};

/* arch: the machine's ("ppc64le"), for caches with several; NULL: any of 64 bits. */
void ath_libraries_read(const struct ath_root *root, const char *arch, struct ath_libraries *out);
void ath_libraries_free(struct ath_libraries *libraries);

bool ath_libraries_have(const struct ath_libraries *libraries, const char *name);
