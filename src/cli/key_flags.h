/*
 * Options that are keys of the document under another spelling: --memory-percent 70 of `configure
 * 0` sets numa.0.memory_percent. Every option of a command's table that takes one text is one.
 */
#pragma once
#include "cli/command.h"
#include "cli/output/change.h"
#include "config/document.h"

/* Adds a change for each that was given, in the table's order; entry: "numa.0". options: what the
 * table's offsets point into. */
void ath_key_flags_add(const struct ath_option *table, const void *options, const char *entry,
                       struct ath_change_report *report);

/* The first that was given; NULL where none was. */
const struct ath_option *ath_key_flags_first(const struct ath_option *table, const void *options);

/* "memory_percent" for --memory-percent; the caller frees it. */
char *ath_key_flag_key(const struct ath_option *option);

/* Makes all changes of the report, or none, and notes in it what was before and is now. Returns 0,
 * or a negative errno with err as ath_document_set_all() has it. */
int ath_changes_apply(struct ath_document *document, struct ath_change_report *report,
                      struct ath_err *err);
