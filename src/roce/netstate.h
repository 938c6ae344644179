/*
 * The links of every network namespace of this machine that the caller may look into: what plans
 * are made against. Plain data; tests make it up.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "roce/link.h"

struct ath_netstate_place {
    char *name; /* of a named namespace; NULL for the host's and for those without a name */
    char *path; /* by which it opens; NULL for the host's */
    uint64_t inode;
    struct ath_links links;
};

/* The first place is the host's: the namespace of whoever reads. */
struct ath_netstate {
    struct ath_netstate_place *places;
    size_t count;
    char *unseen; /* "aitherion-mv0, aitherion-mv1": those that ath_netstate_look() could not enter;
                     NULL for none */
};

void ath_netstate_free(struct ath_netstate *state);

/* Reads all namespaces, without macvlans that bear our label and stand on a link of another
 * namespace than the caller's: those of another aitherion. One that cannot be entered is left out,
 * but for ours (aitherion-...): then a negative errno returns with err ("no-access" without root).
 */
int ath_netstate_read(struct ath_netstate *out, struct ath_err *err);

/* The same for who only looks: of ours that may not be entered, the names are noted. */
int ath_netstate_look(struct ath_netstate *out, struct ath_err *err);

/* True where a namespace of that name is among those that could not be entered. */
bool ath_netstate_is_unseen(const struct ath_netstate *state, const char *name);

/* By name; by path (the same namespace under another path counts). NULL where there is none. */
const struct ath_netstate_place *ath_netstate_named(const struct ath_netstate *state,
                                                    const char *name);
const struct ath_netstate_place *ath_netstate_at(const struct ath_netstate *state,
                                                 const char *path);

/* The host's; one that aitherion made: its name and the label of its lo say so (netns.h). */
bool ath_netstate_is_host(const struct ath_netstate_place *place);
bool ath_netstate_is_ours(const struct ath_netstate_place *place);
