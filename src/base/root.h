/*
 * The file system that facts are read from: the live machine's, or a captured copy of one in a
 * folder.
 *
 * Paths are given without a leading slash ("sys/class/net"). In a captured root links never lead
 * outside it (openat2 with RESOLVE_IN_ROOT; kernels before 5.6 lack it, as RHEL 8's on an AC922
 * may, and there links are followed one by one). Only regular files are read, at most 1 MiB of
 * each, so that a device node or a FIFO in a hostile capture cannot hang us.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct ath_root {
    int fd;       /* of the folder, -1 when closed */
    bool is_live; /* "/": this machine, now */
    char *path;   /* as given, for messages */
};

/* Returns 0, or a negative errno with err set; *out is released with ath_root_free(). */
int ath_root_open(const char *path, struct ath_root *out, struct ath_err *err);
void ath_root_free(struct ath_root *root);

/*
 * The whole of a file, trailing blanks and newlines cut off, NUL bytes turned to blanks
 * (device-tree strings end in one); NULL with errno set where it cannot be read (EINVAL and EIO are
 * usual answers of sysfs for "not now"). The caller frees it.
 */
char *ath_root_read(const struct ath_root *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The bytes of a file as they are (PCI VPD); *out_length says how many. NULL as above. */
uint8_t *ath_root_read_bytes(const struct ath_root *root, const char *path, size_t *out_length);

/* A number in a file: decimal (negative allowed) or 0x hexadecimal. `missing` where there is none.
 */
int64_t ath_root_read_number(const struct ath_root *root, int64_t missing, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens a regular file for reading, whatever its size. Returns a descriptor, or a negative errno
 * (-EINVAL for what is no regular file). */
int ath_root_open_file(const struct ath_root *root, const char *path);

bool ath_root_exists(const struct ath_root *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What a symbolic link says, unresolved; NULL where it is not a link. The caller frees it. */
char *ath_root_link(const struct ath_root *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * The names in a folder, sorted so that numbers in them count as numbers (node8 before node250),
 * without . and ..; *out is an array of *out_count names, empty where the folder cannot be read
 * (then a negative errno returns).
 */
int ath_root_list(const struct ath_root *root, const char *path, char ***out, size_t *out_count);
void ath_names_free(char **names, size_t count);
