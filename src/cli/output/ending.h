/* Shows the programs that a command ends or would end. A report has one group for each runtime that
 * has programs, or that could not be asked. */
#pragma once
#include "cli/output/session.h"

/* "session 3 (hold, unix:344) of NUMA0; NUMA1 does not say who uses it: ..."; the caller frees
 * it. */
char *ath_ending_words(const struct ath_session_report *report);

/* A heading, the table of sessions, and a line for each runtime that could not be asked. Prints
 * nothing for an empty report. */
void ath_ending_print(const struct ath_style *style, FILE *out,
                      const struct ath_session_report *report);

/* The members of a group (struct ath_session_group), for a list "ends" in other views. */
extern const struct ath_field ath_ending_fields[];

/* The help of that list. */
#define ATH_ENDING_HELP                                                                            \
    "the running programs that end with their runtimes; in a dry run, those that would end"
