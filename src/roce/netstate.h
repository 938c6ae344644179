/*
 * The links of every network namespace that the caller may enter: the state that plans start from.
 * Plain data; tests fill it by hand.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "roce/link.h"

struct ath_netstate_place {
    char *name; /* NULL for the host and for namespaces without a name */
    char *path; /* path for ath_netns_open(); NULL for the host */
    uint64_t inode;
    struct ath_links links;
};

/* The first place is the host: the namespace of the calling process. */
struct ath_netstate {
    struct ath_netstate_place *places;
    size_t count;
    char *unseen; /* "aitherion-mv0, aitherion-mv1": the namespaces that ath_netstate_look() could
                     not enter; NULL for none */
};

void ath_netstate_free(struct ath_netstate *state);

/* Reads the links of all namespaces. Macvlans that have our label but a parent in a third
 * namespace belong to another aitherion there, and are left out. Namespaces that cannot be entered
 * are left out, except those of aitherion (aitherion-...): then a negative errno is returned with
 * err ("no-access" without root). The caller frees *out with ath_netstate_free(). */
int ath_netstate_read(struct ath_netstate *out, struct ath_err *err);

/* Like ath_netstate_read(), for dry runs: a namespace of aitherion that cannot be entered is not
 * an error, and its name is added to `unseen`. */
int ath_netstate_look(struct ath_netstate *out, struct ath_err *err);

/* True if the namespace of that name could not be entered. */
bool ath_netstate_is_unseen(const struct ath_netstate *state, const char *name);

/* Find a namespace by name, or by path (another path to the same namespace matches, too). Return
 * NULL if there is none. */
const struct ath_netstate_place *ath_netstate_named(const struct ath_netstate *state,
                                                    const char *name);
const struct ath_netstate_place *ath_netstate_at(const struct ath_netstate *state,
                                                 const char *path);

/* True for the host; true for a namespace that aitherion made, as its name and the label of its lo
 * say (netns.h). */
bool ath_netstate_is_host(const struct ath_netstate_place *place);
bool ath_netstate_is_ours(const struct ath_netstate_place *place);
