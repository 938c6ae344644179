/* How errors and warnings reach a person or a program. */
#pragma once
#include "base/err.h"
#include "cli/output/output.h"
#include "config/faults.h"

/*
 * Prints an error on standard error: as text ("aitherion: MESSAGE", below it the faults and the
 * hint), or as the object aitherion.error/1 in JSON or YAML.
 */
void ath_report_error(const struct ath_err *err, const struct ath_faults *faults,
                      enum ath_format format);
