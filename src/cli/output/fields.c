/* Members of JSON objects: a writer and a schema from one table. */
#include "config.h"

#include "cli/output/fields.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/output/json.h"

/* ---- values ---- */

static json_t *number(int64_t value, bool is_nullable)
{
    return is_nullable ? ath_json_number(value) : json_integer(value);
}

static json_t *real(double value, bool is_nullable)
{
    return is_nullable && value < 0 ? json_null() : json_real(value);
}

static json_t *flag(int value)
{
    return value < 0 ? json_null() : json_boolean(value);
}

static json_t *pci(const struct ath_pci *address)
{
    char buffer[ATH_PCI_TEXT];
    if (!ath_pci_is_address(address))
        return json_null();
    return json_string(ath_pci_format(address, buffer));
}

static json_t *cpus(const struct ath_idset *set)
{
    ath_auto_free char *line = ath_idset_format(set);
    return json_string(line);
}

/* Returns the value at one place: of the member, or of an item of the list. */
static json_t *value_at(const struct ath_field *field, const void *place)
{
    if (place && field->at.is_pointer)
        place = *(const void *const *)place;
    if (!place)
        return json_null();
    switch (field->at.kind) {
    case ATH_FIELD_BOOL:
        return json_boolean(*(const bool *)place);
    case ATH_FIELD_INT:
        return field->word ? ath_json_text(field->word(*(const int *)place))
                           : number(*(const int *)place, field->is_nullable);
    case ATH_FIELD_INT64:
        return number(*(const int64_t *)place, field->is_nullable);
    case ATH_FIELD_SIZE:
        return json_integer((json_int_t) * (const size_t *)place);
    case ATH_FIELD_DOUBLE:
        return real(*(const double *)place, field->is_nullable);
    case ATH_FIELD_FLAG:
        return flag(*(const int *)place);
    case ATH_FIELD_TEXT:
        return ath_json_text(*(const char *const *)place);
    case ATH_FIELD_LINES:
        return ath_json_lines(*(const char *const *)place);
    case ATH_FIELD_CHARS:
        return *(const char *)place || !field->is_nullable ? ath_json_text(place) : json_null();
    case ATH_FIELD_PCI:
        return pci(place);
    case ATH_FIELD_CPUS:
        return cpus(place);
    case ATH_FIELD_IDS:
        return ath_json_ids(place);
    case ATH_FIELD_TEXTS:
        return ath_json_texts(place);
    case ATH_FIELD_OBJECT:
    case ATH_FIELD_INNER:
        break;
    }
    return ath_fields_to_json(field->fields, place);
}

/* Returns the number of rows before the one that begins with a NULL pointer. */
static size_t count_rows(const char *rows, size_t size)
{
    size_t count = 0;
    while (rows && *(const void *const *)(rows + count * size))
        count++;
    return count;
}

static json_t *list_at(const struct ath_field *field, const char *object)
{
    const struct ath_field_place *at = &field->at;
    const char *place = object + at->offset;
    const char *items = at->list == ATH_FIELD_ARRAY ? place : *(const char *const *)place;
    size_t count = at->list == ATH_FIELD_ROWS ? count_rows(items, at->item_size)
                                              : *(const size_t *)(object + at->count_offset);
    if (!items && field->is_nullable)
        return json_null();
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, value_at(field, items + i * at->item_size));
    return list;
}

static json_t *make_value(const struct ath_field *field, const void *object)
{
    if (field->make)
        return field->make(object);
    const char *base = field->find ? field->find(object) : object;
    if (!base || (field->known && !*(const bool *)(base + field->known - 1)) ||
        (field->failed && !*(const int *)(base + field->failed - 1)))
        return json_null();
    return field->at.list ? list_at(field, base) : value_at(field, base + field->at.offset);
}

json_t *ath_fields_to_json(const struct ath_field *fields, const void *object)
{
    json_t *made = json_object();

    for (const struct ath_field *field = fields; field->name; field++) {
        json_t *value = make_value(field, object);
        if (field->at.kind == ATH_FIELD_INNER)
            json_object_update_new(made, value);
        else if (field->is_optional && json_is_null(value))
            json_decref(value);
        else
            json_object_set_new_nocheck(made, field->name, value);
    }
    return made;
}

/* ---- schema ---- */

static const struct {
    const char *type, *items, *pattern;
} kinds[] = {
    [ATH_FIELD_BOOL] = { "boolean", NULL, NULL },
    [ATH_FIELD_INT] = { "integer", NULL, NULL },
    [ATH_FIELD_INT64] = { "integer", NULL, NULL },
    [ATH_FIELD_SIZE] = { "integer", NULL, NULL },
    [ATH_FIELD_DOUBLE] = { "number", NULL, NULL },
    [ATH_FIELD_FLAG] = { "boolean", NULL, NULL },
    [ATH_FIELD_TEXT] = { "string", NULL, NULL },
    [ATH_FIELD_LINES] = { "string", NULL, NULL },
    [ATH_FIELD_CHARS] = { "string", NULL, NULL },
    [ATH_FIELD_PCI] = { "string", NULL, ATH_PCI_PATTERN },
    [ATH_FIELD_CPUS] = { "string", NULL, "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$" },
    [ATH_FIELD_IDS] = { "array", "integer", NULL },
    [ATH_FIELD_TEXTS] = { "array", "string", NULL },
    [ATH_FIELD_OBJECT] = { "object", NULL, NULL },
};

static bool can_be_null(const struct ath_field *field)
{
    return !field->is_optional && (field->is_nullable || field->known || field->failed ||
                                   field->at.kind == ATH_FIELD_FLAG);
}

static void set_type(json_t *schema, const char *type, bool is_nullable)
{
    json_object_set_new(schema, "type",
                        is_nullable ? json_pack("[s, s]", type, "null") : json_string(type));
}

/* Returns the texts that the field allows, or NULL if any text will do. */
static json_t *allowed_texts(const struct ath_field *field)
{
    if (!field->words && !field->word_count)
        return NULL;
    json_t *list = json_array();
    for (const char *const *word = field->words; word && *word; word++)
        json_array_append_new(list, json_string(*word));
    for (int value = 0; value < field->word_count; value++)
        if (field->word(value))
            json_array_append_new(list, json_string(field->word(value)));
    return list;
}

/* An object around the place that is described: a table that comes again becomes a reference. */
struct around {
    const struct ath_field *fields;
    const char *path; /* JSON pointer to its schema: "#/properties/command" */
    const struct around *outer;
};

static void add_members(json_t *properties, json_t *required, const struct ath_field *fields,
                        const struct around *outer);

static void add_object(json_t *schema, const struct ath_field *fields, const char *path,
                       const struct around *outer)
{
    const struct around here = { fields, path, outer };

    for (const struct around *one = outer; one; one = one->outer)
        if (one->fields == fields) {
            json_object_clear(schema);
            json_object_set_new(schema, "$ref", json_string(one->path));
            return;
        }
    json_t *properties = json_object(), *required = json_array();
    add_members(properties, required, fields, &here);
    json_object_set_new(schema, "properties", properties);
    json_object_set_new(schema, "required", required);
    json_object_set_new(schema, "additionalProperties", json_false());
}

/* Adds the keywords of one value: of the member, of a list's item or of a map's value. */
static void add_value(json_t *schema, const struct ath_field *field, bool is_nullable,
                      const char *path, const struct around *outer)
{
    enum ath_field_kind kind = field->at.kind;
    json_t *texts = allowed_texts(field);

    if (texts) {
        if (is_nullable)
            json_array_append_new(texts, json_null());
        json_object_set_new(schema, "enum", texts);
        return;
    }
    set_type(schema, field->word ? "string" : kinds[kind].type, is_nullable);
    if (kinds[kind].items)
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", kinds[kind].items));
    if (kind == ATH_FIELD_IDS)
        json_object_set_new(json_object_get(schema, "items"), "minimum", json_integer(0));
    if (kinds[kind].pattern)
        json_object_set_new(schema, "pattern", json_string(kinds[kind].pattern));
    if (field->fields)
        add_object(schema, field->fields, path, outer);
}

static json_t *member_schema(const struct ath_field *field, const struct around *outer)
{
    bool is_nullable = can_be_null(field), is_many = field->at.list || field->is_map;
    const char *values = field->is_map ? "additionalProperties" : "items";
    ath_auto_free char *path = ath_xasprintf("%s/properties/%s%s%s", outer->path, field->name,
                                             is_many ? "/" : "", is_many ? values : "");
    json_t *schema = json_object(), *value = is_many ? json_object() : json_incref(schema);

    if (field->help)
        json_object_set_new(schema, "description", json_string(field->help));
    if (is_many)
        set_type(schema, field->is_map ? "object" : "array", is_nullable);
    if (field->describe)
        json_object_update_new(value, field->describe());
    else
        add_value(value, field, is_nullable && !is_many, path, outer);
    if (is_many)
        json_object_set(schema, values, value);
    json_decref(value);
    if (field->rules)
        json_object_update_new(schema, json_loads(field->rules, 0, NULL));
    return schema;
}

static void add_members(json_t *properties, json_t *required, const struct ath_field *fields,
                        const struct around *outer)
{
    for (const struct ath_field *field = fields; field->name; field++) {
        if (field->at.kind == ATH_FIELD_INNER) {
            add_members(properties, required, field->fields, outer);
            continue;
        }
        json_object_set_new(properties, field->name, member_schema(field, outer));
        if (!field->is_optional)
            json_array_append_new(required, json_string(field->name));
    }
}

json_t *ath_fields_schema(const struct ath_field *fields)
{
    json_t *schema = json_object();
    set_type(schema, "object", false);
    add_object(schema, fields, "#", NULL);
    return schema;
}

/* ---- tables of others ---- */

ATH_FIELD_WORD(error_word, enum ath_error, ath_error_word)

#define AT(member) ATH_AT(struct ath_err, member)
const struct ath_field ath_error_fields[] = {
    ATH_FIELD("code", AT(code), .help = "stable code word; aitherion(1) lists all of them",
              .rules = "{\"pattern\": \"^[a-z0-9-]+$\"}", .word = error_word),
    ATH_FIELD("message", AT(message)),
    ATH_FIELD("hint", AT(hint), .help = "how to fix it: a command or a step; null if there is none",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT
