/*
 * The file of the shared key: where it is, and how it comes to be.
 *
 * A key is any bytes, the whole of its file. A file that we write has mode 0600 from its first
 * moment on and is there whole or not at all.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { ATH_KEY_BYTES = 32, ATH_KEY_BYTES_MAX = 65536 };

/*
 * The key's file: $XDG_CONFIG_HOME/aitherion/key (~/.config/aitherion/key) where it exists, else
 * the document's. Where neither exists, that one of them that a new key goes into: the document's
 * where this user may write there, else the user's own. The caller frees it.
 */
char *ath_key_file_find(const char *document_key_file, bool *out_is_there);

/* The user's own, there or not; NULL without a home. The caller frees it. */
char *ath_key_file_own(void);

/* Fills a new key with random bytes from the kernel. Returns 0 or a negative errno with err. */
int ath_key_make(unsigned char out[ATH_KEY_BYTES], struct ath_err *err);

/* Writes a key; its folder is made where it is missing. Returns 0, or a negative errno with err:
 * -EEXIST "exists" where there is one, unless it may be replaced. */
int ath_key_file_write(const char *path, const void *key, size_t length, bool may_replace,
                       struct ath_err *err);
