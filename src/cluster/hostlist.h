/*
 * Lists of host names in Slurm's form: "login,node[01-04,7]". Pure computation.
 *
 * One pair of brackets in a name; numbers keep their leading zeros.
 */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "config/schema.h"

enum { ATH_HOSTLIST_MAX = 65536 }; /* names of one list */

/* Adds the names of a list. Returns 0, or -EINVAL with err; *out may then have some of them. */
int ath_hostlist_expand(const char *list, struct ath_texts *out, struct ath_err *err);

/* Returns the list of names, with ranges for numbers that follow each other. The caller frees
 * it. */
char *ath_hostlist_write(const struct ath_texts *names);
