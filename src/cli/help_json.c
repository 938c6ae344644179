/* The command table as JSON. Texts stay untranslated: they are keys for programs and the source of
 * the man pages. */
#include "config.h"

#include "cli/help_json.h"

#include <ctype.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/facts.h"
#include "config/schema.h"
#include "remote/switches.h"

#define AT(member) ATH_AT(struct ath_option, member)
#define WORDS(member) ATH_AT_ROWS(struct ath_option, member), .is_nullable = true
static json_t *make_letter(const void *object)
{
    const char letter = ((const struct ath_option *)object)->letter;
    return letter ? json_stringn(&letter, 1) : json_null();
}

static json_t *make_is_repeated(const void *object)
{
    enum ath_option_type type = ((const struct ath_option *)object)->type;
    return json_boolean(type == ATH_OPTION_COUNT || type == ATH_OPTION_TEXTS);
}

static const struct ath_field option_fields[] = {
    ATH_FIELD("name", AT(name), .help = "name without the dashes"),
    ATH_FIELD("letter", ATH_OF(ATH_FIELD_TEXT), .is_optional = true,
              .rules = "{\"pattern\": \"^[a-zA-Z]$\"}", .make = make_letter),
    ATH_FIELD("value", AT(metavar), .help = "placeholder of the option's value",
              .is_optional = true),
    ATH_FIELD("choices", WORDS(choices)),
    ATH_FIELD("suggestions", WORDS(suggestions),
              .help = "suggested values; other values are allowed too"),
    ATH_FIELD("is_repeated", ATH_OF(ATH_FIELD_BOOL), .make = make_is_repeated),
    ATH_FIELD("help", AT(help)),
    { .name = NULL },
};
#undef WORDS
#undef AT

#define AT(member) ATH_AT(struct ath_argument, member)
static const struct ath_field argument_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("is_optional", AT(is_optional)),
    ATH_FIELD("is_repeated", AT(is_repeated)),
    ATH_FIELD("choices", ATH_AT_ROWS(struct ath_argument, choices), .is_nullable = true),
    ATH_FIELD("help", AT(help)),
    { .name = NULL },
};
#undef AT

static const struct ath_field example_fields[] = {
    ATH_FIELD("command", ATH_AT(struct ath_example, command)),
    ATH_FIELD("meaning", ATH_AT(struct ath_example, meaning)),
    { .name = NULL },
};

static json_t *make_path(const void *object)
{
    ath_auto_free char *path = ath_command_path(object);
    return json_string(path);
}

static json_t *make_group(const void *object)
{
    return json_string(ath_command_group_title(((const struct ath_command *)object)->group));
}

#define AT(member) ATH_AT(struct ath_command, member)
#define ROWS(member) ATH_AT_ROWS(struct ath_command, member)
static const struct ath_field command_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("path", ATH_OF(ATH_FIELD_TEXT),
              .help = "shortest words that name the command: \"roce test\"; \"\" for the program "
                      "itself",
              .make = make_path),
    ATH_FIELD("summary", AT(summary)),
    ATH_FIELD("group", ATH_OF(ATH_FIELD_TEXT), .make = make_group),
    ATH_FIELD("description", ATH_AT_AS(ATH_FIELD_LINES, struct ath_command, description),
              .is_optional = true),
    ATH_FIELD("reads_machine", AT(reads_machine),
              .help = "whether the command accepts --root and --topology"),
    ATH_FIELD("arguments", ROWS(arguments), .fields = argument_fields),
    ATH_FIELD("options", ROWS(options), .fields = option_fields),
    ATH_FIELD("examples", ROWS(examples), .fields = example_fields),
    ATH_FIELD("commands", ROWS(children), .fields = command_fields),
    { .name = NULL },
};
#undef ROWS
#undef AT

#define AT(member) ATH_AT(struct ath_fact, member)
static const struct ath_field fact_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("meaning", AT(meaning)),
    { .name = NULL },
};
#undef AT

static const char *const sides[] = { "program", "server", "both", NULL };

#define AT(member) ATH_AT(struct ath_switch_row, member)
static const struct ath_field switch_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("side", AT(side), .words = sides),
    ATH_FIELD("meaning", AT(meaning)),
    { .name = NULL },
};
#undef AT

static void add_fact(json_t *list, const char *name, const char *meaning)
{
    const struct ath_fact fact = { name, meaning };
    json_array_append_new(list, ath_fields_to_json(fact_fields, &fact));
}

static json_t *errors_to_json(void)
{
    json_t *list = json_array();
    for (int code = ATH_E_NONE + 1; code < ATH_E_COUNT; code++)
        add_fact(list, ath_error_word((enum ath_error)code),
                 ath_error_meaning((enum ath_error)code));
    return list;
}

static json_t *faults_to_json(void)
{
    json_t *list = json_array();
    for (int code = ATH_FAULT_NONE + 1; code < ATH_FAULT_COUNT; code++)
        add_fact(list, ath_fault_word((enum ath_fault_code)code),
                 ath_fault_meaning((enum ath_fault_code)code));
    return list;
}

/* ---- keys of the document ---- */

struct key_row {
    const struct ath_schema *key;
    const char *path, *allowed;
};

static const void *find_key(const void *object)
{
    return ((const struct key_row *)object)->key;
}

static json_t *make_type(const void *object)
{
    return json_string(ath_value_kind_word(((const struct key_row *)object)->key->kind));
}

#define AT(member) ATH_AT(struct key_row, member)
#define IN_KEY(member) ATH_AT(struct ath_schema, member), .find = find_key
static const struct ath_field key_fields[] = {
    ATH_FIELD("path", AT(path),
              .help =
                  "path as for `configure --set`; capital letters stand for an entry's id, name "
                  "or address"),
    ATH_FIELD("type", ATH_OF(ATH_FIELD_TEXT), .make = make_type),
    ATH_FIELD("allowed", AT(allowed), .is_optional = true),
    ATH_FIELD("is_required", IN_KEY(is_required)),
    ATH_FIELD("default", IN_KEY(fallback), .is_optional = true),
    ATH_FIELD("otherwise", IN_KEY(otherwise),
              .help = "what happens if the key has neither value nor default", .is_optional = true),
    ATH_FIELD("help", IN_KEY(help)),
    { .name = NULL },
};
#undef IN_KEY
#undef AT

/* Returns the part of a path that names one item of a list: "ID" in numa.ID.gpus. The caller frees
 * it. */
static char *item_place(const struct ath_schema *key)
{
    char *place = ath_xstrdup(key->name_key);
    for (char *letter = place; *letter; letter++)
        *letter = (char)toupper((unsigned char)*letter);
    return place;
}

static void keys_to_json(const struct ath_schema *key, const char *above, json_t *list)
{
    for (; key && key->name; key++) {
        ath_auto_free char *path = ath_xasprintf("%s%s", above, key->name);
        ath_auto_free char *allowed = key->keys ? NULL : ath_schema_allowed(key);
        ath_auto_free char *place = key->name_key ? item_place(key) : NULL;
        ath_auto_free char *below = ath_xasprintf(place ? "%s.%s." : "%s.", path, place);
        const struct key_row row = { key, path, allowed };
        json_array_append_new(list, ath_fields_to_json(key_fields, &row));
        keys_to_json(key->keys, below, list);
    }
}

static json_t *document_keys_to_json(void)
{
    json_t *list = json_array();
    keys_to_json(ath_schema_root()->keys, "", list);
    return list;
}

/* ---- the whole ---- */

/* Tables that are the same for all commands: only the help of the whole program has them. */
static const struct tables {
    const struct ath_option *global_options, *machine_options;
    const struct ath_fact *exit_codes, *environment;
    const struct ath_switch_row *switches;
} tables = { ath_global_options, ath_machine_options, ath_exit_codes, ath_environment,
             ath_switches };

static const void *find_tables(const void *object)
{
    return object == &ath_command_root ? &tables : NULL;
}

static json_t *make_errors(const void *object)
{
    return find_tables(object) ? errors_to_json() : json_null();
}

static json_t *make_faults(const void *object)
{
    return find_tables(object) ? faults_to_json() : json_null();
}

static json_t *make_keys(const void *object)
{
    return find_tables(object) ? document_keys_to_json() : json_null();
}

#define SHARED(member) ATH_AT_ROWS(struct tables, member), .is_optional = true, .find = find_tables
#define MADE ATH_LIST_OF(ATH_FIELD_OBJECT), .is_optional = true
const struct ath_field ath_help_fields[] = {
    ATH_FIELD("command", ATH_OF(ATH_FIELD_OBJECT), .fields = command_fields),
    ATH_FIELD("global_options", SHARED(global_options), .fields = option_fields),
    ATH_FIELD("machine_options", SHARED(machine_options), .fields = option_fields),
    ATH_FIELD("exit_codes", SHARED(exit_codes), .fields = fact_fields),
    ATH_FIELD("environment", SHARED(environment), .fields = fact_fields),
    ATH_FIELD("switches", SHARED(switches), .fields = switch_fields),
    ATH_FIELD("errors", MADE, .fields = fact_fields, .make = make_errors),
    ATH_FIELD("document_faults", MADE, .fields = fact_fields, .make = make_faults),
    ATH_FIELD("document_keys", MADE, .fields = key_fields, .make = make_keys),
    { .name = NULL },
};
#undef MADE
#undef SHARED
