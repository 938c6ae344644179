/*
 * What the commands about runtimes share: the document and its entries, the engines, the plan with
 * all that it depends on, and a session as the proof that a runtime answers.
 */
#pragma once
#include "base/log.h"
#include "cli/cli.h"
#include "config/document.h"
#include "container/engine.h"
#include "container/plan.h"
#include "container/plan_facts.h"
#include "health/facts.h"
#include "runtime/client/health.h"

/* Owns what it holds; zeroed is empty. */
struct ath_nodes {
    struct ath_cli *cli;
    int *ids; /* those that the arguments name */
    size_t id_count;
    char *path;                          /* of the document, absolute: it becomes a label */
    const struct ath_document *document; /* its own one, or somebody else's; an empty one where
                                            there is none */
    bool has_document;
    const struct ath_machine *machine; /* NULL until it was read */
    struct ath_plan_facts facts;
    char *key_path;
    bool has_key;
    char *run_folder;
    struct ath_document own_document;
    struct ath_machine own_machine;
};
void ath_nodes_free(struct ath_nodes *nodes);

/* What the arguments of these commands are: "[N...]". Ended by a NULL name. */
extern const struct ath_argument ath_nodes_arguments[];

/* The words of enum ath_engine_kind, for options and output; ended by NULL. */
extern const char *const ath_nodes_engines[];

/*
 * Reads the ids, and the document; is_needed: one that is not there is an error, and one with
 * faults always is. Finds the key's file. Returns 0, or a negative errno with err.
 */
int ath_nodes_open(struct ath_cli *cli, bool is_needed, struct ath_nodes *out, struct ath_err *err);

/* For a command that changes nothing: what runs is also what others than this user started. */
void ath_nodes_only_look(struct ath_nodes *nodes);

/* Whether others than its owner may read the key's file. */
bool ath_nodes_is_key_open(const struct ath_nodes *nodes);

/* Reads the machine that the command line names, again where it was read before. */
int ath_nodes_read_machine(struct ath_nodes *nodes, struct ath_err *err);

/* Options for the document's engines. They are stopped by the signals of cli/watch.h, and point
 * into nodes. */
struct ath_engine_options ath_nodes_engine_options(const struct ath_nodes *nodes);

/*
 * The engine to start with: kind, or for ATH_ENGINE_AUTO the document's. Where that is auto too,
 * and Docker is there but cannot be used, says so and takes processes. Returns 0, or a negative
 * errno with err.
 */
int ath_nodes_open_engine(const struct ath_nodes *nodes, enum ath_engine_kind kind,
                          struct ath_engine **out, struct ath_err *err);

/*
 * Why the containers of a Docker that does not answer cannot be spoken of: 0 where it answers, or
 * where there is none on this machine; else a negative errno with err.
 */
int ath_nodes_check_docker(const struct ath_nodes *nodes, const struct ath_engines *engines,
                           struct ath_err *err);

/* The same for stop and clean. A Docker that this user has no right to, and the document does not
 * want, has nothing that this user started: that is said, and no failure. */
int ath_nodes_check_docker_left(const struct ath_nodes *nodes, const struct ath_engines *engines,
                                struct ath_err *err);

/*
 * What plans of these nodes depend on. engine NULL: a Docker of today, or with is_process
 * processes. Points into nodes; *user is the caller's to free.
 */
struct ath_plan_options ath_nodes_plan_options(const struct ath_nodes *nodes,
                                               const struct ath_engine *engine, bool is_process,
                                               char **user);

/* Makes it. Returns 0, or a negative errno with err, and faults for the command line. */
int ath_nodes_plan(struct ath_nodes *nodes, const struct ath_plan_options *options,
                   struct ath_plan *out, struct ath_err *err);

/* Whether a node waits for the memory of a GPU. */
bool ath_nodes_wait(const struct ath_plan *plan);

/* Whether the node runs as it would with these options, whatever else there could be. */
bool ath_nodes_is_as(struct ath_nodes *nodes, const struct ath_node_status *status,
                     const struct ath_plan_options *options);

/*
 * Why the node does not run as the document has it; NULL where it does. What the command line of
 * its start (--sim) or its daemon (locked memory) made otherwise is fine. The caller frees it.
 */
char *ath_nodes_drift(struct ath_nodes *nodes, const struct ath_node_status *status,
                      const struct ath_plan_options *options);

/* The server of a node as this machine reaches it: "127.0.0.1:50051"; NULL where it does not. The
 * caller frees it. */
char *ath_nodes_server(const struct ath_plan_node *node);

/* Of remarks: with --json and --yaml standard error is for errors. */
enum ath_log_level ath_nodes_log_level(const struct ath_nodes *nodes);

/* ---- sessions ---- */

/* A start asks again and again, and is to be stopped between; who asks once has patience with a
 * busy machine. */
enum { ATH_PROBE_TRY_MS = 900, ATH_PROBE_ONCE_MS = 5000 };

struct ath_probe {
    const char *key_path; /* NULL: none */
    int timeout_ms;
};

/*
 * Opens a session with "unix:PATH" or "ADDRESS:PORT" and asks how the runtime is. out may be NULL,
 * else it is released with ath_runtime_health_free(). Returns 0, or a negative errno with err.
 */
int ath_probe_server(const struct ath_probe *probe, const char *server,
                     struct ath_runtime_health *out, struct ath_err *err);

/* As struct ath_start_options wants it; context is a struct ath_probe. */
int ath_probe_node(void *context, const struct ath_plan_node *node, struct ath_err *err);

/* ---- for health ---- */

/* All that runs of ours on this machine, for the document of facts (which may have none). Never
 * fails: what cannot be looked at says why. */
void ath_nodes_look(const struct ath_cli *cli, const struct ath_health_facts *facts,
                    struct ath_health_runtimes *out);
