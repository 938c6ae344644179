/*
 * Finding the runtimes that a command talks to, their addresses and the key. Runtimes are named by
 * address, or run on this machine.
 */
#pragma once
#include "cli/nodes.h"
#include "cli/output/session.h"

/* Values of the command line; NULL: not given. */
struct ath_reach_options {
    const char *server, *numa, *key, *key_name;
    bool needs_network; /* the unix socket is of no use */
};

enum ath_reach_wanted {
    ATH_REACH_ONE,
    ATH_REACH_LIST, /* those named, else the only one */
    ATH_REACH_ALL,  /* those named, else all; none is fine, and unreachable ones are listed */
};

struct ath_reach_server {
    int id;             /* of the entry; ATH_UNSET if named by address */
    char *server;       /* "127.0.0.1:50051" or "unix:PATH"; NULL if it cannot be reached */
    struct ath_err err; /* why it cannot be reached */
};

/* Owns its members. A zeroed struct is empty. */
struct ath_reach {
    struct ath_nodes nodes;
    struct ath_engines engines;
    struct ath_node_statuses statuses;
    struct ath_reach_server *items;
    size_t count;
    char *key;          /* path of the key file; "": no key */
    bool is_first_key;  /* it was not named, and is the first by name of a folder */
    bool wants_figures; /* ath_reach_ask() asks for them, too */
};
void ath_reach_free(struct ath_reach *reach);

/*
 * Finds the servers: those of --server or --numa, else $AITHERION_SERVER, else the runtimes on this
 * machine. The command's arguments are not read. A key that is named must be valid; without one the
 * default key is used if it exists. All servers use the same key. The caller releases *out with
 * ath_reach_free(). Returns 0, or a negative errno with err.
 */
int ath_reach_open(struct ath_cli *cli, const struct ath_reach_options *options,
                   enum ath_reach_wanted wanted, struct ath_reach *out, struct ath_err *err);

/* Fills *out with the address of a runtime on this machine, or with the error if it cannot be
 * reached. The caller frees out->server. */
void ath_reach_node(const struct ath_node_status *status, bool needs_network,
                    struct ath_reach_server *out);

/*
 * Asks all runtimes at once for their devices and sessions, with one thread each. out is an array
 * of reach->count; each item holds the answer or the error, points into reach, and is released with
 * ath_session_group_free().
 */
void ath_reach_ask(const struct ath_reach *reach, struct ath_session_group *out);

/* Adds the --server, --numa and --key of this run to a suggested command about runtimes. The caller
 * frees the result. */
char *ath_reach_suggest(const struct ath_reach_options *options, const char *command);

/* Adds a hint for this command line to the error of a server that gave no session. Returns
 * status. */
int ath_reach_explain(const struct ath_reach *reach, const struct ath_reach_server *server,
                      int status, struct ath_err *err);

/* Opens a control session, within 10 seconds. Returns 0, or a negative errno with err. */
int ath_reach_session(const struct ath_reach *reach, const struct ath_reach_server *server,
                      struct ath_session *out, struct ath_err *err);

/* Opens another session, within the same time: of a program, or for tests; with first NULL a
 * control session. */
int ath_reach_other_session(const struct ath_reach *reach, const struct ath_reach_server *server,
                            const struct ath_session_first *first, struct ath_session *out,
                            struct ath_err *err);

/*
 * Rows for a command's option table. The command's option struct has a struct ath_reach_options as
 * its member `reach`. The first macro is for commands that talk to one runtime, the second for
 * several.
 */
#define ATH_REACH_OPTIONS(target)                                                                  \
    ATH_REACH_ROWS(target, "HOST:PORT",                                                            \
                   N_("the runtime; unix:PATH or a path for its socket on this machine (default: " \
                      "$AITHERION_SERVER, else the only runtime on this machine)"),                \
                   "N", N_("the runtime of this NUMA entry on this machine"))
#define ATH_REACH_LIST_OPTIONS(target)                                                             \
    ATH_REACH_ROWS(target, "HOST:PORT[,...]",                                                      \
                   N_("the runtime, or several separated by commas; unix:PATH or a path for a "    \
                      "socket on this machine (default: $AITHERION_SERVER, else the runtimes on "  \
                      "this machine)"),                                                            \
                   "N[,...]",                                                                      \
                   N_("the runtimes of these NUMA entries on this machine; all: every runtime on " \
                      "this machine"))
#define ATH_REACH_ROWS(target, server_metavar, server_help, numa_metavar, numa_help)               \
    { .name = "server",                                                                            \
      .type = ATH_OPTION_TEXT,                                                                     \
      .metavar = server_metavar,                                                                   \
      .offset = offsetof(target, reach.server),                                                    \
      .help = server_help },                                                                       \
        { .name = "numa",                                                                          \
          .type = ATH_OPTION_TEXT,                                                                 \
          .metavar = numa_metavar,                                                                 \
          .completion = ATH_COMPLETE_RUNTIMES,                                                     \
          .offset = offsetof(target, reach.numa),                                                  \
          .help = numa_help },                                                                     \
        ATH_REACH_KEY_OPTIONS(target)

/* How connections are encrypted, for commands that open sessions as programs do. The target has the
 * members encrypt, an index of ath_run_encryptions (output/run.h), and tls_ca. */
#define ATH_REACH_ENCRYPTION_OPTIONS(target)                                                       \
    { .name = "encrypt",                                                                           \
      .type = ATH_OPTION_CHOICE,                                                                   \
      .choices = ath_run_encryptions,                                                              \
      .offset = offsetof(target, encrypt),                                                         \
      .help =                                                                                      \
          N_("encrypt TCP by TLS with the key: if it leaves this machine (auto, the default), "    \
             "always (on), or never (off)") },                                                     \
    {                                                                                              \
        .name = "tls-ca", .type = ATH_OPTION_TEXT, .metavar = "FILE",                              \
        .completion = ATH_COMPLETE_FILE, .offset = offsetof(target, tls_ca),                       \
        .help = N_("on encrypted connections the runtime must also have a certificate of one of "  \
                   "these authorities (PEM)")                                                      \
    }

/* Only the key, for commands that know the addresses. */
#define ATH_REACH_KEY_OPTIONS(target)                                                              \
    { .name = "key-name",                                                                          \
      .type = ATH_OPTION_TEXT,                                                                     \
      .metavar = "NAME",                                                                           \
      .completion = ATH_COMPLETE_KEY_NAME,                                                         \
      .offset = offsetof(target, reach.key_name),                                                  \
      .help = N_("name of the key (default: $AITHERION_KEY_NAME, else the key file's name); "      \
                 "of a folder of keys, this file") },                                              \
    {                                                                                              \
        .name = "key", .type = ATH_OPTION_TEXT, .metavar = "FILE",                                 \
        .completion = ATH_COMPLETE_FILE, .offset = offsetof(target, reach.key),                    \
        .help = N_("file of the shared key (default: $AITHERION_KEY_FILE, else the user's own, "   \
                   "else the document's)")                                                         \
    }
