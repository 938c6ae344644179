/*
 * Files that are written whole or not at all, and the lock that keeps two writers apart.
 *
 * A save writes the new text beside the old file under a fixed name (".NAME.new"), syncs it,
 * renames it over the old one and syncs the folder. After a crash at any point either the old or
 * the new file is there, whole. The lock makes the fixed name safe; a crash leaves at most that one
 * file, which the next save overwrites. The mode and the owner of an existing file are kept. A
 * symbolic link is followed, so that its target is replaced. A device or a pipe (/dev/stdout) is
 * written to.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Reads a regular file (standard input for "-") of at most max_bytes; the caller frees *out.
 * Returns 0, or a negative errno with err. */
int ath_file_read(const char *path, size_t max_bytes, char **out, size_t *out_length,
                  struct ath_err *err);

/* Returns 0, or a negative errno with err; on failure the old file is untouched. */
int ath_file_save(const char *path, const char *data, size_t length, struct ath_err *err);

/* Fills buffer with the next bytes. Returns how many, 0 at the end, or a negative errno with err.
 * */
typedef ssize_t ath_file_next(void *context, char *buffer, size_t size, struct ath_err *err);

/* Saves data that is too large to hold in memory: next is called until it returns 0. */
int ath_file_save_stream(const char *path, ath_file_next *next, void *context, struct ath_err *err);

/* Writes all bytes to an open descriptor, in as many calls as it takes. Returns 0 or a negative
 * errno. */
int ath_file_write_all(int fd, const char *data, size_t length);

/*
 * Takes the write lock of path, a file ".NAME.lock" beside it that stays there, and waits up to
 * timeout_ms for it. Closing *out_fd or the end of the process releases the lock. Missing folders
 * are made (mode 0755). Returns 0, -EAGAIN "locked" with err, or another negative errno with err.
 */
int ath_file_lock(const char *path, int timeout_ms, int *out_fd, struct ath_err *err);

/* Returns a name for a copy that overwrites no older one: "PATH.bak", else "PATH.bak.1" and so on.
 * The caller frees it. */
char *ath_file_copy_name(const char *path);

/* Closes all descriptors from this one on, in a process that is about to run another program. */
void ath_close_from(int first);
