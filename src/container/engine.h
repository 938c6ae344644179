/*
 * What runs the nodes of a plan: Docker, or processes of our own without it. One table of functions
 * each (engine_internal.h); commands see no difference.
 *
 * Nothing is remembered but what Docker, the kernel and the run folder hold, so whoever is killed
 * at any moment leaves only what the next start or clean finds and finishes. start, stop and clean
 * take a lock in the run folder ("locked" after ten seconds of waiting). A node runs in one engine
 * at a time.
 *
 * Unknown numbers are ATH_UNKNOWN, unknown texts NULL. An engine belongs to one thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "config/document.h"
#include "config/schema.h"
#include "container/plan.h"
#include "roce/macvlan.h"

struct ath_engine;

struct ath_engine_options {
    const char *docker_host;          /* a flag's; NULL: DOCKER_HOST, then the next */
    const char *document_docker_host; /* engine.docker_host; NULL: the default */
    const char
        *run_folder;     /* NULL: ath_engine_run_folder(); absolute; the plan's must be the same */
    const char *runtime; /* process engine: the path of aitherion-runtime; NULL: beside our own
                            program, else in PATH */
    bool (*is_stopped)(void *context); /* asked some ten times a second; NULL: never. Whoever is
                                          stopped takes back what start has made. */
    void *context;
};

/* Where sockets, state and logs lie: $AITHERION_RUN_FOLDER, else ATH_PLAN_RUN_FOLDER for root, else
 * $XDG_RUNTIME_DIR/aitherion, else /run/user/UID/aitherion. The caller frees it. */
char *ath_engine_run_folder(void);

/* That folder for who only looks: the machine's own where this user has none. The caller frees it.
 */
char *ath_engine_seen_folder(void);

/*
 * kind: the flag's, else the document's. ATH_ENGINE_AUTO takes Docker where it answers, else
 * processes. Returns 0, or a negative errno with err: why Docker cannot be used ("engine-..."). The
 * texts of options must outlive the engine.
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

/* For struct ath_plan_options: engine, run_folder, is_process. Belongs to the engine. */
struct ath_plan_engine ath_engine_abilities(const struct ath_engine *engine);
const char *ath_engine_folder(const struct ath_engine *engine);

/* Whether it has what it needs to run this: Docker the image, the process engine (image is NULL)
 * the runtime's program. Returns 0, or a negative errno with err: -ENOENT "image-missing" with
 * `aitherion image build` as its mend, or "not-found". */
int ath_engine_check_image(struct ath_engine *engine, const char *image, struct ath_err *err);

/* Whether it is the name of the image that is made from what is installed here; another one is
 * somebody else's to bring. */
bool ath_engine_is_own_image(const char *image);

/* For status, stop, clean and health, which look at all there is: process, and Docker where it
 * answers. */
struct ath_engines {
    struct ath_engine *items[2];
    size_t count;
    int docker_status; /* 0, or why Docker is not among them, with docker_err */
    struct ath_err docker_err;
};

/* Never fails. kind ATH_ENGINE_AUTO: both, else that one. */
void ath_engines_open(enum ath_engine_kind kind, const struct ath_engine_options *options,
                      struct ath_engines *out);
void ath_engines_free(struct ath_engines *engines);

/* By its name; NULL where it is not among them. */
struct ath_engine *ath_engines_find(const struct ath_engines *engines, const char *name);

/* Whether a node is asked for: its id is one of ids, or there are none. */
bool ath_engine_wants(const int *ids, size_t id_count, int id);

/* ---- what there is ---- */

/* absent: nothing of it; stopped: ended, or made and not started; starting: runs, and has not been
 * found healthy yet; lost-network: runs, but its macvlan or its pause container is gone. */
#define ATH_NODE_STATE_TABLE(X)                                                                    \
    X(ABSENT, "absent", N_("not there"))                                                           \
    X(STOPPED, "stopped", N_("stopped"))                                                           \
    X(STARTING, "starting", N_("starting"))                                                        \
    X(RUNNING, "running", N_("running"))                                                           \
    X(UNHEALTHY, "unhealthy", N_("runs, but does not answer"))                                     \
    X(RESTARTING, "restarting", N_("ends again and again"))                                        \
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
    int is_there;  /* 1, 0: in the node's network; ATH_UNKNOWN: it may not be looked at */
    bool is_up;    /* of one that is there, as the rest */
    char *address; /* "192.168.100.10/24", the first that somebody set; NULL */
    int mtu;
};

/* A node as it is. What its process says (cpus, memory_nodes, listening) is known for those of this
 * machine alone, and for listening as far as the caller may look into it. */
struct ath_node_status {
    int id;
    const char *engine; /* "docker", "process" */
    enum ath_node_state state;
    char *name;         /* "aitherion-numa0" */
    char *container_id; /* of the runtime; NULL without Docker, or where there is none */
    char *pause_name, *pause_id;
    char *image, *image_id; /* as it was started with; NULL without Docker */
    bool is_image_old;      /* the image's name stands for another one now */
    int pid, pause_pid;     /* ATH_UNKNOWN while it does not run */
    int supervisor_pid;     /* process engine */
    char *started_at;       /* RFC 3339, UTC */
    int restarts;
    char *plan, *pause_plan;    /* the fingerprints it was started with */
    char *document;             /* the path of the document that it was started from */
    char *socket;               /* on this machine */
    struct ath_texts ports;     /* published by Docker: "10.0.0.11:50051/tcp", "[::1]:5555/udp" */
    struct ath_texts listening; /* of the process, in its own network: "0.0.0.0:50051" */
    char *network_mode;         /* "bridge", "host", "container:ID", "namespace" */
    struct ath_node_macvlan *macvlans;
    size_t macvlan_count;
    char *cpus, *memory_nodes; /* Cpus_allowed_list and Mems_allowed_list of /proc/PID/status */
    int64_t memlock_bytes;     /* the process's limit; INT64_MAX: none; ATH_UNKNOWN */
    int exit_code;             /* of the last end; ATH_UNKNOWN */
    int is_oom_killed;
    struct ath_texts log; /* its last lines, where it does not run as it should */
    char *limits;         /* process engine, translated: what the system did not let it do
                             ("no cpuset: ..."); NULL */
    char *problem, *hint; /* translated; NULL where all is well */
};

struct ath_node_statuses {
    struct ath_node_status *items; /* by id, of the same id by engine */
    size_t count;
};

void ath_node_statuses_free(struct ath_node_statuses *statuses);

/* The last of these lines that the runtime said of itself, else the last at all; NULL of none. */
const char *ath_node_last_words(const struct ath_texts *log);

/* NULL where there is none; the one that runs where two engines have something of it. */
const struct ath_node_status *ath_node_statuses_find(const struct ath_node_statuses *statuses,
                                                     int id);

/* Adds what an engine, or all of them, have of ours; asks and reads, changes nothing. Returns 0, or
 * a negative errno with err. */
int ath_engine_survey(struct ath_engine *engine, struct ath_node_statuses *out,
                      struct ath_err *err);
int ath_engines_survey(const struct ath_engines *engines, struct ath_node_statuses *out,
                       struct ath_err *err);

/* Whether it is as the plan wants it: NULL, or why not, translated ("its plan is another"); the
 * caller frees it. node is the plan's of the same id, made for the status's engine. */
char *ath_node_drift(const struct ath_node_status *status, const struct ath_plan *plan,
                     const struct ath_plan_node *node);

/* ---- start ---- */

#define ATH_ENGINE_STEP_TABLE(X)                                                                   \
    X(LOOK, "look", N_("looking"))                                                                 \
    X(REMOVE, "remove", N_("taking away what it was"))                                             \
    X(PAUSE, "pause", N_("making its network"))                                                    \
    X(MACVLAN, "macvlan", N_("wiring its macvlan"))                                                \
    X(RUNTIME, "runtime", N_("starting the runtime"))                                              \
    X(WAIT, "wait", N_("waiting until it answers"))                                                \
    X(UNDO, "undo", N_("taking back what was made"))                                               \
    X(DONE, "done", N_("done"))

enum ath_engine_step {
#define X(name, word, meaning) ATH_ENGINE_STEP_##name,
    ATH_ENGINE_STEP_TABLE(X)
#undef X
        ATH_ENGINE_STEP_COUNT
};

const char *ath_engine_step_word(enum ath_engine_step step);
const char *ath_engine_step_meaning(enum ath_engine_step step); /* untranslated */

/* same: it ran already, as wanted. restarted: it ran otherwise; `reason` says why. mended: it had
 * lost its network. failed: err says why; `log` its last words. */
#define ATH_START_OUTCOME_TABLE(X)                                                                 \
    X(FAILED, "failed", N_("failed"))                                                              \
    X(SAME, "same", N_("ran already"))                                                             \
    X(STARTED, "started", N_("started"))                                                           \
    X(RESTARTED, "restarted", N_("restarted"))                                                     \
    X(MENDED, "mended", N_("mended"))

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
    bool is_healthy;      /* it was waited for, and answers */
    char *reason;         /* translated; NULL */
    int status;           /* of FAILED: a negative errno, with err */
    struct ath_err err;   /* "image-missing", "port-in-use", "foreign", "start-failed",
                             "start-timeout", "interrupted", Docker's and the macvlan's own */
    struct ath_texts log; /* of FAILED: the last lines of what ended or did not answer */
};

struct ath_start_results {
    struct ath_start_result *items; /* one for each of the plan's nodes, in its order */
    size_t count;
};

void ath_start_results_free(struct ath_start_results *results);

struct ath_start_options {
    bool is_waiting; /* until each node answers; else until it runs */
    int timeout_ms;  /* of that waiting, for all together; 0: 60 s */
    bool takes_over; /* also what another document, or from another run folder, started; else
                        "foreign" while that document and folder exist */
    /* Whether a node answers: a real session, in less than a second. 0, or a negative errno with
     * err: -EAGAIN not yet, -ENOTSUP cannot tell from here, others end the waiting (a wrong key).
     * NULL: as -ENOTSUP. Then a runtime that is seen to listen on its socket counts, and in Docker
     * elsewhere the container's own health check. */
    int (*probe)(void *context, const struct ath_plan_node *node, struct ath_err *err);
    /* NULL for none. Told when a node comes to a step; DONE comes last of each, whatever became of
     * it. */
    void (*progress)(void *context, const struct ath_plan_node *node, enum ath_engine_step step);
    void *context; /* of both */
};

/*
 * Makes the nodes as the plan has them, all at the same time: what is so already is left alone,
 * what is otherwise is made anew, what is in the way and not ours is refused ("foreign"). What was
 * made for a node that then fails is taken away again, and the other nodes go on. Nodes that wait
 * for memory (ath_plan_node_waits()) are refused with "busy": wait first, and plan again.
 *
 * Returns 0 where every node could be tried (see *out for each), or a negative errno with err:
 * "locked", "interrupted" (then *out is filled too), an engine that went away. *out is released in
 * any case.
 */
int ath_engine_start(struct ath_engine *engine, const struct ath_plan *plan,
                     const struct ath_start_options *options, struct ath_start_results *out,
                     struct ath_err *err);

/* ---- stop and clean ---- */

/* One thing that goes. The table's order is the order in which they go. */
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
    struct ath_engine *engine; /* whose it is; NULL: the kernel's or the run folder's */
    int id;                    /* of the node; ATH_UNKNOWN */
    char *object;              /* its name or path */
    char *key;                 /* by which it goes: an id; NULL: the object */
    char *text;                /* translated: "remove the container 'aitherion-numa0'" */
    int status;                /* after ath_clean_apply(): 0, or a negative errno with err */
    struct ath_err err;
};

/* A node that stays: another document that exists, or somebody with another run folder, started
 * it. */
struct ath_clean_left {
    int id;
    char *document; /* its own; NULL where the run folder is what differs */
    char *text;     /* translated: "'aitherion-numa0' was started from ..." */
    char *hint;     /* a command */
    char *macvlans; /* names with commas; NULL */
    bool is_in_folder;
};

struct ath_clean_steps {
    struct ath_clean_step *items;
    size_t count;
    struct ath_clean_left *left;
    size_t left_count;
    struct ath_texts macvlans; /* of the nodes that were asked for by their ids */
    struct ath_texts images;   /* ours that stay, since neither they nor a node were asked for */
};

void ath_clean_steps_free(struct ath_clean_steps *steps);

struct ath_clean_options {
    const int *ids;
    size_t id_count; /* 0: everything of ours. Else those nodes' containers, processes, folders
                        and macvlans, and nothing that nodes share */
    bool wants_images;
    const char *document; /* without ids: what another one started stays; NULL: nothing does */
};

/* What clean would remove, in order: only what bears our label (containers, networks, images), our
 * alias (macvlans) or lies in the run folder under a name of ours. Returns 0, or a negative errno
 * with err. */
int ath_clean_plan(const struct ath_engines *engines, const struct ath_clean_options *options,
                   struct ath_clean_steps *out, struct ath_err *err);

/* Removes them. What is gone already counts as done; one that fails does not keep the others.
 * progress may be NULL; it is told before each. Returns 0, or the first failure with err. */
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
    struct ath_stop_result *items; /* one for each node that there was, by id */
    size_t count;
};

void ath_stop_results_free(struct ath_stop_results *results);

/*
 * Ends nodes, and keeps what a later start or a look at their logs needs; a pause container takes
 * its macvlans with it. Idempotent: one that does not run is no failure. id_count 0: all. Returns
 * 0, or a negative errno with err ("locked"); *out is released in any case.
 */
int ath_engine_stop(struct ath_engine *engine, const int *ids, size_t id_count, int grace_s,
                    struct ath_stop_results *out, struct ath_err *err);
