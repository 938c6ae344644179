/*
 * What health looks at of the runtimes: what the engines have of ours, how it differs from what the
 * document asks for, and what the runtimes say of themselves.
 *
 * Plain data, as the other facts (facts.h); whoever may open sessions fills it in (cli/nodes.h).
 */
#pragma once
#include "config/faults.h"
#include "container/engine.h"
#include "container/plan.h"

/* What came of a session. */
enum ath_health_answer {
    ATH_ANSWER_NOT_ASKED, /* it does not run, or cannot be reached from here */
    ATH_ANSWER_FINE,
    ATH_ANSWER_SILENT,  /* nobody answers */
    ATH_ANSWER_REFUSED, /* it has another key, or we have none */
};

struct ath_health_session {
    enum ath_health_answer answer;
    char *server;       /* "unix:/run/aitherion/numa0/runtime.sock", "10.0.0.11:50051" */
    struct ath_err err; /* of one that is not fine */
};

/* What a runtime finds wrong with itself. */
struct ath_health_problem {
    bool is_fault;
    char *code, *object; /* object may be NULL */
    char *message;
};

struct ath_health_runtime {
    int id;
    bool is_recorded;                         /* the document has the entry */
    const struct ath_node_status *status;     /* in statuses; NULL: there is nothing of it */
    const struct ath_plan_node *wanted;       /* in plan; NULL: it cannot be planned */
    char *drift;                              /* why it is not as the document has it; NULL */
    struct ath_health_session local, network; /* by its socket, by its port */
    bool has_told;                            /* a session told what follows */
    uint32_t driver_version;                  /* of CUDA, 13000 for 13.0; 0: unknown */
    size_t device_count;
    bool is_simulated;
    uint32_t sessions; /* of programs */
    struct ath_health_problem *problems;
    size_t problem_count;
};

struct ath_health_runtimes {
    bool is_known;     /* false for a capture, and where nothing was looked at */
    int docker_status; /* 0: it answers, or there is none and none is needed */
    struct ath_err docker_err;
    int survey_status; /* of what was asked */
    struct ath_err survey_err;
    bool needs_image; /* Docker answers and is what the next start takes */
    int image_status;
    struct ath_err image_err;
    bool has_key;
    char *open_key; /* its path, where others than its owner may read it; NULL */
    int key_status; /* whether it could be read */
    struct ath_err key_err;
    struct ath_node_statuses statuses;
    bool has_planned; /* a plan was tried: it, or why not: */
    struct ath_plan plan;
    struct ath_faults plan_faults;
    struct ath_health_runtime *items; /* by id */
    size_t count;
};
void ath_health_runtimes_free(struct ath_health_runtimes *runtimes);
