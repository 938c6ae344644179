/*
 * The start of one node in Docker: a chain of requests. docker_decide.c chooses the works of the
 * chain, docker_work.c carries them out, docker_failure.c explains failures and plans the undo, and
 * docker_start.c runs all chains at once. Private to the four.
 */
#pragma once
#include "container/engine/docker_engine.h"

/* Works run in this order; a node's chain contains some of them. */
enum ath_docker_work {
    ATH_WORK_STOP_RUNTIME,
    ATH_WORK_REMOVE_RUNTIME,
    ATH_WORK_REMOVE_PAUSE,
    ATH_WORK_CREATE_PAUSE,
    ATH_WORK_START_PAUSE,
    ATH_WORK_WIRE,
    ATH_WORK_CREATE_RUNTIME,
    ATH_WORK_START_RUNTIME,
    ATH_WORK_LIMIT, /* of memory, while it runs */
    ATH_WORK_WAIT,
    /* Only after a failure: */
    ATH_WORK_FIND_RUNTIME, /* looks for the result of a create request whose answer did not come */
    ATH_WORK_FIND_PAUSE,
    ATH_WORK_UNDO_RUNTIME,
    ATH_WORK_UNDO_PAUSE,
    ATH_WORK_COUNT
};

enum { ATH_WORK_AGAIN = 1 }; /* result of a work that must be repeated */

/* Shared by all chains of a start. Owns present and image_id. */
struct ath_docker_starting {
    struct ath_engine *engine;
    struct ath_docker *docker;
    const struct ath_plan *plan;
    const struct ath_start_options *options;
    struct ath_docker_present present;
    char *image_id; /* NULL: the image does not exist */
};

/* The start of one node. Owns ids and wiring; the rest belongs to all. */
struct ath_docker_chain {
    struct ath_docker_starting *all;
    const struct ath_plan_node *node;
    struct ath_start_result *result;
    const struct ath_docker_container *runtime, *pause; /* as found; NULL */
    char *ids[2];                                       /* by role, of the containers to use */
    unsigned int todo;                                  /* a bit for each work */
    enum ath_docker_work work;                          /* that was sent last */
    int step;                                           /* that was reported last; -1: none */
    bool is_taken_over;                                 /* another document had started the node */
    bool is_begun, is_undoing, is_done;
    bool has_renewed;  /* a found container that could not be started was made again */
    bool has_answered; /* the node answered, and its container's process could not be seen */
    bool has_left;     /* an undo failed; only the first failure is reported */
    bool has_made[2], has_started[2], is_doubtful[2]; /* by role */
    struct ath_wiring wiring;
    int restarts; /* before this start */
    uint64_t deadline_ms;
    int poll_ms;
    int tries; /* to get a name that is taken although no container has it */
};

static inline void ath_docker_chain_plan(struct ath_docker_chain *chain, enum ath_docker_work work)
{
    chain->todo |= 1u << work;
}

static inline bool ath_docker_chain_has(const struct ath_docker_chain *chain,
                                        enum ath_docker_work work)
{
    return chain->todo & 1u << work;
}

/* ---- docker_decide.c ---- */

/* Compares the node with the plan, and plans the works that it needs. Returns 0, or a negative
 * errno with err. */
int ath_docker_chain_decide(struct ath_docker_chain *chain, struct ath_err *err);

/* Returns NULL if a container matches the plan, otherwise the translated difference. */
const char *ath_docker_chain_difference(const struct ath_docker_chain *chain,
                                        const struct ath_docker_container *container,
                                        enum ath_docker_role role);

/* Plans to replace the runtime, or the pause container and with it the runtime. */
void ath_docker_chain_make_runtime(struct ath_docker_chain *chain);
void ath_docker_chain_make_pause(struct ath_docker_chain *chain);
bool ath_docker_chain_needs_image(const struct ath_docker_chain *chain);

/* Makes an existing container the one of its role. */
void ath_docker_chain_use(struct ath_docker_chain *chain, enum ath_docker_role role,
                          const struct ath_docker_container *container);

bool ath_docker_is_in_state(const struct ath_docker_container *container, const char *state);

/* Returns -EPERM with err "foreign": a foreign container has the name. */
int ath_docker_refuse_foreign(const char *name, struct ath_err *err);

/* ---- docker_failure.c ---- */

/* Records the failure of a work in the node's result, and plans the undo. A failure during the undo
 * is appended to the message. */
void ath_docker_chain_fail(struct ath_docker_chain *chain, int status, const struct ath_err *err);

/* Replaces the works by those that undo what the chain has done. */
void ath_docker_chain_plan_undo(struct ath_docker_chain *chain);

/* Moves the macvlans back to the host. */
void ath_docker_chain_unwire(struct ath_docker_chain *chain);

/* Returns true if Docker may start a new container where it could not start an old one: always,
 * except if another process or container has a port of the node. */
bool ath_docker_chain_is_renewable(const struct ath_docker_chain *chain, const struct ath_err *err);

/* ---- docker_work.c ---- */

/* One work. make returns its request, or NULL if there is nothing to do. end reads the answer, and
 * returns 0, ATH_WORK_AGAIN, or a negative errno with err. */
struct ath_docker_work_ops {
    enum ath_engine_step step;
    struct ath_docker_request *(*make)(struct ath_docker_chain *chain);
    int (*end)(struct ath_docker_chain *chain, const struct ath_docker_answer *answer,
               struct ath_err *err);
};
extern const struct ath_docker_work_ops ath_docker_works[ATH_WORK_COUNT];
