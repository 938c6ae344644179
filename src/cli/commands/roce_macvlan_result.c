/* The result of the command: the link as it is now, the next step, and names that may be
 * mistyped. */
#include "config.h"

#include "cli/commands/roce_macvlan_work.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/text.h"
#include "roce/netns.h"
#include "roce/rdma_netlink.h"

enum { READY_TIMEOUT_MS = 6000, READY_STEP_MS = 100 };

/* Returns the namespace's name, or its path; NULL for the host's. */
static const char *label_of(const struct ath_netstate_place *place)
{
    return place->name ? place->name : place->path;
}

static void copy_link(const struct ath_netstate *present, const struct ath_netstate_place *place,
                      const struct ath_link *link, struct ath_roce_macvlan_link *out)
{
    const struct ath_links *host = &present->places[0].links;
    const struct ath_link *parent = ath_links_by_index(host, link->parent_index);
    ath_auto_free char *companion = ath_macvlan_companion_name(link->name);
    const struct ath_link *sibling = ath_links_find(host, companion);

    ath_link_copy(link, &out->link);
    out->netns = ath_xstrdup(label_of(place));
    out->parent = parent ? ath_xstrdup(parent->name) : NULL;
    if (sibling && ath_link_is_ours(sibling))
        ath_link_copy(sibling, &out->companion);
}

/* Returns the first address that the kernel did not make itself, or NULL. */
static const struct ath_address *address_of(const struct ath_link *link)
{
    for (size_t i = 0; i < link->address_count; i++)
        if (!link->addresses[i].is_link_local)
            return &link->addresses[i];
    return NULL;
}

static void find_gid(struct ath_roce_macvlan_link *link, uint64_t end_ms)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };

    if (!link->parent || ath_root_open("/", &root, NULL))
        return;
    for (;;) {
        link->gid_state = ath_link_gid_find(&root, link->link.name, link->parent,
                                            address_of(&link->link), &link->gid);
        if (link->gid_state != ATH_LINK_GID_MISSING || ath_now_ms() >= end_ms)
            return;
        nanosleep(&(struct timespec){ .tv_nsec = READY_STEP_MS * 1000000L }, NULL);
    }
}

static int left_until(uint64_t end_ms)
{
    uint64_t now = ath_now_ms();
    return now < end_ms ? (int)(end_ms - now) : 0;
}

/*
 * Connections over the link's GID work as soon as its addresses are settled and the port is active.
 */
static void wait_until_ready(const char *path, struct ath_roce_macvlan_link *link, uint64_t end_ms)
{
    struct ath_err err;
    int status = ath_link_wait(path, link->link.name, left_until(end_ms), &err);

    find_gid(link, end_ms);
    if (!status && link->gid_state == ATH_LINK_GID_FOUND)
        status = ath_rdma_wait(link->gid.device, link->gid.port, left_until(end_ms), &err);
    if (status)
        link->not_ready = ath_xstrdup(err.message);
    else if (link->gid_state == ATH_LINK_GID_MISSING)
        link->not_ready =
            ath_xasprintf(_("its address is not a GID of '%s' yet"), link->gid.device);
}

static void note_unseen(struct ath_macvlan_work *work, const struct ath_netstate *present)
{
    struct ath_note *note = ath_change_note(
        &work->report.changes, ATH_NOTE_NOT_SEEN, work->name,
        _("could not look into the network namespaces %s, so what they contain (such as an "
          "address in use) is unknown"),
        present->unseen);
    note->hint = ath_xstrdup(_("run the same command as root, with sudo in front"));
}

/* Reads the link from the kernel, and waits until it is ready if it has just been changed. Leaves
 * out what cannot be read. */
void ath_macvlan_work_look(struct ath_macvlan_work *work)
{
    struct ath_roce_macvlan_link *out = &work->report.link;
    bool is_fresh =
        work->report.plan.count && !ath_macvlan_work_is_dry_run(work) && !work->report.is_delete;
    const struct ath_netstate_place *place;
    const struct ath_link *link;
    ATH_AUTO(ath_netstate) present = { 0 };

    if (!ath_macvlan_work_is_for_kernel(work) || ath_netstate_look(&present, NULL))
        return;
    if (present.unseen)
        note_unseen(work, &present);
    out->is_known = true;
    out->state = ath_macvlan_state(work->name, &present, &place, &link);
    if (!link)
        return;
    copy_link(&present, place, link, out);
    wait_until_ready(place->path, out, ath_now_ms() + (is_fresh ? READY_TIMEOUT_MS : 0));
}

/* Returns the suggested next step, or NULL. The caller frees it. */
char *ath_macvlan_work_next_step(const struct ath_macvlan_work *work, int numa)
{
    ath_auto_free char *make = NULL, *start = NULL;

    if (ath_macvlan_work_is_dry_run(work) || work->report.is_delete ||
        work->report.scope == ATH_ROCE_MACVLAN_CAPTURE)
        return NULL;
    if (!ath_macvlan_work_is_for_kernel(work)) {
        ath_auto_free char *words = ath_xasprintf("roce macvlan %s", work->name);
        make = ath_cli_suggest(work->cli, words);
        return ath_xasprintf(_("%s (makes it)"), make);
    }
    if (numa == ATH_UNSET) {
        ath_auto_free char *words = ath_xasprintf("roce macvlan %s --numa N", work->name);
        make = ath_cli_suggest(work->cli, words);
        return ath_xasprintf(_("%s (gives it to the container of a NUMA entry)"), make);
    }
    if (ath_command_child(&ath_command_root, "start")) {
        ath_auto_free char *words = ath_xasprintf("start %d", numa);
        start = ath_cli_suggest(work->cli, words);
        return ath_xasprintf(_("%s (moves it into the container of NUMA entry %d)"), start, numa);
    }
    if (work->report.link.state == ATH_MACVLAN_MADE)
        return ath_xasprintf(_("ip netns exec aitherion-%s ip address (shows it from inside)"),
                             work->name);
    return NULL;
}

/* Deleting a link twice is fine, but a mistyped name should be noticed. */
void ath_macvlan_work_note_missing(struct ath_macvlan_work *work)
{
    ATH_AUTO(ath_netstate) present = { 0 };
    ATH_AUTO(ath_texts) names = { 0 };
    char **made = NULL;
    size_t count = 0;

    if (work->report.changes.change_count || work->report.plan.count)
        return;
    for (size_t i = 0; work->has_document && i < work->document.roce.macvlans.count; i++)
        ath_texts_add(&names, work->document.roce.macvlans.items[i].name);
    if (ath_macvlan_work_is_for_kernel(work) && !ath_netstate_look(&present, NULL))
        ath_macvlan_names(&present, &made, &count);
    for (size_t i = 0; i < count; i++)
        ath_texts_add(&names, made[i]);
    ath_names_free(made, count);
    const char *nearest =
        ath_text_nearest(work->name, (const char *const *)names.items, names.count);
    struct ath_note *note =
        ath_change_note(&work->report.changes, ATH_NOTE_NOT_THERE, work->name,
                        ath_macvlan_work_is_for_kernel(work)
                            ? _("macvlan '%s' is neither in the document nor in the kernel")
                            : _("the document has no macvlan '%s'"),
                        work->name);
    note->hint = nearest ? ath_xasprintf(_("did you mean '%s'?"), nearest) : NULL;
}
