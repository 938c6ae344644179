/* A change of the document, from the file and back. */
#include "config.h"

#include "cli/edit.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "config/check.h"
#include "config/edit.h"

enum { LOCK_TIMEOUT_MS = 10000 };

static bool has_key(const struct ath_change_report *report, const char *key)
{
    for (size_t i = 0; i < report->change_count; i++)
        if (!strcmp(report->changes[i].key, key))
            return true;
    return false;
}

void ath_cli_edit_key(struct ath_change_report *report, const char *format, ...)
{
    ath_auto_free char *key = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&key, format, args) < 0)
        abort();
    va_end(args);
    if (has_key(report, key))
        return;
    struct ath_applied_change *change =
        ath_push(&report->changes, &report->change_count, sizeof *change);
    change->key = ath_steal(&key);
}

/* Returns NULL also if the entry itself is missing. */
static char *value_of(const struct ath_document *document, const char *key)
{
    char *value = NULL;
    return ath_document_get(document, key, &value, NULL) ? NULL : value;
}

/* Fills in the values, and drops the keys whose values are the same. */
static void look_up(const struct ath_document *before, const struct ath_document *after,
                    struct ath_change_report *report)
{
    for (size_t i = 0; i < report->change_count; i++) {
        struct ath_applied_change *change = &report->changes[i];
        change->before = value_of(before, change->key);
        change->after = value_of(after, change->key);
    }
    ath_change_drop_same(report, false);
}

void ath_cli_edit_compare(const struct ath_document *before, const struct ath_document *after,
                          const struct ath_machine *machine, struct ath_change_report *report)
{
    ATH_AUTO(ath_faults) old = { 0 };
    ATH_AUTO(ath_faults) all = { 0 };

    ath_document_check(before, machine, &old);
    ath_document_check(after, machine, &all);
    ath_faults_take_new(&old, &before->tree, &all, &after->tree, &report->warnings);
    report->older_warning_count = all.count;
}

int ath_cli_edit(struct ath_cli *cli, const char *path, const struct ath_machine *machine,
                 ath_cli_change *change, void *context, struct ath_change_report *report,
                 struct ath_err *err)
{
    ATH_AUTO(ath_document) before = { 0 };
    ATH_AUTO(ath_document) document = { 0 };

    report->file = path;
    report->is_dry_run = cli->globals.is_dry_run;
    int status = ath_cli_may_write_document(cli, err);
    if (!status)
        status = report->is_dry_run
                     ? ath_document_load(path, &document, &cli->faults, err)
                     : ath_document_open(path, LOCK_TIMEOUT_MS, &document, &cli->faults, err);
    if (!status)
        status =
            ath_document_parse(document.text, document.length, path, &before, &cli->faults, err);
    if (!status)
        status = change(&document, context, report, err);
    if (status)
        return status;
    bool is_changed = ath_document_is_changed(&document);
    if (is_changed && !report->is_dry_run)
        status = ath_document_save(&document, err);
    if (status)
        return status;
    report->is_saved = is_changed && !report->is_dry_run;
    look_up(&before, &document, report);
    if (machine)
        ath_cli_edit_compare(&before, &document, machine, report);
    return 0;
}
