/* The completion script for bash. */
#include "config.h"

#include <string.h>

#include "cli/candidates.h"
#include "cli/completion_parts.h"

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
    ath_completion_value_option(out, option, "|");
}

static void bash_value_options(void *out, const struct ath_command *command, const char *path)
{
    ath_completion_each_of(out, path, command->options, bash_value_option);
}

/* Prints "|'roce test'" for a place in the tree. The script looks it up as "COMMAND WORD". */
static void bash_place(void *out, const struct ath_command *command, const char *path)
{
    if (command != &ath_command_root)
        fprintf(out, "|'%s%s'", strchr(path, ' ') ? "" : " ", path);
}

static void bash_program_place(void *out, const struct ath_command *command, const char *path)
{
    if (ath_completion_takes_program(command))
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
    ath_completion_words(out, words);
    fputs("'", out);
}

/* Prints the call that completes a value: one of the choices, or of the suggestions and the
 * kind. */
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
    ath_completion_each_of(out, path, command->options, bash_option_values);
}

/* Prints the branches of the case over "COMMAND COUNT", COUNT arguments being there already. */
static void bash_arguments(void *data, const struct ath_command *command, const char *path)
{
    FILE *out = data;
    int count = 0;

    if (command->children) {
        fprintf(out, "    '%s 0') _aitherion_words '", path);
        ath_completion_children(out, command);
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
    ath_completion_each_option(out, command, path, bash_option_word);
    fputs("' ;;\n", out);
}

void ath_completion_bash(FILE *out)
{
    fputs(bash_head, out);
    ath_command_walk(bash_value_options, out);
    ath_completion_each_shared_option(out, bash_value_option);
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
    ath_completion_each_shared_option(out, bash_option_values);
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
