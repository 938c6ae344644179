/*
 * Macvlan links: from what is wanted and what the kernel has to the steps that lead there.
 *
 * A link NAME is made in a namespace of its own, aitherion-NAME, and labelled there (alias
 * "aitherion:NAME") before it goes anywhere else: whoever is killed at any moment leaves only what
 * the next run finds and finishes. That namespace is known as ours by the alias of its lo, which it
 * has before its name (netns.h). A parent cannot talk to its own macvlan children (the kernel
 * sends their packets out of the port); a companion on the host, NAME-host with the alias
 * "aitherion:NAME:host", is a sibling that can, with a route to the link's address.
 *
 * Plans are plain data and need no rights; ath_macvlan_apply() does.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "roce/link.h"
#include "roce/netstate.h"

struct ath_macvlan_wanted {
    const char *name, *parent;
    enum ath_macvlan_mode mode;
    const char *address;    /* "192.168.100.10/24"; NULL: none is set, those there are left alone */
    int mtu;                /* ATH_UNKNOWN: the parent's */
    const char *netns_path; /* where it is to be ("/proc/PID/ns/net"); NULL: where it is, else its
                               own namespace */
    bool wants_companion; /* mode bridge only; needs companion_address for IPv6, and where the host
                             has no address in the network of `address` */
    const char *companion_address; /* its own; NULL: it speaks with the host's other addresses */
};

enum ath_macvlan_action {
    ATH_STEP_MAKE_NETNS,
    ATH_STEP_DELETE_NETNS,
    ATH_STEP_CREATE, /* in place, on the host's parent */
    ATH_STEP_DELETE,
    ATH_STEP_ALIAS,
    ATH_STEP_MODE,
    ATH_STEP_MTU,
    ATH_STEP_MOVE, /* from place to target */
    ATH_STEP_ADD_ADDRESS,
    ATH_STEP_REMOVE_ADDRESS,
    ATH_STEP_ADD_ROUTE,
    ATH_STEP_REMOVE_ROUTE,
    ATH_STEP_UP,
};

struct ath_macvlan_step {
    enum ath_macvlan_action action;
    char *text;  /* for people: "create macvlan 'macvlan0' (bridge) on 'eth0' in namespace '...'" */
    char *netns; /* the name, of steps about namespaces */
    char *place, *target;          /* paths of namespaces; NULL is the host's */
    char link[ATH_LINK_NAME_SIZE]; /* whom it is about */
    char parent[ATH_LINK_NAME_SIZE];
    char *alias, *old_alias;
    int mode, old_mode, mtu, old_mtu;
    struct ath_address address; /* of the link, or destination of the route */
    struct ath_link old;        /* of DELETE: how to make it again; name "" else */
};

struct ath_macvlan_plan {
    struct ath_macvlan_step *steps;
    size_t count; /* 0: all is as wanted */
};

void ath_macvlan_plan_free(struct ath_macvlan_plan *plan);

/*
 * What is to be done. Refused, with err, where the name is no name for a link ("value-invalid"), is
 * taken ("exists") by a link that is not ours ("foreign"), the parent is not there ("not-found"),
 * is no Ethernet link ("link-not-ethernet"), or cannot have it ("parent-unsuitable"), the MTU is
 * above the parent's or the address none that a link can have ("value-invalid"), or the address is
 * used by another link of the host or of ours ("address-in-use"). Returns 0 or a negative errno.
 */
int ath_macvlan_plan(const struct ath_macvlan_wanted *wanted, const struct ath_netstate *present,
                     struct ath_macvlan_plan *out, struct ath_err *err);

/* The mend for a parent in InfiniBand mode, as err's hint; device: its PCI address, or NULL.
 * Returns status. */
int ath_macvlan_hint_layer(const char *device, int status, struct ath_err *err);

/* Removes the link wherever it is, its companion and its namespace; nothing to do where there is
 * none. A link of that name without our alias is refused with "foreign", likewise a namespace that
 * holds somebody else's links. */
int ath_macvlan_plan_delete(const char *name, const struct ath_netstate *present,
                            struct ath_macvlan_plan *out, struct ath_err *err);

enum ath_macvlan_state {
    ATH_MACVLAN_RECORDED, /* the kernel has nothing of it */
    ATH_MACVLAN_MADE,     /* in its own namespace */
    ATH_MACVLAN_MOVED,    /* in somebody else's, a container's */
    ATH_MACVLAN_GONE,     /* its namespace is there, the link is not: it ended with the parent or
                             with a container */
};

/* "recorded", "made", "moved", "gone". */
const char *ath_macvlan_state_word(enum ath_macvlan_state state);

/* out_place and out_link (either may be NULL) say where it is; NULL for recorded and gone. They
 * belong to present. */
enum ath_macvlan_state ath_macvlan_state(const char *name, const struct ath_netstate *present,
                                         const struct ath_netstate_place **out_place,
                                         const struct ath_link **out_link);

/* The NAMEs of all macvlans of aitherion that the kernel has something of, sorted, without
 * companions; release them with ath_names_free() of base/root.h. */
void ath_macvlan_names(const struct ath_netstate *present, char ***out, size_t *out_count);

/* "NAME-host", shortened with a number made of NAME where that is too long for a link; the caller
 * frees it. */
char *ath_macvlan_companion_name(const char *name);

/* How steps are done and undone; tests put faults in between. */
struct ath_macvlan_ops {
    int (*run)(void *context, const struct ath_macvlan_step *step, struct ath_err *err);
    int (*undo)(void *context, const struct ath_macvlan_step *step, struct ath_err *err);
    void *context;
};
extern const struct ath_macvlan_ops ath_macvlan_live;

/*
 * Runs the steps. Where one fails, those done are undone in reverse; err is then the step's error,
 * with that of the undoing where it failed too. Returns 0 or a negative errno.
 */
int ath_macvlan_apply(const struct ath_macvlan_plan *plan, const struct ath_macvlan_ops *ops,
                      struct ath_err *err);

/*
 * Reads (in a dry run as ath_netstate_look() does), plans, applies (not in a dry run) and verifies,
 * under a lock of the whole machine
 * (/run/aitherion/.network.lock), so that two commands do not mix their steps. *out is what was, or
 * would be, done; the caller frees it. Returns 0 or a negative errno with err.
 */
int ath_macvlan_make(const struct ath_macvlan_wanted *wanted, bool is_dry_run,
                     struct ath_macvlan_plan *out, struct ath_err *err);
int ath_macvlan_remove(const char *name, bool is_dry_run, struct ath_macvlan_plan *out,
                       struct ath_err *err);

/* Undoes all that was done, last first, under the same lock; for whoever cannot keep what was made.
 * Returns 0 or a negative errno with err, the first of those that came up. */
int ath_macvlan_take_back(const struct ath_macvlan_plan *plan, struct ath_err *err);

/* The alias by which a link is known as ours: "aitherion:NAME". The caller frees it. */
char *ath_macvlan_alias(const char *name);
