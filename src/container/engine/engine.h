/*
 * The engines that run the nodes of a plan: Docker, or processes of aitherion without Docker. Each
 * is one table of functions (kinds.h); commands see no difference.
 *
 * All state is held by Docker, the kernel and the run folder. A command that is killed at any
 * moment leaves only what the next start or clean finds and finishes. start, stop and clean take a
 * lock in the run folder ("locked" after ten seconds). A node runs in one engine at a time.
 *
 * Unknown numbers are ATH_UNKNOWN, unknown texts NULL. Only one thread may use an engine.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "config/document.h"
#include "config/schema.h"
#include "container/plan/plan.h"
#include "roce/macvlan.h"

struct ath_engine;

struct ath_engine_options {
    const char *docker_host;          /* of the command line; NULL: DOCKER_HOST, then the next */
    const char *document_docker_host; /* engine.docker_host; NULL: the default */
    const char *run_folder; /* absolute, the same as the plan's; NULL: ath_engine_run_folder() */
    const char *runtime;    /* process engine: the path of aitherion-runtime; NULL: beside our own
                               program, otherwise in PATH */
    bool (*is_stopped)(void *context); /* called about ten times a second; NULL: never stop. A
                                          stopped start undoes its work. */
    void *context;
};

/* Returns the folder of sockets, state and logs: $AITHERION_RUN_FOLDER, otherwise
 * ATH_PLAN_RUN_FOLDER for root, otherwise $XDG_RUNTIME_DIR/aitherion, otherwise
 * /run/user/UID/aitherion, or /tmp/aitherion-UID without a login session. The caller frees it. */
char *ath_engine_run_folder(void);

/* Returns that folder for commands that only read: ATH_PLAN_RUN_FOLDER if this user has no folder,
 * or with needs_process if no process was started in it. The caller frees it. */
char *ath_engine_seen_folder(bool needs_process);

/*
 * kind: of the command line, otherwise of the document. ATH_ENGINE_AUTO takes Docker if it answers,
 * otherwise processes. Returns 0, or a negative errno with err that says why Docker cannot be used
 * ("engine-..."). The texts of options must outlive the engine.
 */
int ath_engine_open(enum ath_engine_kind kind, const struct ath_engine_options *options,
                    struct ath_engine **out, struct ath_err *err);
void ath_engine_close(struct ath_engine *engine); /* takes NULL */

static inline void ath_engine_close_p(struct ath_engine *const *engine)
{
    ath_engine_close(*engine);
}
#define ath_auto_engine __attribute__((cleanup(ath_engine_close_p)))

const char *ath_engine_name(const struct ath_engine *engine); /* "docker", "process" */
bool ath_engine_is_process(const struct ath_engine *engine);

/* "unix:///var/run/docker.sock", "/run/aitherion"; belongs to the engine. */
const char *ath_engine_where(const struct ath_engine *engine);

/* The parts of struct ath_plan_options: engine, run_folder. The folder belongs to the engine. */
struct ath_plan_engine ath_engine_abilities(const struct ath_engine *engine);
const char *ath_engine_folder(const struct ath_engine *engine);

/* Checks that the engine has what it needs: Docker the image, the process engine (image is NULL)
 * the runtime's program. Returns 0, or a negative errno with err: -ENOENT "image-missing", whose
 * hint is a command, or "not-found". */
int ath_engine_check_image(struct ath_engine *engine, const char *image, struct ath_err *err);

/* Returns true for the name of the image that `aitherion image build` makes from this machine's
 * installed files; any other image comes from elsewhere. */
bool ath_engine_is_own_image(const char *image);

/* The engines that status, stop, clean and health look at: process, and Docker if it answers. */
struct ath_engines {
    struct ath_engine *items[2];
    size_t count;
    int docker_status; /* 0, or why Docker is missing, with docker_err */
    struct ath_err docker_err;
};

/* Never fails. ATH_ENGINE_AUTO opens both; another kind only that engine. */
void ath_engines_open(enum ath_engine_kind kind, const struct ath_engine_options *options,
                      struct ath_engines *out);
void ath_engines_free(struct ath_engines *engines);

/* Returns the engine of that name, or NULL. */
struct ath_engine *ath_engines_find(const struct ath_engines *engines, const char *name);

/* Returns true if id is one of ids, or if id_count is 0. */
bool ath_engine_wants(const int *ids, size_t id_count, int id);

/* ---- survey ---- */

/* absent: nothing exists; stopped: ended, or made and not started; starting: runs, and has not
 * answered yet; lost-network: runs, but its macvlan or its pause container is missing. */
#define ATH_NODE_STATE_TABLE(X)                                                                    \
    X(ABSENT, "absent", N_("not started"))                                                         \
    X(STOPPED, "stopped", N_("stopped"))                                                           \
    X(STARTING, "starting", N_("starting"))                                                        \
    X(RUNNING, "running", N_("running"))                                                           \
    X(UNHEALTHY, "unhealthy", N_("runs, but does not answer"))                                     \
    X(RESTARTING, "restarting", N_("keeps ending"))                                                \
    X(LOST_NETWORK, "lost-network", N_("has lost its network"))

enum ath_node_state {
#define X(name, word, meaning) ATH_NODE_##name,
    ATH_NODE_STATE_TABLE(X)
#undef X
        ATH_NODE_STATE_COUNT
};

const char *ath_node_state_word(enum ath_node_state state);
const char *ath_node_state_meaning(enum ath_node_state state); /* untranslated */

/* A macvlan that the node was started with. */
struct ath_node_macvlan {
    char *name;
    int is_there;  /* 1, 0: in the node's network; ATH_UNKNOWN: no right to look */
    bool is_up;    /* this and the rest only if is_there is 1 */
    char *address; /* "192.168.100.10/24", the first configured address; NULL */
    int mtu;
};

/* The state of a node. Facts from its process (cpus, memory_nodes, listening) are known on this
 * machine only, and listening only with the right to look into the process. */
struct ath_node_status {
    int id;
    const char *engine; /* "docker", "process" */
    enum ath_node_state state;
    char *name;         /* "aitherion-numa0" */
    char *container_id; /* of the runtime; NULL without Docker or without a runtime */
    char *pause_name, *pause_id;
    char *image, *image_id; /* at its start; NULL without Docker */
    bool is_image_old;      /* the image's name belongs to another image now */
    int pid, pause_pid;     /* ATH_UNKNOWN while it does not run */
    int supervisor_pid;     /* process engine */
    int sessions;           /* of programs: processes below pid, on this machine; ATH_UNKNOWN */
    char *started_at;       /* RFC 3339, UTC */
    int restarts;
    char *base, *pause_plan;    /* fingerprints at its start (docker/body.h) */
    char *document;             /* path of the document from which it was started */
    bool has_sim_flag;          /* --sim started it, not the document */
    char *socket;               /* on this machine */
    int control_port;           /* in its own network; ATH_UNKNOWN */
    struct ath_texts ports;     /* published by Docker: "10.0.0.11:50051/tcp", "[::1]:50051/tcp" */
    struct ath_texts listening; /* of the process, in its own network: "0.0.0.0:50051" */
    char *network_mode;         /* "bridge", "host", "container:ID", "namespace" */
    struct ath_node_macvlan *macvlans;
    size_t macvlan_count;
    char *cpus, *memory_nodes;  /* Cpus_allowed_list and Mems_allowed_list of /proc/PID/status */
    int64_t memlock_bytes;      /* the process's limit; INT64_MAX: none; ATH_UNKNOWN */
    int64_t memory_limit_bytes; /* of all its processes; INT64_MAX: none; ATH_UNKNOWN */
    char *memory_percent;       /* from which the limit was made; NULL: unknown */
    int exit_code;              /* of the last end; ATH_UNKNOWN */
    int is_oom_killed;
    char *log_file;       /* process engine: the file of its log; NULL: Docker has the log */
    struct ath_texts log; /* its last lines, if it does not run properly */
    char *limits;         /* process engine, translated: settings that the system refused ("no
                             cpuset: ..."); NULL */
    char *problem, *hint; /* translated; NULL if there is no problem */
};

struct ath_node_statuses {
    struct ath_node_status *items; /* by id, then by engine */
    size_t count;
};

/* Returns whether an address of a status's ports or listening has this port. */
bool ath_node_address_has_port(const char *address, int port);

void ath_node_statuses_free(struct ath_node_statuses *statuses);

/* Returns the last line that the runtime wrote about itself, otherwise the last line; NULL if log
 * is empty. */
const char *ath_node_last_words(const struct ath_texts *log);

/* Returns the status of a node, or NULL. If two engines have the node, returns the running one. */
const struct ath_node_status *ath_node_statuses_find(const struct ath_node_statuses *statuses,
                                                     int id);

/* Returns -EPERM with err "not-permitted": the node belongs to another user. name: of its
 * process. */
int ath_node_not_yours(const char *name, struct ath_err *err);

/* Add the nodes of one engine, or of all; they change nothing. Return 0, or a negative errno with
 * err. */
int ath_engine_survey(struct ath_engine *engine, struct ath_node_statuses *out,
                      struct ath_err *err);
int ath_engines_survey(const struct ath_engines *engines, struct ath_node_statuses *out,
                       struct ath_err *err);

/* Returns NULL if the node matches the plan, otherwise the translated difference, which the caller
 * frees, and whether only a restart removes it. node is the plan's node of the same id, made for
 * the status's engine. */
char *ath_node_drift(const struct ath_node_status *status, const struct ath_plan *plan,
                     const struct ath_plan_node *node, bool *out_needs_restart);

/* ---- start ---- */

#define ATH_ENGINE_STEP_TABLE(X)                                                                   \
    X(LOOK, "look", N_("looking"))                                                                 \
    X(REMOVE, "remove", N_("ending the old runtime"))                                              \
    X(PAUSE, "pause", N_("making its network"))                                                    \
    X(MACVLAN, "macvlan", N_("connecting its macvlan"))                                            \
    X(RUNTIME, "runtime", N_("starting the runtime"))                                              \
    X(WAIT, "wait", N_("waiting until it answers"))                                                \
    X(UNDO, "undo", N_("undoing"))                                                                 \
    X(DONE, "done", N_("done"))

enum ath_engine_step {
#define X(name, word, meaning) ATH_ENGINE_STEP_##name,
    ATH_ENGINE_STEP_TABLE(X)
#undef X
        ATH_ENGINE_STEP_COUNT
};

const char *ath_engine_step_word(enum ath_engine_step step);
const char *ath_engine_step_meaning(enum ath_engine_step step); /* untranslated */

/* same: ran already and matched the plan. changed: was made to match while it ran; `reason` names
 * the settings. restarted: ran with other settings, or the caller wanted
 * a restart; `reason` says why. "repaired": had lost its network. failed: err says why; `log` has
 * its last lines. */
#define ATH_START_OUTCOME_TABLE(X)                                                                 \
    X(FAILED, "failed", N_("failed"))                                                              \
    X(SAME, "same", N_("ran already"))                                                             \
    X(CHANGED, "changed", N_("changed without a restart"))                                         \
    X(STARTED, "started", N_("started"))                                                           \
    X(RESTARTED, "restarted", N_("restarted"))                                                     \
    X(REPAIRED, "repaired", N_("repaired"))

enum ath_start_outcome {
#define X(name, word, meaning) ATH_START_##name,
    ATH_START_OUTCOME_TABLE(X)
#undef X
        ATH_START_OUTCOME_COUNT
};

const char *ath_start_outcome_word(enum ath_start_outcome outcome);
const char *ath_start_outcome_meaning(enum ath_start_outcome outcome); /* untranslated */

struct ath_start_result {
    int id;
    enum ath_start_outcome outcome;
    bool is_healthy;      /* the start waited for it, and it answers */
    bool ends_runtime;    /* a runtime that ran has ended, and with it the sessions of programs */
    char *reason;         /* translated; NULL */
    int status;           /* of FAILED: a negative errno, with err */
    struct ath_err err;   /* "image-missing", "port-in-use", "foreign", "start-failed",
                             "start-timeout", "interrupted", Docker's and the macvlan's own */
    struct ath_texts log; /* of FAILED: the last lines of the node's output */
    char *limits;         /* as in struct ath_node_status; NULL */
};

/* Notes in *result that a node is changed while it runs: setting is translated. */
void ath_start_changed(struct ath_start_result *result, const char *setting);

struct ath_start_results {
    struct ath_start_result *items; /* one for each node of the plan, in the same order */
    size_t count;
};

void ath_start_results_free(struct ath_start_results *results);

struct ath_start_options {
    bool is_dry_run; /* changes nothing: *out says what a start would do */
    bool is_waiting; /* until each node answers; otherwise until it runs */
    int timeout_ms;  /* of that wait, for all nodes together; 0: 60 s */
    bool takes_over; /* also take nodes of another document or run folder; otherwise they are
                        "foreign" while that document and folder exist */
    /* Checks in less than a second, by a real session, that a node answers. Returns 0, or a
     * negative errno with err: -EAGAIN: not yet; -ENOTSUP: no way to tell from here; any other ends
     * the wait (a wrong key). Without an answer (NULL, -ENOTSUP) a runtime counts as healthy if it
     * listens on its socket, or, in a Docker elsewhere, by the container's health check. */
    int (*probe)(void *context, const struct ath_plan_node *node, struct ath_err *err);
    /* Returns whether a node must be restarted though it matches the plan, and perhaps the reason,
     * translated. NULL: none must. */
    bool (*must_restart)(void *context, const struct ath_plan_node *node, const char **out_reason);
    /* Returns whether the runtime of a node may end, which runs now. If not, the node fails with
     * "programs-running". NULL: all may end. */
    bool (*may_end)(void *context, const struct ath_plan_node *node);
    /* Called when a node reaches a step; the last step of each node is DONE, also after a failure.
     * NULL: not called. */
    void (*progress)(void *context, const struct ath_plan_node *node, enum ath_engine_step step);
    void *context; /* of these functions */
};

/*
 * Makes all nodes match the plan, at the same time. A node that matches is left alone, a different
 * one is made again, a foreign object in the way is an error ("foreign"). If a node fails, what was
 * made for it is removed again, and the other nodes go on. A node that waits for memory
 * (ath_plan_node_waits()) fails with "busy": wait first, and plan again.
 *
 * Returns 0 if every node could be tried (see *out for each), or a negative errno with err:
 * "locked", "interrupted" (*out is filled too), or the error of an engine that went away. The
 * caller releases *out in any case.
 */
int ath_engine_start(struct ath_engine *engine, const struct ath_plan *plan,
                     const struct ath_start_options *options, struct ath_start_results *out,
                     struct ath_err *err);

/* ---- stop and clean ---- */

/* The kind of an object to remove. Objects are removed in this order. */
#define ATH_CLEAN_KIND_TABLE(X)                                                                    \
    X(PROCESS, "process")                                                                          \
    X(CONTAINER, "container")                                                                      \
    X(MACVLAN, "macvlan") /* with its namespace and its companion */                               \
    X(NETWORK, "network")                                                                          \
    X(IMAGE, "image")                                                                              \
    X(CGROUP, "cgroup")                                                                            \
    X(FOLDER, "folder")

enum ath_clean_kind {
#define X(name, word) ATH_CLEAN_##name,
    ATH_CLEAN_KIND_TABLE(X)
#undef X
        ATH_CLEAN_KIND_COUNT
};

const char *ath_clean_kind_word(enum ath_clean_kind kind);

struct ath_clean_step {
    enum ath_clean_kind kind;
    struct ath_engine *engine; /* that removes the object; NULL: the kernel's or the run folder's */
    int id;                    /* of the node; ATH_UNKNOWN */
    char *object;              /* its name or path */
    char *key;                 /* an id that identifies the object; NULL: object does */
    char *text;                /* translated: "remove the container 'aitherion-numa0'" */
    int status;                /* after ath_clean_apply(): 0, or a negative errno with err */
    struct ath_err err;
};

/* A node or a macvlan that clean leaves alone: it was made for another existing document, or with
 * another run folder. */
struct ath_clean_left {
    int id;            /* of the node; ATH_UNKNOWN for a macvlan */
    char *document;    /* of the node; NULL if only the run folder differs */
    char *text;        /* translated: "'aitherion-numa0' was started from ..." */
    char *hint;        /* a command */
    char *macvlans;    /* names with commas; NULL */
    bool is_in_folder; /* the node is in our run folder */
};

struct ath_clean_steps {
    struct ath_clean_step *items;
    size_t count;
    struct ath_clean_left *left;
    size_t left_count;
    struct ath_texts macvlans; /* of the nodes in options.ids */
    struct ath_texts images;   /* our images that stay: neither images nor ids were requested */
};

void ath_clean_steps_free(struct ath_clean_steps *steps);

struct ath_clean_options {
    const int *ids;
    size_t id_count; /* 0: everything of ours. Otherwise the containers, processes, folders and
                        macvlans of these nodes, and nothing that nodes share */
    bool wants_images;
    const char *document; /* without ids: nodes of other documents stay; NULL: remove them too */
};

/* Lists what clean would remove, in order: only objects with our label (containers, networks,
 * images), with our alias (macvlans), or in the run folder under one of our names. Returns 0, or a
 * negative errno with err. */
int ath_clean_plan(const struct ath_engines *engines, const struct ath_clean_options *options,
                   struct ath_clean_steps *out, struct ath_err *err);

/* Removes the objects. An object that is already gone is no failure, and after a failure the others
 * are still removed. progress may be NULL; it is called before each step. Returns 0, or the first
 * failure with err. */
int ath_clean_apply(const struct ath_engines *engines, struct ath_clean_steps *steps,
                    void (*progress)(void *context, const struct ath_clean_step *step),
                    void *context, struct ath_err *err);

struct ath_stop_result {
    int id;
    const char *engine;
    bool was_running;
    int status; /* 0, or a negative errno with err */
    struct ath_err err;
};

struct ath_stop_results {
    struct ath_stop_result *items; /* one for each existing node, by id */
    size_t count;
};

void ath_stop_results_free(struct ath_stop_results *results);

/*
 * Ends nodes, and keeps what a later start or reading their logs needs. A pause container takes its
 * macvlans with it. A node that does not run is no failure. id_count 0: all nodes. Returns 0, or a
 * negative errno with err ("locked"); the caller releases *out in any case.
 */
int ath_engine_stop(struct ath_engine *engine, const int *ids, size_t id_count, int grace_s,
                    struct ath_stop_results *out, struct ath_err *err);

/* ---- logs ---- */

/* The output of a node's runtime. It stays when the runtime ends, until clean removes the node. */
struct ath_node_log {
    int id;
    const char *engine; /* "docker", "process" */
    char *name;         /* "aitherion-numa0" */
    char *place;        /* id of the container, path of the file */
};

struct ath_node_logs {
    struct ath_node_log *items;
    size_t count;
};

void ath_node_logs_free(struct ath_node_logs *logs);

/* Adds the logs of one engine, by id. Returns 0, or a negative errno with err. */
int ath_engine_logs(struct ath_engine *engine, struct ath_node_logs *out, struct ath_err *err);

struct ath_log_wanted {
    int lines;        /* only the last ones; ATH_UNKNOWN: all */
    int64_t since_s;  /* only later ones, since 1970; 0: all */
    bool is_followed; /* until the runtime ends or the engine's is_stopped() returns true */
};

/* Receives a piece of a log, never empty. A piece may end within a line or a character. */
typedef void ath_log_output(void *context, const char *bytes, size_t length);

/* Waits until no other aitherion starts, stops or cleans, and finds the log that the entry has
 * then: of another container, or the same one if its runtime runs again. Returns 0 with *out, whose
 * texts the caller frees, or -ENOENT if there is nothing to follow any more. */
int ath_engine_next_log(struct ath_engine *engine, const struct ath_node_log *old,
                        struct ath_node_log *out);

/* Reads a log of this engine. Lines without a time belong to the line before. Returns 0, or a
 * negative errno with err ("interrupted" when stopped). */
int ath_engine_read_log(struct ath_engine *engine, const struct ath_node_log *log,
                        const struct ath_log_wanted *wanted, ath_log_output *output, void *context,
                        struct ath_err *err);
