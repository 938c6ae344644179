/* A document as JSON and as text, made from the table of its keys. */
#include "config.h"

#include "cli/output/document.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/change.h"
#include "cli/output/fields.h"
#include "cli/output/json.h"

static json_t *mapping_to_json(const struct ath_schema *mapping, const void *base);

static json_t *items_to_json(const struct ath_schema *schema, const void *base)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ath_schema_count(schema, base); i++)
        json_array_append_new(list, mapping_to_json(schema, ath_schema_item(schema, base, i)));
    return list;
}

static json_t *value_to_json(const struct ath_schema *schema, const void *base)
{
    const void *field = ath_schema_field(schema, base);

    switch (schema->kind) {
    case ATH_VALUE_TEXT:
        return ath_json_text(*(char *const *)field);
    case ATH_VALUE_INTEGER:
        return ath_json_number(*(const int *)field);
    case ATH_VALUE_NUMBER:
        return json_real(*(const double *)field);
    case ATH_VALUE_BOOLEAN:
        return json_boolean(*(const bool *)field);
    case ATH_VALUE_CHOICE:
        return ath_schema_is_unset(schema, base)
                   ? json_null()
                   : json_string(schema->choices[*(const int *)field]);
    case ATH_VALUE_IDS:
        return ath_json_ids(field);
    case ATH_VALUE_TEXTS:
        return ath_json_texts(field);
    case ATH_VALUE_ITEMS:
        return items_to_json(schema, base);
    default:
        return mapping_to_json(schema, field);
    }
}

static json_t *mapping_to_json(const struct ath_schema *mapping, const void *base)
{
    json_t *object = json_object();
    for (const struct ath_schema *key = mapping->keys; key->name; key++)
        json_object_set_new(object, key->name, value_to_json(key, base));
    return object;
}

/* ---- the schema of a document in docs/schema ---- */

static json_t *mapping_schema(const struct ath_schema *mapping);

static void add_limits(json_t *value, const struct ath_schema *key)
{
    if (key->kind == ATH_VALUE_NUMBER) {
        json_object_set_new(value, key->is_min_excluded ? "exclusiveMinimum" : "minimum",
                            json_real(key->min));
        json_object_set_new(value, "maximum", json_real(key->max));
    } else {
        json_object_set_new(value, "minimum", json_integer((json_int_t)key->min));
        json_object_set_new(value, "maximum", json_integer((json_int_t)key->max));
    }
}

/* Returns the schema of a value, or of an item of a list. */
static json_t *one_schema(const struct ath_schema *key)
{
    static const char *const types[ATH_VALUE_KIND_COUNT] = {
        [ATH_VALUE_TEXT] = "string",   [ATH_VALUE_INTEGER] = "integer",
        [ATH_VALUE_NUMBER] = "number", [ATH_VALUE_BOOLEAN] = "boolean",
        [ATH_VALUE_IDS] = "integer",   [ATH_VALUE_TEXTS] = "string",
    };
    json_t *value = json_object();

    if (key->keys) {
        json_object_update_new(value, mapping_schema(key));
        return value;
    }
    bool can_be_null = (key->kind == ATH_VALUE_TEXT || key->kind == ATH_VALUE_INTEGER ||
                        key->kind == ATH_VALUE_CHOICE) &&
                       !key->fallback && !key->is_required;
    if (key->choices) {
        json_t *words = json_array();
        for (const char *const *word = key->choices; *word; word++)
            json_array_append_new(words, json_string(*word));
        if (can_be_null)
            json_array_append_new(words, json_null());
        json_object_set_new(value, "enum", words);
        return value;
    }
    json_object_set_new(value, "type",
                        can_be_null ? json_pack("[s, s]", types[key->kind], "null")
                                    : json_string(types[key->kind]));
    if (key->min < key->max)
        add_limits(value, key);
    if (key->form == ATH_FORM_PCI)
        json_object_set_new(value, "pattern", json_string(ATH_PCI_PATTERN));
    return value;
}

static json_t *key_schema(const struct ath_schema *key)
{
    json_t *schema = json_object();
    bool is_list = key->kind == ATH_VALUE_ITEMS || ath_value_is_list(key->kind);

    if (key->help)
        json_object_set_new(schema, "description", json_string(key->help));
    if (is_list) {
        json_object_set_new(schema, "type", json_string("array"));
        json_object_set_new(schema, "items", one_schema(key));
    } else {
        json_object_update_new(schema, one_schema(key));
    }
    return schema;
}

static json_t *mapping_schema(const struct ath_schema *mapping)
{
    json_t *properties = json_object(), *required = json_array();

    for (const struct ath_schema *key = mapping->keys; key->name; key++) {
        json_object_set_new(properties, key->name, key_schema(key));
        json_array_append_new(required, json_string(key->name));
    }
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", false);
}

static json_t *document_schema(void)
{
    return mapping_schema(ath_schema_root());
}

static const void *find_document(const void *object)
{
    return ((const struct ath_document_report *)object)->document;
}

static json_t *make_document(const void *object)
{
    return mapping_to_json(ath_schema_root(), find_document(object));
}

static const void *find_warnings(const void *object)
{
    return ((const struct ath_document_report *)object)->warnings;
}

static const struct ath_field fields[] = {
    ATH_FIELD("file", ATH_AT(struct ath_document, path), .is_nullable = true,
              .find = find_document),
    ATH_FIELD("document", ATH_OF(ATH_FIELD_OBJECT),
              .help = "the topology document with defaults; a value is null if it is not set and "
                      "has no default",
              .make = make_document, .describe = document_schema),
    ATH_FIELD("warnings", ATH_AT_LIST(struct ath_faults, items, count),
              .help = "faults on this machine", .fields = ath_fault_fields, .find = find_warnings),
    { .name = NULL },
};

struct page {
    const struct ath_style *style;
    FILE *out;
};

static void print_heading(const struct page *page, const char *heading, const char *path)
{
    ath_auto_free char *clean = ath_clean(heading, page->style->is_utf8);
    ath_auto_free char *clean_path = ath_clean(path, page->style->is_utf8);
    fprintf(page->out, "\n%s%s%s  %s%s%s\n", ath_style_on(page->style, ATH_ROLE_HEADING), clean,
            ath_style_off(page->style, ATH_ROLE_HEADING), ath_style_on(page->style, ATH_ROLE_DIM),
            clean_path, ath_style_off(page->style, ATH_ROLE_DIM));
}

/* "0, 254, 255"; for a key without a value, what happens instead, in parentheses. */
static char *value_text(const struct ath_schema *key, const void *base, bool *out_is_set)
{
    ATH_AUTO(ath_texts) texts = { 0 };
    struct ath_text line = { 0 };

    ath_schema_texts(key, base, &texts);
    for (size_t i = 0; i < texts.count; i++)
        ath_text_add(&line, "%s%s", i ? ", " : "", texts.items[i]);
    *out_is_set = texts.count != 0;
    if (!texts.count)
        ath_text_add(&line, "(%s)", key->otherwise ? _(key->otherwise) : _("none"));
    return ath_text_take(&line);
}

static size_t widest_key(const struct ath_schema *mapping)
{
    size_t width = 0;
    for (const struct ath_schema *key = mapping->keys; key->name; key++)
        if (key->kind < ATH_VALUE_MAPPING && strlen(key->name) > width)
            width = strlen(key->name);
    return width;
}

static void print_value(const struct page *page, const struct ath_schema *key, const void *base,
                        size_t width)
{
    bool is_set;
    ath_auto_free char *value = value_text(key, base, &is_set);
    ath_auto_free char *label = ath_xasprintf("  %s", key->name);
    const struct ath_paragraph paragraph = { .label = label,
                                             .label_role = ATH_ROLE_NAME,
                                             .label_columns = width + 2,
                                             .text = value,
                                             .role = is_set ? ATH_ROLE_PLAIN : ATH_ROLE_DIM };
    ath_style_print(page->style, page->out, &paragraph);
}

static void print_mapping(const struct page *page, const struct ath_schema *mapping,
                          const void *base, const char *path);

/* Prints a block for each item, with a heading: "NUMA entry 0  numa.0". */
static void print_items(const struct page *page, const struct ath_schema *items, const void *base,
                        const char *path)
{
    const struct ath_schema *name_key = ath_schema_find(items, items->name_key);

    for (size_t i = 0; i < ath_schema_count(items, base); i++) {
        const void *item = ath_schema_item(items, base, i);
        bool is_set;
        ath_auto_free char *name = value_text(name_key, item, &is_set);
        ath_auto_free char *heading = ath_xasprintf("%s %s", _(items->title), name);
        ath_auto_free char *item_path = ath_xasprintf("%s.%s", path, name);
        print_heading(page, heading, item_path);
        print_mapping(page, items, item, item_path);
    }
}

static void print_values(const struct page *page, const struct ath_schema *mapping,
                         const void *base)
{
    size_t width = widest_key(mapping);
    for (const struct ath_schema *key = mapping->keys; key->name; key++)
        if (key->kind < ATH_VALUE_MAPPING)
            print_value(page, key, base, width);
}

static bool has_values(const struct ath_schema *mapping)
{
    return widest_key(mapping) > 0;
}

/* Prints values first, then mappings and lists, each with a heading. */
static void print_mapping(const struct page *page, const struct ath_schema *mapping,
                          const void *base, const char *path)
{
    print_values(page, mapping, base);
    for (const struct ath_schema *key = mapping->keys; key->name; key++) {
        ath_auto_free char *key_path = ath_xasprintf("%s%s%s", path, *path ? "." : "", key->name);
        if (key->kind == ATH_VALUE_ITEMS) {
            print_items(page, key, base, key_path);
        } else if (key->kind == ATH_VALUE_MAPPING) {
            if (has_values(key))
                print_heading(page, _(key->title), key_path);
            print_mapping(page, key, ath_schema_field(key, base), key_path);
        }
    }
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_document_report *report = data;
    const struct page page = { .style = style, .out = out };
    const char *path = report->document->path ? report->document->path : "";
    ath_auto_free char *clean = ath_clean(path, style->is_utf8);

    fprintf(out, "%s%s%s\n", ath_style_on(style, ATH_ROLE_HEADING), clean,
            ath_style_off(style, ATH_ROLE_HEADING));
    print_mapping(&page, ath_schema_root(), report->document, "");
    if (report->warnings->count) {
        print_heading(&page, _("Warnings about this machine"), "");
        ath_faults_to_text(style, out, "  ", report->warnings);
    }
}

const struct ath_view ath_document_view = {
    .schema = "aitherion.document/1",
    .title = "Output of `aitherion configure --show --json`",
    .fields = fields,
    .to_text = to_text,
};
