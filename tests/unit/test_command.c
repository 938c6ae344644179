/* The command table keeps its own rules, and the parser does what it says. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/parse.h"
#include "cli/suggest.h"
#include "cli/wrap.h"
#include "unit.h"

enum { LINE_WORDS_MAX = 16 };

/* Parses "discover --json" as main() would. */
static int parse(const char *words, struct ath_command_line *out, struct ath_err *err)
{
    static char text[512];
    static char *argv[LINE_WORDS_MAX + 1];
    int argc = 0;

    snprintf(text, sizeof text, "aitherion %s", words);
    for (char *word = strtok(text, " "); word && argc < LINE_WORDS_MAX; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    *err = (struct ath_err){ 0 };
    return ath_command_line_parse(argc, argv, out, err);
}

LOOP_TEST(flags_stand_anywhere, 0, 5)
{
    static const char *const spellings[] = {
        "discover --json --root here",      "--json discover --root=here",
        "--root here discover --json",      "--json --root=here -- discover",
        "numa discover --json --root here",
    };
    ATH_AUTO(ath_command_line) line = { 0 };
    struct ath_err err;

    ck_assert_int_eq(parse(spellings[_i], &line, &err), 0);
    ck_assert_str_eq(line.command->name, "discover");
    ck_assert(line.globals.is_json);
    ck_assert_str_eq(line.globals.root, "here");
    ck_assert_uint_eq(line.argument_count, 0);
}

TEST(letters_stand_together)
{
    ATH_AUTO(ath_command_line) line = { 0 };
    struct ath_err err;

    ck_assert_int_eq(parse("-vqvc file version", &line, &err), 0);
    ck_assert_str_eq(line.command->name, "version");
    ck_assert_int_eq(line.globals.verbosity, 2);
    ck_assert(line.globals.is_quiet);
    ck_assert_str_eq(line.globals.config, "file");
}

TEST(repeated_values_are_kept_in_order)
{
    ATH_AUTO(ath_command_line) line = { 0 };
    struct ath_err err;

    ck_assert_int_eq(parse("configure --set a=1 --set=b=2", &line, &err), 0);
    const struct ath_option_texts *set = line.options; /* the first member of configure's options */
    ck_assert_uint_eq(set->count, 2);
    ck_assert_str_eq(set->items[0], "a=1");
    ck_assert_str_eq(set->items[1], "b=2");
}

static const struct {
    const char *words, *message, *hint;
} mistakes[] = {
    { "discver", "unknown command 'discver'", "did you mean 'aitherion discover'?" },
    { "numa discoverr", "unknown command 'numa discoverr'",
      "did you mean 'aitherion numa discover'?" },
    { "discover --jsn", "unknown option '--jsn' for 'discover'", "did you mean '--json'?" },
    { "discover --set a=b", "'discover' does not have the option '--set'",
      "it belongs to 'aitherion configure'" },
    { "-x", "unknown option '-x'", "aitherion --help" },
    { "discover --format svgg",
      "'svgg' is not a value for '--format': auto|text|json|yaml|matrix|dot|svg",
      "did you mean 'svg'?" },
    { "discover --root", "the option '--root' needs a value: DIR", "aitherion discover --help" },
    { "discover --json=yes", "the option '--json' takes no value", "" },
    { "discover here", "'discover' takes no argument 'here'", "aitherion discover --help" },
    { "completion perl", "unknown shell 'perl': bash|zsh|fish", "aitherion completion --help" },
    { "completion zhs", "unknown shell 'zhs': bash|zsh|fish", "did you mean 'zsh'?" },
    { "completion", "'completion' needs an argument: SHELL", "aitherion completion --help" },
    { "version --json --yaml", "'--json' and '--yaml' exclude each other",
      "leave one of them out" },
    { "discover --root a --topology b", "'--root' and '--topology' exclude each other",
      "leave one of them out" },
};

LOOP_TEST(a_mistake_is_named_with_what_was_meant, 0, ATH_COUNT(mistakes))
{
    ATH_AUTO(ath_command_line) line = { 0 };
    struct ath_err err;

    ck_assert_int_eq(parse(mistakes[_i].words, &line, &err), -EINVAL);
    ck_assert_int_eq(err.code, ATH_E_USAGE);
    ck_assert_str_eq(err.message, mistakes[_i].message);
    ck_assert_str_eq(err.hint, mistakes[_i].hint);
}

TEST(json_is_known_even_where_the_rest_is_wrong)
{
    ATH_AUTO(ath_command_line) line = { 0 };
    struct ath_err err;

    ck_assert_int_lt(parse("discover --nonsense --json", &line, &err), 0);
    ck_assert(line.globals.is_json);
}

/* ---- the table ---- */

static const struct ath_option *all_options[256];
static size_t all_option_count;

static void collect(const struct ath_option *option)
{
    for (; option && option->name; option++) {
        ck_assert_uint_lt(all_option_count, ATH_COUNT(all_options));
        all_options[all_option_count++] = option;
    }
}

static void collect_tree(const struct ath_command *command)
{
    collect(command->options);
    for (const struct ath_command *const *child = command->children; child && *child; child++)
        collect_tree(*child);
}

/*
 * The one name with two meanings: `run --server HOST:PORT` is the address of a runtime, as
 * everywhere in CUDA remoting; `roce test --server` is the role, as in every program that measures
 * networks.
 */
static bool is_role_or_address(const struct ath_option *a, const struct ath_option *b)
{
    return !strcmp(a->name, "server") &&
           ((a->type == ATH_OPTION_FLAG && b->type == ATH_OPTION_TEXT) ||
            (a->type == ATH_OPTION_TEXT && b->type == ATH_OPTION_FLAG));
}

/* A choice, and a text that sets a key of the document: the key's own check says which words are
 * allowed, and the suggestions are the choices. */
static bool is_choice_or_key(const struct ath_option *a, const struct ath_option *b)
{
    const struct ath_option *choice = a->type == ATH_OPTION_CHOICE ? a : b;
    const struct ath_option *key = choice == a ? b : a;

    if (choice->type != ATH_OPTION_CHOICE || key->type != ATH_OPTION_TEXT || !key->suggestions)
        return false;
    ath_auto_free char *choices = ath_command_choices(choice->choices);
    ath_auto_free char *suggestions = ath_command_choices(key->suggestions);
    return !strcmp(choices, suggestions);
}

TEST(an_option_is_the_same_everywhere)
{
    all_option_count = 0;
    collect(ath_global_options);
    collect(ath_machine_options);
    collect_tree(&ath_command_root);

    for (size_t i = 0; i < all_option_count; i++) {
        const struct ath_option *a = all_options[i];
        ck_assert_ptr_nonnull(a->help);
        if (a->type != ATH_OPTION_TEXT) /* a text may have choices or not */
            ck_assert_int_eq(a->type == ATH_OPTION_CHOICE, a->choices != NULL);
        for (size_t j = 0; j < all_option_count; j++) {
            const struct ath_option *b = all_options[j];
            if (!strcmp(a->name, b->name) && !is_role_or_address(a, b) && !is_choice_or_key(a, b))
                ck_assert_int_eq(a->type, b->type);
            if (a->letter && a->letter == b->letter)
                ck_assert_str_eq(a->name, b->name);
        }
    }
}

static void check_command(const struct ath_command *command)
{
    size_t length = strlen(command->summary);
    ck_assert_uint_lt(length, 80);
    ck_assert(!isupper((unsigned char)command->summary[0]) ||
              isupper((unsigned char)command->summary[1])); /* "RDMA cards" */
    ck_assert_int_ne(command->summary[length - 1], '.');
    ck_assert(command->children || command->run);
    ck_assert_int_eq(command->options != NULL, command->options_size != 0);
    for (const struct ath_example *example = command->examples; example && example->command;
         example++)
        ck_assert_ptr_nonnull(strstr(example->command, "aitherion"));
    for (const struct ath_command *const *child = command->children; child && *child; child++)
        check_command(*child);
}

TEST(every_command_is_described)
{
    check_command(&ath_command_root);
}

static char *wrapped_at(const char *text, int column, int indent, int width)
{
    char *out = NULL;
    size_t length;
    FILE *memory = open_memstream(&out, &length);
    ath_wrap(memory, text, column, indent, width);
    fclose(memory);
    return out;
}

static char *wrapped(const char *text, int indent, int width)
{
    return wrapped_at(text, 0, indent, width);
}

TEST(text_is_broken_at_blanks)
{
    ath_auto_free char *text = wrapped("one two three\n\n  kept   as it is\nfour", 2, 9);
    ck_assert_str_eq(text, "one two\n  three\n\n    kept   as it is\n  four\n");
    ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8")); /* for the widths */
    ath_auto_free char *chinese = wrapped("one 中文中文", 0, 5);
    ck_assert_str_eq(chinese, "one\n中文\n中文\n");
    ath_auto_free char *brackets = wrapped("中文（one）中文（中", 0, 7);
    ck_assert_str_eq(brackets, "中文\n（one）\n中文\n（中\n");
}

/* Each line takes the words that end at the last column or before it. The first line may begin at
 * any column. */
TEST(lines_are_as_wide_as_they_may_be)
{
    static const struct {
        int column, indent;
        const char *lines;
    } rows[] = {
        { 0, 4, "one two b\n    six b\n    c\n" },
        { 4, 0, "one\ntwo b six\nb c\n" },
        { 2, 2, "one two\n  b six b\n  c\n" },
        { 1, 2, "one two\n  b six b\n  c\n" },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        ath_auto_free char *text =
            wrapped_at("one two b six b c", rows[i].column, rows[i].indent, 9);
        ck_assert_str_eq(text, rows[i].lines);
    }
}

TEST(suggested_commands_get_the_options_of_the_run)
{
    static const char *const texts[][2] = {
        { "aitherion configure 0 --control-iface INTERFACE, then aitherion start",
          "aitherion -c here configure 0 --control-iface INTERFACE, then aitherion -c here start" },
        { "先 aitherion stop，然后 aitherion roce list。",
          "先 aitherion -c here stop，然后 aitherion -c here roce list。" },
        { "(aitherion status), aitherion stop; aitherion start.",
          "(aitherion -c here status), aitherion -c here stop; aitherion -c here start." },
        { "aitherion made it, and 'aitherion start' is quoted", NULL },
        { "aitherion -c there start; aitherion help start", NULL },
    };
    const struct ath_globals globals = { .config = (char *)"here" };

    for (size_t i = 0; i < ATH_COUNT(texts); i++) {
        ath_auto_free char *text = ath_suggest_complete(&globals, texts[i][0]);
        ck_assert_str_eq(text, texts[i][1] ? texts[i][1] : texts[i][0]);
    }
}
