/* Asks the user for the value of a field: chosen from offers, or typed, and checked. */
#include "config.h"

#include "cli/tui/field_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

static bool is_many(const struct ath_schema *schema)
{
    return schema->kind == ATH_VALUE_IDS || schema->kind == ATH_VALUE_TEXTS;
}

static bool is_optional(const struct ath_schema *schema)
{
    return !schema->is_required && !schema->fallback && !is_many(schema);
}

/* Returns whether only the offered words are allowed. */
static bool is_closed(const struct ath_schema *schema)
{
    return schema->kind == ATH_VALUE_CHOICE || schema->kind == ATH_VALUE_BOOLEAN;
}

static void offer_words(const struct ath_schema *schema, struct ath_choices *out)
{
    static const char *const truths[] = { "true", "false", NULL };
    const char *const *words = schema->kind == ATH_VALUE_CHOICE    ? schema->choices
                               : schema->kind == ATH_VALUE_BOOLEAN ? truths
                                                                   : NULL;
    for (; words && *words; words++)
        ath_choices_add(out, *words, NULL, NULL);
}

/* Ticks the current values, and adds values that the machine does not have, so that they are not
 * lost. */
static void tick(struct ath_choices *choices, const char *value)
{
    ath_auto_free char *plain = value ? ath_field_plain(value) : NULL;
    char *rest = plain;

    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        word += strspn(word, " \"'");
        word[strcspn(word, "\"'")] = '\0';
        if (!*word)
            continue;
        struct ath_choice *choice = ath_choices_find(choices, word);
        if (!choice)
            choice = ath_choices_add(choices, word, NULL, _("(not found in this machine)"));
        choice->is_on = true;
    }
}

void ath_field_offers(const struct ath_tui *tui, const char *list, const char *field,
                      const char *value, struct ath_choices *out)
{
    const struct ath_schema *schema = ath_field_schema(list, field);
    const struct ath_field_row *row = ath_field_find(list, field);

    offer_words(schema, out);
    if (row->offer)
        row->offer(tui, out);
    tick(out, value);
}

static char *ticked(const struct ath_choices *choices)
{
    ATH_AUTO(ath_text) value = { 0 };
    ath_text_add(&value, "[");
    for (size_t i = 0; i < choices->count; i++)
        if (choices->items[i].is_on)
            ath_text_add(&value, "%s%s", value.length > 1 ? ", " : "", choices->items[i].value);
    ath_text_add(&value, "]");
    return ath_text_take(&value);
}

/* The check of a typed value: against a key of the document, or only the form of a field. */
struct trial {
    const char *key;
    const struct ath_schema *schema;
};

static bool accept(struct ath_tui *tui, const char *text, void *data, char **out_reason)
{
    const struct trial *trial = data;
    const char *value = !*text && is_optional(trial->schema) ? "null" : text;

    if (trial->key)
        return ath_field_set(tui, trial->key, value, out_reason);
    if (!ath_schema_check(trial->schema, text))
        return true;
    ath_auto_free char *allowed = ath_schema_allowed(trial->schema);
    *out_reason = ath_xasprintf(_("it must be %s"), allowed);
    return false;
}

static char *type_value(struct ath_tui *tui, const struct ath_field_row *field, const char *value,
                        struct trial *trial)
{
    ath_auto_free char *allowed = ath_schema_allowed(trial->schema);
    ath_auto_free char *help = ath_xasprintf(
        is_optional(trial->schema) ? _("%s; %s; empty: %s") : _("%s; %s"), _(trial->schema->help),
        allowed, trial->schema->otherwise ? _(trial->schema->otherwise) : _("none"));
    ath_auto_free char *initial = value ? ath_field_plain(value) : NULL;
    return ath_dialog_input(tui, _(field->label), help, initial, accept, trial);
}

/* Lets the user choose one of the offers, type a value, or choose none. Returns the value as in the
 * document, or NULL. The caller frees it. */
static char *choose_value(struct ath_tui *tui, const struct ath_field_row *field, const char *value,
                          struct ath_choices *choices, struct trial *trial)
{
    int none = -1, other = -1;

    if (is_optional(trial->schema)) {
        none = (int)choices->count;
        ath_choices_add(choices, "null", _("(none)"),
                        trial->schema->otherwise ? _(trial->schema->otherwise) : NULL)
            ->is_on = !value;
    }
    if (!is_closed(trial->schema)) {
        other = (int)choices->count;
        ath_choices_add(choices, "", _("type another one"), NULL);
    }
    int chosen = ath_dialog_choose(tui, _(field->label), _(trial->schema->help), choices, false);
    if (chosen < 0)
        return NULL;
    if (chosen == other)
        return type_value(tui, field, value, trial);
    char *reason = NULL;
    if (chosen != none || trial->key)
        accept(tui, choices->items[chosen].value, trial, &reason);
    if (!reason)
        return ath_xstrdup(choices->items[chosen].value);
    ath_tui_say(tui, ATH_ROLE_BAD, "%s", reason);
    free(reason);
    return NULL;
}

/* Lets the user choose several of the offers, or type a list. Returns the value as in the document,
 * or NULL. The caller frees it. */
static char *choose_values(struct ath_tui *tui, const struct ath_field_row *field,
                           struct ath_choices *choices, struct trial *trial)
{
    size_t other = choices->count;

    ath_choices_add(choices, "", _("type others"), NULL);
    if (ath_dialog_choose(tui, _(field->label), _(trial->schema->help), choices, true) < 0)
        return NULL;
    bool is_typed = choices->items[other].is_on;
    choices->items[other].is_on = false;
    ath_auto_free char *list = ticked(choices);
    if (is_typed)
        return type_value(tui, field, list, trial);
    if (trial->key && !ath_field_set(tui, trial->key, list, NULL))
        return NULL;
    return ath_steal(&list);
}

static char *ask(struct ath_tui *tui, const char *list, const char *name, const char *value,
                 const char *key)
{
    const struct ath_field_row *field = ath_field_find(list, name);
    struct trial trial = { key, ath_field_schema(list, name) };
    ATH_AUTO(ath_choices) choices = { 0 };

    ath_field_offers(tui, list, name, value, &choices);
    if (is_many(trial.schema))
        return choose_values(tui, field, &choices, &trial);
    return choices.count && (field->offer || is_closed(trial.schema))
               ? choose_value(tui, field, value, &choices, &trial)
               : type_value(tui, field, value, &trial);
}

char *ath_field_ask(struct ath_tui *tui, const char *list, const char *field, const char *initial)
{
    return ask(tui, list, field, initial, NULL);
}

bool ath_field_change(struct ath_tui *tui, const char *list, const char *subject, const char *field)
{
    ath_auto_free char *key = ath_field_key(list, subject, field);
    ath_auto_free char *value = ath_field_value(tui, key);
    ath_auto_free char *chosen = ask(tui, list, field, value, key);
    return chosen != NULL;
}
