/*
 * One server or several, as AITHERION_SERVER and `aitherion run --server` have them: addresses with
 * commas between, and blanks at will. Their GPUs are one list, in this order. A socket whose path
 * has a comma cannot be in a list.
 */
#pragma once
#include <stddef.h>

#include "runtime/wire/endpoint.h"

enum { ATH_SERVERS_MAX = 16 };

struct ath_servers {
    size_t count;
    char items[ATH_SERVERS_MAX][ATH_ENDPOINT_TEXT]; /* each as ath_endpoint_parse() reads it */
};

/* Reads one address or several; a path stands for unix:PATH. Returns 0, or -EINVAL with err: an
 * address that is none, the same one twice, more than there may be. */
int ath_servers_read(const char *list, struct ath_servers *out, struct ath_err *err);
