/* The paths between programs and their GPUs, as a table and as JSON. */
#pragma once
#include "cli/output/fields.h"
#include "cli/output/session.h"

/* The members of a struct ath_runtime_path. */
extern const struct ath_field ath_session_path_fields[];

/* Prints the paths of all sessions: those in use with what they carry and cost, and why the others
 * are not. */
void ath_session_paths_print(const struct ath_style *style, FILE *out,
                             const struct ath_session_report *report);
