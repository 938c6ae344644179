/* What must hold between the values of one document, whatever machine it is for. */
#pragma once
#include "config/document.h"

/* Ids, names and ports are there once; who is named by id exists. Adds what is wrong. */
void ath_rules_check(const struct ath_document *document, struct ath_faults *faults);

/* Every entry of a list of scalars is there once. */
void ath_rules_entries_once(const struct ath_schema *schema, const struct ath_yaml *list,
                            struct ath_faults *faults);
