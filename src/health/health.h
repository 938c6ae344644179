/*
 * Health: a table of checks over the facts, and their findings, worst first.
 *
 * Each check is a row of the table in checks.c: a code word for programs, its subject in words, the
 * severity of a finding, and the function that looks. A new check is one new row and a test. A
 * check that could not look reports the reason, and never counts as passed.
 */
#pragma once
#include "health/facts.h"

/* In ascending order of severity. */
enum ath_health_status {
    ATH_HEALTH_OK,
    ATH_HEALTH_WARNING,
    ATH_HEALTH_UNKNOWN, /* the check could not look */
    ATH_HEALTH_FAULT,
    ATH_HEALTH_STATUS_COUNT
};

struct ath_health_check;

struct ath_health_finding {
    const struct ath_health_check *check;
    enum ath_health_status status;
    char *object;  /* a link, a device, "topology.yaml:12:3"; NULL: the whole machine */
    char *message; /* the cause; if the check found nothing, its subject */
    char *hint;    /* the command that fixes it; NULL if there is none */
};

struct ath_health_report {
    struct ath_health_finding *findings;
    size_t count;
    size_t counts[ATH_HEALTH_STATUS_COUNT]; /* how many of each status */
};

/* The state of one check while it runs. */
struct ath_health {
    const struct ath_health_facts *facts;
    const struct ath_health_check *check;
    struct ath_health_report *report;
};

struct ath_health_check {
    const char *code;
    const char *title;               /* N_(): the statement that holds if nothing is found */
    enum ath_health_status severity; /* the highest severity of its findings */
    /* Adds its findings. Returns false if there was nothing to look at. */
    bool (*run)(struct ath_health *health);
};

extern const struct ath_health_check ath_health_checks[]; /* ended by a NULL code */

/* Returns "ok", "warning", "unknown" or "fault". */
const char *ath_health_status_word(enum ath_health_status status);

/* Runs all checks. A check that looked and found nothing becomes one finding with the status OK; a
 * check that had nothing to look at leaves none. The order is by status, then by the table. The
 * caller releases *out. */
void ath_health_run(const struct ath_health_facts *facts, struct ath_health_report *out);
void ath_health_report_free(struct ath_health_report *report);

/* Tell, for exit codes, whether a report has faults, and whether something in it is unknown. */
bool ath_health_has_faults(const struct ath_health_report *report);
bool ath_health_is_unsure(const struct ath_health_report *report);
