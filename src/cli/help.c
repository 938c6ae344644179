/* Laying out a command's help. */
#include "config.h"

#include "cli/help.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/wrap.h"

enum { INDENT = 2, TERM_COLUMNS_MAX = 28 };

/* Prints "  term   meaning", wrapped. The meaning starts at meaning_column, on a line of its own if
 * the term is too long. */
static void print_row(FILE *out, const char *term, const char *meaning, int meaning_column,
                      int width)
{
    int column = INDENT + (int)ath_text_width(term);

    fprintf(out, "%*s%s", INDENT, "", term);
    if (column + 2 > meaning_column) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", meaning_column - column, "");
    ath_wrap(out, meaning, meaning_column, meaning_column, width);
}

static char *option_term(const struct ath_option *option)
{
    ath_auto_free char *value = ath_option_value_name(option);
    struct ath_text text = { 0 };

    if (option->letter)
        ath_text_add(&text, "-%c, --%s", option->letter, option->name);
    else
        ath_text_add(&text, "    --%s", option->name);
    if (value)
        ath_text_add(&text, " %s", value);
    return ath_text_take(&text);
}

static void print_options(FILE *out, const char *title, const struct ath_option *options, int width)
{
    if (!options)
        return;
    fprintf(out, "\n%s\n", title);
    for (; options->name; options++) {
        ath_auto_free char *term = option_term(options);
        print_row(out, term, _(options->help), TERM_COLUMNS_MAX, width);
    }
}

static void print_children_of_group(FILE *out, const struct ath_command *command, int group,
                                    int width)
{
    bool has_title = false;

    for (const struct ath_command *const *child = command->children; *child; child++) {
        if ((int)(*child)->group != group)
            continue;
        if (!has_title)
            fprintf(out, "\n%s\n", _(ath_command_group_title((*child)->group)));
        has_title = true;
        print_row(out, (*child)->name, _((*child)->summary), INDENT + 14, width);
    }
}

static void print_children(FILE *out, const struct ath_command *command, int width)
{
    for (int group = 0; group < ATH_GROUP_COUNT; group++)
        print_children_of_group(out, command, group, width);
}

static void print_usage(FILE *out, const struct ath_command *command)
{
    ath_auto_free char *path = ath_command_path(command);

    fprintf(out, "\n%s aitherion%s%s [%s]", _("Usage:"), *path ? " " : "", path, _("OPTIONS"));
    if (command->children)
        fprintf(out, command->run ? " [%s]" : " %s", _("COMMAND"));
    for (const struct ath_argument *argument = command->arguments; argument && argument->name;
         argument++) {
        ath_auto_free char *synopsis = ath_argument_synopsis(argument);
        fprintf(out, " %s", synopsis);
    }
    fputc('\n', out);
}

static void print_arguments(FILE *out, const struct ath_argument *argument, int width)
{
    if (!argument || !argument->name)
        return;
    fprintf(out, "\n%s\n", _("Arguments"));
    for (; argument->name; argument++)
        print_row(out, argument->name, _(argument->help), INDENT + 14, width);
}

static void print_examples(FILE *out, const struct ath_example *example, int width)
{
    if (!example)
        return;
    fprintf(out, "\n%s\n", _("Examples"));
    for (; example->command; example++)
        print_row(out, example->command, _(example->meaning), INDENT + 44, width);
}

static void print_title(FILE *out, const struct ath_command *command, int width)
{
    ath_auto_free char *path = ath_command_path(command);
    ath_auto_free char *title =
        ath_xasprintf("aitherion%s%s: %s", *path ? " " : "", path, _(command->summary));
    ath_wrap(out, title, 0, 4, width);
    print_usage(out, command);
}

/* Below a single command the shared options are only named, so that the command's own options stand
 * out. */
static void print_shared_option_names(FILE *out, const struct ath_command *command, int width)
{
    ATH_AUTO(ath_text) names = { 0 };

    for (const struct ath_option *option = ath_global_options; option->name; option++)
        if (!ath_command_replaces(command, option))
            ath_text_add_part(&names, ", ", "--%s", option->name);
    fprintf(out, "\n%s\n%*s", _("Options of every command, explained by `aitherion --help`"),
            INDENT, "");
    ath_wrap(out, names.data, INDENT, INDENT, width);
}

/* Returns "aitherion-roce-test". The caller frees it. */
static char *page_name(const struct ath_command *command)
{
    ath_auto_free char *path = ath_command_path(command);
    char *name = ath_xasprintf("aitherion%s%s", *path ? "-" : "", path);

    for (char *blank = name; (blank = strchr(blank, ' '));)
        *blank = '-';
    return name;
}

void ath_help_print(FILE *out, const struct ath_command *command, int width)
{
    bool is_root = command == &ath_command_root;

    print_title(out, command, width);
    if (command->description) {
        fputc('\n', out);
        ath_wrap(out, _(command->description), 0, 0, width);
    }
    if (command->children)
        print_children(out, command, width);
    print_arguments(out, command->arguments, width);
    print_options(out, _("Options"), command->options, width);
    if (command->reads_machine)
        print_options(out, _("Reading another machine"), ath_machine_options, width);
    if (is_root)
        print_options(out, _("Options of every command"), ath_global_options, width);
    else
        print_shared_option_names(out, command, width);
    print_examples(out, command->examples, width);
    ath_auto_free char *page = page_name(command);
    fprintf(out, "\n%s man %s\n", _("More:"), page);
}

void ath_help_print_short(FILE *out, const struct ath_command *command, int width)
{
    print_title(out, command, width);
    print_children(out, command, width);
    print_examples(out, command->examples, width);
    fprintf(out, "\n%s aitherion --help, aitherion help %s\n", _("More:"), _("COMMAND"));
}
