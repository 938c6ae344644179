/*
 * The file system that facts are read from: that of the live machine, or a captured copy in a
 * folder.
 *
 * Paths have no leading slash ("sys/class/net"). In a captured root, links never lead outside it
 * (openat2 with RESOLVE_IN_ROOT; kernels before 5.6 lack openat2, for example RHEL 8's on an AC922,
 * and then links are followed one by one). Only regular files are read, at most 1 MiB of each, so
 * that a device node or a FIFO in a hostile capture cannot hang us. A root does not change after
 * ath_root_open(): threads may share it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct ath_root {
    int fd;       /* descriptor of the folder, -1 when closed */
    bool is_live; /* "/": the live machine */
    char *path;   /* as given, for messages */
};

/* Opens a root. Returns 0, or a negative errno with err; *out is released with ath_root_free(). */
int ath_root_open(const char *path, struct ath_root *out, struct ath_err *err);
void ath_root_free(struct ath_root *root);

/*
 * Reads a whole file. Trailing blanks and newlines are cut off, and NUL bytes become blanks
 * (device-tree strings end in one). Returns NULL with errno set if the file cannot be read; sysfs
 * commonly answers EINVAL or EIO for "not now". The caller frees the text.
 */
char *ath_root_read(const struct ath_root *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads a whole file unchanged (PCI VPD) and sets *out_length. Returns NULL with errno set on
 * failure. The caller frees the bytes. */
uint8_t *ath_root_read_bytes(const struct ath_root *root, const char *path, size_t *out_length);

/* Reads the number in a file: decimal (may be negative) or 0x hexadecimal. Returns `missing` if
 * there is no number. */
int64_t ath_root_read_number(const struct ath_root *root, int64_t missing, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens a regular file of any size for reading. Returns a descriptor, or a negative errno (-EINVAL
 * if it is not a regular file). */
int ath_root_open_file(const struct ath_root *root, const char *path);

bool ath_root_exists(const struct ath_root *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the text of a symbolic link, unresolved; NULL if path is no link. The caller frees it. */
char *ath_root_link(const struct ath_root *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Lists the names in a folder without "." and "..", sorted so that numbers in them count as numbers
 * (node8 before node250). *out is an array of *out_count names, released with ath_names_free().
 * Returns 0, or a negative errno with *out empty if the folder cannot be read.
 */
int ath_root_list(const struct ath_root *root, const char *path, char ***out, size_t *out_count);
void ath_names_free(char **names, size_t count);
