/*
 * The file of the shared key: its place, and its creation.
 *
 * A key is a file of any bytes; all of them count. A file that we write has mode 0600 from the
 * start and appears whole or not at all.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { ATH_KEY_BYTES = 32, ATH_KEY_BYTES_MAX = 65536 };

/*
 * Returns the key's file: $XDG_CONFIG_HOME/aitherion/key (~/.config/aitherion/key) if it exists,
 * else the document's key file if that exists. If neither exists, returns the file for a new key:
 * the document's if this user may write there, else the user's own. The caller frees it.
 */
char *ath_key_file_find(const char *document_key_file, bool *out_is_there);

/* Returns the user's own key file, whether it exists or not; NULL without a home. The caller frees
 * it. */
char *ath_key_file_own(void);

/* Fills a new key with random bytes from the kernel. Returns 0 or a negative errno with err. */
int ath_key_make(unsigned char out[ATH_KEY_BYTES], struct ath_err *err);

/*
 * Keeps the key that is about to be replaced, as "FILE.bak" that only its owner may read (a hard
 * link, so that the key is in a file at all times). Returns 0, or a negative errno with err. The
 * caller frees *out_copy.
 */
int ath_key_file_keep(const char *path, char **out_copy, struct ath_err *err);

/* Returns whether this user may make or replace the file, judging by its nearest existing
 * folder. */
bool ath_key_file_is_writable(const char *path);

/* Makes the folders above a file. Returns 0, or a negative errno with err. */
int ath_key_file_make_folders(const char *path, struct ath_err *err);

/* Writes a key and makes its folder if necessary. Returns 0, or a negative errno with err: -EEXIST
 * "exists" if there is a key and may_replace is false. */
int ath_key_file_write(const char *path, const void *key, size_t length, bool may_replace,
                       struct ath_err *err);
