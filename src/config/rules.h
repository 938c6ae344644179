/* Rules between the values of one document that do not depend on the machine. */
#pragma once
#include "config/document.h"

/* Checks that ids, names and ports are unique and that referenced ids exist. Adds a fault for each
 * breach. */
void ath_rules_check(const struct ath_document *document, struct ath_faults *faults);

/* Adds a fault for each entry that a list of scalars has twice. */
void ath_rules_entries_once(const struct ath_schema *schema, const struct ath_yaml *list,
                            struct ath_faults *faults);
