/* Values of `aitherion configure` that do not fit the machine. */
#pragma once
#include <stddef.h>

#include "cli/cli.h"
#include "cli/output/change.h"
#include "config/document.h"

/*
 * Refuses values of flags that do not fit the machine. Faults that the document had before do not
 * count. flags: how many of the report's changes, the first ones, come from flags. Adds the faults
 * to cli->faults. Returns 0, or -EINVAL "machine-mismatch" with err.
 */
int ath_configure_refuse_misfits(struct ath_cli *cli, const struct ath_document *before,
                                 const struct ath_document *after,
                                 const struct ath_machine *machine,
                                 const struct ath_change_report *report, size_t flags,
                                 struct ath_err *err);
