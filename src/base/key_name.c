/* Checks the names of keys. */
#include "config.h"

#include "base/key_name.h"

#include <stddef.h>
#include <string.h>

bool ath_key_name_is_valid(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    static const char replaced[] = ".bak";
    size_t length = strlen(name);

    return length && length < ATH_KEY_NAME_BYTES && strspn(name, first) &&
           strspn(name, rest) == length &&
           (length < sizeof replaced ||
            strcmp(name + length - (sizeof replaced - 1), replaced) != 0);
}
