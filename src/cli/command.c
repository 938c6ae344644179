/* Searching the command table. */
#include "config.h"

#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

void ath_command_option_tables(const struct ath_command *command,
                               const struct ath_option *out[ATH_OPTION_TABLES])
{
    size_t count = 0;

    if (command->options)
        out[count++] = command->options;
    if (command->reads_machine)
        out[count++] = ath_machine_options;
    out[count++] = ath_global_options;
    out[count] = NULL;
}

bool ath_command_replaces(const struct ath_command *command, const struct ath_option *option)
{
    for (const struct ath_option *own = command->options; own && own->name; own++)
        if (own != option && !strcmp(own->name, option->name))
            return true;
    return false;
}

const struct ath_command *ath_command_child(const struct ath_command *parent, const char *name)
{
    for (const struct ath_command *const *child = parent->children; child && *child; child++)
        if (!strcmp((*child)->name, name))
            return *child;
    return parent->hidden && !strcmp(parent->hidden->name, name) ? parent->hidden : NULL;
}

static void walk(const struct ath_command *command, const char *path, ath_visit_command *visit,
                 void *data)
{
    visit(data, command, path);
    for (const struct ath_command *const *child = command->children; child && *child; child++) {
        ath_auto_free char *below = ath_xasprintf("%s%s%s", path, *path ? " " : "", (*child)->name);
        walk(*child, below, visit, data);
    }
}

void ath_command_walk(ath_visit_command *visit, void *data)
{
    walk(&ath_command_root, "", visit, data);
}

struct search {
    const struct ath_command *wanted;
    char *path;
};

static void keep_shortest(void *data, const struct ath_command *command, const char *path)
{
    struct search *search = data;

    if (command != search->wanted || (search->path && strlen(search->path) <= strlen(path)))
        return;
    free(search->path);
    search->path = ath_xstrdup(path);
}

char *ath_command_path(const struct ath_command *command)
{
    struct search search = { .wanted = command };
    ath_command_walk(keep_shortest, &search);
    return search.path ? search.path : ath_xstrdup(command->name);
}

const char *ath_command_nearest(const struct ath_command *parent, const char *name)
{
    const char *names[64];
    size_t count = 0;

    for (const struct ath_command *const *child = parent->children; child && *child; child++)
        if (count < ATH_COUNT(names))
            names[count++] = (*child)->name;
    return ath_text_nearest(name, names, count);
}

const char *ath_command_group_title(enum ath_command_group group)
{
    static const char *const titles[ATH_GROUP_COUNT] = {
        [ATH_GROUP_MACHINE] = N_("The machine"),
        [ATH_GROUP_DOCUMENT] = N_("The topology document"),
        [ATH_GROUP_RUNTIME] = N_("The runtimes"),
        [ATH_GROUP_HELP] = N_("Help"),
    };
    return titles[group];
}

char *ath_argument_synopsis(const struct ath_argument *argument)
{
    return ath_xasprintf("%s%s%s%s", argument->is_optional ? "[" : "", argument->name,
                         argument->is_repeated ? "..." : "", argument->is_optional ? "]" : "");
}

bool ath_option_takes_value(const struct ath_option *option)
{
    return option->type != ATH_OPTION_FLAG && option->type != ATH_OPTION_COUNT;
}

char *ath_command_choices(const char *const *choices)
{
    struct ath_text text = { 0 };

    for (; *choices; choices++)
        ath_text_add_part(&text, "|", "%s", *choices);
    return ath_text_take(&text);
}

char *ath_option_value_name(const struct ath_option *option)
{
    return option->choices ? ath_command_choices(option->choices) : ath_xstrdup(option->metavar);
}
