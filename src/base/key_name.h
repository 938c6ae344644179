/*
 * The name of a key, which is the identity of those that prove it: a file's name in a folder of
 * keys.
 *
 * A name has at most 63 letters, digits, dots, dashes and underscores of ASCII, and begins with a
 * letter or a digit. So it is no path, no hidden file, and harmless in logs and on terminals. A
 * name that ends in ".bak" is a replaced key, and no name.
 */
#pragma once
#include <stdbool.h>

enum { ATH_KEY_NAME_BYTES = 64 }; /* with the NUL byte */

/* The identity of a key that has no other name. */
#define ATH_KEY_NAME_DEFAULT "default"

bool ath_key_name_is_valid(const char *name);
