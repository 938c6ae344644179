/*
 * Which runtimes a command speaks with, how they are reached from here, and with which key: by
 * their addresses, or as those that run on this machine.
 */
#pragma once
#include "cli/nodes.h"
#include "cli/output/session.h"

/* From the command line; NULL: not given. */
struct ath_reach_options {
    const char *server, *numa, *key;
    bool needs_network; /* its socket will not do */
};

enum ath_reach_wanted {
    ATH_REACH_ONE,
    ATH_REACH_LIST, /* those that are named, else the only one */
    ATH_REACH_ALL,  /* those that are named, else all; none at all, and such as cannot be reached */
};

struct ath_reach_server {
    int id;             /* of the entry; ATH_UNSET where it was named by its address */
    char *server;       /* "127.0.0.1:50051", "unix:PATH"; NULL where it cannot be reached: */
    struct ath_err err; /* why */
};

/* Owns what it holds; zeroed is empty. */
struct ath_reach {
    struct ath_nodes nodes;
    struct ath_engines engines;
    struct ath_node_statuses statuses;
    struct ath_reach_server *items;
    size_t count;
    char *key; /* the key file's path; "": none */
};
void ath_reach_free(struct ath_reach *reach);

/*
 * Finds the servers: --server, --numa, $AITHERION_SERVER, else what runs here. The command's
 * arguments are its own business. The key is the one named, which must be good, else the one that
 * there is; all servers have the same. Returns 0, or a negative errno with err.
 */
int ath_reach_open(struct ath_cli *cli, const struct ath_reach_options *options,
                   enum ath_reach_wanted wanted, struct ath_reach *out, struct ath_err *err);

/* How a runtime of this machine is reached from here; one that cannot be has its error. The caller
 * frees out->server. */
void ath_reach_node(const struct ath_node_status *status, bool needs_network,
                    struct ath_reach_server *out);

/* Asks all runtimes at once for their devices and sessions, into an array of as many; what goes
 * wrong with one stands in its place. They point into reach, and each is released with
 * ath_session_group_free(). */
void ath_reach_ask(const struct ath_reach *reach, struct ath_session_group *out);

/* Opens a control session within a short time. Returns 0, or a negative errno with err. */
int ath_reach_session(const struct ath_reach *reach, const struct ath_reach_server *server,
                      struct ath_session *out, struct ath_err *err);

/* The rows of these options in a command's table, whose struct has a struct ath_reach_options as
 * its member `reach`: for a command that speaks with one runtime, and with several. */
#define ATH_REACH_OPTIONS(target)                                                                  \
    ATH_REACH_ROWS(target, "HOST:PORT",                                                            \
                   N_("the runtime; unix:PATH or a path for its socket on this machine (default: " \
                      "$AITHERION_SERVER, else the one that runs here)"),                          \
                   "N", N_("the runtime of this NUMA entry, which runs on this machine"))
#define ATH_REACH_LIST_OPTIONS(target)                                                             \
    ATH_REACH_ROWS(target, "HOST:PORT[,...]",                                                      \
                   N_("the runtime, or several with commas between; unix:PATH or a path for a "    \
                      "socket on this machine (default: $AITHERION_SERVER, else what runs here)"), \
                   "N[,...]",                                                                      \
                   N_("the runtimes of these NUMA entries, which run on this machine; all: of "    \
                      "every one that does"))
#define ATH_REACH_ROWS(target, server_metavar, server_help, numa_metavar, numa_help)               \
    { .name = "server",                                                                            \
      .type = ATH_OPTION_TEXT,                                                                     \
      .metavar = server_metavar,                                                                   \
      .offset = offsetof(target, reach.server),                                                    \
      .help = server_help },                                                                       \
        { .name = "numa",                                                                          \
          .type = ATH_OPTION_TEXT,                                                                 \
          .metavar = numa_metavar,                                                                 \
          .offset = offsetof(target, reach.numa),                                                  \
          .help = numa_help },                                                                     \
    {                                                                                              \
        .name = "key", .type = ATH_OPTION_TEXT, .metavar = "FILE",                                 \
        .completion = ATH_COMPLETE_FILE, .offset = offsetof(target, reach.key),                    \
        .help = N_("the shared key (default: $AITHERION_KEY_FILE, else the user's own, else the "  \
                   "document's)")                                                                  \
    }
