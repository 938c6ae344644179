/* Fields: their values as the document has them, shown and set. */
#include "config.h"

#include "cli/tui/field_parts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "config/edit.h"

const struct ath_schema *ath_field_schema(const char *list, const char *key)
{
    const struct ath_schema *schema = ath_schema_root();
    ath_auto_free char *path = ath_field_key(list, "", key);
    char *rest = path;

    for (char *name = strsep(&rest, "."); name && schema; name = strsep(&rest, "."))
        schema = ath_schema_find(schema, name);
    return schema;
}

const char *ath_field_help(const char *list, const char *field)
{
    return _(ath_field_schema(list, field)->help);
}

char *ath_field_key(const char *list, const char *subject, const char *field)
{
    return ath_xasprintf("%s%s%s%s%s", list, *list ? "." : "", subject, *subject ? "." : "", field);
}

char *ath_field_value(const struct ath_tui *tui, const char *key)
{
    char *value = NULL;
    return ath_document_get(&tui->store.document, key, &value, NULL) ? NULL : value;
}

char *ath_field_plain(const char *value)
{
    ATH_AUTO(ath_text) plain = { 0 };
    size_t length = strlen(value);

    if (*value != '[' || length < 2)
        return ath_xstrdup(value);
    for (size_t i = 1; i + 1 < length; i++)
        if (value[i] != '"')
            ath_text_add_bytes(&plain, value + i, 1);
    return ath_text_take(&plain);
}

char *ath_field_shown(const struct ath_tui *tui, const char *list, const char *subject,
                      const char *field)
{
    ath_auto_free char *key = ath_field_key(list, subject, field);
    ath_auto_free char *value = ath_field_value(tui, key);
    ath_auto_free char *plain = value ? ath_field_plain(value) : NULL;
    const struct ath_schema *schema = ath_field_schema(list, field);

    if (!plain || !*plain)
        return schema->otherwise ? ath_xasprintf("(%s)", _(schema->otherwise))
                                 : ath_xstrdup(_("(none)"));
    return ath_xasprintf("%s%s", plain, ath_field_find(list, field)->unit);
}

static bool has_message(const struct ath_faults *faults, const char *message)
{
    for (size_t i = 0; i < faults->count; i++)
        if (!strcmp(faults->items[i].message, message))
            return true;
    return false;
}

/* Returns the first warning that the change caused, or NULL. */
static const char *new_warning(const struct ath_faults *before, const struct ath_faults *after)
{
    for (size_t i = 0; i < after->count; i++)
        if (!has_message(before, after->items[i].message))
            return after->items[i].message;
    return NULL;
}

bool ath_field_set(struct ath_tui *tui, const char *key, const char *value, char **out_reason)
{
    ATH_AUTO(ath_faults) before = { 0 }, after = { 0 };
    ath_auto_free char *old = ath_field_value(tui, key), *now = NULL;
    struct ath_err err = { 0 };

    ath_store_check(&tui->store, NULL, &before);
    if (ath_document_set(&tui->store.document, key, value, &err)) {
        if (out_reason)
            *out_reason = ath_xstrdup(err.message);
        else
            ath_tui_say_error(tui, &err);
        return false;
    }
    ath_store_check(&tui->store, NULL, &after);
    now = ath_field_value(tui, key);
    const char *warning = new_warning(&before, &after);
    if (warning)
        ath_tui_say(tui, ATH_ROLE_WARN, _("changed, but: %s"), warning);
    else if (old && now && !strcmp(old, now))
        ath_tui_say(tui, ATH_ROLE_PLAIN, _("'%s' stays as it was"), key);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("'%s' is now %s; not saved yet"), key,
                    now ? now : "null");
    return true;
}
