/* The completion script for fish. */
#include "config.h"

#include <string.h>

#include "cli/candidates.h"
#include "cli/completion_parts.h"

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
    ath_completion_value_option(out, option, " ");
}

static void fish_value_options(void *out, const struct ath_command *command, const char *path)
{
    ath_completion_each_of(out, path, command->options, fish_value_option);
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
    ath_completion_words(out, words);
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

    ath_completion_each_of(out, path, command->options, fish_option);
    if (command->reads_machine)
        ath_completion_each_of(out, path, ath_machine_options, fish_option);
    fish_arguments(out, command, path);
}

static void fish_program_place(void *out, const struct ath_command *command, const char *path)
{
    if (ath_completion_takes_program(command))
        fprintf(out, " '%s'", path);
}

void ath_completion_fish(FILE *out)
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
    ath_completion_each_shared_option(out, fish_value_option);
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
    ath_completion_each_of(out, NULL, ath_global_options, fish_option);
    ath_command_walk(fish_command, out);
}
