/*
 * The facts about runtimes: our containers and processes in the engines, how they differ from the
 * document, and the problems that the runtimes report.
 *
 * They are plain data, like the other facts (facts.h), and are filled by the caller that may open
 * sessions (cli/nodes.h).
 */
#pragma once
#include "config/faults.h"
#include "container/engine/engine.h"
#include "container/plan/plan.h"

/* The result of a session. */
enum ath_health_answer {
    ATH_ANSWER_NOT_ASKED, /* it does not run, or cannot be reached from here */
    ATH_ANSWER_FINE,
    ATH_ANSWER_SILENT,  /* nothing answers */
    ATH_ANSWER_REFUSED, /* the runtime has a different key, or we have none */
};

struct ath_health_session {
    enum ath_health_answer answer;
    char *server;       /* "unix:/run/aitherion/numa0/runtime.sock", "10.0.0.11:50051" */
    struct ath_err err; /* if the answer is not ATH_ANSWER_FINE */
};

/* A problem that a runtime reports about itself. */
struct ath_health_problem {
    bool is_fault;
    char *code, *object; /* object may be NULL */
    char *message;
};

/* Returns a hint for a problem with the id of its entry as "%d", translated; NULL if there is
 * none. */
const char *ath_health_problem_mend(const char *code);

struct ath_health_runtime {
    int id;
    bool is_recorded;  /* the document has the entry */
    const char *other; /* in statuses: another document, which started it; else NULL */
    const struct ath_node_status *status; /* in statuses; NULL: no engine has it */
    const struct ath_plan_node *wanted;   /* in plan; NULL: it cannot be planned */
    char *drift;        /* why it differs from the document; NULL if it does not */
    bool needs_restart; /* only a restart removes the drift */
    struct ath_health_session local, network; /* by its socket, by its port */
    bool has_told;                            /* a session has filled the members below */
    uint32_t driver_version;                  /* of CUDA, 13000 for 13.0; 0: unknown */
    size_t device_count;
    bool is_simulated;
    uint32_t sessions;    /* sessions of programs */
    double vram_fraction; /* the part of each GPU's memory that it serves */
    struct ath_health_problem *problems;
    size_t problem_count;
};

struct ath_health_runtimes {
    bool is_known;     /* false for a capture, and if nothing was looked at */
    int docker_status; /* 0: Docker answers, or is not needed and not there */
    struct ath_err docker_err;
    int survey_status; /* of reading the engines */
    struct ath_err survey_err;
    bool needs_image; /* Docker answers, and the next start uses it */
    int image_status;
    struct ath_err image_err;
    bool has_key;
    char *open_key; /* the key's path if other users can read it, else NULL */
    int key_status; /* whether the key could be read */
    struct ath_err key_err;
    bool has_certificate;
    int certificate_status; /* whether runtimes can use it now: 0, or as the check below */
    int certificate_soon;   /* and in two weeks: 0, or as ath_tls_certificate_check() */
    struct ath_err certificate_err;
    struct ath_node_statuses statuses;
    bool has_planned; /* a plan was tried: its result, or the error: */
    struct ath_plan plan;
    struct ath_faults plan_faults;
    struct ath_health_runtime *items; /* by id */
    size_t count;
};
void ath_health_runtimes_free(struct ath_health_runtimes *runtimes);
