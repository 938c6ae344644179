/*
 * Macvlan links: plans the steps from the kernel's present state to the wanted state, and runs
 * them.
 *
 * A link NAME is created in its own namespace, aitherion-NAME, and labelled there (alias
 * "aitherion:NAME") before it moves anywhere else. So if aitherion is killed at any moment, the
 * next run finds the leftovers and finishes the work. The namespace is known as ours by the alias
 * of its lo, which is set before the namespace gets its name (netns.h). A parent cannot talk to its
 * own macvlan children, because the kernel sends their packets out of the port. A companion, the
 * macvlan NAME-host on the host with the alias "aitherion:NAME:host", is a sibling that can talk to
 * them, and has a route to the link's address.
 *
 * Plans are plain data and need no rights. ath_macvlan_apply() needs root.
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
    const char *address;    /* "192.168.100.10/24"; NULL: existing addresses are kept */
    int mtu;                /* ATH_UNKNOWN: the parent's */
    const char *netns_path; /* namespace to move the link to ("/proc/PID/ns/net"); NULL: the link
                               stays where it is, a new one in its own namespace */
    bool wants_companion; /* only in mode bridge; needs companion_address for IPv6, and if the host
                             has no address in the network of `address` */
    const char *companion_address; /* the companion's own address; NULL: the companion uses the
                                      host's other addresses */
    const char *document; /* absolute path of the document that wants the link; noted in the link's
                             own namespace. NULL: an existing note stays */
};

enum ath_macvlan_action {
    ATH_STEP_MAKE_NETNS,
    ATH_STEP_DELETE_NETNS,
    ATH_STEP_CREATE, /* in namespace `place`, on the host's link `parent` */
    ATH_STEP_DELETE,
    ATH_STEP_ALIAS,
    ATH_STEP_MODE,
    ATH_STEP_MTU,
    ATH_STEP_MOVE, /* from namespace `place` to `target` */
    ATH_STEP_ADD_ADDRESS,
    ATH_STEP_REMOVE_ADDRESS,
    ATH_STEP_ADD_ROUTE,
    ATH_STEP_REMOVE_ROUTE,
    ATH_STEP_UP,
};

struct ath_macvlan_step {
    enum ath_macvlan_action action;
    char *text;  /* translated: "create macvlan 'mv0' on 'eth0', mode bridge, MTU 1500, in namespace
                    '...'" */
    char *netns; /* name of the namespace, for MAKE_NETNS and DELETE_NETNS */
    char *place, *target;            /* paths of namespaces; NULL is the host */
    char link[ATH_LINK_NAME_SIZE];   /* the link that the step changes */
    char parent[ATH_LINK_NAME_SIZE]; /* CREATE and DELETE: the link's parent on the host */
    char *alias, *old_alias;
    int mode, old_mode, mtu, old_mtu;
    struct ath_address address; /* address of the link, or destination of the route */
    struct ath_link old; /* DELETE only: what undoing must restore; otherwise the name is "" */
};

struct ath_macvlan_plan {
    struct ath_macvlan_step *steps;
    size_t count; /* 0: the present state is the wanted one */
};

void ath_macvlan_plan_free(struct ath_macvlan_plan *plan);

/*
 * Plans the steps that make the wanted macvlan. The caller frees *out with
 * ath_macvlan_plan_free(). Returns 0, or a negative errno with err:
 *
 * - "value-invalid": the name, MTU or address is invalid, or the MTU is above the parent's
 * - "foreign": a link or namespace that aitherion did not make has the name
 * - "not-found": the parent or the wanted namespace does not exist
 * - "link-not-ethernet": the parent is not an Ethernet link
 * - "parent-unsuitable": the parent cannot have this macvlan
 * - "address-in-use": a link of the host or of aitherion has the address
 */
int ath_macvlan_plan(const struct ath_macvlan_wanted *wanted, const struct ath_netstate *present,
                     struct ath_macvlan_plan *out, struct ath_err *err);

/* Sets the hint for a parent in InfiniBand mode: the mlxconfig command. device is the parent's PCI
 * address, or NULL. Returns status. */
int ath_macvlan_hint_layer(const char *device, int status, struct ath_err *err);

/* Plans the removal of the link, in whatever namespace, of its companion and of its namespace. The
 * plan is empty if none of them exists. Returns -EPERM "foreign" if the link of that name lacks
 * our alias, and -EBUSY "foreign" if the namespace holds a link that aitherion did not make. */
int ath_macvlan_plan_delete(const char *name, const struct ath_netstate *present,
                            struct ath_macvlan_plan *out, struct ath_err *err);

enum ath_macvlan_state {
    ATH_MACVLAN_RECORDED, /* neither the link nor its namespace exists */
    ATH_MACVLAN_MADE,     /* in its own namespace, or on the host */
    ATH_MACVLAN_MOVED,    /* in another namespace, for example a container's */
    ATH_MACVLAN_GONE, /* its namespace exists, but not the link: it ended with its parent or with a
                         container */
};

/* Returns "recorded", "made", "moved" or "gone". */
const char *ath_macvlan_state_word(enum ath_macvlan_state state);

/* Returns the state of macvlan NAME. *out_place and *out_link (either pointer may be NULL) are set
 * to the link's namespace and the link, which belong to `present`, or to NULL if the link does not
 * exist. */
enum ath_macvlan_state ath_macvlan_state(const char *name, const struct ath_netstate *present,
                                         const struct ath_netstate_place **out_place,
                                         const struct ath_link **out_link);

/* Returns the path of the document for which macvlan NAME was made, or NULL if it is not noted. The
 * path belongs to `present`. */
const char *ath_macvlan_document(const char *name, const struct ath_netstate *present);

/* Lists the names of all macvlans of aitherion that have a link or a namespace, sorted, without
 * companions. The caller frees them with ath_names_free() of base/root.h. */
void ath_macvlan_names(const struct ath_netstate *present, char ***out, size_t *out_count);

/* Returns "NAME-host". If that is too long for a link, NAME is cut and a hash of NAME is appended.
 * The caller frees the name. */
char *ath_macvlan_companion_name(const char *name);

/* How steps are run and undone. Tests replace the functions to inject faults. */
struct ath_macvlan_ops {
    int (*run)(void *context, const struct ath_macvlan_step *step, struct ath_err *err);
    int (*undo)(void *context, const struct ath_macvlan_step *step, struct ath_err *err);
    void *context;
};
extern const struct ath_macvlan_ops ath_macvlan_live;

/*
 * Runs the steps. If one fails, the earlier ones are undone in reverse order. err is then the
 * failed step's error; if undoing failed as well, that error is appended. Returns 0 or a negative
 * errno.
 */
int ath_macvlan_apply(const struct ath_macvlan_plan *plan, const struct ath_macvlan_ops *ops,
                      struct ath_err *err);

/*
 * Read the present state, plan, apply and verify, under a lock of the whole machine
 * (/run/aitherion/.network.lock), so that two commands do not mix their steps. A dry run only
 * reads, as ath_netstate_look() does, and plans; it takes no lock. *out is the plan that was run,
 * or that would be run. The caller frees *out. Return 0 or a negative errno with err.
 */
int ath_macvlan_make(const struct ath_macvlan_wanted *wanted, bool is_dry_run,
                     struct ath_macvlan_plan *out, struct ath_err *err);
int ath_macvlan_remove(const char *name, bool is_dry_run, struct ath_macvlan_plan *out,
                       struct ath_err *err);

/* Undoes all steps of a plan that ran, the last one first, under the same lock. Returns 0, or a
 * negative errno with err, both of the first step that could not be undone. */
int ath_macvlan_take_back(const struct ath_macvlan_plan *plan, struct ath_err *err);

/* Returns the alias that marks a link as ours: "aitherion:NAME". The caller frees the text. */
char *ath_macvlan_alias(const char *name);
