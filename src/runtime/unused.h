/*
 * The end of a server that no program uses any more. Each user has a shared lock (flock) of a file,
 * also before its session begins; the server tries every second to have it alone.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct ath_unused {
    int fd;            /* of the file; -1: the server serves until it is stopped */
    uint64_t since_ms; /* of the last look; 0: none */
    int looks;         /* in a row that found no user */
};

/* path NULL: none. Returns 0, or a negative errno with err. */
int ath_unused_open(const char *path, struct ath_unused *out, struct ath_err *err);

/* Returns whether no program has used the server for some seconds. A program with a session uses
 * it, also if it has closed the file. If none does, none gets the lock until this process has
 * ended. */
bool ath_unused_is_over(struct ath_unused *unused, bool has_sessions);
