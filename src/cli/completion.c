/*
 * Completion scripts for bash, zsh and fish.
 *
 * Each script finds the command's path ("roce test") from the words typed so far and looks up
 * everything by it; `numa discover` is a place of its own. Commands, options and choices are in the
 * script. For values of the machine or the document it calls `aitherion complete KIND WORD...`
 * (candidates.h). The scripts need only the shells themselves, not even the bash-completion
 * package.
 */
#include "config.h"

#include "cli/completion.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/completion_parts.h"

const char *const ath_shell_names[4] = { "bash", "zsh", "fish", NULL };

void ath_completion_each_of(FILE *out, const char *path, const struct ath_option *options,
                            ath_completion_visit *visit)
{
    for (; options && options->name; options++)
        visit(out, path, options);
}

void ath_completion_each_option(FILE *out, const struct ath_command *command, const char *path,
                                ath_completion_visit *visit)
{
    const struct ath_option *tables[ATH_OPTION_TABLES];
    ath_command_option_tables(command, tables);
    for (size_t i = 0; tables[i]; i++)
        for (const struct ath_option *option = tables[i]; option->name; option++)
            if (!ath_command_replaces(command, option))
                visit(out, path, option);
}

void ath_completion_each_shared_option(FILE *out, ath_completion_visit *visit)
{
    ath_completion_each_of(out, NULL, ath_machine_options, visit);
    ath_completion_each_of(out, NULL, ath_global_options, visit);
}

void ath_completion_words(FILE *out, const char *const *words)
{
    for (const char *const *word = words; word && *word; word++)
        fprintf(out, "%s%s", word == words ? "" : " ", *word);
}

void ath_completion_children(FILE *out, const struct ath_command *command)
{
    for (const struct ath_command *const *child = command->children; child && *child; child++)
        fprintf(out, "%s%s", child == command->children ? "" : " ", (*child)->name);
}

void ath_completion_value_option(FILE *out, const struct ath_option *option, const char *before)
{
    if (!ath_option_takes_value(option))
        return;
    fprintf(out, "%s--%s", before, option->name);
    if (option->letter)
        fprintf(out, "%s-%c", before, option->letter);
}

bool ath_completion_takes_program(const struct ath_command *command)
{
    return command->arguments && command->arguments->completion == ATH_COMPLETE_PROGRAM;
}

void ath_completion_print(FILE *out, const char *shell)
{
    static const struct {
        const char *shell;
        void (*print)(FILE *out);
    } printers[] = { { "bash", ath_completion_bash },
                     { "zsh", ath_completion_zsh },
                     { "fish", ath_completion_fish } };

    for (size_t i = 0; i < ATH_COUNT(printers); i++)
        if (!strcmp(printers[i].shell, shell))
            printers[i].print(out);
}
