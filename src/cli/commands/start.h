/* The work of `start`, which `restart` does too. */
#pragma once
#include "cli/cli.h"

/* The flags of both commands. */
struct ath_start_flags {
    int engine; /* enum ath_engine_kind */
    bool is_sim, is_not_waiting;
    const char *timeout;
    const char *log_level; /* of the runtimes: one of ath_level_names; NULL: the document's */
    const char *metrics;   /* "[ADDRESS:]PORT" of the first entry; NULL: the document's */
};

extern const struct ath_option ath_start_flag_table[];

/* Starts the requested nodes. is_restart: ends those that run first. Returns the exit code, or a
 * negative errno with err. */
int ath_start_run(struct ath_cli *cli, const struct ath_start_flags *options, bool is_restart,
                  struct ath_err *err);
