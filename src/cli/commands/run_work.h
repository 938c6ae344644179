/* The facts that `aitherion run` gathers before it becomes the program. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "cli/output/run.h"
#include "cli/reach.h"
#include "cli/server_gpus.h"

struct ath_run_options {
    struct ath_reach_options reach;
    int transport, encrypt;             /* 0: not given */
    const char *gpus, *memory, *tls_ca; /* NULL: not given */
    const char *share, *priority;       /* the same */
    const char *sm_share, *docker;      /* the same */
    bool is_capped, is_local;
};

struct ath_run_work {
    struct ath_cli *cli;
    const struct ath_run_options *options;
    struct ath_reach reach;
    char *servers; /* the servers of reach, in the form of AITHERION_SERVER */
    char *libraries;
    char *driver;      /* the file of the machine's own; NULL without --local */
    char *share;       /* in the form of AITHERION_SHARE; NULL without --share */
    char *part;        /* in the form of AITHERION_SM_SHARE; NULL without --sm-share */
    char *authorities; /* the program's file for checking certificates; NULL: it needs no other */
    size_t gpu_count;  /* that the program is to have; 0: all */
    bool is_own;       /* the runtime is this user's own, for local programs */
    bool is_simulated; /* the GPUs of the server that was asked */
    struct ath_server_gpus gpus;  /* of all servers that were asked */
    struct ath_run_choice choice; /* if gpu_count */
    struct ath_texts docker;      /* with --docker: its command line */
};

void ath_run_work_free(struct ath_run_work *work);

/* Checks the options, and finds the servers and libraries. With --local it starts the user's own
 * runtime if no runtime runs here. Returns 0, or a negative errno with err. */
int ath_run_prepare(struct ath_run_work *work, struct ath_err *err);

/* With --local, finds the machine's driver. Returns 0, or a negative errno with err. */
int ath_run_find_driver(struct ath_run_work *work, struct ath_err *err);

/* Asks each server for its health, in this process's environment, and warns about what the program
 * will miss. Returns 0, or the negative errno of the first server that does not answer, with
 * err. */
int ath_run_check_servers(struct ath_run_work *work, struct ath_err *err);
