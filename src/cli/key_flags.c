/* Turning options into changes of the document, and making the changes. */
#include "config.h"

#include "cli/key_flags.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "config/edit.h"

static const char *value_of(const struct ath_option *option, const void *options)
{
    if (option->type != ATH_OPTION_TEXT)
        return NULL;
    return *(const char *const *)((const char *)options + option->offset);
}

char *ath_key_flag_key(const struct ath_option *option)
{
    char *key = ath_xstrdup(option->name);
    for (char *c = key; *c; c++)
        if (*c == '-')
            *c = '_';
    return key;
}

const struct ath_option *ath_key_flags_first(const struct ath_option *table, const void *options)
{
    for (; table->name; table++)
        if (value_of(table, options))
            return table;
    return NULL;
}

/* Returns whether the document itself has the key, which then is no key of an entry. */
static bool is_of_document(const char *key)
{
    const struct ath_schema *found = ath_schema_find(ath_schema_root(), key);
    return found && found->kind < ATH_VALUE_MAPPING;
}

const struct ath_option *ath_key_flags_first_of_entry(const struct ath_option *table,
                                                      const void *options)
{
    while ((table = ath_key_flags_first(table, options))) {
        ath_auto_free char *key = ath_key_flag_key(table);
        if (!is_of_document(key))
            return table;
        table++;
    }
    return NULL;
}

void ath_key_flags_add(const struct ath_option *table, const void *options, const char *entry,
                       struct ath_change_report *report)
{
    for (; table->name; table++) {
        const char *value = value_of(table, options);
        if (!value)
            continue;
        ath_auto_free char *key = ath_key_flag_key(table);
        struct ath_applied_change *change =
            ath_push(&report->changes, &report->change_count, sizeof *change);
        change->key = is_of_document(key) ? ath_steal(&key) : ath_xasprintf("%s.%s", entry, key);
        change->value = ath_xstrdup(value);
    }
}

static int look_up_before(const struct ath_document *document, struct ath_change_report *report,
                          struct ath_err *err)
{
    int status = 0;
    for (size_t i = 0; i < report->change_count && !status; i++) {
        struct ath_applied_change *change = &report->changes[i];
        status = ath_document_get(document, change->key, &change->before, err);
        if (status && ath_document_makes_row(change->key))
            status = 0;
    }
    return status;
}

/* Records the values that the document has now. An entry that was renamed cannot be found by its
 * old name; then the requested value is recorded. */
static void look_up_after(const struct ath_document *document, struct ath_change_report *report)
{
    for (size_t i = 0; i < report->change_count; i++) {
        struct ath_applied_change *change = &report->changes[i];
        if (ath_document_get(document, change->key, &change->after, NULL))
            change->after = ath_xstrdup(change->value);
    }
}

int ath_changes_apply(struct ath_document *document, struct ath_change_report *report,
                      struct ath_err *err)
{
    ath_auto_free struct ath_change *changes = ath_xalloc(report->change_count * sizeof *changes);
    for (size_t i = 0; i < report->change_count; i++)
        changes[i] =
            (struct ath_change){ .key = report->changes[i].key, .value = report->changes[i].value };

    int status = look_up_before(document, report, err);
    if (!status)
        status = ath_document_set_all(document, changes, report->change_count, err);
    if (!status)
        look_up_after(document, report);
    return status;
}
