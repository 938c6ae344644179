/* Errors as text and as data. */
#include "config.h"

#include "cli/report.h"

#include <stdio.h>

#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/change.h"
#include "cli/output/fields.h"
#include "cli/terminal.h"

struct report {
    const struct ath_err *err;
    const struct ath_faults *faults;
};

static const void *find_faults(const void *object)
{
    return ((const struct report *)object)->faults;
}

static const struct ath_field fields[] = {
    { .name = "",
      .at = { .kind = ATH_FIELD_INNER, .is_pointer = true },
      .fields = ath_error_fields },
    ATH_FIELD("faults", ATH_AT_LIST(struct ath_faults, items, count),
              .help = "all faults of a rejected document; empty for other errors",
              .fields = ath_fault_fields, .find = find_faults),
    { .name = NULL },
};

static void report_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct report *report = data;
    ath_auto_free char *message = ath_clean(report->err->message, style->is_utf8);
    ath_auto_free char *hint = ath_style_hint(style, report->err->hint);

    fprintf(out, "aitherion: %s\n", message);
    ath_faults_to_text(style, out, "  ", report->faults);
    if (hint)
        ath_style_print(style, out, &(struct ath_paragraph){ .prefix = "  ", .text = hint });
}

const struct ath_view ath_report_view = {
    .schema = "aitherion.error/1",
    .title = "An error, as every command prints it on standard error with --json",
    .fields = fields,
    .to_text = report_to_text,
};

void ath_report_error(const struct ath_cli *cli, const struct ath_err *err)
{
    const struct report report = { .err = err, .faults = &cli->faults };
    const struct ath_style plain = { .is_utf8 = ath_terminal_is_utf8(), .globals = &cli->globals };

    ath_output(&ath_report_view, &report, ath_cli_format(cli), &plain, stderr, NULL);
}
