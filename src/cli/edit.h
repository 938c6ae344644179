/* How a command changes the document: read, lock, change, save, compare with the machine. */
#pragma once
#include "cli/cli.h"
#include "cli/output/change.h"
#include "config/document.h"
#include "numa/machine.h"

/* Makes the changes in memory, and adds the keys that may have changed to the report (without
 * values; ath_cli_edit() looks them up). Returns 0, or a negative errno with err. */
typedef int ath_cli_change(struct ath_document *document, void *context,
                           struct ath_change_report *report, struct ath_err *err);

/* Adds a key to the report unless it is there already. The report owns the key. */
void ath_cli_edit_key(struct ath_change_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the document's faults on this machine that the change caused to the report. Older ones are
 * only counted. */
void ath_cli_edit_compare(const struct ath_document *before, const struct ath_document *after,
                          const struct ath_machine *machine, struct ath_change_report *report);

/*
 * Changes the document at path and saves it. The document is locked only for that time. A dry run
 * neither locks nor saves.
 *
 * machine: what to compare the document with, or NULL. *report gets the values that differ and the
 * new faults; report->file points to path. Returns 0, or a negative errno with err and nothing
 * saved.
 */
int ath_cli_edit(struct ath_cli *cli, const char *path, const struct ath_machine *machine,
                 ath_cli_change *change, void *context, struct ath_change_report *report,
                 struct ath_err *err);
