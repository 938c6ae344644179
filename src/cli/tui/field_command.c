/* The command that sets fields to their values. */
#include "config.h"

#include "cli/tui/field_parts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/key_flags.h"
#include "container/docker/run_line.h"

/* Commands that have options for an entry's keys. */
static const struct setter {
    const char *list, *words; /* {0}: the entry's name */
    const struct ath_command *command;
    const char *behind;
} setters[] = {
    { "numa", "aitherion configure {0}", &ath_command_configure, "" },
    { "", "aitherion configure", &ath_command_configure, "" },
    { "roce.macvlans", "aitherion roce macvlan {0}", &ath_command_roce_macvlan, " --record" },
};

/* Returns the option for the key, or NULL. */
static const struct ath_option *flag_of(const struct ath_command *command, const char *key)
{
    for (const struct ath_option *option = command->options; option->name; option++) {
        ath_auto_free char *named = ath_key_flag_key(option);
        if (option->type == ATH_OPTION_TEXT && !strcmp(named, key))
            return option;
    }
    return NULL;
}

/* Returns the command that has options for all names, or NULL. */
static const struct setter *setter_of(const char *list, const char *const names[ATH_FIELDS_MOST])
{
    for (size_t i = 0; i < ATH_COUNT(setters); i++) {
        bool has_all = !strcmp(setters[i].list, list);
        for (size_t j = 0; j < ATH_FIELDS_MOST && names[j]; j++)
            has_all = has_all && flag_of(setters[i].command, names[j]);
        if (has_all)
            return &setters[i];
    }
    return NULL;
}

/* Returns a list as an option takes it, without blanks: "0004:04:00.0,0004:05:00.0". The caller
 * frees it. */
static char *for_flag(const char *value)
{
    ATH_AUTO(ath_text) out = { 0 };
    ath_auto_free char *plain = ath_field_plain(value);

    if (*value != '[' || !*plain)
        return ath_xstrdup(value);
    for (const char *c = plain; *c; c++)
        if (*c != ' ')
            ath_text_add_bytes(&out, c, 1);
    return ath_text_take(&out);
}

char *ath_field_command(const struct ath_tui *tui, const char *list, const char *subject,
                        const char *const names[ATH_FIELDS_MOST])
{
    const struct setter *setter = setter_of(list, names);
    bool is_numa = !strcmp(list, "numa");
    ATH_AUTO(ath_text) command = { 0 };
    ath_auto_free char *begin = ath_tui_fill(setter    ? setter->words
                                             : is_numa ? "aitherion configure {0}"
                                                       : "aitherion configure",
                                             subject);

    ath_text_add(&command, "%s", begin);
    for (size_t i = 0; i < ATH_FIELDS_MOST && names[i]; i++) {
        ath_auto_free char *key = ath_field_key(list, subject, names[i]);
        ath_auto_free char *value = ath_field_value(tui, key);
        ath_auto_free char *word =
            setter ? for_flag(value ? value : "null")
                   : ath_xasprintf("%s=%s", is_numa ? names[i] : key, value ? value : "null");
        ath_text_add(&command, " --%s ", setter ? flag_of(setter->command, names[i])->name : "set");
        ath_shell_quote(&command, word);
    }
    ath_text_add(&command, "%s", setter ? setter->behind : "");
    return ath_text_take(&command);
}
