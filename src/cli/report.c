/* Errors as text and as data. */
#include "config.h"

#include "cli/report.h"

#include <jansson.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/change.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"
#include "cli/terminal.h"

struct report {
    const struct ath_err *err;
    const struct ath_faults *faults;
};

static json_t *report_to_json(const void *data)
{
    const struct report *report = data;
    return json_pack("{s:s, s:o, s:o, s:o}", "code", ath_error_word(report->err->code), "message",
                     ath_json_text(report->err->message), "hint",
                     ath_json_text(report->err->hint[0] ? report->err->hint : NULL), "faults",
                     ath_faults_to_json(report->faults));
}

static void report_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct report *report = data;
    ath_auto_free char *message = ath_clean(report->err->message, style->is_utf8);
    ath_auto_free char *hint = ath_clean(report->err->hint, style->is_utf8);

    fprintf(out, "aitherion: %s\n", message);
    ath_faults_to_text(style, out, "  ", report->faults);
    if (hint[0])
        fprintf(out, "  %s %s\n", _("hint:"), hint);
}

void ath_report_error(const struct ath_err *err, const struct ath_faults *faults,
                      enum ath_format format)
{
    static const struct ath_view view = { "aitherion.error/1", report_to_json, report_to_text, NULL,
                                          0 };
    const struct report report = { .err = err, .faults = faults };
    const struct ath_style plain = { .is_utf8 = ath_terminal_is_utf8() };
    struct ath_err unused;

    ath_output(&view, &report, format, &plain, stderr, &unused);
}
