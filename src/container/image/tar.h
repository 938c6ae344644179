/*
 * Tar archives that are written piece by piece and never stored.
 *
 * An archive is a list of entries. Its size follows from the list, and a reader delivers it in
 * pieces of any size. The format is POSIX pax with ustar headers (POSIX.1-2017, pax, "ustar
 * Interchange Format"), with pax records only if ustar has no room (names over 100 bytes or beyond
 * ASCII, sizes from 8 GiB on). The same list gives the same bytes: owner 0:0, times 0, entries in
 * the given order.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/root.h"
#include "base/text.h"

enum ath_tar_kind { ATH_TAR_FILE, ATH_TAR_FOLDER, ATH_TAR_LINK };

struct ath_tar;

struct ath_tar_entry {
    char *name; /* without a slash at the beginning or the end */
    enum ath_tar_kind kind;
    unsigned int mode;           /* permissions */
    char *target;                /* of a link */
    int64_t size_bytes;          /* of a file */
    char *bytes;                 /* content in memory, */
    char *path;                  /* or a file in root, */
    const struct ath_root *root; /* NULL: path is a plain path */
    const struct ath_tar *tar;   /* or an archive within the archive; not owned */
};

/* All zero is an archive without entries. */
struct ath_tar {
    struct ath_tar_entry *entries;
    size_t count;
};

/* Names and contents are copied. mode is masked to permissions. */
void ath_tar_add_folder(struct ath_tar *tar, const char *name, unsigned int mode);
void ath_tar_add_link(struct ath_tar *tar, const char *name, const char *target);
void ath_tar_add_bytes(struct ath_tar *tar, const char *name, unsigned int mode, const char *bytes,
                       size_t length);

/* The file is opened when the archive is read, and must then have size_bytes. root, which may be
 * NULL, must outlive the archive. */
void ath_tar_add_file(struct ath_tar *tar, const char *name, unsigned int mode,
                      const struct ath_root *root, const char *path, int64_t size_bytes);

/* inner must outlive tar. */
void ath_tar_add_tar(struct ath_tar *tar, const char *name, unsigned int mode,
                     const struct ath_tar *inner);

void ath_tar_free(struct ath_tar *tar);

/* Returns the size of the whole archive in bytes. */
int64_t ath_tar_size(const struct ath_tar *tar);

/* A position in an archive. All zero except tar is the beginning. */
struct ath_tar_reader {
    const struct ath_tar *tar;
    size_t index;         /* of the entry; count: the two empty blocks at the end */
    int phase;            /* private: header, content, padding */
    int64_t done;         /* bytes of the phase */
    struct ath_text head; /* of the entry */
    int fd;               /* of the entry's file, if is_open */
    int is_open;
    struct ath_tar_reader *inner;
    int64_t read_bytes; /* of the whole archive */
};

/*
 * Fills buffer with the next bytes. Returns how many, 0 only at the end, or a negative errno with
 * err (a file cannot be read, or has changed). ath_tar_reader_free() releases a reader at any
 * position.
 */
ssize_t ath_tar_read(struct ath_tar_reader *reader, char *buffer, size_t size, struct ath_err *err);
void ath_tar_reader_free(struct ath_tar_reader *reader);
