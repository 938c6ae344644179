/*
 * The command line as one table: commands, options, arguments, examples.
 *
 * Parsing, --help, did-you-mean, the man pages' option lists, the completions for three shells and
 * `help --json` are all made from it: whoever adds a row adds nothing elsewhere. A command is one
 * file in commands/, which ends in its row; commands.c lists the rows. Texts are marked with N_()
 * and translated where they are printed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum ath_option_type {
    ATH_OPTION_FLAG,   /* target: bool */
    ATH_OPTION_COUNT,  /* target: int, one more each time it stands there */
    ATH_OPTION_TEXT,   /* target: const char *, owned by argv */
    ATH_OPTION_TEXTS,  /* target: struct ath_option_texts, one more each time */
    ATH_OPTION_CHOICE, /* target: int, index into choices; keeps its default where not given */
};

/* What the shell offers for a value or an argument. */
enum ath_completion {
    ATH_COMPLETE_NOTHING,
    ATH_COMPLETE_FILE,
    ATH_COMPLETE_FOLDER,
    ATH_COMPLETE_COMMAND
};

struct ath_option_texts {
    const char **items;
    size_t count;
};

struct ath_option {
    const char *name; /* long, without the dashes */
    char letter;      /* 0: none */
    enum ath_option_type type;
    const char
        *metavar; /* of the value: "FILE"; NULL for flags, and for choices (they are listed) */
    const char *help;
    size_t offset;              /* into the command's (or the global) options struct */
    const char *const *choices; /* for ATH_OPTION_CHOICE, ended by NULL */
    enum ath_completion completion;
    const char *const
        *suggestions; /* values to offer beside those, ended by NULL; others are fine too */
};

struct ath_argument {
    const char *name; /* "SHELL" */
    const char *help;
    bool is_optional, is_repeated;
    const char *const *choices; /* NULL: free text */
    enum ath_completion completion;
};

struct ath_example {
    const char *command; /* all of it: "aitherion discover --json" */
    const char *meaning;
};

enum ath_command_group {
    ATH_GROUP_MACHINE,
    ATH_GROUP_DOCUMENT,
    ATH_GROUP_RUNTIME,
    ATH_GROUP_HELP,
    ATH_GROUP_COUNT
};

struct ath_cli;

struct ath_command {
    const char *name;
    enum ath_command_group group;
    const char *summary;     /* one line, lower case, no full stop */
    const char *description; /* paragraphs for --help and the man page, parted by empty lines */
    const struct ath_argument *arguments; /* ended by a NULL name; NULL: none */
    const struct ath_option *options;     /* ended by a NULL name; NULL: none */
    size_t options_size;                  /* of the struct that their offsets point into */
    bool reads_machine;                   /* takes --root and --topology too */
    bool runs_program; /* its first argument is a program: whatever stands behind that is the
                          program's, flags too */
    const struct ath_example *examples; /* ended by a NULL command; NULL: none */
    const struct ath_command *const
        *children; /* ended by NULL; a command with children only holds them */
    /*
     * Does it. options: of options_size bytes, zeroed where not given. Returns the exit code (0, 3,
     * 4), or a negative errno with err, which main() prints and turns into exit code 1 (2 for code
     * word "usage").
     */
    int (*run)(struct ath_cli *cli, const void *options, struct ath_err *err);
};

/* The root of the tree, named "aitherion". */
extern const struct ath_command ath_command_root;

/* Options of every command, and of those that read the machine; offsets into struct ath_globals. */
extern const struct ath_option ath_global_options[];
extern const struct ath_option ath_machine_options[];

/* The option tables that apply to a command, its own first; ended by NULL. */
enum { ATH_OPTION_TABLES = 4 };
void ath_command_option_tables(const struct ath_command *command,
                               const struct ath_option *out[ATH_OPTION_TABLES]);

/* The child of a name, or NULL. */
const struct ath_command *ath_command_child(const struct ath_command *parent, const char *name);

/* Calls visit for each place in the tree, the root ("") first; path: "roce test". A command that
 * stands in two places is visited twice. */
typedef void ath_visit_command(void *data, const struct ath_command *command, const char *path);
void ath_command_walk(ath_visit_command *visit, void *data);

/* The command's shortest path: "discover", also for `numa discover`; "" for the root. The caller
 * frees it. */
char *ath_command_path(const struct ath_command *command);

/* The child nearest to a mistyped name, or NULL. */
const char *ath_command_nearest(const struct ath_command *parent, const char *name);

/* The heading of a group of commands, marked, not translated. */
const char *ath_command_group_title(enum ath_command_group group);

/* "[N]", "SHELL", "FILE..." for the synopsis; the caller frees it. */
char *ath_argument_synopsis(const struct ath_argument *argument);

/* False for what only stands there or not. */
bool ath_option_takes_value(const struct ath_option *option);

/* "FILE" or "text|json|yaml": what stands behind the option; NULL for flags. The caller frees it.
 */
char *ath_option_value_name(const struct ath_option *option);
