/*
 * Options that set keys of the document: `configure 0 --memory-percent 70` sets
 * numa.0.memory_percent, and `configure --encrypt on` sets encrypt. In such a table every option
 * that takes one text sets a key: a key of the document itself that has this name, else the
 * entry's.
 */
#pragma once
#include "cli/command.h"
#include "cli/output/change.h"
#include "config/document.h"

/* Adds a change to the report for each option given, in the table's order. entry: "numa.0".
 * options: the struct that the table's offsets point into. */
void ath_key_flags_add(const struct ath_option *table, const void *options, const char *entry,
                       struct ath_change_report *report);

/* Return the first option given, and the first one that sets a key of an entry; NULL for none. */
const struct ath_option *ath_key_flags_first(const struct ath_option *table, const void *options);
const struct ath_option *ath_key_flags_first_of_entry(const struct ath_option *table,
                                                      const void *options);

/* Returns "memory_percent" for --memory-percent. The caller frees it. */
char *ath_key_flag_key(const struct ath_option *option);

/* Makes all changes of the report, or none, and records the values before and after in the report.
 * Returns 0, or a negative errno with the err of ath_document_set_all(). */
int ath_changes_apply(struct ath_document *document, struct ath_change_report *report,
                      struct ath_err *err);
