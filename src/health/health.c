/* Runs the checks and orders their findings. */
#include "config.h"

#include "health/health.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "health/check.h"

const char *ath_health_status_word(enum ath_health_status status)
{
    static const char *const words[] = { [ATH_HEALTH_OK] = "ok",
                                         [ATH_HEALTH_WARNING] = "warning",
                                         [ATH_HEALTH_UNKNOWN] = "unknown",
                                         [ATH_HEALTH_FAULT] = "fault" };
    return words[status];
}

static struct ath_health_finding *add(struct ath_health *health, enum ath_health_status status,
                                      const char *object, char *message)
{
    struct ath_health_report *report = health->report;
    struct ath_health_finding *finding =
        ath_push(&report->findings, &report->count, sizeof *finding);
    finding->check = health->check;
    finding->status = status;
    finding->object = ath_xstrdup(object);
    finding->message = message;
    report->counts[status]++;
    return finding;
}

__attribute__((format(printf, 1, 0))) static char *text_of(const char *format, va_list args)
{
    char *text = NULL;
    return vasprintf(&text, format, args) < 0 ? ath_xstrdup("") : text;
}

#define ADD_AS(status)                                                                             \
    va_list args;                                                                                  \
    va_start(args, format);                                                                        \
    char *message = text_of(format, args);                                                         \
    va_end(args);                                                                                  \
    return add(health, status, object, message)

struct ath_health_finding *ath_health_wrong(struct ath_health *health, const char *object,
                                            const char *format, ...)
{
    ADD_AS(health->check->severity);
}

struct ath_health_finding *ath_health_unsure(struct ath_health *health, const char *object,
                                             const char *format, ...)
{
    ADD_AS(ATH_HEALTH_UNKNOWN);
}

struct ath_health_finding *ath_health_warn(struct ath_health *health, const char *object,
                                           const char *format, ...)
{
    ADD_AS(ATH_HEALTH_WARNING);
}

struct ath_health_finding *ath_health_fine(struct ath_health *health, const char *object,
                                           const char *format, ...)
{
    ADD_AS(ATH_HEALTH_OK);
}

void ath_health_hint(struct ath_health_finding *finding, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    free(finding->hint);
    finding->hint = text_of(format, args);
    va_end(args);
}

/* Orders by status; findings of equal status keep the order of the table. */
static void sort(struct ath_health_report *report)
{
    struct ath_health_finding *sorted = ath_xalloc(report->count * sizeof *sorted);
    size_t count = 0;

    for (int status = ATH_HEALTH_STATUS_COUNT - 1; status >= 0; status--)
        for (size_t i = 0; i < report->count; i++)
            if ((int)report->findings[i].status == status)
                sorted[count++] = report->findings[i];
    free(report->findings);
    report->findings = sorted;
}

void ath_health_run(const struct ath_health_facts *facts, struct ath_health_report *out)
{
    struct ath_health_report report = { 0 };

    for (const struct ath_health_check *check = ath_health_checks; check->code; check++) {
        struct ath_health health = { facts, check, &report };
        size_t before = report.count;
        if (check->run(&health) && report.count == before)
            add(&health, ATH_HEALTH_OK, NULL, ath_xstrdup(_(check->title)));
    }
    sort(&report);
    *out = report;
}

void ath_health_report_free(struct ath_health_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->count; i++) {
        free(report->findings[i].object);
        free(report->findings[i].message);
        free(report->findings[i].hint);
    }
    free(report->findings);
    *report = (struct ath_health_report){ 0 };
}

bool ath_health_has_faults(const struct ath_health_report *report)
{
    return report->counts[ATH_HEALTH_FAULT] > 0;
}

bool ath_health_is_unsure(const struct ath_health_report *report)
{
    return report->counts[ATH_HEALTH_UNKNOWN] > 0;
}
