/* The interface between engine.c and the two engines. Private to container. */
#pragma once
#include <sys/types.h>

#include "container/docker/body.h"
#include "container/engine/engine.h"

enum {
    ATH_ENGINE_TIMEOUT_MS = 60 * 1000,
    ATH_ENGINE_POLL_MS = 100,
    ATH_ENGINE_LOG_LINES = 10,
    ATH_ENGINE_STOP_S = 10,
};

#define ATH_NODE_SOCKET "runtime.sock" /* in a node's folder */

struct ath_engine_ops {
    const char *name;
    bool is_process;
    /* Each does what the function of the same name in engine.h says. The lock is held for start,
     * stop, clean_step. */
    int (*open)(struct ath_engine *engine, struct ath_err *err);
    void (*close)(struct ath_engine *engine);
    int (*check_image)(struct ath_engine *engine, const char *image, struct ath_err *err);
    int (*survey)(struct ath_engine *engine, struct ath_node_statuses *out, struct ath_err *err);
    /* results already has an item for each node. */
    int (*start)(struct ath_engine *engine, const struct ath_plan *plan,
                 const struct ath_start_options *options, struct ath_start_results *results,
                 struct ath_err *err);
    int (*stop)(struct ath_engine *engine, const int *ids, size_t id_count, int grace_s,
                struct ath_stop_results *out, struct ath_err *err);
    int (*find_logs)(struct ath_engine *engine, struct ath_node_logs *out, struct ath_err *err);
    int (*read_log)(struct ath_engine *engine, const struct ath_node_log *log,
                    const struct ath_log_wanted *wanted, ath_log_output *output, void *context,
                    struct ath_err *err);
    int (*clean_plan)(struct ath_engine *engine, const struct ath_clean_options *options,
                      struct ath_clean_steps *out, struct ath_err *err);
    int (*clean_step)(struct ath_engine *engine, const struct ath_clean_step *step,
                      struct ath_err *err);
};

struct ath_engine {
    const struct ath_engine_ops *ops;
    struct ath_engine_options options;
    char *folder; /* the run folder */
    char *where;
    struct ath_plan_engine abilities;
    void *own; /* the engine's private data */
};

extern const struct ath_engine_ops ath_engine_docker, ath_engine_process;

bool ath_engine_is_stopped(const struct ath_engine *engine);

/* Returns whether another aitherion starts, stops or cleans now. False if this user cannot see
 * that. */
bool ath_engine_is_busy(const struct ath_engine *engine);

/* Checks the owner of the run folder and of the folder of states. Returns 0 if they are fine or do
 * not exist, or a negative errno with err. */
int ath_engine_check_folder(const struct ath_engine *engine, struct ath_err *err);

/* Locks FOLDER/.engine.lock. The folder's owner is checked before a file is made in it, and again
 * when the folder certainly exists. Returns 0, or a negative errno with err ("locked"). The caller
 * closes *out_fd, which releases the lock. */
int ath_engine_lock(const struct ath_engine *engine, int *out_fd, struct ath_err *err);

/* Adds a status in which every member that can be unknown is unknown. */
struct ath_node_status *ath_node_status_add(struct ath_node_statuses *statuses, int id,
                                            const char *engine);

/* Fills in facts from /proc about status->pid, which runs on this machine, and its ports. */
void ath_node_status_look(struct ath_node_status *status);
/* Returns the number of a port in ATH_PLAN_PORT_VARIABLE; ATH_UNKNOWN if text is NULL or none. */
int ath_node_port(const char *text);

/* Adds macvlans by their names ("a,b"; NULL: none), and looks for them in the network namespace at
 * path (NULL: it cannot be entered). Returns the first that is certainly missing, or NULL. */
const char *ath_node_status_macvlans(struct ath_node_status *status, const char *names,
                                     const char *netns_path);

/* Returns the value of a label ("macvlan0,macvlan1"), which belongs to node, or NULL. */
const char *ath_plan_label(const struct ath_plan_node *node, const char *name);

struct ath_clean_step *ath_clean_add(struct ath_clean_steps *steps, enum ath_clean_kind kind,
                                     struct ath_engine *engine, int id, const char *object);

/*
 * The origin of a node that exists. `is_here`: the node runs on this machine, so that a missing
 * document or folder is really gone.
 */
struct ath_owner {
    const char *document; /* from its label; NULL: unknown, so that any document may use it */
    const char *socket;   /* NULL: unknown */
    bool is_here;
};

/* Returns true, and fills *out except macvlans, if the node belongs to another document or run
 * folder than document and socket. name: of its container or process. */
bool ath_owner_is_other(const struct ath_owner *owner, const char *document, const char *socket,
                        int id, const char *name, struct ath_clean_left *out);
void ath_clean_left_free(struct ath_clean_left *left);

/* The same for a start: returns 0, or -EPERM with err "foreign". */
int ath_owner_check(const struct ath_owner *owner, const struct ath_plan_node *node,
                    const char *name, struct ath_err *err);

/*
 * Returns whether a node that runs has another memory_percent than the plan. percent and
 * limit_bytes: as in struct ath_node_status; a node without them has no limit that could be
 * changed. The sizes are not compared: a machine's memory may change while it runs (hot-plug, a
 * balloon).
 */
bool ath_node_percent_differs(const struct ath_plan_node *node, const char *percent,
                              int64_t limit_bytes);

/* Returns whether the caller of the start wants a restart of a node that matches. */
bool ath_start_must_restart(const struct ath_start_options *options,
                            const struct ath_plan_node *node, const char **out_reason);

/* Notes in *result that a start ends the runtime of a node. Returns 0, or -EPERM with err
 * "programs-running" if the caller of the start does not allow it. */
int ath_start_end(const struct ath_start_options *options, const struct ath_plan_node *node,
                  struct ath_start_result *result, struct ath_err *err);

/* Notes for clean that a requested node has these macvlans ("a,b"; NULL: none). */
void ath_clean_add_macvlans(struct ath_clean_steps *steps, const char *names);

/* Adds a node that clean leaves alone. Takes over what *left holds. */
void ath_clean_leave(struct ath_clean_steps *steps, struct ath_clean_left *left,
                     const char *macvlans);
bool ath_clean_leaves(const struct ath_clean_steps *steps, int id);

/* Returns true and the user of the node's process; false if the process runs as the caller. */
bool ath_node_user(const struct ath_plan_node *node, uid_t *out_user, gid_t *out_group);

/* Makes the folder of a node, owned by the user of its process. Returns 0, or a negative errno with
 * err. */
int ath_node_make_folder(const struct ath_plan_node *node, struct ath_err *err);

struct ath_node_log *ath_node_log_add(struct ath_node_logs *logs, int id, const char *engine,
                                      const char *name, const char *place);

/* Returns where the last lines of a text begin. */
size_t ath_log_tail_begin(const char *text, size_t length, size_t lines);

/* Adds the last lines of a text to out. */
void ath_log_tail(const char *text, size_t length, size_t lines, struct ath_texts *out);

/* Sets err for a runtime that ended, from its last lines: "port-in-use" if that was the cause,
 * otherwise "start-failed". Returns a negative errno. */
int ath_node_died(const struct ath_plan_node *node, const char *name, int exit_code,
                  const struct ath_texts *log, struct ath_err *err);

/* Returns "python3 (process 123)", the foreign owner of the first taken port of the node, or NULL.
 * The caller frees it. */
char *ath_node_port_owner(const struct ath_plan_node *node, int *out_port);

/* Returns -EADDRINUSE with err "port-in-use" that names the owner of the first taken port of the
 * node, or 0. words: the message of the failed program, or NULL. */
int ath_node_port_taken(const struct ath_plan_node *node, const char *words, struct ath_err *err);

/* Returns -ENOENT with err "image-missing" and a hint. */
int ath_image_missing(const char *image, struct ath_err *err);

/*
 * Makes the macvlans of a node in the namespace at netns_path. For the process engine (NULL) all go
 * into the namespace of the first. Each plan that was carried out is added to *out for
 * ath_engine_unwire(), also on failure. is_dry_run: only counts the steps, and notes whether links
 * must be made. Returns 0 or a negative errno with err.
 */
struct ath_wiring {
    struct ath_macvlan_plan *plans;
    size_t count;
    size_t step_count;
    bool has_new_links;
};
void ath_wiring_free(struct ath_wiring *wiring);
int ath_engine_wire(const struct ath_plan_node *node, const char *netns_path, bool is_dry_run,
                    struct ath_wiring *out, struct ath_err *err);

/* Undoes the plans, last first. Returns 0, or the first failure with err. */
int ath_engine_unwire(const struct ath_wiring *wiring, struct ath_err *err);
