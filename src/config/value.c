/* The operations of each kind of value: describe, check, store, show, write, clear. */
#include "config.h"

#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/idset.h"
#include "base/pci.h"
#include "config/forms.h"
#include "config/schema.h"

const char *ath_value_kind_word(enum ath_value_kind kind)
{
    static const char *const words[ATH_VALUE_KIND_COUNT] = {
        [ATH_VALUE_TEXT] = "text",
        [ATH_VALUE_INTEGER] = "integer",
        [ATH_VALUE_NUMBER] = "number",
        [ATH_VALUE_BOOLEAN] = "boolean",
        [ATH_VALUE_CHOICE] = "choice",
        [ATH_VALUE_IDS] = "list of integers",
        [ATH_VALUE_TEXTS] = "list of texts",
        [ATH_VALUE_MAPPING] = "mapping",
        [ATH_VALUE_ITEMS] = "list of mappings",
    };
    return words[kind];
}

bool ath_value_is_text(enum ath_value_kind kind)
{
    return kind == ATH_VALUE_TEXT || kind == ATH_VALUE_TEXTS || kind == ATH_VALUE_CHOICE;
}

bool ath_value_is_list(enum ath_value_kind kind)
{
    return kind == ATH_VALUE_IDS || kind == ATH_VALUE_TEXTS;
}

const struct ath_schema *ath_schema_find(const struct ath_schema *parent, const char *name)
{
    for (const struct ath_schema *key = parent->keys; key && key->name; key++)
        if (!strcmp(key->name, name))
            return key;
    return NULL;
}

const char *ath_schema_nearest(const struct ath_schema *parent, const char *name)
{
    const char *names[32];
    size_t count = 0;
    for (const struct ath_schema *key = parent->keys; key && key->name; key++)
        if (count < ATH_COUNT(names))
            names[count++] = key->name;
    return ath_text_nearest(name, names, count);
}

void ath_texts_add(struct ath_texts *texts, const char *text)
{
    char **slot = ath_push(&texts->items, &texts->count, sizeof *slot);
    *slot = ath_xstrdup(text);
}

void ath_texts_free(struct ath_texts *texts)
{
    if (!texts)
        return;
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (struct ath_texts){ 0 };
}

bool ath_texts_has(const struct ath_texts *texts, const char *text)
{
    for (size_t i = 0; text && i < texts->count; i++)
        if (!strcmp(texts->items[i], text))
            return true;
    return false;
}

char *ath_texts_join(const struct ath_texts *texts)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < texts->count; i++)
        ath_text_add_part(&text, ", ", "%s", texts->items[i]);
    return ath_text_take(&text);
}

char *ath_number_text(double number)
{
    enum { DECIMALS_MAX = 17 };
    char text[512]; /* room for the largest double without an exponent */

    for (int decimals = 0; decimals <= DECIMALS_MAX; decimals++) {
        snprintf(text, sizeof text, "%.*f", decimals, number);
        double back = strtod(text, NULL);
        if (back >= number && back <= number)
            break;
    }
    /* snprintf() writes the locale's decimal point. */
    const char *local = localeconv()->decimal_point;
    const char *point = *local ? strstr(text, local) : NULL;
    return point ? ath_xasprintf("%.*s.%s", (int)(point - text), text, point + strlen(local))
                 : ath_xstrdup(text);
}

static char *allowed_number(const struct ath_schema *schema)
{
    ath_auto_free char *min = ath_number_text(schema->min);
    ath_auto_free char *max = ath_number_text(schema->max);
    return schema->is_min_excluded ? ath_xasprintf(_("a number above %s, at most %s"), min, max)
                                   : ath_xasprintf(_("a number from %s to %s"), min, max);
}

static char *allowed_choice(const struct ath_schema *schema)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; schema->choices[i]; i++)
        ath_text_add(&text, "%s%s",
                     !i                       ? ""
                     : schema->choices[i + 1] ? ", "
                                              : _(" or "),
                     schema->choices[i]);
    return ath_text_take(&text);
}

char *ath_schema_allowed_entry(const struct ath_schema *schema)
{
    switch (schema->kind) {
    case ATH_VALUE_TEXT:
    case ATH_VALUE_TEXTS:
        return ath_xstrdup(_(ath_form_allowed(schema->form)));
    case ATH_VALUE_INTEGER:
    case ATH_VALUE_IDS:
        return ath_xasprintf(_("a whole number from %d to %d"), (int)schema->min, (int)schema->max);
    case ATH_VALUE_NUMBER:
        return allowed_number(schema);
    case ATH_VALUE_BOOLEAN:
        return ath_xstrdup(_("true or false"));
    case ATH_VALUE_CHOICE:
        return allowed_choice(schema);
    case ATH_VALUE_ITEMS:
        return ath_xstrdup(_("a list of mappings"));
    default:
        return ath_xstrdup(_("a mapping (key: value)"));
    }
}

char *ath_schema_allowed(const struct ath_schema *schema)
{
    if (schema->kind == ATH_VALUE_TEXTS)
        return ath_xstrdup(_(ath_form_allowed_list(schema->form)));
    if (schema->kind == ATH_VALUE_IDS)
        return ath_xasprintf(_("a list of whole numbers from %d to %d"), (int)schema->min,
                             (int)schema->max);
    return ath_schema_allowed_entry(schema);
}

/* Accepts whole numbers that YAML 1.1 and 1.2 read alike: a leading zero means octal in YAML
 * 1.1. */
static enum ath_fault_code check_integer(const struct ath_schema *schema, const char *text)
{
    const char *digits = text + (*text == '-');
    int value;

    if (!*digits || digits[strspn(digits, "0123456789")] || (digits[0] == '0' && digits[1]))
        return ATH_FAULT_TYPE;
    if (ath_parse_int(text, (int)schema->min, (int)schema->max, &value))
        return ATH_FAULT_RANGE;
    return ATH_FAULT_NONE;
}

/* YAML takes ".8" as a number too. */
static int parse_number(const char *text, double *out)
{
    ath_auto_free char *whole = ath_xasprintf("%s%s", *text == '.' ? "0" : "", text);
    return strpbrk(text, "\n") ? -1 : ath_parse_double(whole, out);
}

static enum ath_fault_code check_number(const struct ath_schema *schema, const char *text)
{
    double value;
    if (parse_number(text, &value))
        return ATH_FAULT_TYPE;
    if (value > schema->max || value < schema->min ||
        (schema->is_min_excluded && value <= schema->min))
        return ATH_FAULT_RANGE;
    return ATH_FAULT_NONE;
}

static int choice_of(const struct ath_schema *schema, const char *text)
{
    for (int i = 0; schema->choices[i]; i++)
        if (!strcmp(schema->choices[i], text))
            return i;
    return ATH_UNSET;
}

static bool is_true(const char *text)
{
    return *text == 't' || *text == 'T';
}

enum ath_fault_code ath_schema_check(const struct ath_schema *schema, const char *text)
{
    switch (schema->kind) {
    case ATH_VALUE_TEXT:
    case ATH_VALUE_TEXTS:
        return ath_form_fits(schema->form, text) ? ATH_FAULT_NONE : ATH_FAULT_FORMAT;
    case ATH_VALUE_INTEGER:
    case ATH_VALUE_IDS:
        return check_integer(schema, text);
    case ATH_VALUE_NUMBER:
        return check_number(schema, text);
    case ATH_VALUE_BOOLEAN:
        return ath_yaml_type_of_plain(text) == ATH_YAML_BOOLEAN ? ATH_FAULT_NONE : ATH_FAULT_TYPE;
    case ATH_VALUE_CHOICE:
        return choice_of(schema, text) >= 0 ? ATH_FAULT_NONE : ATH_FAULT_CHOICE;
    default:
        return ATH_FAULT_TYPE;
    }
}

/* Returns the one spelling of a PCI address, so that comparing texts compares addresses. */
static char *canonical(const struct ath_schema *schema, const char *text)
{
    struct ath_pci pci;
    char pci_text[ATH_PCI_TEXT];

    if (schema->form == ATH_FORM_PCI && !ath_pci_parse(text, &pci))
        return ath_xstrdup(ath_pci_format(&pci, pci_text));
    return ath_xstrdup(text);
}

void *ath_schema_field(const struct ath_schema *schema, const void *base)
{
    return (char *)base + schema->offset;
}

void ath_schema_store(const struct ath_schema *schema, void *base, const char *text)
{
    void *field = ath_schema_field(schema, base);
    ath_auto_free char *value = canonical(schema, text);
    int number = 0;

    switch (schema->kind) {
    case ATH_VALUE_TEXT:
        free(*(char **)field);
        *(char **)field = ath_steal(&value);
        break;
    case ATH_VALUE_INTEGER:
        ath_parse_int(text, INT_MIN, INT_MAX, field);
        break;
    case ATH_VALUE_NUMBER:
        parse_number(text, field);
        break;
    case ATH_VALUE_BOOLEAN:
        *(bool *)field = is_true(text);
        break;
    case ATH_VALUE_CHOICE:
        *(int *)field = choice_of(schema, text);
        break;
    case ATH_VALUE_IDS:
        if (!ath_parse_int(text, 0, ATH_ID_MAX, &number))
            ath_idset_add(field, number, number);
        break;
    case ATH_VALUE_TEXTS:
        ath_texts_add(field, value);
        break;
    default:
        break;
    }
}

static void add_ids(const struct ath_idset *set, struct ath_texts *out)
{
    for (int id = ath_idset_next(set, -1); id >= 0; id = ath_idset_next(set, id)) {
        ath_auto_free char *text = ath_xasprintf("%d", id);
        ath_texts_add(out, text);
    }
}

static char *scalar_text(const struct ath_schema *schema, const void *field)
{
    switch (schema->kind) {
    case ATH_VALUE_INTEGER:
        return ath_xasprintf("%d", *(const int *)field);
    case ATH_VALUE_NUMBER:
        return ath_number_text(*(const double *)field);
    case ATH_VALUE_BOOLEAN:
        return ath_xstrdup(*(const bool *)field ? "true" : "false");
    case ATH_VALUE_CHOICE:
        return ath_xstrdup(schema->choices[*(const int *)field]);
    default:
        return ath_xstrdup(*(char *const *)field);
    }
}

void ath_schema_texts(const struct ath_schema *schema, const void *base, struct ath_texts *out)
{
    const void *field = ath_schema_field(schema, base);

    if (schema->kind == ATH_VALUE_IDS) {
        add_ids(field, out);
    } else if (schema->kind == ATH_VALUE_TEXTS) {
        const struct ath_texts *texts = field;
        for (size_t i = 0; i < texts->count; i++)
            ath_texts_add(out, texts->items[i]);
    } else if (schema->kind < ATH_VALUE_IDS && !ath_schema_is_unset(schema, base)) {
        ath_auto_free char *text = scalar_text(schema, field);
        ath_texts_add(out, text);
    }
}

/* PCI addresses are quoted, because YAML 1.1 takes 04:05:06 as a number of base 60. */
void ath_schema_write_entry(const struct ath_schema *schema, const char *value,
                            enum ath_yaml_style style, struct ath_text *out)
{
    if (ath_value_is_text(schema->kind))
        ath_yaml_write(out, value, schema->form == ATH_FORM_PCI ? ATH_YAML_DOUBLE : style);
    else
        ath_text_add(out, "%s%s", *value == '.' ? "0" : "", value);
}

void ath_schema_write(const struct ath_schema *schema, const struct ath_texts *entries,
                      struct ath_text *out)
{
    bool is_list = ath_value_is_list(schema->kind);

    ath_text_add(out, "%s", is_list ? "[" : "");
    for (size_t i = 0; i < entries->count; i++) {
        ath_text_add(out, "%s", i ? ", " : "");
        ath_schema_write_entry(schema, entries->items[i], ATH_YAML_PLAIN, out);
    }
    ath_text_add(out, "%s", is_list ? "]" : "");
}

bool ath_schema_is_unset(const struct ath_schema *schema, const void *base)
{
    const void *field = ath_schema_field(schema, base);
    return (schema->kind == ATH_VALUE_TEXT && !*(char *const *)field) ||
           ((schema->kind == ATH_VALUE_INTEGER || schema->kind == ATH_VALUE_CHOICE) &&
            *(const int *)field == ATH_UNSET);
}

bool ath_schema_is_default(const struct ath_schema *schema, const void *base)
{
    ATH_AUTO(ath_texts) values = { 0 };
    if (!schema->fallback)
        return false;
    ath_schema_texts(schema, base, &values);
    return values.count == 1 && !strcmp(values.items[0], schema->fallback);
}

/* The two members that every list of items begins with. */
static void **items_of(const struct ath_schema *schema, const void *base)
{
    return ath_schema_field(schema, base);
}

static size_t *count_of(const struct ath_schema *schema, const void *base)
{
    return (size_t *)(items_of(schema, base) + 1);
}

size_t ath_schema_count(const struct ath_schema *schema, const void *base)
{
    return *count_of(schema, base);
}

void *ath_schema_item(const struct ath_schema *schema, const void *base, size_t index)
{
    return (char *)*items_of(schema, base) + index * schema->item_size;
}

void *ath_schema_add_item(const struct ath_schema *schema, void *base)
{
    void *item = ath_push(items_of(schema, base), count_of(schema, base), schema->item_size);
    ath_schema_defaults(schema, item);
    return item;
}

void ath_schema_defaults(const struct ath_schema *mapping, void *base)
{
    for (const struct ath_schema *key = mapping->keys; key->name; key++) {
        if (key->kind == ATH_VALUE_MAPPING)
            ath_schema_defaults(key, ath_schema_field(key, base));
        else if (key->kind == ATH_VALUE_INTEGER ||
                 (key->kind == ATH_VALUE_CHOICE && !key->is_required))
            *(int *)ath_schema_field(key, base) = ATH_UNSET;
        if (key->fallback)
            ath_schema_store(key, base, key->fallback);
    }
}

static void clear_field(const struct ath_schema *schema, void *base)
{
    void *field = ath_schema_field(schema, base);

    if (schema->kind == ATH_VALUE_TEXT) {
        free(*(char **)field);
        *(char **)field = NULL;
    } else if (schema->kind == ATH_VALUE_IDS) {
        ath_idset_free(field);
    } else if (schema->kind == ATH_VALUE_TEXTS) {
        ath_texts_free(field);
    } else if (schema->kind == ATH_VALUE_MAPPING) {
        ath_schema_clear(schema, field);
    } else if (schema->kind == ATH_VALUE_ITEMS) {
        for (size_t i = 0; i < ath_schema_count(schema, base); i++)
            ath_schema_clear(schema, ath_schema_item(schema, base, i));
        free(*items_of(schema, base));
        *items_of(schema, base) = NULL;
        *count_of(schema, base) = 0;
    }
}

void ath_schema_clear(const struct ath_schema *mapping, void *base)
{
    for (const struct ath_schema *key = mapping->keys; key->name; key++)
        clear_field(key, base);
}
