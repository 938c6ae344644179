/* The completion script for zsh. */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "cli/candidates.h"
#include "cli/completion_parts.h"

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
        ath_completion_words(out, option->choices);
        fputc(')', out);
    } else if (ath_option_takes_value(option) && option->suggestions) {
        fprintf(out, ":%s:{_alternative \"words\\:name\\:(", option->metavar);
        ath_completion_words(out, option->suggestions);
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
            ath_completion_words(out, argument->choices);
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
    ath_completion_each_option(out, command, path, zsh_option);
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

void ath_completion_zsh(FILE *out)
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
    ath_completion_each_option(out, &ath_command_root, "", zsh_option);
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
