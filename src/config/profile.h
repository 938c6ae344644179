/*
 * Shipped documents for known machines: the files NAME_topology.yaml in our data folder. A new file
 * there is a new profile.
 */
#pragma once
#include "base/err.h"
#include "config/schema.h"

/* Lists the sorted names of the profiles in folder (NULL: our own); none if it cannot be read. */
void ath_profile_list(const char *folder, struct ath_texts *out);

/* Reads the text of a profile. Returns 0, or -ENOENT "profile-unknown" with err. The caller frees
 * *out. */
int ath_profile_read(const char *folder, const char *name, char **out, struct ath_err *err);
