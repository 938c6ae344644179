/* The forms that texts of a document must have: names, addresses, paths. */
#pragma once
#include <stdbool.h>

#include "config/schema.h"

bool ath_form_fits(enum ath_form form, const char *text);

/* Returns the words that follow "must be", untranslated: "a PCI address such as 0004:04:00.0"; and
 * the same for a list of them. */
const char *ath_form_allowed(enum ath_form form);
const char *ath_form_allowed_list(enum ath_form form);
