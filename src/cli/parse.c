/*
 * One parser for all commands, driven by the table.
 *
 * Flags may stand before their command, so whether a flag takes a value must not depend on the
 * command: a flag of one name takes a value everywhere or nowhere (tests/cli/test_help.py checks
 * it), and the first pass searches the whole tree for it.
 */
#include "config.h"

#include "cli/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

/* An argument that begins with a dash, split into its parts. */
struct flag {
    const char *name;   /* after the dashes; name_length bytes of it */
    size_t name_length; /* 1 for a letter */
    bool is_letter;
    const char *value; /* attached value: --name=value, -nvalue; NULL if there is none */
};

static bool is_flag(const char *argument)
{
    return argument[0] == '-' && argument[1];
}

static bool matches(const struct ath_option *option, const struct flag *flag)
{
    if (flag->is_letter)
        return option->letter && option->letter == *flag->name;
    return !strncmp(option->name, flag->name, flag->name_length) &&
           !option->name[flag->name_length];
}

static const struct ath_option *find_in(const struct ath_option *table, const struct flag *flag)
{
    for (; table && table->name; table++)
        if (matches(table, flag))
            return table;
    return NULL;
}

static const struct ath_option *find_for(const struct ath_command *command, const struct flag *flag)
{
    const struct ath_option *tables[ATH_OPTION_TABLES], *option = NULL;
    ath_command_option_tables(command, tables);
    for (size_t i = 0; tables[i] && !option; i++)
        option = find_in(tables[i], flag);
    return option;
}

/* Returns the command that has an option of this name in its own table, or NULL. */
static const struct ath_command *find_owner(const struct ath_command *command,
                                            const struct flag *flag)
{
    const struct ath_command *owner = find_in(command->options, flag) ? command : NULL;
    for (const struct ath_command *const *child = command->children; !owner && child && *child;
         child++)
        owner = find_owner(*child, flag);
    return owner;
}

/* Returns an option of this name of any command, or NULL. */
static const struct ath_option *find_anywhere(const struct flag *flag)
{
    const struct ath_command *owner = find_owner(&ath_command_root, flag);
    const struct ath_option *option =
        owner ? find_in(owner->options, flag) : find_in(ath_global_options, flag);
    return option ? option : find_in(ath_machine_options, flag);
}

static struct flag flag_of(const char *argument)
{
    struct flag flag = { 0 };
    if (argument[1] == '-') {
        flag.name = argument + 2;
        flag.name_length = strcspn(flag.name, "=");
        flag.value = flag.name[flag.name_length] ? flag.name + flag.name_length + 1 : NULL;
    } else {
        flag = (struct flag){ .name = argument + 1, .name_length = 1, .is_letter = true };
        flag.value = argument[2] ? argument + 2 : NULL;
    }
    return flag;
}

/* Returns the value of an option: attached to it, the next argument, or its fallback. Returns NULL
 * if it takes none or none is left. */
static const char *value_of(const struct ath_option *option, const struct flag *flag,
                            char *const argv[], int *index)
{
    if (!ath_option_takes_value(option))
        return NULL;
    const char *next = argv[*index + 1];
    if (flag->value || (option->fallback && (!next || is_flag(next))))
        return flag->value ? flag->value : option->fallback;
    return next ? argv[++*index] : NULL;
}

/* Fills out->command and out->arguments, and skips flags with their values. Returns the index at
 * which flags end. */
static int sort_words(int argc, char *const argv[], struct ath_command_line *out)
{
    bool only_words = false;
    int end = argc;

    for (int i = 1; i < argc; i++) {
        if (!only_words && !strcmp(argv[i], "--")) {
            only_words = true;
            end = i;
        } else if (!only_words && is_flag(argv[i])) {
            for (struct flag flag = flag_of(argv[i]);;) {
                const struct ath_option *option = find_for(out->command, &flag);
                if (!option)
                    option = find_anywhere(&flag);
                if (option && ath_option_takes_value(option))
                    value_of(option, &flag, argv, &i);
                if (!flag.is_letter || !flag.value || !option || ath_option_takes_value(option))
                    break;
                flag = (struct flag){ flag.value, 1, true, flag.value[1] ? flag.value + 1 : NULL };
            }
        } else {
            const struct ath_command *child =
                out->argument_count ? NULL : ath_command_child(out->command, argv[i]);
            if (child)
                out->command = child;
            else
                *(const char **)ath_push(&out->arguments, &out->argument_count,
                                         sizeof *out->arguments) = argv[i];
            if (!only_words && !child && out->command->runs_program) {
                only_words = true;
                end = i;
            }
        }
    }
    return end;
}

/* Finds the value among the option's choices. Returns 0, or -EINVAL "usage" with err. */
static int find_choice(const struct ath_option *option, const char *value, int *out,
                       struct ath_err *err)
{
    size_t count = 0;
    for (; option->choices[count]; count++)
        if (!strcmp(option->choices[count], value)) {
            *out = (int)count;
            return 0;
        }

    ath_auto_free char *choices = ath_option_value_name(option);
    const char *nearest = ath_text_nearest(value, option->choices, count);
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--%s': %s"), value,
                option->name, choices);
    return nearest ? ath_err_hint(err, -EINVAL, _("did you mean '%s'?"), nearest) : -EINVAL;
}

/* Stores a value (NULL for a flag) at the option's offset. */
static int apply(const struct ath_option *option, void *targets, const char *value,
                 struct ath_err *err)
{
    void *target = (char *)targets + option->offset;
    int unused;

    switch (option->type) {
    case ATH_OPTION_FLAG:
        *(bool *)target = true;
        return 0;
    case ATH_OPTION_COUNT:
        ++*(int *)target;
        return 0;
    case ATH_OPTION_TEXT:
        if (option->choices && find_choice(option, value, &unused, err))
            return -EINVAL;
        *(const char **)target = value;
        return 0;
    case ATH_OPTION_TEXTS: {
        struct ath_option_texts *texts = target;
        *(const char **)ath_push(&texts->items, &texts->count, sizeof *texts->items) = value;
        return 0;
    }
    case ATH_OPTION_CHOICE:
        return find_choice(option, value, target, err);
    }
    return 0;
}

static const char *nearest_option(const struct ath_command *command, const char *name)
{
    const struct ath_option *tables[ATH_OPTION_TABLES];
    const char *names[128];
    size_t count = 0;

    ath_command_option_tables(command, tables);
    for (size_t i = 0; tables[i]; i++)
        for (const struct ath_option *option = tables[i]; option->name && count < ATH_COUNT(names);
             option++)
            names[count++] = option->name;
    return ath_text_nearest(name, names, count);
}

/* Hints at "aitherion roce test --help", or "aitherion --help" for the root. */
static int hint_help(const struct ath_command *command, struct ath_err *err)
{
    ath_auto_free char *path = ath_command_path(command);
    return ath_err_hint(err, -EINVAL, "aitherion%s%s --help", *path ? " " : "", path);
}

static int refuse_flag(const struct ath_command *command, const struct flag *flag,
                       struct ath_err *err)
{
    ath_auto_free char *name =
        ath_xasprintf("%s%.*s", flag->is_letter ? "-" : "--", (int)flag->name_length, flag->name);
    const struct ath_command *owner = find_owner(&ath_command_root, flag);
    const char *nearest = flag->is_letter ? NULL : nearest_option(command, name + 2);
    ath_auto_free char *path = ath_command_path(command);
    ath_auto_free char *owner_path = owner ? ath_command_path(owner) : NULL;

    if (command == &ath_command_root && !owner)
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("unknown option '%s'"), name);
    else if (find_anywhere(flag))
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' does not have the option '%s'"), path, name);
    else
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("unknown option '%s' for '%s'"), name, path);
    if (owner)
        return ath_err_hint(err, -EINVAL, _("it belongs to 'aitherion %s'"), owner_path);
    return nearest ? ath_err_hint(err, -EINVAL, _("did you mean '--%s'?"), nearest)
                   : hint_help(command, err);
}

/* Returns whether the option's offset points into struct ath_globals. */
static bool is_global(const struct ath_command *command, const struct ath_option *option)
{
    const struct ath_option *own = command->options;
    for (; own && own->name; own++)
        if (own == option)
            return false;
    return true;
}

/* Applies one flag, or the first of several letters. Afterwards flag->value is NULL unless letters
 * are left. */
static int apply_flag(struct flag *flag, char *const argv[], int *index,
                      struct ath_command_line *out, struct ath_err *err)
{
    const struct ath_option *option = find_for(out->command, flag);
    if (!option)
        return refuse_flag(out->command, flag, err);

    const char *value = value_of(option, flag, argv, index);
    if (ath_option_takes_value(option) && !value) {
        ath_auto_free char *wanted = ath_option_value_name(option);
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("the option '--%s' needs a value: %s"),
                    option->name, wanted);
        return hint_help(out->command, err);
    }
    bool is_path =
        option->completion == ATH_COMPLETE_FILE || option->completion == ATH_COMPLETE_FOLDER;
    if (value && !*value && is_path)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("the value of '--%s' is empty"),
                           option->name);
    if (!ath_option_takes_value(option) && flag->value && !flag->is_letter)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("the option '--%s' takes no value"),
                           option->name);
    if (ath_option_takes_value(option))
        flag->value = NULL;
    return apply(option, is_global(out->command, option) ? (void *)&out->globals : out->options,
                 value, err);
}

static int apply_flags(int end, char *const argv[], struct ath_command_line *out,
                       struct ath_err *err)
{
    int first_status = 0;

    for (int i = 1; i < end; i++) {
        if (!is_flag(argv[i]))
            continue;
        struct flag flag = flag_of(argv[i]);
        for (;;) {
            int status = apply_flag(&flag, argv, &i, out, first_status ? NULL : err);
            if (status && !first_status)
                first_status =
                    status; /* continue: a later --json decides how the error is printed */
            if (status || !flag.is_letter || !flag.value)
                break;
            flag = (struct flag){ flag.value, 1, true, flag.value[1] ? flag.value + 1 : NULL };
        }
    }
    return first_status;
}

static int refuse_word(const struct ath_command *command, const char *word, struct ath_err *err)
{
    const char *nearest = ath_command_nearest(command, word);
    ath_auto_free char *path = ath_command_path(command);
    const char *blank = *path ? " " : "";

    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("unknown command '%s%s%s'"), path, blank, word);
    if (nearest)
        return ath_err_hint(err, -EINVAL, _("did you mean 'aitherion %s%s%s'?"), path, blank,
                            nearest);
    return hint_help(command, err);
}

static bool is_choice(const struct ath_argument *argument, const char *word)
{
    if (!argument->choices)
        return true;
    for (const char *const *choice = argument->choices; *choice; choice++)
        if (!strcmp(*choice, word))
            return true;
    return false;
}

static const char *nearest_choice(const struct ath_argument *argument, const char *word)
{
    size_t count = 0;
    while (argument->choices[count])
        count++;
    return ath_text_nearest(word, argument->choices, count);
}

/* Checks the positional arguments against the command's table. */
static int check_arguments(const struct ath_command_line *line, struct ath_err *err)
{
    const struct ath_argument *argument = line->command->arguments;
    ath_auto_free char *path = ath_command_path(line->command);

    for (size_t i = 0; i < line->argument_count; i++) {
        if (!argument || !argument->name) {
            ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' takes no argument '%s'"), path,
                        line->arguments[i]);
            return hint_help(line->command, err);
        }
        if (!is_choice(argument, line->arguments[i])) {
            const char *nearest = nearest_choice(argument, line->arguments[i]);
            ath_auto_free char *choices = ath_command_choices(argument->choices);
            ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s '%s': %s", _(argument->unknown),
                        line->arguments[i], choices);
            return nearest ? ath_err_hint(err, -EINVAL, _("did you mean '%s'?"), nearest)
                           : hint_help(line->command, err);
        }
        argument += !argument->is_repeated;
    }
    if (argument && argument->name && !argument->is_optional &&
        !(argument->is_repeated && line->argument_count)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' needs an argument: %s"), path,
                    argument->name);
        return hint_help(line->command, err);
    }
    return 0;
}

static int refuse_both(const char *message, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s", message);
    return ath_err_hint(err, -EINVAL, "%s", _("leave one of them out"));
}

int ath_command_line_parse(int argc, char *const argv[], struct ath_command_line *out,
                           struct ath_err *err)
{
    *out = (struct ath_command_line){ .command = &ath_command_root };
    int end = sort_words(argc, argv, out);
    out->options = ath_xalloc(out->command->options_size);

    int status = apply_flags(end, argv, out, err);
    if (out->command->children && out->argument_count)
        return refuse_word(out->command, out->arguments[0], err);
    if (status || out->globals.wants_help || out->globals.wants_version || !out->command->run)
        return status;
    if (out->globals.is_json && out->globals.is_yaml)
        return refuse_both(_("'--json' and '--yaml' exclude each other"), err);
    if (out->globals.root && out->globals.topology)
        return refuse_both(_("'--root' and '--topology' exclude each other"), err);
    return check_arguments(out, err);
}

void ath_command_line_hint(const struct ath_command_line *line, struct ath_err *err)
{
    if (err->code == ATH_E_USAGE && !*err->hint)
        hint_help(line->command, err);
}

void ath_command_line_free(struct ath_command_line *line)
{
    if (!line)
        return;
    const struct ath_option *option = line->command ? line->command->options : NULL;
    for (; option && option->name && line->options; option++)
        if (option->type == ATH_OPTION_TEXTS)
            free(((struct ath_option_texts *)(void *)((char *)line->options + option->offset))
                     ->items);
    free(line->options);
    free(line->arguments);
    *line = (struct ath_command_line){ 0 };
}
