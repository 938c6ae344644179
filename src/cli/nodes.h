/*
 * Shared by the commands about runtimes: the document and its entries, the engines, plans with the
 * facts that they depend on, and sessions that show that a runtime answers.
 */
#pragma once
#include "base/log.h"
#include "cli/cli.h"
#include "config/document.h"
#include "container/engine/engine.h"
#include "container/plan/facts.h"
#include "container/plan/plan.h"
#include "health/facts.h"
#include "remote/session/health.h"

/* The key file without a document. */
#define ATH_NODES_KEY "/etc/aitherion/key"

/* Owns its members unless noted. A zeroed struct is empty. */
struct ath_nodes {
    struct ath_cli *cli;
    int *ids; /* ids of the entries that the arguments name */
    size_t id_count;
    char *path; /* absolute path of the document; containers carry it as a label */
    const struct ath_document *document; /* points to own_document or to a document of the caller;
                                            empty if there is none */
    bool has_document;
    const struct ath_machine *machine; /* NULL until it is read */
    struct ath_plan_facts facts;
    char *key_path;
    bool has_key;
    char *run_folder;
    struct ath_document own_document;
    struct ath_machine own_machine;
};
void ath_nodes_free(struct ath_nodes *nodes);

/* The arguments of these commands, "[N...]", terminated by a NULL name. */
extern const struct ath_argument ath_nodes_arguments[];

/* The words of enum ath_engine_kind for options and output, terminated by NULL. */
extern const char *const ath_nodes_engines[];

/*
 * Reads the ids of the command line and the document, and finds the key file. A missing document is
 * an error if is_needed is true or -c names it; a document with faults is always an error. The
 * caller releases *out with ath_nodes_free(). Returns 0, or a negative errno with err.
 */
int ath_nodes_open(struct ath_cli *cli, bool is_needed, struct ath_nodes *out, struct ath_err *err);

/* For commands that only read: also considers runtimes that other users started. */
void ath_nodes_only_look(struct ath_nodes *nodes);

/* Returns whether users other than its owner may read the key file. */
bool ath_nodes_is_key_open(const struct ath_nodes *nodes);

/* Reads the machine that the command line names; a second call reads it again. Returns 0, or a
 * negative errno with err. */
int ath_nodes_read_machine(struct ath_nodes *nodes, struct ath_err *err);

/* Returns options for the document's engines. Their calls end when a signal comes (cli/watch.h).
 * The result points into nodes. */
struct ath_engine_options ath_nodes_engine_options(const struct ath_nodes *nodes);

/*
 * Opens the engine of this kind; for ATH_ENGINE_AUTO the document's. If that is auto too, tries
 * Docker and then processes; if Docker exists but does not work, logs the reason. Returns 0, or a
 * negative errno with err.
 */
int ath_nodes_open_engine(const struct ath_nodes *nodes, enum ath_engine_kind kind,
                          struct ath_engine **out, struct ath_err *err);

/*
 * Returns why Docker cannot tell about its containers: a negative errno with err, or 0 if Docker
 * answers or is not installed on this machine.
 */
int ath_nodes_check_docker(const struct ath_nodes *nodes, const struct ath_engines *engines,
                           struct ath_err *err);

/* The same for stop and clean. If this user has no access to Docker and the document does not ask
 * for it, none of this user's runtimes can be there; that is logged and returns 0. */
int ath_nodes_check_docker_left(const struct ath_nodes *nodes, const struct ath_engines *engines,
                                struct ath_err *err);

/* Returns 0, or -ENOENT with err "key-unknown" if a requested id has neither an entry in the
 * document nor a node. */
int ath_nodes_check_ids(const struct ath_nodes *nodes, const struct ath_node_statuses *statuses,
                        struct ath_err *err);

/*
 * For commands that change runtimes: returns 0, or -EPERM with err "not-permitted" if a requested
 * node is in a run folder of another user, or runs and only root can change it. Without a run
 * folder of their own, users see root's. own: the nodes of the engines.
 */
int ath_nodes_check_owner(const struct ath_nodes *nodes, const struct ath_node_statuses *own,
                          struct ath_err *err);

/*
 * Returns the options for plans of these nodes. engine NULL: plan for a current Docker, or with
 * is_process for processes. The result points into nodes and *user; the caller frees *user.
 */
struct ath_plan_options ath_nodes_plan_options(const struct ath_nodes *nodes,
                                               const struct ath_engine *engine, bool is_process,
                                               char **user);

/* Makes the plan. Returns 0, or a negative errno with err and with the faults in nodes->cli. */
int ath_nodes_plan(struct ath_nodes *nodes, const struct ath_plan_options *options,
                   struct ath_plan *out, struct ath_err *err);

/* Returns whether a node waits for the memory of a GPU to come online. */
bool ath_nodes_wait(const struct ath_plan *plan);

/* Returns the document that started the node if that is not the document at `path` and still
 * exists, else NULL. The text belongs to the status. */
const char *ath_nodes_other_document(const char *path, const struct ath_node_status *status);

/* Returns whether the node runs exactly as these options plan it. */
bool ath_nodes_is_as(struct ath_nodes *nodes, const struct ath_node_status *status,
                     const struct ath_plan_options *options);

/* How a node differs from the document. */
struct ath_nodes_drift {
    char *text;         /* translated; NULL if it does not differ. The caller frees it. */
    bool needs_restart; /* otherwise `start` changes it while it runs */
};

/*
 * Compares a node with the document. health: the runtime's answer, NULL if it has not answered.
 * Differences made by the start's command line (--sim) or by its Docker daemon (locked memory) do
 * not count.
 */
struct ath_nodes_drift ath_nodes_drift(struct ath_nodes *nodes,
                                       const struct ath_node_status *status,
                                       const struct ath_runtime_health *health,
                                       const struct ath_plan_options *options);

/* Returns the node's address as this machine reaches it, "127.0.0.1:50051"; NULL if it has none.
 * The caller frees it. */
char *ath_nodes_server(const struct ath_plan_node *node);

/*
 * Returns the log level for remarks. With --json and --yaml standard error is reserved for errors.
 */
enum ath_log_level ath_nodes_log_level(const struct ath_nodes *nodes);

/* ---- sessions ---- */

/* Timeouts of one attempt. A start repeats short attempts, so that it can be stopped between them.
 * A single attempt gets longer, for busy machines. */
enum { ATH_PROBE_TRY_MS = 900, ATH_PROBE_ONCE_MS = 5000 };

struct ath_probe {
    const char *key_path; /* NULL: no key */
    int timeout_ms;
};

/*
 * Opens a session with "unix:PATH" or "ADDRESS:PORT" and asks for the runtime's health. out may be
 * NULL; else the caller releases it with ath_runtime_health_free(). Returns 0, or a negative errno
 * with err.
 */
int ath_probe_server(const struct ath_probe *probe, const char *server,
                     struct ath_runtime_health *out, struct ath_err *err);

/* The probe() of struct ath_start_options; context is a struct ath_probe. Returns -EAGAIN if the
 * runtime may answer later. */
int ath_probe_node(void *context, const struct ath_plan_node *node, struct ath_err *err);

/* ---- for health ---- */

/* Finds all of aitherion's runtimes on this machine, for the document of facts (if it has one).
 * Never fails: out records why something could not be read. */
void ath_nodes_look(const struct ath_cli *cli, const struct ath_health_facts *facts,
                    struct ath_health_runtimes *out);
