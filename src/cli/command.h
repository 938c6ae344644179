/*
 * The command line as one table: commands, options, arguments, examples.
 *
 * Parsing, --help, did-you-mean, the man pages' option lists, the completions for three shells and
 * `help --json` are all made from it, so a new option is one row and nothing else. A command is one
 * file in commands/ that ends in its row; commands/commands.h lists them all. Texts are marked with
 * N_() and translated when they are printed. All tables are constant.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum ath_option_type {
    ATH_OPTION_FLAG,   /* target: bool */
    ATH_OPTION_COUNT,  /* target: int, counts how often the option is given */
    ATH_OPTION_TEXT,   /* target: const char *, owned by argv; one of choices, if there are any */
    ATH_OPTION_TEXTS,  /* target: struct ath_option_texts, one item each time */
    ATH_OPTION_CHOICE, /* target: int, index into choices; 0 unless given */
};

/* How the shell completes a value or an argument. The shell itself knows the first four; the others
 * are kinds of values that aitherion lists (candidates.c). */
enum ath_completion {
    ATH_COMPLETE_NOTHING,
    ATH_COMPLETE_FILE,
    ATH_COMPLETE_FOLDER,
    ATH_COMPLETE_PROGRAM,  /* a program to run, then its arguments */
    ATH_COMPLETE_COMMAND,  /* a command of aitherion */
    ATH_COMPLETE_ENTRY,    /* id of a NUMA entry of the document */
    ATH_COMPLETE_ENTRIES,  /* several, separated by commas; so are all plurals */
    ATH_COMPLETE_RUNTIMES, /* entries, or all */
    ATH_COMPLETE_INTERFACE,
    ATH_COMPLETE_INTERFACES,
    ATH_COMPLETE_GPUS,
    ATH_COMPLETE_RDMA_DEVICE,
    ATH_COMPLETE_RDMA_DEVICES,
    ATH_COMPLETE_CARD,          /* an RDMA card of the machine */
    ATH_COMPLETE_RECORDED_CARD, /* an RDMA card of the document */
    ATH_COMPLETE_MACVLAN,
    ATH_COMPLETE_KEY, /* a key of the document with its value: KEY=VALUE */
    ATH_COMPLETE_SESSION,
    ATH_COMPLETE_IMAGE,
    ATH_COMPLETE_KEY_NAME,  /* of a key in the folder of keys */
    ATH_COMPLETE_GPU_MODEL, /* of the table of models */
    ATH_COMPLETE_COUNT
};

struct ath_option_texts {
    const char **items;
    size_t count;
};

struct ath_option {
    const char *name; /* long name, without the dashes */
    char letter;      /* 0: no short form */
    enum ath_option_type type;
    const char
        *metavar; /* name of the value: "FILE"; NULL for flags, and for choices (they are listed) */
    const char *help;
    const char *fallback; /* value if the option is the last word, or a flag follows; NULL: a value
                             must be given */
    size_t offset;        /* of the target in the command's (or the global) options struct */
    const char *const *choices; /* the only values; terminated by NULL; NULL: any value */
    enum ath_completion completion;
    const char *const *suggestions; /* values that the shell offers too, terminated by NULL; other
                                       values are allowed */
};

struct ath_argument {
    const char *name; /* "SHELL" */
    const char *help;
    bool is_optional, is_repeated;
    const char *const *choices; /* NULL: any text */
    const char *unknown;        /* with choices: N_("unknown shell"), which begins the refusal of
                                   another word */
    enum ath_completion completion;
};

struct ath_example {
    const char *command; /* the whole command line: "aitherion discover --json" */
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
    const char *description; /* paragraphs for --help and the man page, separated by empty lines */
    const struct ath_argument *arguments; /* terminated by a NULL name; NULL: none */
    const struct ath_option *options;     /* terminated by a NULL name; NULL: none */
    size_t options_size;   /* bytes of the struct that the options' offsets point into */
    bool reads_machine;    /* also takes --root and --topology */
    bool writes_document;  /* with --root or --topology it needs -c, unless it only shows */
    bool ignores_document; /* suggestions of the command need no -c */
    bool runs_program; /* the first argument is a program: all words after it belong to the program,
                          flags too */
    const struct ath_example *examples;        /* terminated by a NULL command; NULL: none */
    const struct ath_command *const *children; /* terminated by NULL; without a child's name run()
                                                  runs, if there is one, else the help */
    const struct ath_command *hidden; /* a child for scripts of ours, which no list shows */
    /*
     * Runs the command. options points to options_size bytes, zeroed except for the options given.
     * Returns the exit code (0, 3, 4), or a negative errno with err. main() prints the error and
     * exits with 1 (2 if its code word is "usage").
     */
    int (*run)(struct ath_cli *cli, const void *options, struct ath_err *err);
};

/* The root of the tree, named "aitherion". */
extern const struct ath_command ath_command_root;

/* Options of every command, and of commands that read the machine. Offsets point into struct
 * ath_globals. */
extern const struct ath_option ath_global_options[];
extern const struct ath_option ath_machine_options[];

/* Fills out with the option tables that apply to a command, its own first, terminated by NULL. */
enum { ATH_OPTION_TABLES = 4 };
void ath_command_option_tables(const struct ath_command *command,
                               const struct ath_option *out[ATH_OPTION_TABLES]);

/* Returns whether the command has an option of its own with the name of one for every command,
 * which it then does not have. */
bool ath_command_replaces(const struct ath_command *command, const struct ath_option *option);

/* Returns the child with this name, or NULL. */
const struct ath_command *ath_command_child(const struct ath_command *parent, const char *name);

/* Calls visit for each place in the tree, the root first. path is "roce test", or "" for the root.
 * A command that stands in two places is visited twice. */
typedef void ath_visit_command(void *data, const struct ath_command *command, const char *path);
void ath_command_walk(ath_visit_command *visit, void *data);

/* Returns the command's shortest path: "discover" even for `numa discover`, "" for the root. The
 * caller frees it. */
char *ath_command_path(const struct ath_command *command);

/* Returns the name of the child that is most like a mistyped name, or NULL. */
const char *ath_command_nearest(const struct ath_command *parent, const char *name);

/* Returns the heading of a group of commands, marked for translation but not translated. */
const char *ath_command_group_title(enum ath_command_group group);

/* Returns "[N]", "SHELL" or "FILE..." for the synopsis. The caller frees it. */
char *ath_argument_synopsis(const struct ath_argument *argument);

/* Returns false for flags and counted flags. */
bool ath_option_takes_value(const struct ath_option *option);

/*
 * Returns what follows the option: "FILE" or "text|json|yaml"; NULL for flags. The caller frees it.
 */
char *ath_option_value_name(const struct ath_option *option);

/* Returns the choices as "bash|zsh|fish". The caller frees the text. */
char *ath_command_choices(const char *const *choices);
