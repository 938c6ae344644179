/*
 * Completion scripts for bash, zsh and fish.
 *
 * bash takes "--name=value" apart at the "=" (COMP_WORDBREAKS), so its script looks one word
 * further back there. Nothing but the shells themselves is needed, not even the bash-completion
 * package.
 */
#include "config.h"

#include "cli/completion.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/command.h"

const char *const ath_shell_names[4] = { "bash", "zsh", "fish", NULL };

typedef void visit_option(FILE *out, const struct ath_command *command,
                          const struct ath_option *option);

static void each_option(FILE *out, const struct ath_command *command, visit_option *visit)
{
    const struct ath_option *tables[ATH_OPTION_TABLES];
    ath_command_option_tables(command, tables);
    for (size_t i = 0; tables[i]; i++)
        for (const struct ath_option *option = tables[i]; option->name; option++)
            visit(out, command, option);
}

/* All different option tables of the tree, each once: the commands' own, then the two shared ones.
 */
static void each_option_once(FILE *out, visit_option *visit)
{
    for (const struct ath_command *const *child = ath_command_root.children; *child; child++)
        for (const struct ath_option *option = (*child)->options; option && option->name; option++)
            visit(out, *child, option);
    for (const struct ath_option *option = ath_machine_options; option->name; option++)
        visit(out, NULL, option);
    for (const struct ath_option *option = ath_global_options; option->name; option++)
        visit(out, NULL, option);
}

static void print_words(FILE *out, const char *const *words)
{
    for (const char *const *word = words; word && *word; word++)
        fprintf(out, "%s%s", word == words ? "" : " ", *word);
}

static void print_children(FILE *out, const struct ath_command *command)
{
    for (const struct ath_command *const *child = command->children; child && *child; child++)
        fprintf(out, "%s%s", child == command->children ? "" : " ", (*child)->name);
}

/* ---- bash ---- */

static void bash_option_word(FILE *out, const struct ath_command *command,
                             const struct ath_option *option)
{
    (void)command;
    fprintf(out, " --%s", option->name);
    if (option->letter)
        fprintf(out, " -%c", option->letter);
}

static void bash_option_pattern(FILE *out, const struct ath_command *command,
                                const struct ath_option *option)
{
    (void)command;
    if (ath_option_takes_value(option))
        fprintf(out, "|--%s", option->name);
    if (ath_option_takes_value(option) && option->letter)
        fprintf(out, "|-%c", option->letter);
}

static void bash_files(FILE *out, const char *kind, const char *const *suggestions)
{
    fprintf(out, "_aitherion_files %s '", kind);
    print_words(out, suggestions);
    fputs("'", out);
}

static void bash_option_values(FILE *out, const struct ath_command *command,
                               const struct ath_option *option)
{
    (void)command;
    if (!ath_option_takes_value(option))
        return;
    fprintf(out, "    --%s", option->name);
    if (option->letter)
        fprintf(out, "|-%c", option->letter);
    fputs(") ", out);
    if (option->choices) {
        fputs("_aitherion_words '", out);
        print_words(out, option->choices);
        fputs("'", out);
    } else if (option->completion == ATH_COMPLETE_FOLDER) {
        bash_files(out, "-d", option->suggestions);
    } else if (option->completion == ATH_COMPLETE_FILE) {
        bash_files(out, "-f", option->suggestions);
    } else if (option->suggestions) {
        fputs("_aitherion_words '", out);
        print_words(out, option->suggestions);
        fputs("'", out);
    } else {
        fputs(":", out);
    }
    fputs("; return ;;\n", out);
}

/* What may stand at the place of a command's argument: its children, its choices, or files. */
static void bash_argument(FILE *out, const struct ath_command *command)
{
    const struct ath_argument *argument = command->arguments;

    fprintf(out, "    '%s') ", command == &ath_command_root ? "" : command->name);
    if (command->children || (argument && argument->completion == ATH_COMPLETE_COMMAND)) {
        fputs("_aitherion_words '", out);
        print_children(out, command->children ? command : &ath_command_root);
        fputs("'", out);
    } else if (argument && argument->choices) {
        fputs("_aitherion_words '", out);
        print_words(out, argument->choices);
        fputs("'", out);
    } else {
        fputs(":", out);
    }
    fputs(" ;;\n", out);
}

static void bash_options(FILE *out, const struct ath_command *command)
{
    fprintf(out, "        '%s') _aitherion_words '",
            command == &ath_command_root ? "" : command->name);
    each_option(out, command, bash_option_word);
    fputs("' ;;\n", out);
}

static void bash_for_all(FILE *out, void (*print)(FILE *, const struct ath_command *))
{
    print(out, &ath_command_root);
    for (const struct ath_command *const *child = ath_command_root.children; *child; child++)
        print(out, *child);
}

static void bash_nested_commands(FILE *out)
{
    for (const struct ath_command *const *child = ath_command_root.children; *child; child++) {
        fprintf(out, "|/%s", (*child)->name);
        for (const struct ath_command *const *inner = (*child)->children; inner && *inner; inner++)
            fprintf(out, "|%s/%s", (*child)->name, (*inner)->name);
    }
}

static void print_bash(FILE *out)
{
    fputs("# bash completion for aitherion, made from its command table\n"
          "_aitherion_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
          "_aitherion_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen \"$1\" -W "
          "\"$2\" -- "
          "\"$cur\"); }\n"
          "_aitherion()\n"
          "{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' "
          "word i\n"
          "    COMPREPLY=()\n"
          "    [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    [[ $cur == '=' ]] && cur=''\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        word=${COMP_WORDS[i]}\n"
          "        case $word in\n"
          "        ''",
          out);
    each_option_once(out, bash_option_pattern);
    fputs(")\n"
          "            ((i++))\n"
          "            [[ ${COMP_WORDS[i]} == '=' ]] && ((i++)) ;;\n"
          "        -*) ;;\n"
          "        *)\n"
          "            case \"$command/$word\" in\n"
          "            ''",
          out);
    bash_nested_commands(out);
    fputs(") command=$word ;;\n"
          "            esac ;;\n"
          "        esac\n"
          "    done\n"
          "    case $prev in\n",
          out);
    each_option_once(out, bash_option_values);
    fputs("    esac\n"
          "    if [[ $cur == -* ]]; then\n"
          "        case $command in\n",
          out);
    bash_for_all(out, bash_options);
    fputs("        esac\n"
          "        return\n"
          "    fi\n"
          "    case $command in\n",
          out);
    bash_for_all(out, bash_argument);
    fputs("    esac\n"
          "}\n"
          "complete -F _aitherion aitherion\n",
          out);
}

/* ---- zsh ---- */

/* Text inside '...' of _arguments, where brackets and colons end a field. */
static void zsh_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static const char *zsh_action(enum ath_completion completion)
{
    static const char *const actions[] = {
        [ATH_COMPLETE_NOTHING] = " ",
        [ATH_COMPLETE_FILE] = "_files",
        [ATH_COMPLETE_FOLDER] = "_files -/",
        [ATH_COMPLETE_COMMAND] = "_aitherion_commands",
    };
    return actions[completion];
}

static void zsh_option(FILE *out, const struct ath_command *command,
                       const struct ath_option *option)
{
    (void)command;
    bool is_repeated = option->type == ATH_OPTION_COUNT || option->type == ATH_OPTION_TEXTS;
    const char *repeated = is_repeated ? "*" : "";
    const char *equals = ath_option_takes_value(option) ? "=" : "";

    if (option->letter && is_repeated)
        fprintf(out, "            '*'{-%c,--%s%s}'[", option->letter, option->name, equals);
    else if (option->letter)
        fprintf(out, "            '(-%c --%s)'{-%c,--%s%s}'[", option->letter, option->name,
                option->letter, option->name, equals);
    else
        fprintf(out, "            '%s--%s%s[", repeated, option->name, equals);
    zsh_text(out, option->help);
    fputc(']', out);
    if (option->choices) {
        fprintf(out, ":%s:(", option->name);
        print_words(out, option->choices);
        fputc(')', out);
    } else if (ath_option_takes_value(option) && option->suggestions) {
        fprintf(out, ":%s:{_alternative \"words:name:(", option->metavar);
        print_words(out, option->suggestions);
        fprintf(out, ")\" \"files:file:%s\"}", zsh_action(option->completion));
    } else if (ath_option_takes_value(option)) {
        fprintf(out, ":%s:%s", option->metavar, zsh_action(option->completion));
    }
    fputs("' \\\n", out);
}

static void zsh_arguments(FILE *out, const struct ath_argument *argument)
{
    for (; argument && argument->name; argument++) {
        fprintf(out, "            '%s%s:%s:", argument->is_repeated ? "*" : "",
                argument->is_optional ? ":" : "", argument->name);
        if (argument->choices) {
            fputc('(', out);
            print_words(out, argument->choices);
            fputc(')', out);
        } else {
            fputs(zsh_action(argument->completion), out);
        }
        fputs("' \\\n", out);
    }
}

static void zsh_command(FILE *out, const struct ath_command *command)
{
    fprintf(out, "    %s)\n        _arguments -s -S \\\n", command->name);
    each_option(out, command, zsh_option);
    if (command->children) {
        fputs("            ':command:(", out);
        print_children(out, command);
        fputs(")' \\\n            '*:: :->nested' \\\n", out);
    }
    zsh_arguments(out, command->arguments);
    fputs("            && ret=0\n", out);
    if (command->children)
        fputs("        [[ $state == nested ]] && _aitherion_command $words[1] && ret=0\n", out);
    fputs("        ;;\n", out);
}

static void print_zsh(FILE *out)
{
    fputs("#compdef aitherion\n"
          "# zsh completion for aitherion, made from its command table\n"
          "_aitherion_commands() {\n"
          "    local -a commands=(\n",
          out);
    for (const struct ath_command *const *child = ath_command_root.children; *child; child++) {
        fprintf(out, "        '%s:", (*child)->name);
        zsh_text(out, (*child)->summary);
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    _describe command commands\n"
          "}\n"
          "_aitherion_command() {\n"
          "    local ret=1 state\n"
          "    case $1 in\n",
          out);
    for (const struct ath_command *const *child = ath_command_root.children; *child; child++)
        zsh_command(out, *child);
    fputs("    esac\n"
          "    return ret\n"
          "}\n"
          "_aitherion() {\n"
          "    local ret=1 state\n"
          "    _arguments -s -S \\\n",
          out);
    each_option(out, &ath_command_root, zsh_option);
    fputs("            '1: :_aitherion_commands' \\\n"
          "            '*:: :->arguments' \\\n"
          "            && ret=0\n"
          "    [[ $state == arguments ]] && _aitherion_command $words[1] && ret=0\n"
          "    return ret\n"
          "}\n"
          "if [[ $funcstack[1] == _aitherion ]]; then _aitherion \"$@\"; else compdef _aitherion "
          "aitherion; fi\n",
          out);
}

/* ---- fish ---- */

static void fish_text(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++)
        fprintf(out, strchr("'\\", *text) ? "\\%c" : "%c", *text);
    fputc('\'', out);
}

static void fish_suggestions(FILE *out, const struct ath_option *option)
{
    if (option->suggestions)
        fputc(' ', out);
    print_words(out, option->suggestions);
    fputc('\'', out);
}

static void fish_option(FILE *out, const struct ath_command *command,
                        const struct ath_option *option)
{
    fputs("complete -c aitherion", out);
    if (command)
        fprintf(out, " -n '__fish_seen_subcommand_from %s'", command->name);
    fprintf(out, " -l %s", option->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (option->choices) {
        fputs(" -x -a '", out);
        print_words(out, option->choices);
        fputs("'", out);
    } else if (option->completion == ATH_COMPLETE_FOLDER) {
        fputs(" -x -a '(__fish_complete_directories)", out);
        fish_suggestions(out, option);
    } else if (ath_option_takes_value(option)) {
        fputs(option->completion == ATH_COMPLETE_FILE ? " -r -F -a '" : " -x -a '", out);
        fish_suggestions(out, option);
    }
    fputs(" -d ", out);
    fish_text(out, option->help);
    fputc('\n', out);
}

static void fish_command(FILE *out, const struct ath_command *command)
{
    const struct ath_argument *argument = command->arguments;

    fprintf(out, "complete -c aitherion -n __fish_use_subcommand -a %s -d ", command->name);
    fish_text(out, command->summary);
    fputc('\n', out);
    for (const struct ath_option *option = command->options; option && option->name; option++)
        fish_option(out, command, option);
    for (const struct ath_option *option = ath_machine_options;
         command->reads_machine && option->name; option++)
        fish_option(out, command, option);
    if (!command->children &&
        (!argument || (!argument->choices && argument->completion != ATH_COMPLETE_COMMAND)))
        return;
    fprintf(out, "complete -c aitherion -n '__fish_seen_subcommand_from %s' -a '", command->name);
    if (argument && argument->choices)
        print_words(out, argument->choices);
    else
        print_children(out, command->children ? command : &ath_command_root);
    fputs("'\n", out);
}

static void print_fish(FILE *out)
{
    fputs("# fish completion for aitherion, made from its command table\n"
          "complete -c aitherion -f\n",
          out);
    for (const struct ath_option *option = ath_global_options; option->name; option++)
        fish_option(out, NULL, option);
    for (const struct ath_command *const *child = ath_command_root.children; *child; child++)
        fish_command(out, *child);
}

void ath_completion_print(FILE *out, const char *shell)
{
    static const struct {
        const char *shell;
        void (*print)(FILE *out);
    } printers[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };

    for (size_t i = 0; i < ATH_COUNT(printers); i++)
        if (!strcmp(printers[i].shell, shell))
            printers[i].print(out);
}
