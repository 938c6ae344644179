/*
 * Finds libraries in the dynamic linker's cache and in folders.
 *
 * A CUDA program without graphics needs only some of NVIDIA's libraries: libcuda opens the
 * compilers for PTX by name ("libnvidia-ptxjitcompiler.so.1"), and drivers before 450 are linked to
 * "libnvidia-fatbinaryloader.so.VERSION". A library is bound under its name in the cache and under
 * its file's name, because programs may use either.
 */
#include "config.h"

#include "container/plan/libraries.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "container/linker/ld_cache.h"

/* The architecture bits of an entry's flags; zero for old 32-bit entries. */
enum { ARCHITECTURE = 0xff00 };

static const struct {
    enum ath_library_use use;
    const char *stem; /* of the name, up to the version */
} wanted[] = {
    { ATH_LIBRARY_DRIVER, "libcuda.so." },
    { ATH_LIBRARY_DRIVER, "libnvidia-fatbinaryloader.so." },
    { ATH_LIBRARY_DRIVER, "libnvidia-gpucomp.so." },
    { ATH_LIBRARY_DRIVER, "libnvidia-ml.so." },
    { ATH_LIBRARY_DRIVER, "libnvidia-nvvm.so." },
    { ATH_LIBRARY_DRIVER, "libnvidia-nvvm70.so." },
    { ATH_LIBRARY_DRIVER, "libnvidia-ptxjitcompiler.so." },
    { ATH_LIBRARY_RDMA, "libibverbs.so." },
    { ATH_LIBRARY_RDMA, "libmlx4.so." },
    { ATH_LIBRARY_RDMA, "libmlx5.so." },
    { ATH_LIBRARY_RDMA, "libnl-3.so." },
    { ATH_LIBRARY_RDMA, "libnl-route-3.so." },
    { ATH_LIBRARY_RDMA, "librdmacm.so." },
};

/* For each architecture: its flags in the cache (FLAG_X8664_LIB64... | FLAG_ELF_LIBC6), and its
 * library folders. The first row is for all others. */
static const struct {
    const char *arch;
    uint32_t flags;
    const char *folders[5];
} architectures[] = {
    { NULL, 0, { "usr/lib64", "usr/lib" } },
    { "x86_64",
      0x0303,
      { "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib64/nvidia", "usr/lib" } },
    { "ppc64le",
      0x0503,
      { "usr/lib/powerpc64le-linux-gnu", "usr/lib64", "usr/lib64/nvidia", "usr/lib" } },
    { "aarch64",
      0x0a03,
      { "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib64/nvidia", "usr/lib" } },
};

void ath_libraries_free(struct ath_libraries *libraries)
{
    if (!libraries)
        return;
    for (size_t i = 0; i < libraries->count; i++) {
        free(libraries->items[i].name);
        free(libraries->items[i].path);
    }
    free(libraries->items);
    free(libraries->provider_folder);
    *libraries = (struct ath_libraries){ 0 };
}

bool ath_libraries_have(const struct ath_libraries *libraries, const char *name)
{
    for (size_t i = 0; i < libraries->count; i++)
        if (!strcmp(libraries->items[i].name, name))
            return true;
    return false;
}

static size_t architecture_of(const char *arch)
{
    for (size_t i = 1; arch && i < ATH_COUNT(architectures); i++)
        if (!strcmp(architectures[i].arch, arch))
            return i;
    return 0;
}

static void add_name(struct ath_libraries *out, enum ath_library_use use, const char *name,
                     const char *path)
{
    if (ath_libraries_have(out, name))
        return;
    struct ath_library *library = ath_push(&out->items, &out->count, sizeof *library);
    library->use = use;
    library->name = ath_xstrdup(name);
    library->path = ath_xstrdup(path);
}

/* Other characters occur in no library's name, and could not be passed on in JSON. */
static bool is_plain(const char *path)
{
    return !path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                              "/._+-")];
}

/* path: absolute. If it is a link, the file's own name is added too. */
static void add(const struct ath_root *root, struct ath_libraries *out, const char *name,
                const char *path)
{
    for (size_t i = 0; i < ATH_COUNT(wanted); i++) {
        if (!ath_starts_with(name, wanted[i].stem) || !is_plain(path))
            continue;
        add_name(out, wanted[i].use, name, path);
        ath_auto_free char *target = ath_root_link(root, "%s", path + 1);
        const char *slash = target ? strrchr(target, '/') : NULL;
        const char *own = slash ? slash + 1 : target;
        if (own && ath_starts_with(own, wanted[i].stem) && is_plain(own))
            add_name(out, wanted[i].use, own, path);
        return;
    }
}

/* --- /etc/ld.so.cache */

static void read_cache(const struct ath_root *root, uint32_t flags, struct ath_libraries *out)
{
    ATH_AUTO(ath_ld_cache) cache = { 0 };
    struct ath_ld_entry entry;
    size_t place = 0;

    ath_ld_cache_read(root, &cache);
    while (ath_ld_cache_next(&cache, &place, &entry))
        if (flags ? entry.flags == flags : (entry.flags & ARCHITECTURE) != 0)
            add(root, out, entry.name, entry.path);
}

/* --- folders */

static bool has_stem(const struct ath_libraries *libraries, const char *stem)
{
    for (size_t i = 0; i < libraries->count; i++)
        if (ath_starts_with(libraries->items[i].name, stem))
            return true;
    return false;
}

/* Adds names as programs use them; a link before its file is enough. */
static void read_folder(const struct ath_root *root, const char *folder, const bool *is_known,
                        struct ath_libraries *out)
{
    char **names;
    size_t count;

    ath_root_list(root, folder, &names, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < ATH_COUNT(wanted); j++) {
            ath_auto_free char *path = ath_xasprintf("/%s/%s", folder, names[i]);
            if (!is_known[j] && ath_starts_with(names[i], wanted[j].stem))
                add(root, out, names[i], path);
        }
    ath_names_free(names, count);
}

static int compare(const void *a, const void *b)
{
    const struct ath_library *left = a, *right = b;
    return strcmp(left->name, right->name);
}

void ath_libraries_read(const struct ath_root *root, const char *arch, struct ath_libraries *out)
{
    size_t row = architecture_of(arch);
    bool is_known[ATH_COUNT(wanted)];

    *out = (struct ath_libraries){ 0 };
    read_cache(root, architectures[row].flags, out);
    for (size_t i = 0; i < ATH_COUNT(wanted); i++)
        is_known[i] = has_stem(out, wanted[i].stem);
    for (size_t i = 0; architectures[row].folders[i]; i++) {
        const char *folder = architectures[row].folders[i];
        read_folder(root, folder, is_known, out);
        if (!out->provider_folder && ath_root_exists(root, "%s/libibverbs", folder))
            out->provider_folder = ath_xasprintf("/%s/libibverbs", folder);
    }
    out->is_known = root->is_live || out->count || ath_root_exists(root, "etc/ld.so.cache");
    out->has_provider_list = ath_root_exists(root, "etc/libibverbs.d");
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare);
}
