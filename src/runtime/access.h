/*
 * The files that say who may do what: the folder of keys and the rows of identities. The listening
 * process watches them by inotify(7), so a change counts without a restart.
 */
#pragma once
#include "runtime/identities.h"

struct ath_access {
    int watch_fd;                /* to be polled; -1: nothing is watched */
    const char *identities_path; /* the caller's; NULL: there are no rows */
    struct ath_identities identities;
};

/* Reads the rows and begins to watch. Either path may be NULL. Returns 0, or a negative errno with
 * err. The caller closes watch_fd. */
int ath_access_open(const char *key_folder, const char *identities_path, struct ath_access *out,
                    struct ath_err *err);

/* Takes the changes that have come, and reads the rows again; faulty rows are logged, and the rows
 * from before stay. The caller then checks which keys are gone. */
void ath_access_take_changes(struct ath_access *access);
