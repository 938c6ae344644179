/*
 * Files that are written whole or not at all, and the lock that keeps two writers apart.
 *
 * A save writes the new text beside the old file under a fixed name (".NAME.new"; the lock makes
 * that safe, and a crash leaves at most that one file, which the next save overwrites), syncs it,
 * renames it over the old one and syncs the folder: after a crash at any point the old or the new
 * file is there, whole. Mode and owner of an existing file are kept; a symbolic link is followed,
 * so that the file it names is the one replaced. A device or pipe (/dev/stdout) is written to.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* The whole of a regular file ("-": of standard input) of at most max_bytes; the caller frees *out.
 * Returns 0 or a negative errno with err. */
int ath_file_read(const char *path, size_t max_bytes, char **out, size_t *out_length,
                  struct ath_err *err);

/* Returns 0, or a negative errno with err; the old file is untouched then. */
int ath_file_save(const char *path, const char *data, size_t length, struct ath_err *err);

/* Fills buffer with what comes next: returns how many bytes, 0 at the end, or a negative errno with
 * err. */
typedef ssize_t ath_file_next(void *context, char *buffer, size_t size, struct ath_err *err);

/* The same for what is too large to hold: it is asked for piece by piece. */
int ath_file_save_stream(const char *path, ath_file_next *next, void *context, struct ath_err *err);

/* Writes all of it to an open descriptor, however often it must be asked. Returns 0 or a negative
 * errno. */
int ath_file_write_all(int fd, const char *data, size_t length);

/*
 * Takes the write lock of path (a file ".NAME.lock" beside it, kept for the next time), waiting up
 * to timeout_ms. Released by closing *out_fd, or by the end of the process. Missing folders are
 * made (mode 0755). Returns 0, or -EAGAIN "locked", or another negative errno with err.
 */
int ath_file_lock(const char *path, int timeout_ms, int *out_fd, struct ath_err *err);
