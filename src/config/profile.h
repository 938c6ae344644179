/*
 * Shipped documents for known machines: the files NAME_topology.yaml in our data folder. Whoever
 * adds a profile adds a file.
 */
#pragma once
#include "base/err.h"
#include "config/schema.h"

/* The names of the profiles in folder (NULL: our own), sorted; none where it cannot be read. */
void ath_profile_list(const char *folder, struct ath_texts *out);

/* The text of a profile. Returns 0, or -ENOENT "profile-unknown" with err. The caller frees *out.
 */
int ath_profile_read(const char *folder, const char *name, char **out, struct ath_err *err);
