/*
 * One or several servers, as AITHERION_SERVER and `aitherion run --server` name them: addresses
 * with commas between; blanks are ignored. The GPUs of all servers are one list, in this order. A
 * socket whose path has a comma cannot be in a list.
 */
#pragma once
#include <stddef.h>

#include "remote/wire/endpoint.h"

enum { ATH_SERVERS_MAX = 16 };

struct ath_servers {
    size_t count;
    char items[ATH_SERVERS_MAX][ATH_ENDPOINT_TEXT]; /* each in the form of ath_endpoint_parse() */
};

/* Reads one or several addresses; a path stands for unix:PATH. Returns 0, or -EINVAL with err
 * for a wrong address, an address that is in the list twice, or too many addresses. */
int ath_servers_read(const char *list, struct ath_servers *out, struct ath_err *err);
