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
#include "base/cleanup.h"
#include "cli/candidates.h"
#include "cli/command.h"

const char *const ath_shell_names[4] = { "bash", "zsh", "fish", NULL };

typedef void visit_option(FILE *out, const char *path, const struct ath_option *option);

static void each_of(FILE *out, const char *path, const struct ath_option *options,
                    visit_option *visit)
{
    for (; options && options->name; options++)
        visit(out, path, options);
}

/* Visits all options that a command takes. */
static void each_option(FILE *out, const struct ath_command *command, const char *path,
                        visit_option *visit)
{
    const struct ath_option *tables[ATH_OPTION_TABLES];
    ath_command_option_tables(command, tables);
    for (size_t i = 0; tables[i]; i++)
        each_of(out, path, tables[i], visit);
}

/* Visits the options that mean the same for every command that takes them. They are visited with
 * path NULL. */
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

/* Prints "|--name" or the like for options whose next word is a value; such a word is not a
 * command. An option of one name takes a value in all commands or in none (see parse.c). */
static void value_option(FILE *out, const struct ath_option *option, const char *before)
{
    if (!ath_option_takes_value(option))
        return;
    fprintf(out, "%s--%s", before, option->name);
    if (option->letter)
        fprintf(out, "%s-%c", before, option->letter);
}

/* Returns whether the first argument is a program, after which all words belong to it. */
static bool takes_program(const struct ath_command *command)
{
    return command->arguments && command->arguments->completion == ATH_COMPLETE_PROGRAM;
}

/* ---- bash ---- */

/*
 * bash splits words at the characters of COMP_WORDBREAKS, "=" and ":" among them. The script joins
 * them again: words are those between blanks, and cur is the value after "--name=". At the end it
 * takes off the part of each reply that bash does not replace.
 */
static const char bash_head[] =
    "# bash completion for aitherion, made from its command table\n"
    "_aitherion_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
    "_aitherion_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen \"$1\" -W "
    "\"$2\" -X '*.lock' -- \"$cur\"); }\n" /* beside each document */
    "_aitherion_program()\n"
    "{\n"
    "    compopt -o filenames\n"
    "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"\n"
    "        [[ $cur == '' || $cur == */* ]] || compgen -c -- \"$cur\")\n"
    "}\n"
    "_aitherion_values()\n"
    "{\n"
    "    local line program=${words[0]/#\\~\\//$HOME/}\n"
    "    [[ $program == */* ]] || program=aitherion\n"
    "    while IFS= read -r line; do\n"
    "        line=${line%%$'\\t'*}\n"
    "        [[ $line == \"$cur\"* ]] && COMPREPLY+=(\"$line\")\n"
    "    done < <(\"$program\" complete \"$1\" \"${words[@]}\" 2>/dev/null)\n"
    "    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n"
    "}\n"
    "_aitherion_find()\n"
    "{\n"
    "    local prev=${words[last - 1]} command='' word i count=0\n"
    "    [[ $cur == --*=* ]] && prev=${cur%%=*} cur=${cur#*=}\n"
    "    for ((i = 1; i < last; i++)); do\n"
    "        word=${words[i]}\n"
    "        case $word in\n"
    "        ' '"; /* no word is a blank: so each alternative below begins with "|" */

static const char bash_tail[] =
    "_aitherion()\n"
    "{\n"
    "    local cur word rest words=(\"${COMP_WORDS[0]}\") last\n"
    "    COMPREPLY=()\n"
    "    rest=${COMP_LINE#*\"${words[0]}\"}\n"
    "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD}\"; do\n"
    "        if [[ $rest == [[:blank:]]* ]]; then words+=(\"$word\"); else words[-1]+=$word; fi\n"
    "        rest=${rest#\"${rest%%[![:blank:]]*}\"}\n"
    "        rest=${rest#\"$word\"}\n"
    "    done\n"
    "    last=$((${#words[@]} - 1)) cur=${words[-1]}\n"
    "    _aitherion_find\n"
    "    word=${COMP_WORDS[COMP_CWORD]}\n"
    "    [[ $word == [=:]* ]] && word=''\n"
    "    COMPREPLY=(\"${COMPREPLY[@]#\"${cur%\"$word\"}\"}\")\n"
    "}\n"
    "complete -F _aitherion aitherion\n";

static void bash_value_option(FILE *out, const char *path, const struct ath_option *option)
{
    (void)path;
    value_option(out, option, "|");
}

static void bash_value_options(void *out, const struct ath_command *command, const char *path)
{
    each_of(out, path, command->options, bash_value_option);
}

/* Prints "|'roce test'" for a place in the tree. The script looks it up as "COMMAND WORD". */
static void bash_place(void *out, const struct ath_command *command, const char *path)
{
    if (command != &ath_command_root)
        fprintf(out, "|'%s%s'", strchr(path, ' ') ? "" : " ", path);
}

static void bash_program_place(void *out, const struct ath_command *command, const char *path)
{
    if (takes_program(command))
        fprintf(out, "|'%s'", path);
}

static void bash_option_word(FILE *out, const char *path, const struct ath_option *option)
{
    (void)path;
    fprintf(out, " --%s", option->name);
    if (option->letter)
        fprintf(out, " -%c", option->letter);
}

static void bash_words(FILE *out, const char *function, const char *const *words)
{
    fprintf(out, "%s '", function);
    print_words(out, words);
    fputs("'", out);
}

/* Prints the call that completes a value: one of the choices, or of the suggestions and the kind.
 */
static void bash_value(FILE *out, enum ath_completion kind, const char *const *choices,
                       const char *const *suggestions)
{
    if (choices)
        bash_words(out, "_aitherion_words", choices);
    else if (kind == ATH_COMPLETE_PROGRAM)
        fputs("_aitherion_program", out);
    else if (kind == ATH_COMPLETE_FOLDER)
        bash_words(out, "_aitherion_files -d", suggestions);
    else if (kind == ATH_COMPLETE_FILE)
        bash_words(out, "_aitherion_files -f", suggestions);
    else if (ath_candidates_word(kind))
        fprintf(out, "_aitherion_values %s", ath_candidates_word(kind));
    else if (suggestions)
        bash_words(out, "_aitherion_words", suggestions);
    else
        fputs(":", out);
}

/* Prints one branch of the case over "COMMAND OPTION". path NULL: of any command. */
static void bash_option_values(FILE *out, const char *path, const struct ath_option *option)
{
    if (!ath_option_takes_value(option))
        return;
    fprintf(out, path ? "    '%s --%s'" : "    *%s' --%s'", path ? path : "", option->name);
    if (option->letter)
        fprintf(out, path ? "|'%s -%c'" : "|*%s' -%c'", path ? path : "", option->letter);
    fputs(") ", out);
    bash_value(out, option->completion, option->choices, option->suggestions);
    fputs("; return ;;\n", out);
}

static void bash_own_option_values(void *out, const struct ath_command *command, const char *path)
{
    each_of(out, path, command->options, bash_option_values);
}

/* Prints the branches of the case over "COMMAND COUNT", COUNT arguments being there already. */
static void bash_arguments(void *data, const struct ath_command *command, const char *path)
{
    FILE *out = data;
    int count = 0;

    if (command->children) {
        fprintf(out, "    '%s 0') _aitherion_words '", path);
        print_children(out, command);
        fputs("' ;;\n", out);
    }
    for (const struct ath_argument *argument = command->arguments; argument && argument->name;
         argument++) {
        if (argument->is_repeated)
            fprintf(out, "    '%s '*) ", path);
        else
            fprintf(out, "    '%s %d') ", path, count++);
        bash_value(out, argument->completion, argument->choices, NULL);
        fputs(" ;;\n", out);
    }
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
    fputs(bash_head, out);
    ath_command_walk(bash_value_options, out);
    each_shared_option(out, bash_value_option);
    fputs(") ((i++)) ;;\n"
          "        -*) ;;\n"
          "        *)\n"
          "            case \"$command $word\" in\n"
          "            ' '",
          out);
    ath_command_walk(bash_place, out);
    fputs(") command=${command:+$command }$word ;;\n"
          "            *) ((++count)) ;;\n"
          "            esac ;;\n"
          "        esac\n"
          "        case $command in\n"
          "        ' '",
          out);
    ath_command_walk(bash_program_place, out);
    fputs(") if ((count)); then _aitherion_files -f ''; return; fi ;;\n"
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
          "    case \"$command $count\" in\n",
          out);
    ath_command_walk(bash_arguments, out);
    fputs("    esac\n"
          "}\n",
          out);
    fputs(bash_tail, out);
}

/* ---- zsh ---- */

/* Prints text inside the '...' of _arguments, where brackets and colons end a field. */
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

/* Prints the action that completes a value. A blank in front of a call keeps _arguments from adding
 * arguments of its own. */
static void zsh_action(FILE *out, enum ath_completion kind)
{
    if (ath_candidates_word(kind))
        fprintf(out, " _aitherion_values %s", ath_candidates_word(kind));
    else
        fputs(kind == ATH_COMPLETE_FILE     ? "_files"
              : kind == ATH_COMPLETE_FOLDER ? "_files -/"
                                            : " ",
              out);
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
        fprintf(out, ":%s:{_alternative \"words\\:name\\:(", option->metavar);
        print_words(out, option->suggestions);
        fputs(")\" \"files\\:file\\:", out);
        zsh_action(out, option->completion);
        fputs("\"}", out);
    } else if (ath_option_takes_value(option)) {
        fprintf(out, ":%s:", option->metavar);
        zsh_action(out, option->completion);
    }
    fputs("' \\\n", out);
}

static void zsh_arguments(FILE *out, const struct ath_argument *argument)
{
    for (; argument && argument->name; argument++) {
        if (argument->completion == ATH_COMPLETE_PROGRAM) {
            fputs("            '(-):PROGRAM:_aitherion_program' \\\n"
                  "            '*:: :_normal' \\\n",
                  out);
            continue;
        }
        fprintf(out, "            '%s%s:%s:", argument->is_repeated ? "*" : "",
                argument->is_optional ? ":" : "", argument->name);
        if (argument->choices) {
            fputc('(', out);
            print_words(out, argument->choices);
            fputc(')', out);
        } else {
            zsh_action(out, argument->completion);
        }
        fputs("' \\\n", out);
    }
}

/* Prints "'test:measure RDMA bandwidth and latency'" for each child. */
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
          "_aitherion_program() {\n"
          "    _alternative 'commands:command:_command_names -e' 'files:file:_files'\n"
          "}\n"
          "_aitherion_values() {\n"
          "    local row value program=${~typed[1]}\n"
          "    local -a values open\n"
          "    [[ $program == */* ]] || program=aitherion\n"
          "    for row in \"${(@f)$($program complete $1 \"${typed[@]}\" 2>/dev/null)}\"; do\n"
          "        value=${row%%$'\\t'*}\n"
          "        row=${value//:/\\\\:}:${row#*$'\\t'}\n"
          "        case $value in\n"
          "        '') ;;\n"
          "        *=) open+=(\"$row\") ;;\n"
          "        *) values+=(\"$row\") ;;\n"
          "        esac\n"
          "    done\n"
          "    (( $#values )) && _describe $1 values\n"
          "    (( $#open )) && _describe $1 open -S ''\n"
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
          "    local -a typed=(\"${words[1,CURRENT][@]}\")\n"
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

/* Prints what completes a value: the function that lists its kind, files, or words. */
static void fish_value(FILE *out, enum ath_completion kind, const char *const *words)
{
    fputs(kind == ATH_COMPLETE_FILE ? " -r -F -a '" : " -x -a '", out);
    if (ath_candidates_word(kind))
        fprintf(out, "(__aitherion_values %s)", ath_candidates_word(kind));
    else if (kind == ATH_COMPLETE_FOLDER)
        fputs("(__fish_complete_directories)", out);
    if (words)
        fputc(' ', out);
    print_words(out, words);
    fputc('\'', out);
}

/* path NULL: an option of every command. */
static void fish_option(FILE *out, const char *path, const struct ath_option *option)
{
    if (path)
        fish_begin(out, path);
    else
        fputs("complete -c aitherion", out);
    fprintf(out, " -l %s", option->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (ath_option_takes_value(option))
        fish_value(out, option->completion,
                   option->choices ? option->choices : option->suggestions);
    fputs(" -d ", out);
    fish_text(out, option->help);
    fputc('\n', out);
}

/* Prints "complete ... -n '__aitherion_at "roce bind" 1'" with the argument's values. */
static void fish_argument(FILE *out, const struct ath_argument *argument, const char *path,
                          int count)
{
    if (argument->completion == ATH_COMPLETE_PROGRAM) {
        fish_begin(out, path);
        fputs(" -F -a '(__fish_complete_command)'\n", out);
        fprintf(out, "complete -c aitherion -n '__aitherion_at \"%s PROGRAM\"' -F\n", path);
        return;
    }
    fprintf(out, "complete -c aitherion -n '__aitherion_at \"%s\"", path);
    if (!argument->is_repeated)
        fprintf(out, " %d", count);
    fputc('\'', out);
    fish_value(out, argument->completion, argument->choices);
    fputc('\n', out);
}

/* Prints what may follow a command: its children, or its arguments. */
static void fish_arguments(FILE *out, const struct ath_command *command, const char *path)
{
    const struct ath_argument *argument = command->arguments;

    for (const struct ath_command *const *child = command->children; child && *child; child++) {
        fprintf(out, "complete -c aitherion -n '__aitherion_at \"%s\" 0' -a %s -d ", path,
                (*child)->name);
        fish_text(out, (*child)->summary);
        fputc('\n', out);
    }
    for (int count = 0; argument && argument->name; argument++, count++)
        fish_argument(out, argument, path, count);
}

static void fish_command(void *data, const struct ath_command *command, const char *path)
{
    FILE *out = data;

    each_of(out, path, command->options, fish_option);
    if (command->reads_machine)
        each_of(out, path, ath_machine_options, fish_option);
    fish_arguments(out, command, path);
}

static void fish_program_place(void *out, const struct ath_command *command, const char *path)
{
    if (takes_program(command))
        fprintf(out, " '%s'", path);
}

static void print_fish(FILE *out)
{
    fputs("# fish completion for aitherion, made from its command table\n"
          "function __aitherion_values -d 'list the values of a kind'\n"
          "    set -l words (commandline -opc) (commandline -ct)\n"
          "    set -l program aitherion\n"
          "    string match -q '*/*' -- $words[1]; and set program $words[1]\n"
          "    command -q $program; or return\n"
          "    string match -qr -- '^-[^=]*$' $words[-1]; or $program complete $argv[1] $words "
          "2>/dev/null\n"
          "end\n"
          "function __aitherion_at -d 'whether the words so far name this command, with this "
          "number of arguments'\n"
          "    set -l place ''\n"
          "    set -l count 0\n"
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
          "                else\n"
          "                    set count (math $count + 1)\n"
          "                    if contains -- \"$place\"",
          out);
    ath_command_walk(fish_program_place, out);
    fputs("\n"
          "                        set place \"$place PROGRAM\"\n"
          "                        break\n"
          "                    end\n"
          "                end\n"
          "        end\n"
          "    end\n"
          "    test \"$place\" = \"$argv[1]\"; and begin\n"
          "        test (count $argv) = 1; or test $count = $argv[2]\n"
          "    end\n"
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
