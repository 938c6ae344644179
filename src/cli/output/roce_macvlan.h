/* Shows the changes that `roce macvlan` made, or would make, in the document and in the kernel. */
#pragma once
#include <stdbool.h>

#include "cli/output/change.h"
#include "cli/output/output.h"
#include "roce/link_gid.h"
#include "roce/macvlan.h"

/* The parts that a command changes: document and kernel, or for one of two reasons the document
 * alone. */
enum ath_roce_macvlan_scope {
    ATH_ROCE_MACVLAN_BOTH,    /* document and kernel are changed */
    ATH_ROCE_MACVLAN_RECORD,  /* document only: --record */
    ATH_ROCE_MACVLAN_CAPTURE, /* document only: the machine is a capture */
};

/* The state of the macvlan in the kernel. Owns its texts. */
struct ath_roce_macvlan_link {
    bool is_known; /* the kernel was asked */
    enum ath_macvlan_state state;
    char *netns;               /* name, else path, of the link's namespace; NULL for none */
    struct ath_link link;      /* name "" if there is none */
    char *parent;              /* NULL if unknown */
    struct ath_link companion; /* the link on the host; name "" if there is none */
    enum ath_link_gid_state gid_state;
    struct ath_link_gid gid;
    char *not_ready; /* why connections cannot be made yet; NULL if they can */
};

struct ath_roce_macvlan_report {
    const char *name; /* not owned */
    enum ath_roce_macvlan_scope scope;
    bool is_delete, has_document;
    struct ath_change_report changes; /* of the document; has is_dry_run for all of this */
    struct ath_macvlan_plan plan;     /* the changes in the kernel */
    struct ath_roce_macvlan_link link;
    char *next; /* the next step, for the user; NULL for none */
};

void ath_roce_macvlan_report_free(struct ath_roce_macvlan_report *report);

/* The state for users, translated: "made", "moved into a container". */
const char *ath_roce_macvlan_state_text(enum ath_macvlan_state state);

extern const struct ath_view ath_roce_macvlan_view; /* of a struct ath_roce_macvlan_report */
