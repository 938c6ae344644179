/* The tables as JSON, untranslated: they are keys for programs and the source of the man pages. */
#include "config.h"

#include "cli/help_json.h"

#include <ctype.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/facts.h"
#include "config/schema.h"
#include "runtime/switches.h"

static json_t *words_to_json(const char *const *words)
{
    if (!words)
        return json_null();
    json_t *list = json_array();
    for (; *words; words++)
        json_array_append_new(list, json_string(*words));
    return list;
}

static json_t *options_to_json(const struct ath_option *option)
{
    json_t *list = json_array();
    for (; option && option->name; option++) {
        const char letter[2] = { option->letter };
        json_array_append_new(
            list, json_pack("{s:s, s:s*, s:s*, s:o, s:o, s:b, s:s}", "name", option->name, "letter",
                            option->letter ? letter : NULL, "value", option->metavar, "choices",
                            words_to_json(option->choices), "suggestions",
                            words_to_json(option->suggestions), "is_repeated",
                            option->type == ATH_OPTION_COUNT || option->type == ATH_OPTION_TEXTS,
                            "help", option->help));
    }
    return list;
}

static json_t *arguments_to_json(const struct ath_argument *argument)
{
    json_t *list = json_array();
    for (; argument && argument->name; argument++)
        json_array_append_new(
            list, json_pack("{s:s, s:b, s:b, s:o, s:s}", "name", argument->name, "is_optional",
                            argument->is_optional, "is_repeated", argument->is_repeated, "choices",
                            words_to_json(argument->choices), "help", argument->help));
    return list;
}

static json_t *examples_to_json(const struct ath_example *example)
{
    json_t *list = json_array();
    for (; example && example->command; example++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "command", example->command, "meaning",
                                              example->meaning));
    return list;
}

static json_t *command_to_json(const struct ath_command *command)
{
    json_t *children = json_array();
    for (const struct ath_command *const *child = command->children; child && *child; child++)
        json_array_append_new(children, command_to_json(*child));
    ath_auto_free char *path = ath_command_path(command);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s*, s:b, s:o, s:o, s:o, s:o}", "name", command->name, "path", path,
        "summary", command->summary, "group", ath_command_group_title(command->group),
        "description", command->description, "reads_machine", command->reads_machine, "arguments",
        arguments_to_json(command->arguments), "options", options_to_json(command->options),
        "examples", examples_to_json(command->examples), "commands", children);
}

static json_t *facts_to_json(const struct ath_fact *fact)
{
    json_t *list = json_array();
    for (; fact->name; fact++)
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "name", fact->name, "meaning", fact->meaning));
    return list;
}

static json_t *switches_to_json(void)
{
    json_t *list = json_array();
    for (const struct ath_switch_row *row = ath_switches; row->name; row++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", row->name, "side",
                                              row->side, "meaning", row->meaning));
    return list;
}

static json_t *errors_to_json(void)
{
    json_t *list = json_array();
    for (int code = ATH_E_NONE + 1; code < ATH_E_COUNT; code++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "name", ath_error_word((enum ath_error)code),
                                        "meaning", ath_error_meaning((enum ath_error)code)));
    return list;
}

static json_t *faults_to_json(void)
{
    json_t *list = json_array();
    for (int code = ATH_FAULT_NONE + 1; code < ATH_FAULT_COUNT; code++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "name",
                                              ath_fault_word((enum ath_fault_code)code), "meaning",
                                              ath_fault_meaning((enum ath_fault_code)code)));
    return list;
}

/* The part of a path that names one of a list: "ID" in numa.ID.gpus. */
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
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s*, s:b, s:s*, s:s*, s:s}", "path", path,
                                        "type", ath_value_kind_word(key->kind), "allowed", allowed,
                                        "is_required", key->is_required, "default", key->fallback,
                                        "otherwise", key->otherwise, "help", key->help));
        keys_to_json(key->keys, below, list);
    }
}

static json_t *document_keys_to_json(void)
{
    json_t *list = json_array();
    keys_to_json(ath_schema_root()->keys, "", list);
    return list;
}

json_t *ath_help_to_json(const struct ath_command *command)
{
    json_t *help = json_pack("{s:o}", "command", command_to_json(command));

    if (command != &ath_command_root)
        return help;
    const struct {
        const char *name;
        json_t *value;
    } parts[] = {
        { "global_options", options_to_json(ath_global_options) },
        { "machine_options", options_to_json(ath_machine_options) },
        { "exit_codes", facts_to_json(ath_exit_codes) },
        { "environment", facts_to_json(ath_environment) },
        { "switches", switches_to_json() },
        { "errors", errors_to_json() },
        { "document_faults", faults_to_json() },
        { "document_keys", document_keys_to_json() },
    };
    for (size_t i = 0; i < ATH_COUNT(parts); i++)
        json_object_set_new(help, parts[i].name, parts[i].value);
    return help;
}
