/*
 * The programs that a command would end, because it ends their runtimes. Every command that ends or
 * restarts runtimes asks here first, so a program never ends without the consent of the user.
 */
#pragma once
#include "cli/reach.h"

/* Owns its members. A zeroed struct is empty. */
struct ath_ending {
    struct ath_reach reach;           /* the runtimes that were added */
    int *processes;                   /* of each: how many sessions it has; ATH_UNKNOWN */
    struct ath_session_report report; /* those that have programs, or may have some */
};
void ath_ending_free(struct ath_ending *ending);

/* Adds a runtime that the command would end. A node without a process is left out. */
void ath_ending_add(struct ath_ending *ending, const struct ath_node_status *status);

/* Asks all added runtimes for their sessions. Call it once. */
void ath_ending_ask(struct ath_ending *ending, const struct ath_nodes *nodes);

/* Finds the programs of all runtimes of this machine, or of those that have a macvlan. macvlan: its
 * name, or NULL. Returns 0, or a negative errno with err. */
int ath_ending_find(const struct ath_cli *cli, const char *macvlan, struct ath_ending *out,
                    struct ath_err *err);

/*
 * Asks the user whether these programs may end; without programs there is no question. Returns 0 if
 * they may, -ECANCELED with err if the user says no, or -EPERM with err "programs-running" if the
 * user cannot be asked and --yes was not given.
 */
int ath_ending_confirm(const struct ath_cli *cli, const struct ath_ending *ending,
                       struct ath_err *err);
