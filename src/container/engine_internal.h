/* Between engine.c and the engines. Private to container. */
#pragma once
#include <sys/types.h>

#include "container/docker_body.h"
#include "container/engine.h"

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
    /* Each as the function of engine.h; the lock is held where things change. */
    int (*open)(struct ath_engine *engine, struct ath_err *err);
    void (*close)(struct ath_engine *engine);
    int (*check_image)(struct ath_engine *engine, const char *image, struct ath_err *err);
    int (*survey)(struct ath_engine *engine, struct ath_node_statuses *out, struct ath_err *err);
    /* results has an item for each node already. */
    int (*start)(struct ath_engine *engine, const struct ath_plan *plan,
                 const struct ath_start_options *options, struct ath_start_results *results,
                 struct ath_err *err);
    int (*stop)(struct ath_engine *engine, const int *ids, size_t id_count, int grace_s,
                struct ath_stop_results *out, struct ath_err *err);
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
    void *own; /* the engine's */
};

extern const struct ath_engine_ops ath_engine_docker, ath_engine_process;

bool ath_engine_is_stopped(const struct ath_engine *engine);

/* A new, empty status; all that can be unknown is. */
struct ath_node_status *ath_node_status_add(struct ath_node_statuses *statuses, int id,
                                            const char *engine);

/* What /proc says of status->pid, and what is bound there; for a process of this machine. */
void ath_node_status_look(struct ath_node_status *status);

/* Adds macvlans by their names ("a,b"; NULL: none), and looks for them in the network namespace at
 * path (NULL: not to be seen). Returns the first that is missing for certain, or NULL. */
const char *ath_node_status_macvlans(struct ath_node_status *status, const char *names,
                                     const char *netns_path);

/* The value of a label ("macvlan0,macvlan1"), which belongs to node; NULL without. */
const char *ath_plan_label(const struct ath_plan_node *node, const char *name);

struct ath_clean_step *ath_clean_add(struct ath_clean_steps *steps, enum ath_clean_kind kind,
                                     struct ath_engine *engine, int id, const char *object);

/*
 * Whose a node is that somebody started before. `is_here`: on this machine, so that what is gone
 * can be told from what cannot be seen.
 */
struct ath_owner {
    const char *document; /* its label; NULL: unknown, which is anybody's */
    const char *socket;   /* NULL: unknown */
    bool is_here;
};

/* Whether it is somebody else's than a document's with such sockets: returns true with *out filled
 * (all but macvlans). name: of its container or process. */
bool ath_owner_is_other(const struct ath_owner *owner, const char *document, const char *socket,
                        int id, const char *name, struct ath_clean_left *out);
void ath_clean_left_free(struct ath_clean_left *left);

/* The same for a start: 0, or -EPERM "foreign" with err. */
int ath_owner_check(const struct ath_owner *owner, const struct ath_plan_node *node,
                    const char *name, struct ath_err *err);

/* For clean: a node that was asked for has these macvlans ("a,b"; NULL: none). */
void ath_clean_add_macvlans(struct ath_clean_steps *steps, const char *names);

/* Takes what *left holds. */
void ath_clean_leave(struct ath_clean_steps *steps, struct ath_clean_left *left,
                     const char *macvlans);
bool ath_clean_leaves(const struct ath_clean_steps *steps, int id);

/* Whom the node's process runs as; false: as whoever starts it. */
bool ath_node_user(const struct ath_plan_node *node, uid_t *out_user, gid_t *out_group);

/* Makes the folder of a node, for whom its process runs as. Returns 0, or a negative errno. */
int ath_node_make_folder(const struct ath_plan_node *node, struct ath_err *err);

/* Adds the last lines of a text. */
void ath_log_tail(const char *text, size_t length, size_t lines, struct ath_texts *out);

/* Why a runtime ended, by its last words: "port-in-use" where that is it, else "start-failed". */
int ath_node_died(const struct ath_plan_node *node, const char *name, int exit_code,
                  const struct ath_texts *log, struct ath_err *err);

/* "python3 (process 123)": who has the first of the node's ports that somebody else has; NULL. The
 * caller frees it. */
char *ath_node_port_owner(const struct ath_plan_node *node, int *out_port);

/* "port-in-use" with who has it, for the first of the node's ports that somebody else has; 0 where
 * none is taken. words: what was said of it, or NULL. */
int ath_node_port_taken(const struct ath_plan_node *node, const char *words, struct ath_err *err);

/* "image-missing" with its mend. */
int ath_image_missing(const char *image, struct ath_err *err);

/*
 * The macvlans of a node in the namespace at netns_path; for the process engine (NULL) all in that
 * of the first. Plans are added to *out_done for ath_engine_unwire(), also on failure. is_dry_run:
 * only *out_count, how many steps there are to do, and whether links are to be made. Returns 0 or a
 * negative errno with err.
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

/* Takes back what was done, last first. */
int ath_engine_unwire(const struct ath_wiring *wiring, struct ath_err *err);
