/* Prints errors for a user or a program. */
#pragma once
#include "cli/cli.h"

extern const struct ath_view ath_report_view; /* aitherion.error/1 */

/*
 * Prints an error on standard error: as text ("aitherion: MESSAGE", then the faults and the hint),
 * or as an object of schema aitherion.error/1 in JSON or YAML.
 */
void ath_report_error(const struct ath_cli *cli, const struct ath_err *err);
