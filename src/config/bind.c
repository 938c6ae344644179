/* Fills the structs of a document by the schema table, and adds a fault for every value that does
 * not fit it. */
#include "config.h"

#include "config/bind.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "config/rules.h"

/* The kind of a value, as a message names it in "must be a list, not ...". */
static const char *kind_of(const struct ath_yaml *yaml)
{
    if (yaml->kind == ATH_YAML_LIST)
        return _("a list");
    if (yaml->kind == ATH_YAML_MAPPING)
        return _("a mapping");
    switch (ath_yaml_type_of(yaml)) {
    case ATH_YAML_NULL:
        return _("nothing");
    case ATH_YAML_BOOLEAN:
        return _("true or false without quotes");
    case ATH_YAML_NUMBER:
        return _("a number without quotes");
    default:
        return _("a text");
    }
}

/* subject  the owner of the value: "'numa.0.memory_percent'" */
static void report_value(struct ath_faults *faults, enum ath_fault_code code, const char *subject,
                         const char *allowed, const struct ath_yaml *yaml)
{
    if (yaml->kind != ATH_YAML_SCALAR || (code == ATH_FAULT_TYPE && !*yaml->text))
        ath_faults_add(faults, code, yaml->begin, _("%s must be %s, not %s"), subject, allowed,
                       kind_of(yaml));
    else if (code == ATH_FAULT_TYPE)
        ath_faults_add(faults, code, yaml->begin, _("%s must be %s, not '%s' (%s)"), subject,
                       allowed, yaml->text, kind_of(yaml));
    else
        ath_faults_add(faults, code, yaml->begin, _("%s must be %s, not '%s'"), subject, allowed,
                       yaml->text);
}

/* YAML's type of a scalar counts: "8" in quotes is a text, 8 without quotes is a number. A port
 * alone is both. */
static enum ath_fault_code check_scalar(const struct ath_schema *schema,
                                        const struct ath_yaml *yaml)
{
    if (yaml->kind != ATH_YAML_SCALAR)
        return ATH_FAULT_TYPE;
    enum ath_yaml_type type = ath_yaml_type_of(yaml);
    bool is_port = type == ATH_YAML_NUMBER && schema->form == ATH_FORM_LISTEN;
    if (ath_value_is_text(schema->kind) != (type == ATH_YAML_TEXT) && !is_port)
        return ATH_FAULT_TYPE;
    return ath_schema_check(schema, yaml->text);
}

/* Binds one value: a scalar, or an entry of a list. */
static void bind_scalar(const struct ath_schema *schema, const struct ath_yaml *yaml,
                        const char *subject, void *base, struct ath_faults *faults)
{
    if (yaml->kind == ATH_YAML_BROKEN)
        return;
    enum ath_fault_code code = check_scalar(schema, yaml);
    if (code == ATH_FAULT_NONE) {
        ath_schema_store(schema, base, yaml->text);
        return;
    }
    ath_auto_free char *allowed = ath_schema_allowed_entry(schema);
    report_value(faults, code, subject, allowed, yaml);
}

static void bind_entries(const struct ath_schema *schema, const struct ath_yaml *yaml,
                         const char *path, void *base, struct ath_faults *faults)
{
    ath_auto_free char *subject = ath_xasprintf(_("an entry of '%s'"), path);
    for (size_t i = 0; i < yaml->child_count; i++)
        bind_scalar(schema, &yaml->children[i], subject, base, faults);
    ath_rules_entries_once(schema, yaml, faults);
}

static void bind_mapping(const struct ath_schema *schema, const struct ath_yaml *yaml,
                         const char *path, void *base, struct ath_faults *faults);

/* Returns the path of an item, "numa.0": with the item's own name if it has one. The caller frees
 * it. */
static char *item_path(const struct ath_schema *schema, const struct ath_yaml *yaml,
                       const char *path)
{
    const struct ath_yaml *name = ath_yaml_get(yaml, schema->name_key);
    bool is_named = name && name->kind == ATH_YAML_SCALAR && *name->text;
    return ath_xasprintf("%s.%s", path, is_named ? name->text : "?");
}

static void bind_items(const struct ath_schema *schema, const struct ath_yaml *yaml,
                       const char *path, void *base, struct ath_faults *faults)
{
    for (size_t i = 0; i < yaml->child_count; i++) {
        const struct ath_yaml *child = &yaml->children[i];
        struct ath_document_item *item = ath_schema_add_item(schema, base);
        ath_auto_free char *child_path = item_path(schema, child, path);
        ath_auto_free char *subject = ath_xasprintf(_("an entry of '%s'"), path);
        item->source = child;
        if (child->kind == ATH_YAML_MAPPING)
            bind_mapping(schema, child, child_path, item, faults);
        else if (child->kind != ATH_YAML_BROKEN)
            report_value(faults, ATH_FAULT_TYPE, subject, _("a mapping (key: value)"), child);
    }
}

static enum ath_yaml_kind kind_for(enum ath_value_kind kind)
{
    if (kind == ATH_VALUE_MAPPING)
        return ATH_YAML_MAPPING;
    return kind < ATH_VALUE_IDS ? ATH_YAML_SCALAR : ATH_YAML_LIST;
}

/* Returns whether YAML's kind of a value is one of the key's. */
static bool is_kind_of(const struct ath_schema *schema, const struct ath_yaml *yaml)
{
    return yaml->kind == kind_for(schema->kind) ||
           (schema->may_be_one && yaml->kind == ATH_YAML_SCALAR);
}

static void bind_value(const struct ath_schema *schema, const struct ath_yaml *yaml,
                       const char *path, void *base, struct ath_faults *faults)
{
    ath_auto_free char *subject = ath_xasprintf("'%s'", path);
    if (yaml->kind == ATH_YAML_BROKEN)
        return;
    if (!is_kind_of(schema, yaml)) {
        ath_auto_free char *allowed = ath_schema_allowed(schema);
        report_value(faults, ATH_FAULT_TYPE, subject, allowed, yaml);
    } else if (schema->kind == ATH_VALUE_MAPPING) {
        bind_mapping(schema, yaml, path, ath_schema_field(schema, base), faults);
    } else if (schema->kind == ATH_VALUE_ITEMS) {
        bind_items(schema, yaml, path, base, faults);
    } else if (yaml->kind == ATH_YAML_LIST) {
        bind_entries(schema, yaml, path, base, faults);
    } else {
        bind_scalar(schema, yaml, subject, base, faults);
    }
}

static void report_unknown_key(const struct ath_schema *schema, const struct ath_yaml *child,
                               const char *path, struct ath_faults *faults)
{
    const char *nearest = ath_schema_nearest(schema, child->key);
    const char *dot = *path ? "." : "";

    if (nearest)
        ath_faults_add(faults, ATH_FAULT_KEY_UNKNOWN, child->key_begin,
                       _("there is no key '%s%s%s'; did you mean '%s'?"), path, dot, child->key,
                       nearest);
    else
        ath_faults_add(faults, ATH_FAULT_KEY_UNKNOWN, child->key_begin,
                       _("there is no key '%s%s%s'"), path, dot, child->key);
}

static void bind_key(const struct ath_schema *key, const struct ath_yaml *mapping, const char *path,
                     void *base, struct ath_faults *faults)
{
    ath_auto_free char *key_path = ath_xasprintf("%s%s%s", path, *path ? "." : "", key->name);
    const struct ath_yaml *value = ath_yaml_get(mapping, key->name);

    if (value && !ath_yaml_is_null(value))
        bind_value(key, value, key_path, base, faults);
    else if (key->is_required)
        ath_faults_add(faults, ATH_FAULT_KEY_MISSING, value ? value->key_begin : mapping->begin,
                       _("the key '%s' is missing"), key_path);
}

static void bind_mapping(const struct ath_schema *schema, const struct ath_yaml *yaml,
                         const char *path, void *base, struct ath_faults *faults)
{
    for (size_t i = 0; i < yaml->child_count; i++)
        if (yaml->children[i].key && !ath_schema_find(schema, yaml->children[i].key))
            report_unknown_key(schema, &yaml->children[i], path, faults);
    for (const struct ath_schema *key = schema->keys; key->name; key++)
        bind_key(key, yaml, path, base, faults);
}

/* A runtime without memory_nodes uses the memory of its own node. */
static void complete(struct ath_document *document)
{
    for (size_t i = 0; i < document->numa.count; i++) {
        struct ath_document_numa *numa = &document->numa.items[i];
        if (!numa->memory_nodes.range_count)
            ath_idset_add(&numa->memory_nodes, numa->node, numa->node);
    }
}

void ath_bind_tree(const struct ath_schema *root, const struct ath_yaml *tree, const char *name,
                   void *base, struct ath_faults *faults)
{
    ath_schema_defaults(root, base);
    if (tree->kind == ATH_YAML_MAPPING)
        bind_mapping(root, tree, "", base, faults);
    else if (tree->kind != ATH_YAML_BROKEN)
        report_value(faults, ATH_FAULT_TYPE, name, _("a mapping (key: value)"), tree);
}

void ath_bind(struct ath_document *document, struct ath_faults *faults)
{
    ath_bind_tree(ath_schema_root(), &document->tree, _("the document"), document, faults);
    complete(document);
    ath_rules_check(document, faults);
}
