/* Showing what `roce macvlan` did, or would do, to the document and to the kernel. */
#pragma once
#include <stdbool.h>

#include "cli/output/change.h"
#include "cli/output/output.h"
#include "roce/link_gid.h"
#include "roce/macvlan.h"

/* Why the kernel was left alone. */
enum ath_roce_macvlan_scope {
    ATH_ROCE_MACVLAN_BOTH,    /* it was not: document and kernel */
    ATH_ROCE_MACVLAN_RECORD,  /* --record */
    ATH_ROCE_MACVLAN_CAPTURE, /* the machine is not the live one */
};

/* The link as the kernel has it. Owns its texts. */
struct ath_roce_macvlan_link {
    bool is_known; /* the kernel was asked */
    enum ath_macvlan_state state;
    char *netns;               /* name, else path, of the namespace that it is in; NULL: in none */
    struct ath_link link;      /* name "" where there is none */
    char *parent;              /* NULL unknown */
    struct ath_link companion; /* name "" without */
    enum ath_link_gid_state gid_state;
    struct ath_link_gid gid;
    char *not_ready; /* why connections cannot be made yet; NULL: they can */
};

struct ath_roce_macvlan_report {
    const char *name; /* not owned */
    enum ath_roce_macvlan_scope scope;
    bool is_delete, has_document;
    struct ath_change_report changes; /* of the document; is_dry_run is there */
    struct ath_macvlan_plan plan;     /* what was, or would be, done to the kernel */
    struct ath_roce_macvlan_link link;
    char *next; /* what to do next; NULL for nothing */
};

void ath_roce_macvlan_report_free(struct ath_roce_macvlan_report *report);

/* For people, translated: "made", "moved into a container". */
const char *ath_roce_macvlan_state_text(enum ath_macvlan_state state);

extern const struct ath_view ath_roce_macvlan_view; /* of a struct ath_roce_macvlan_report */
