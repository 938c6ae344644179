/*
 * Tar archives, written as they are asked for, without a copy of them anywhere.
 *
 * An archive is a list of entries; its size is known from the list, and a reader hands it out in
 * pieces of any size. The form is POSIX pax with ustar headers (POSIX.1-2017, pax, "ustar
 * Interchange Format"): pax records only where ustar has no room (names over 100 bytes or beyond
 * ASCII, sizes from 8 GiB on). The same list gives the same bytes: owner 0:0, times 0, as given.
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
    char *name; /* without a leading slash; of a folder without a slash behind */
    enum ath_tar_kind kind;
    unsigned int mode;           /* permissions */
    char *target;                /* of a link */
    int64_t size_bytes;          /* of a file */
    char *bytes;                 /* its content, */
    char *path;                  /* or where it is read from, in root; */
    const struct ath_root *root; /* NULL: path is a plain one */
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

/* The file is opened while the archive is read, and must then have size_bytes. root, which may be
 * NULL, must outlive the archive. */
void ath_tar_add_file(struct ath_tar *tar, const char *name, unsigned int mode,
                      const struct ath_root *root, const char *path, int64_t size_bytes);

/* inner must outlive it. */
void ath_tar_add_tar(struct ath_tar *tar, const char *name, unsigned int mode,
                     const struct ath_tar *inner);

void ath_tar_free(struct ath_tar *tar);

/* Bytes of the whole archive. */
int64_t ath_tar_size(const struct ath_tar *tar);

/* A place in an archive that is being read. All zero but for tar is its beginning. */
struct ath_tar_reader {
    const struct ath_tar *tar;
    size_t index;         /* of the entry, count: the two empty blocks at the end */
    int phase;            /* private: header, content, padding */
    int64_t done;         /* bytes of the phase */
    struct ath_text head; /* of the entry */
    int fd;               /* of the entry's file, where is_open */
    int is_open;
    struct ath_tar_reader *inner;
    int64_t read_bytes; /* of all */
};

/*
 * Fills buffer with what comes next: returns how many bytes, 0 at the end only, or a negative errno
 * with err (a file that cannot be read, or is no longer as it was). ath_tar_reader_free() releases
 * a reader that stopped anywhere.
 */
ssize_t ath_tar_read(struct ath_tar_reader *reader, char *buffer, size_t size, struct ath_err *err);
void ath_tar_reader_free(struct ath_tar_reader *reader);
