/* Temporary folders for tests: a root like those given with --root, filled file by file. */
#pragma once
#include <check.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
    char path[64];
};

static inline void tree_make(struct tree *tree)
{
    strcpy(tree->path, "/tmp/aitherion-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tree->path));
}

/* Returns "TREE/format" in static storage, and makes the folders above. */
static inline const char *tree_path(const struct tree *tree, const char *format, va_list args)
{
    static char path[4096];
    size_t length = (size_t)snprintf(path, sizeof path, "%s/", tree->path);
    vsnprintf(path + length, sizeof path - length, format, args);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    return path;
}

static inline void tree_put_bytes(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

/* Writes text to the file that format names. */
__attribute__((format(printf, 3, 4))) static inline void tree_put(const struct tree *tree,
                                                                  const char *text,
                                                                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tree_put_bytes(tree_path(tree, format, args), text, strlen(text));
    va_end(args);
}

/* Makes a symbolic link at the path that format names, to target. */
__attribute__((format(printf, 3, 4))) static inline void tree_link(const struct tree *tree,
                                                                   const char *target,
                                                                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ck_assert_int_eq(symlink(target, tree_path(tree, format, args)), 0);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static inline void tree_folder(const struct tree *tree,
                                                                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mkdir(tree_path(tree, format, args), 0755);
    va_end(args);
}

static inline int tree_remove_one(const char *path, const struct stat *status, int type,
                                  struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

static inline void tree_remove(struct tree *tree)
{
    nftw(tree->path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/*
 * Makes a PCI function at its place in the PCI tree: tree_pci(&tree, "pci0004:00/0004:00:00.0",
 * "0004:01:00.0", "0x030200", "0x10de", "0x1db1").
 */
static inline void tree_pci(const struct tree *tree, const char *place, const char *address,
                            const char *class, const char *vendor, const char *device)
{
    char target[512];
    snprintf(target, sizeof target, "../../../devices/%s/%s", place, address);
    tree_put(tree, class, "sys/devices/%s/%s/class", place, address);
    tree_put(tree, vendor, "sys/devices/%s/%s/vendor", place, address);
    tree_put(tree, device, "sys/devices/%s/%s/device", place, address);
    tree_link(tree, target, "sys/bus/pci/devices/%s", address);
}

/* Makes a NUMA node without distances. */
static inline void tree_node(const struct tree *tree, int id, const char *cpulist,
                             const char *kibibytes)
{
    char meminfo[256];
    snprintf(meminfo, sizeof meminfo, "\nNode %d MemTotal:       %s kB\nNode %d MemFree:    8 kB\n",
             id, kibibytes, id);
    tree_put(tree, cpulist, "sys/devices/system/node/node%d/cpulist", id);
    tree_put(tree, meminfo, "sys/devices/system/node/node%d/meminfo", id);
}
