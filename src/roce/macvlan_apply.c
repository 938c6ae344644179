/*
 * Running a plan's steps, and undoing them.
 *
 * Each step looks its link up by name in its namespace, because the index may change when a link
 * moves (dev_change_net_namespace assigns a new index if the old one is taken).
 */
#include "config.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "roce/macvlan_internal.h"
#include "roce/netlink.h"
#include "roce/netns.h"

/* Only the lock file counts: /run/aitherion/.network.lock. */
#define LOCK_PATH "/run/aitherion/network"
enum { LOCK_TIMEOUT_MS = 10000 };

/* Creates a link in the namespace at place. The parent is a link of the host. */
static int create(const struct ath_macvlan_new *what, const char *place, struct ath_err *err)
{
    ath_auto_netlink struct ath_netlink *host = NULL;
    struct ath_macvlan_new whole = *what;
    ath_auto_close int netns = ath_netns_open(place, err);
    if (netns < 0)
        return netns;
    whole.netns = netns;
    int status = ath_netlink_open(NETLINK_ROUTE, &host, err);
    return status ? status : ath_link_create_macvlan(host, &whole, err);
}

static int run_create(const struct ath_macvlan_step *step, struct ath_err *err)
{
    ath_auto_netlink struct ath_netlink *host = NULL;
    ATH_AUTO(ath_link) parent = { 0 };
    int status = ath_netlink_open(NETLINK_ROUTE, &host, err);
    if (!status)
        status = ath_link_read(host, step->parent, &parent, err);
    if (status)
        return status;
    const struct ath_macvlan_new what = { .name = step->link,
                                          .parent_name = step->parent,
                                          .parent_index = parent.index,
                                          .mode = (enum ath_macvlan_mode)step->mode,
                                          .mtu = step->mtu };
    return create(&what, step->place, err);
}

/* Restores addresses and routes, except those that the kernel adds by itself. */
static int restore_addresses(struct ath_netlink *netlink, const struct ath_link *old,
                             struct ath_err *err)
{
    int status = 0;
    for (size_t i = 0; i < old->address_count && !status; i++)
        if (old->addresses[i].is_permanent && !old->addresses[i].is_link_local)
            status = ath_link_add_address(netlink, old->name, &old->addresses[i], err);
    if (!status && old->is_up)
        status = ath_link_set_up(netlink, old->name, true, err);
    for (size_t i = 0; i < old->route_count && !status; i++)
        status = ath_link_add_route(netlink, old->name, &old->routes[i], err);
    return status;
}

/* Creates a deleted link again, with the same hardware address. */
static int restore(const struct ath_macvlan_step *step, struct ath_err *err)
{
    const struct ath_link *old = &step->old;
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    const struct ath_macvlan_new what = { .name = old->name,
                                          .parent_name = step->parent,
                                          .parent_index = old->parent_index,
                                          .mode = (enum ath_macvlan_mode)old->macvlan_mode,
                                          .mtu = old->mtu,
                                          .mac = old->mac };
    int status = create(&what, step->place, err);
    if (!status)
        status = ath_netns_netlink(step->place, NETLINK_ROUTE, &netlink, err);
    if (!status && old->alias)
        status = ath_link_set_alias(netlink, old->name, old->alias, err);
    return status ? status : restore_addresses(netlink, old, err);
}

static int move(struct ath_netlink *netlink, const char *link, const char *target,
                struct ath_err *err)
{
    ath_auto_close int netns = ath_netns_open(target, err);
    return netns < 0 ? netns : ath_link_move(netlink, link, netns, err);
}

/* Runs a step that changes an existing link. */
static int change(struct ath_netlink *netlink, const struct ath_macvlan_step *step,
                  struct ath_err *err)
{
    switch (step->action) {
    case ATH_STEP_DELETE:
        return ath_link_delete(netlink, step->link, err);
    case ATH_STEP_ALIAS:
        return ath_link_set_alias(netlink, step->link, step->alias, err);
    case ATH_STEP_MODE:
        return ath_link_set_macvlan_mode(netlink, step->link, (enum ath_macvlan_mode)step->mode,
                                         err);
    case ATH_STEP_MTU:
        return ath_link_set_mtu(netlink, step->link, step->mtu, err);
    case ATH_STEP_MOVE:
        return move(netlink, step->link, step->target, err);
    case ATH_STEP_ADD_ADDRESS:
        return ath_link_add_address(netlink, step->link, &step->address, err);
    case ATH_STEP_REMOVE_ADDRESS:
        return ath_link_remove_address(netlink, step->link, &step->address, err);
    case ATH_STEP_ADD_ROUTE:
        return ath_link_add_route(netlink, step->link, &step->address, err);
    case ATH_STEP_REMOVE_ROUTE:
        return ath_link_remove_route(netlink, step->link, &step->address, err);
    default:
        return ath_link_set_up(netlink, step->link, true, err);
    }
}

/* Undoes a step, except DELETE and those about namespaces. */
static int change_back(struct ath_netlink *netlink, const struct ath_macvlan_step *step,
                       struct ath_err *err)
{
    switch (step->action) {
    case ATH_STEP_CREATE:
        return ath_link_delete(netlink, step->link, err);
    case ATH_STEP_ALIAS:
        return ath_link_set_alias(netlink, step->link, step->old_alias, err);
    case ATH_STEP_MODE:
        return ath_link_set_macvlan_mode(netlink, step->link, (enum ath_macvlan_mode)step->old_mode,
                                         err);
    case ATH_STEP_MTU:
        return ath_link_set_mtu(netlink, step->link, step->old_mtu, err);
    case ATH_STEP_MOVE:
        return move(netlink, step->link, step->place, err);
    case ATH_STEP_ADD_ADDRESS:
        return ath_link_remove_address(netlink, step->link, &step->address, err);
    case ATH_STEP_REMOVE_ADDRESS:
        return ath_link_add_address(netlink, step->link, &step->address, err);
    case ATH_STEP_ADD_ROUTE:
        return ath_link_remove_route(netlink, step->link, &step->address, err);
    case ATH_STEP_REMOVE_ROUTE:
        return ath_link_add_route(netlink, step->link, &step->address, err);
    default:
        return ath_link_set_up(netlink, step->link, false, err);
    }
}

/* Makes the namespace again, with lo up and its note as plan_netns() does. */
static int restore_netns(const struct ath_macvlan_step *step, struct ath_err *err)
{
    ath_auto_free char *path = ath_netns_path(step->netns);
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    int status = ath_netns_create(step->netns, err);
    if (!status)
        status = ath_netns_netlink(path, NETLINK_ROUTE, &netlink, err);
    if (!status && step->old_alias)
        status = ath_link_set_alias(netlink, "lo", step->old_alias, err);
    return status ? status : ath_link_set_up(netlink, "lo", true, err);
}

static int run_live(void *context, const struct ath_macvlan_step *step, struct ath_err *err)
{
    (void)context;
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    if (step->action == ATH_STEP_MAKE_NETNS)
        return ath_netns_create(step->netns, err);
    if (step->action == ATH_STEP_DELETE_NETNS)
        return ath_netns_delete(step->netns, err);
    if (step->action == ATH_STEP_CREATE)
        return run_create(step, err);
    int status = ath_netns_netlink(step->place, NETLINK_ROUTE, &netlink, err);
    return status ? status : change(netlink, step, err);
}

static int undo_live(void *context, const struct ath_macvlan_step *step, struct ath_err *err)
{
    (void)context;
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    if (step->action == ATH_STEP_MAKE_NETNS)
        return ath_netns_delete(step->netns, err);
    if (step->action == ATH_STEP_DELETE_NETNS)
        return restore_netns(step, err);
    if (step->action == ATH_STEP_DELETE)
        return restore(step, err);
    const char *place = step->action == ATH_STEP_MOVE ? step->target : step->place;
    int status = ath_netns_netlink(place, NETLINK_ROUTE, &netlink, err);
    return status ? status : change_back(netlink, step, err);
}

const struct ath_macvlan_ops ath_macvlan_live = { .run = run_live, .undo = undo_live };

/* Undoes the first `count` steps, the last one first, and goes on after a failure. Returns 0, or
 * the status of the first failure, whose error goes to *out. */
static int undo_all(const struct ath_macvlan_plan *plan, size_t count,
                    const struct ath_macvlan_ops *ops, struct ath_err *out)
{
    int first = 0;
    while (count-- > 0) {
        struct ath_err err;
        int status = ops->undo(ops->context, &plan->steps[count], &err);
        if (status && !first) {
            first = status;
            *out = err;
        }
    }
    return first;
}

int ath_macvlan_apply(const struct ath_macvlan_plan *plan, const struct ath_macvlan_ops *ops,
                      struct ath_err *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        int status = ops->run(ops->context, &plan->steps[i], err);
        if (!status)
            continue;
        struct ath_err undo;
        if (undo_all(plan, i, ops, &undo))
            ath_err_append(err, status, _("; undoing the earlier steps failed: %s"), undo.message);
        return status;
    }
    return 0;
}

int ath_macvlan_take_back(const struct ath_macvlan_plan *plan, struct ath_err *err)
{
    ath_auto_close int lock = -1;
    int status = ath_file_lock(LOCK_PATH, LOCK_TIMEOUT_MS, &lock, err);
    return status ? status : undo_all(plan, plan->count, &ath_macvlan_live, err);
}

/* For a dry run: skips namespaces that the user may not enter, except the macvlan's own. */
static int look(const char *name, struct ath_netstate *out, struct ath_err *err)
{
    ath_auto_free char *netns = ath_netns_name_of(name);
    int status = ath_netstate_look(out, err);

    if (status || !ath_netstate_is_unseen(out, netns))
        return status;
    ath_netstate_free(out);
    return ath_netstate_read(out, err);
}

/* Plans from the kernel's present state to the wanted one; wanted NULL plans the removal. */
static int plan_now(const char *name, const struct ath_macvlan_wanted *wanted, bool is_dry_run,
                    struct ath_macvlan_plan *out, struct ath_err *err)
{
    ATH_AUTO(ath_netstate) present = { 0 };
    int status = is_dry_run ? look(name, &present, err) : ath_netstate_read(&present, err);
    if (status)
        return status;
    return wanted ? ath_macvlan_plan(wanted, &present, out, err)
                  : ath_macvlan_plan_delete(name, &present, out, err);
}

/* Plans again. A remaining step means that another program, such as a network manager, changes the
 * link at the same time. */
static int verify(const char *name, const struct ath_macvlan_wanted *wanted, struct ath_err *err)
{
    ATH_AUTO(ath_macvlan_plan) rest = { 0 };
    int status = plan_now(name, wanted, false, &rest, err);
    if (!status && rest.count)
        return ath_err_set(
            err, -EBUSY, ATH_E_BUSY,
            _("another program changes '%s' at the same time; this step is needed again: %s"), name,
            rest.steps[0].text);
    return status;
}

static int apply_and_verify(const char *name, const struct ath_macvlan_wanted *wanted,
                            struct ath_macvlan_plan *plan, struct ath_err *err)
{
    ath_auto_close int lock = -1;
    int status = ath_file_lock(LOCK_PATH, LOCK_TIMEOUT_MS, &lock, err);
    if (!status)
        status = plan_now(name, wanted, false, plan, err);
    if (!status)
        status = ath_macvlan_apply(plan, &ath_macvlan_live, err);
    if (!status && plan->count)
        status = verify(name, wanted, err);
    return status;
}

static int work(const char *name, const struct ath_macvlan_wanted *wanted, bool is_dry_run,
                struct ath_macvlan_plan *out, struct ath_err *err)
{
    ATH_AUTO(ath_macvlan_plan) plan = { 0 };
    int status = is_dry_run ? plan_now(name, wanted, true, &plan, err)
                            : apply_and_verify(name, wanted, &plan, err);
    if (status)
        return status;
    *out = plan;
    plan = (struct ath_macvlan_plan){ 0 };
    return 0;
}

int ath_macvlan_make(const struct ath_macvlan_wanted *wanted, bool is_dry_run,
                     struct ath_macvlan_plan *out, struct ath_err *err)
{
    return work(wanted->name, wanted, is_dry_run, out, err);
}

int ath_macvlan_remove(const char *name, bool is_dry_run, struct ath_macvlan_plan *out,
                       struct ath_err *err)
{
    int status = work(name, NULL, is_dry_run, out, err);
    if (!status && !is_dry_run) {
        ath_auto_free char *netns = ath_netns_name_of(name);
        ath_netns_forget(netns);
    }
    return status;
}
