/*
 * One run of `aitherion roce macvlan`, and its parts: the document (roce_macvlan_document.c), the
 * kernel (roce_macvlan_kernel.c), hints at parents (roce_macvlan_parents.c), and the result
 * (roce_macvlan_result.c). Functions that can fail return 0, or a negative errno with err.
 */
#pragma once
#include "cli/cli.h"
#include "cli/output/roce_macvlan.h"
#include "config/document.h"

/* The key of the list of macvlans in the document. */
#define ATH_MACVLAN_LIST "roce.macvlans"

/* Values of the command line; NULL: not given. */
struct ath_macvlan_options {
    const char *parent, *mode, *address, *mtu, *numa, *host_address;
    bool has_host_link, has_no_host_link;
    bool is_record, is_delete;
};

/* Owns path, entry, document and report. */
struct ath_macvlan_work {
    struct ath_cli *cli;
    const struct ath_macvlan_options *options;
    const char *name;
    char numa[16];      /* id of --numa, for spellings like NUMA0 */
    char *path, *entry; /* the document's path; the entry's key "roce.macvlans.macvlan0" */
    bool has_document;
    struct ath_document document;
    struct ath_roce_macvlan_report report;
};

static inline bool ath_macvlan_work_is_dry_run(const struct ath_macvlan_work *work)
{
    return work->cli->globals.is_dry_run;
}

/* Returns whether the kernel is changed, not only the document. */
static inline bool ath_macvlan_work_is_for_kernel(const struct ath_macvlan_work *work)
{
    return work->report.scope == ATH_ROCE_MACVLAN_BOTH;
}

/* ---- the document ---- */

/* Loads the document. Except in a dry run, its lock is held until work->document is freed. */
int ath_macvlan_work_open(struct ath_macvlan_work *work, struct ath_err *err);

/* Adds a change of one of the entry's keys to the report. */
void ath_macvlan_work_add_change(struct ath_macvlan_work *work, const char *key, const char *value);

/* Makes the report's changes in memory, or adds the entry. Refuses changes that give the document a
 * new fault. machine: what to check against, or NULL. */
int ath_macvlan_work_edit(struct ath_macvlan_work *work, const struct ath_machine *machine,
                          struct ath_err *err);

/* Removes the entry in memory, if there is one. */
int ath_macvlan_work_remove_entry(struct ath_macvlan_work *work, struct ath_err *err);

/* Saves the document if it has changed. If saving fails, undoes what was changed in the kernel. */
int ath_macvlan_work_save(struct ath_macvlan_work *work, struct ath_err *err);

/* ---- the kernel ---- */

/* Makes the link as the document has it; in a dry run only plans it. */
int ath_macvlan_work_make_link(struct ath_macvlan_work *work, struct ath_err *err);

/* Checks an entry that is only recorded against the kernel too, if the kernel may be read. */
int ath_macvlan_work_check_link(struct ath_macvlan_work *work, struct ath_err *err);

/* Asks before deleting a link that a container uses. Returns -EBUSY if the answer is no. */
int ath_macvlan_work_confirm_cut(const struct ath_macvlan_work *work, struct ath_err *err);

/* Removes the link and its namespace; in a dry run only plans it. */
int ath_macvlan_work_remove_link(struct ath_macvlan_work *work, struct ath_err *err);

/*
 * Adds a hint for a parent that is missing or unfit: the link most like typed (NULL: none was
 * given), else all links that can be parents. Returns status.
 */
int ath_macvlan_work_hint_parents(const struct ath_macvlan_work *work, const char *typed,
                                  int status, struct ath_err *err);

/* ---- the result ---- */

/* Reads the link from the kernel into the report, and waits until it is ready if it has just been
 * changed. Leaves out what cannot be read. */
void ath_macvlan_work_look(struct ath_macvlan_work *work);

/* Returns the suggested next step, or NULL. numa: the entry that gets the link, or ATH_UNSET. The
 * caller frees it. */
char *ath_macvlan_work_next_step(const struct ath_macvlan_work *work, int numa);

/* Notes that there was nothing to delete. That is fine, but the name may be mistyped. */
void ath_macvlan_work_note_missing(struct ath_macvlan_work *work);
