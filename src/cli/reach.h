/*
 * Which runtime a command speaks with, how it is reached from here, and with which key: by its
 * address, or as one that runs on this machine.
 */
#pragma once
#include "cli/nodes.h"
#include "cli/output/session.h"

/* From the command line; NULL: not given. */
struct ath_reach_options {
    const char *server, *numa, *key;
    bool needs_network; /* its socket will not do */
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
 * Finds the server: --server, --numa, $AITHERION_SERVER, else what runs here, which with wants_all
 * may be any number of runtimes (each with its own error), else must be one that can be reached.
 * The command's arguments are its own business. The key is the one named, which must be good, else
 * the one that there is. Returns 0, or a negative errno with err.
 */
int ath_reach_open(struct ath_cli *cli, const struct ath_reach_options *options, bool wants_all,
                   struct ath_reach *out, struct ath_err *err);

/* How a runtime of this machine is reached from here; one that cannot be has its error. The caller
 * frees out->server. */
void ath_reach_node(const struct ath_node_status *status, bool needs_network,
                    struct ath_reach_server *out);

/* Asks a runtime for its devices and sessions; what goes wrong stands in *out, which points into
 * server and is released with ath_session_group_free(). */
void ath_reach_ask(const struct ath_reach *reach, const struct ath_reach_server *server,
                   struct ath_session_group *out);

/* Opens a control session within a short time. Returns 0, or a negative errno with err. */
int ath_reach_session(const struct ath_reach *reach, const struct ath_reach_server *server,
                      struct ath_session *out, struct ath_err *err);

/* The rows of these options in a command's table, whose struct has a struct ath_reach_options as
 * its member `reach`. */
#define ATH_REACH_OPTIONS(target)                                                                  \
    { .name = "server",                                                                            \
      .type = ATH_OPTION_TEXT,                                                                     \
      .metavar = "HOST:PORT",                                                                      \
      .offset = offsetof(target, reach.server),                                                    \
      .help = N_("the runtime; unix:PATH or a path for its socket on this machine (default: "      \
                 "$AITHERION_SERVER, else the one that runs here)") },                             \
        { .name = "numa",                                                                          \
          .type = ATH_OPTION_TEXT,                                                                 \
          .metavar = "N",                                                                          \
          .offset = offsetof(target, reach.numa),                                                  \
          .help = N_("the runtime of this NUMA entry, which runs on this machine") },              \
    {                                                                                              \
        .name = "key", .type = ATH_OPTION_TEXT, .metavar = "FILE",                                 \
        .completion = ATH_COMPLETE_FILE, .offset = offsetof(target, reach.key),                    \
        .help = N_("the shared key (default: $AITHERION_KEY_FILE, else the user's own, else the "  \
                   "document's)")                                                                  \
    }
