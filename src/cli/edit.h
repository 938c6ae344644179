/* How a command changes the document: read, lock, change, save, compare with the machine. */
#pragma once
#include "cli/cli.h"
#include "cli/output/change.h"
#include "config/document.h"
#include "numa/machine.h"

/* Makes the changes in memory, and adds the keys that they may be about to the report (key alone;
 * ath_cli_edit() looks up the values). Returns 0, or a negative errno with err. */
typedef int ath_cli_change(struct ath_document *document, void *context,
                           struct ath_change_report *report, struct ath_err *err);

/* Adds a key to the report, once; it is released with the report. */
void ath_cli_edit_key(struct ath_change_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds to the report what does not fit the machine since the change; what did not before is counted
 * only. */
void ath_cli_edit_compare(const struct ath_document *before, const struct ath_document *after,
                          const struct ath_machine *machine, struct ath_change_report *report);

/*
 * Changes the document of the command line under its lock, which is held no longer than that takes,
 * and saves it; in a dry run neither locks nor saves. machine: what to compare with, or NULL.
 * *report then holds what differs from before, and what does not fit the machine since. Returns 0,
 * or a negative errno with err; nothing is saved then. path: of the document; report->file is it.
 */
int ath_cli_edit(struct ath_cli *cli, const char *path, const struct ath_machine *machine,
                 ath_cli_change *change, void *context, struct ath_change_report *report,
                 struct ath_err *err);
