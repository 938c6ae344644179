/*
 * Completion scripts for bash, zsh and fish.
 *
 * Everything is keyed by the command's path ("roce test"), which each script works out from the
 * words so far; `numa discover` is a place of its own. bash takes "--name=value" apart at the "="
 * (COMP_WORDBREAKS), so its script looks one word further back there. Nothing but the shells
 * themselves is needed, not even the bash-completion package.
 */
#include "config.h"

#include "cli/completion.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/command.h"

const char *const ath_shell_names[4] = { "bash", "zsh", "fish", NULL };

typedef void visit_option(FILE *out, const char *path, const struct ath_option *option);

static void each_of(FILE *out, const char *path, const struct ath_option *options,
                    visit_option *visit)
{
    for (; options && options->name; options++)
        visit(out, path, options);
}

/* All options that a command takes. */
static void each_option(FILE *out, const struct ath_command *command, const char *path,
                        visit_option *visit)
{
    const struct ath_option *tables[ATH_OPTION_TABLES];
    ath_command_option_tables(command, tables);
    for (size_t i = 0; tables[i]; i++)
        each_of(out, path, tables[i], visit);
}

/* Options that mean the same for every command that takes them. path: NULL. */
static void each_shared_option(FILE *out, visit_option *visit)
{
    each_of(out, NULL, ath_machine_options, visit);
    each_of(out, NULL, ath_global_options, visit);
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

/* Adds ", --name" or the like for options whose next word is their value; such a word is no command
 * (one of a name takes a value everywhere or nowhere, see parse.c). */
static void value_option(FILE *out, const struct ath_option *option, const char *before)
{
    if (!ath_option_takes_value(option))
        return;
    fprintf(out, "%s--%s", before, option->name);
    if (option->letter)
        fprintf(out, "%s-%c", before, option->letter);
}

/* ---- bash ---- */

static void bash_value_option(FILE *out, const char *path, const struct ath_option *option)
{
    (void)path;
    value_option(out, option, "|");
}

static void bash_value_options(void *out, const struct ath_command *command, const char *path)
{
    each_of(out, path, command->options, bash_value_option);
}

/* "|'roce test'": a place in the tree, asked for as "COMMAND WORD". */
static void bash_place(void *out, const struct ath_command *command, const char *path)
{
    if (command != &ath_command_root)
        fprintf(out, "|'%s%s'", strchr(path, ' ') ? "" : " ", path);
}

static void bash_option_word(FILE *out, const char *path, const struct ath_option *option)
{
    (void)path;
    fprintf(out, " --%s", option->name);
    if (option->letter)
        fprintf(out, " -%c", option->letter);
}

static void bash_files(FILE *out, const char *kind, const char *const *suggestions)
{
    fprintf(out, "_aitherion_files %s '", kind);
    print_words(out, suggestions);
    fputs("'", out);
}

/* One branch over "COMMAND OPTION"; of any command where path is NULL. */
static void bash_option_values(FILE *out, const char *path, const struct ath_option *option)
{
    if (!ath_option_takes_value(option))
        return;
    fprintf(out, path ? "    '%s --%s'" : "    *%s' --%s'", path ? path : "", option->name);
    if (option->letter)
        fprintf(out, path ? "|'%s -%c'" : "|*%s' -%c'", path ? path : "", option->letter);
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

static void bash_own_option_values(void *out, const struct ath_command *command, const char *path)
{
    each_of(out, path, command->options, bash_option_values);
}

/* What may stand at the place of a command's argument: its children, its choices, or files. */
static void bash_argument(void *data, const struct ath_command *command, const char *path)
{
    FILE *out = data;
    const struct ath_argument *argument = command->arguments;

    fprintf(out, "    '%s') ", path);
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

static void bash_options(void *data, const struct ath_command *command, const char *path)
{
    FILE *out = data;
    fprintf(out, "        '%s') _aitherion_words '", path);
    each_option(out, command, path, bash_option_word);
    fputs("' ;;\n", out);
}

static void print_bash(FILE *out)
{
    fputs("# bash completion for aitherion, made from its command table\n"
          "_aitherion_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
          "_aitherion_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen \"$1\" -W "
          "\"$2\" -- \"$cur\"); }\n"
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
    ath_command_walk(bash_value_options, out);
    each_shared_option(out, bash_value_option);
    fputs(")\n"
          "            ((i++))\n"
          "            [[ ${COMP_WORDS[i]} == '=' ]] && ((i++)) ;;\n"
          "        -*) ;;\n"
          "        *)\n"
          "            case \"$command $word\" in\n"
          "            ''",
          out);
    ath_command_walk(bash_place, out);
    fputs(") command=${command:+$command }$word ;;\n"
          "            esac ;;\n"
          "        esac\n"
          "    done\n"
          "    case \"$command $prev\" in\n",
          out);
    ath_command_walk(bash_own_option_values, out);
    each_shared_option(out, bash_option_values);
    fputs("    esac\n"
          "    if [[ $cur == -* ]]; then\n"
          "        case $command in\n",
          out);
    ath_command_walk(bash_options, out);
    fputs("        esac\n"
          "        return\n"
          "    fi\n"
          "    case $command in\n",
          out);
    ath_command_walk(bash_argument, out);
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

static void zsh_option(FILE *out, const char *path, const struct ath_option *option)
{
    (void)path;
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

/* "'test:measure RDMA bandwidth and latency'" for each child. */
static void zsh_children(FILE *out, const struct ath_command *command, const char *indent)
{
    for (const struct ath_command *const *child = command->children; *child; child++) {
        fprintf(out, "%s'%s:", indent, (*child)->name);
        zsh_text(out, (*child)->summary);
        fputs("'\n", out);
    }
}

static void zsh_command(void *data, const struct ath_command *command, const char *path)
{
    FILE *out = data;

    if (command == &ath_command_root)
        return;
    fprintf(out, "    '%s')\n", path);
    if (command->children) {
        fputs("        local -a commands=(\n", out);
        zsh_children(out, command, "            ");
        fputs("        )\n", out);
    }
    fputs("        _arguments -s -S \\\n", out);
    each_option(out, command, path, zsh_option);
    if (command->children)
        fputs("            '1:command:{_describe command commands}' \\\n"
              "            '*:: :->nested' \\\n",
              out);
    zsh_arguments(out, command->arguments);
    fputs("            && ret=0\n", out);
    if (command->children)
        fprintf(out,
                "        [[ $state == nested ]] && _aitherion_command \"%s $words[1]\" && ret=0\n",
                path);
    fputs("        ;;\n", out);
}

static void print_zsh(FILE *out)
{
    fputs("#compdef aitherion\n"
          "# zsh completion for aitherion, made from its command table\n"
          "_aitherion_commands() {\n"
          "    local -a commands=(\n",
          out);
    zsh_children(out, &ath_command_root, "        ");
    fputs("    )\n"
          "    _describe command commands\n"
          "}\n"
          "_aitherion_command() {\n"
          "    local ret=1 state\n"
          "    case $1 in\n",
          out);
    ath_command_walk(zsh_command, out);
    fputs("    esac\n"
          "    return ret\n"
          "}\n"
          "_aitherion() {\n"
          "    local ret=1 state\n"
          "    _arguments -s -S \\\n",
          out);
    each_option(out, &ath_command_root, "", zsh_option);
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

static void fish_value_option(FILE *out, const char *path, const struct ath_option *option)
{
    (void)path;
    value_option(out, option, " ");
}

static void fish_value_options(void *out, const struct ath_command *command, const char *path)
{
    each_of(out, path, command->options, fish_value_option);
}

static void fish_place(void *out, const struct ath_command *command, const char *path)
{
    if (command != &ath_command_root)
        fprintf(out, " '%s'", path);
}

static void fish_begin(FILE *out, const char *path)
{
    fprintf(out, "complete -c aitherion -n '__aitherion_at \"%s\"'", path);
}

/* path: NULL for an option of every command. */
static void fish_option(FILE *out, const char *path, const struct ath_option *option)
{
    if (path)
        fish_begin(out, path);
    else
        fputs("complete -c aitherion", out);
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

/* What may stand behind a command: its children, or the choices of its argument. */
static void fish_argument(FILE *out, const struct ath_command *command, const char *path)
{
    const struct ath_argument *argument = command->arguments;
    bool is_topic = argument && argument->completion == ATH_COMPLETE_COMMAND;
    const struct ath_command *parent = is_topic ? &ath_command_root : command;

    for (const struct ath_command *const *child = parent->children; child && *child; child++) {
        fish_begin(out, path);
        fprintf(out, " -a %s -d ", (*child)->name);
        fish_text(out, (*child)->summary);
        fputc('\n', out);
    }
    if (!argument || !argument->choices)
        return;
    fish_begin(out, path);
    fputs(" -a '", out);
    print_words(out, argument->choices);
    fputs("'\n", out);
}

static void fish_command(void *data, const struct ath_command *command, const char *path)
{
    FILE *out = data;

    each_of(out, path, command->options, fish_option);
    if (command->reads_machine)
        each_of(out, path, ath_machine_options, fish_option);
    fish_argument(out, command, path);
}

static void print_fish(FILE *out)
{
    fputs("# fish completion for aitherion, made from its command table\n"
          "function __aitherion_at -d 'whether the words so far name this command'\n"
          "    set -l place ''\n"
          "    set -l is_value 0\n"
          "    set -l words (commandline -opc)\n"
          "    set -e words[1]\n"
          "    for word in $words\n"
          "        if test $is_value = 1\n"
          "            set is_value 0\n"
          "            continue\n"
          "        end\n"
          "        switch $word\n"
          "            case",
          out);
    ath_command_walk(fish_value_options, out);
    each_shared_option(out, fish_value_option);
    fputs("\n"
          "                set is_value 1\n"
          "            case '-*'\n"
          "            case '*'\n"
          "                set -l next (string trim -- \"$place $word\")\n"
          "                if contains -- $next",
          out);
    ath_command_walk(fish_place, out);
    fputs("\n"
          "                    set place $next\n"
          "                end\n"
          "        end\n"
          "    end\n"
          "    test \"$place\" = \"$argv[1]\"\n"
          "end\n"
          "complete -c aitherion -f\n",
          out);
    each_of(out, NULL, ath_global_options, fish_option);
    ath_command_walk(fish_command, out);
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
