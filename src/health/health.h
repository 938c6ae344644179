/*
 * Health: a table of checks over the facts, and what they found, worst first.
 *
 * Each check is a row of the table in checks.c: a code word for programs, what is looked at in
 * words, how bad a finding of it is, and the function that looks. Whoever adds a check adds one row
 * and a test. A check that could not look says so with the reason, and is never taken for fine.
 */
#pragma once
#include "health/facts.h"

/* By how much it matters. */
enum ath_health_status {
    ATH_HEALTH_OK,
    ATH_HEALTH_WARNING,
    ATH_HEALTH_UNKNOWN, /* could not tell */
    ATH_HEALTH_FAULT,
    ATH_HEALTH_STATUS_COUNT
};

struct ath_health_check;

struct ath_health_finding {
    const struct ath_health_check *check;
    enum ath_health_status status;
    char *object;  /* a link, a device, "topology.yaml:12:3"; NULL: the machine as a whole */
    char *message; /* the cause; of a check that found nothing, what it looked at */
    char *hint;    /* the command that mends it; NULL without */
};

struct ath_health_report {
    struct ath_health_finding *findings;
    size_t count;
    size_t counts[ATH_HEALTH_STATUS_COUNT]; /* how many of each status */
};

/* Work of one check. */
struct ath_health {
    const struct ath_health_facts *facts;
    const struct ath_health_check *check;
    struct ath_health_report *report;
};

struct ath_health_check {
    const char *code;
    const char *title;               /* N_(): what is right where nothing is found */
    enum ath_health_status severity; /* of what it finds, at its worst */
    /* Adds what it finds. False where there was nothing to look at. */
    bool (*run)(struct ath_health *health);
};

extern const struct ath_health_check ath_health_checks[]; /* ended by a NULL code */

/* "ok", "warning", "unknown", "fault". */
const char *ath_health_status_word(enum ath_health_status status);

/* Runs all checks. A check that looked and found nothing becomes one finding that is OK; one that
 * had nothing to look at, none. The order is by status, then by the table. */
void ath_health_run(const struct ath_health_facts *facts, struct ath_health_report *out);
void ath_health_report_free(struct ath_health_report *report);

/* Of a report, for programs: whether there are faults; else whether something could not be told. */
bool ath_health_has_faults(const struct ath_health_report *report);
bool ath_health_is_unsure(const struct ath_health_report *report);
