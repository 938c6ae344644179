/*
 * A folder of keys: each file is a key, and its name is the identity of those that prove it
 * (base/key_name.h). Writing a key is in key_file.h.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "config/schema.h"

bool ath_key_folder_is(const char *path);

/*
 * Makes path a folder of keys if it is not one yet. A key that is there becomes the key `default`
 * of the folder, without a moment at which there is no key. Returns 0, or a negative errno with
 * err. *out_has_moved: whether there was a key.
 */
int ath_key_folder_make(const char *path, bool *out_has_moved, struct ath_err *err);

/* Adds the names of the folder's keys to *out, sorted. Returns 0, or a negative errno with err. */
int ath_key_folder_list(const char *path, struct ath_texts *out, struct ath_err *err);

/* Lets the members of a group of users read a key. Returns 0, or a negative errno with err. */
int ath_key_folder_share(const char *file, const char *group, struct ath_err *err);

/* Returns the file of a name. The caller frees it. */
char *ath_key_folder_file(const char *path, const char *name);
