/* A document as data and as text, by walking the table of its keys. */
#include "config.h"

#include "cli/output/document.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/change.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"

static json_t *mapping_to_json(const struct ath_schema *mapping, const void *base);

static json_t *ids_to_json(const struct ath_idset *set)
{
    json_t *list = json_array();
    for (int id = ath_idset_next(set, -1); id >= 0; id = ath_idset_next(set, id))
        json_array_append_new(list, json_integer(id));
    return list;
}

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
        return json_string(schema->choices[*(const int *)field]);
    case ATH_VALUE_IDS:
        return ids_to_json(field);
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

static json_t *to_json(const void *data)
{
    const struct ath_document_report *report = data;
    return json_pack("{s:o, s:o, s:o}", "file", ath_json_text(report->document->path), "document",
                     mapping_to_json(ath_schema_root(), report->document), "warnings",
                     ath_faults_to_json(report->warnings));
}

/* What a printer of text needs on its way down. */
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

/* "0, 254, 255"; what happens instead, in parentheses, where a key has no value. */
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

/* A block for each item: "NUMA entry 0 (numa.0)", by the name that paths use. */
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

/* Values first, then what lies deeper, each with a heading of its own. */
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
        print_heading(&page, _("What does not fit this machine"), "");
        ath_faults_to_text(style, out, "  ", report->warnings);
    }
}

const struct ath_view ath_document_view = {
    .schema = "aitherion.document/1",
    .to_json = to_json,
    .to_text = to_text,
};
