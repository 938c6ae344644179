/*
 * Plans of macvlan links.
 *
 * The order of steps matters in three places. A link is labelled before it leaves its own
 * namespace. An old address is removed before the new one is added, because the kernel removes the
 * other addresses of a subnet together with the first one. Routes are added last, because they need
 * the link up.
 */
#include "config.h"

#include <errno.h>
#include <linux/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "roce/macvlan.h"
#include "roce/macvlan_internal.h"
#include "roce/netns.h"

/* The wanted state of one link: the macvlan or its companion. */
struct wish {
    const char *name, *alias;
    bool stays;              /* an existing link stays in its namespace, a new one in its own */
    const char *target_path; /* if not stays: the wanted namespace; NULL is the host */
    enum ath_macvlan_mode mode;
    const struct ath_address *address; /* NULL: no address is wanted */
    const struct ath_address *route;   /* NULL: no route is wanted */
};

struct builder {
    const struct ath_macvlan_request *request;
    const char *own_path; /* path of the macvlan's own namespace */
    struct ath_macvlan_plan *plan;
};

void ath_macvlan_plan_free(struct ath_macvlan_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->count; i++) {
        struct ath_macvlan_step *step = &plan->steps[i];
        free(step->text);
        free(step->netns);
        free(step->place);
        free(step->target);
        free(step->alias);
        free(step->old_alias);
        ath_link_free(&step->old);
    }
    free(plan->steps);
    *plan = (struct ath_macvlan_plan){ 0 };
}

/* Returns the name of a named namespace, or the path of any other. */
static const char *short_name(const char *path)
{
    bool is_named = ath_starts_with(path, ATH_NETNS_FOLDER "/");
    return is_named ? path + strlen(ATH_NETNS_FOLDER "/") : path;
}

/* Returns "on the host" or "in namespace 'aitherion-macvlan0'". The caller frees the text. */
static char *where(const char *path)
{
    if (!path)
        return ath_xstrdup(_("on the host"));
    return ath_xasprintf(_("in namespace '%s'"), short_name(path));
}

/* Adds a step about a link in a namespace. The caller sets the text with say(). */
static struct ath_macvlan_step *add(struct ath_macvlan_plan *plan, enum ath_macvlan_action action,
                                    const char *link, const char *place)
{
    struct ath_macvlan_step *step = ath_push(&plan->steps, &plan->count, sizeof *step);
    step->action = action;
    step->place = ath_xstrdup(place);
    snprintf(step->link, sizeof step->link, "%s", link);
    return step;
}

/* Sets the step's text: the action, then the place. */
__attribute__((format(printf, 2, 3))) static void say(struct ath_macvlan_step *step,
                                                      const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    ath_auto_free char *place = where(step->place);
    step->text = ath_xasprintf("%s, %s", what, place);
}

static void add_up(struct ath_macvlan_plan *plan, const char *link, const char *place)
{
    say(add(plan, ATH_STEP_UP, link, place), _("bring link '%s' up"), link);
}

static void add_create(struct builder *builder, const struct wish *wish)
{
    const struct ath_macvlan_request *request = builder->request;
    struct ath_macvlan_step *step =
        add(builder->plan, ATH_STEP_CREATE, wish->name, builder->own_path);
    strcpy(step->parent, request->parent->name);
    step->mode = (int)wish->mode;
    step->mtu = request->mtu;
    say(step, _("create macvlan '%s' on '%s', mode %s, MTU %d"), wish->name, step->parent,
        ath_macvlan_mode_word(step->mode), step->mtu);
}

static void add_alias(struct builder *builder, const struct wish *wish, const char *place,
                      const struct ath_link *link)
{
    struct ath_macvlan_step *step = add(builder->plan, ATH_STEP_ALIAS, wish->name, place);
    step->alias = ath_xstrdup(wish->alias);
    step->old_alias = ath_xstrdup(link && link->alias ? link->alias : "");
    say(step, _("label link '%s' as '%s'"), wish->name, wish->alias);
}

static void add_delete(struct ath_macvlan_plan *plan, const struct ath_netstate *present,
                       const struct ath_macvlan_found *found)
{
    const struct ath_link *link = found->link;
    const struct ath_link *parent =
        ath_links_by_index(&present->places[0].links, link->parent_index);
    struct ath_macvlan_step *step = add(plan, ATH_STEP_DELETE, link->name, found->place->path);
    ath_link_copy(link, &step->old);
    if (parent)
        strcpy(step->parent, parent->name);
    else /* a link without a known name, as `ip link` shows it */
        snprintf(step->parent, sizeof step->parent, "if%d", link->parent_index);
    say(step, _("delete link '%s'"), link->name);
}

static void add_mode_and_mtu(struct builder *builder, const struct wish *wish, const char *place,
                             const struct ath_link *link)
{
    if (link->macvlan_mode != (int)wish->mode) {
        struct ath_macvlan_step *step = add(builder->plan, ATH_STEP_MODE, wish->name, place);
        step->mode = (int)wish->mode;
        step->old_mode = link->macvlan_mode;
        say(step, _("set macvlan '%s' to mode %s"), wish->name, ath_macvlan_mode_word(step->mode));
    }
    if (link->mtu != builder->request->mtu) {
        struct ath_macvlan_step *step = add(builder->plan, ATH_STEP_MTU, wish->name, place);
        step->mtu = builder->request->mtu;
        step->old_mtu = link->mtu;
        say(step, _("set the MTU of link '%s' to %d"), wish->name, step->mtu);
    }
}

static void add_move(struct ath_macvlan_plan *plan, const char *link, const char *place,
                     const char *target)
{
    struct ath_macvlan_step *step = add(plan, ATH_STEP_MOVE, link, place);
    step->target = ath_xstrdup(target);
    step->text =
        target ? ath_xasprintf(_("move link '%s' to namespace '%s'"), link, short_name(target))
               : ath_xasprintf(_("move link '%s' to the host"), link);
}

static void add_address_step(struct ath_macvlan_plan *plan, enum ath_macvlan_action action,
                             const char *link, const char *place, const struct ath_address *address)
{
    struct ath_macvlan_step *step = add(plan, action, link, place);
    step->address = *address;
    ath_auto_free char *text = ath_address_format(address);
    switch (action) {
    case ATH_STEP_ADD_ADDRESS:
        say(step, _("give address '%s' to link '%s'"), text, link);
        break;
    case ATH_STEP_REMOVE_ADDRESS:
        say(step, _("take address '%s' from link '%s'"), text, link);
        break;
    case ATH_STEP_ADD_ROUTE:
        say(step, _("route '%s' through link '%s'"), text, link);
        break;
    default:
        say(step, _("remove the route to '%s' through link '%s'"), text, link);
    }
}

static void add_addresses(struct builder *builder, const struct wish *wish, const char *place,
                          const struct ath_link *link)
{
    bool has_it = false;
    for (size_t i = 0; wish->address && link && i < link->address_count; i++) {
        const struct ath_address *address = &link->addresses[i];
        if (ath_address_equals(address, wish->address))
            has_it = true;
        else if (address->is_permanent && !address->is_link_local)
            add_address_step(builder->plan, ATH_STEP_REMOVE_ADDRESS, wish->name, place, address);
    }
    if (wish->address && !has_it)
        add_address_step(builder->plan, ATH_STEP_ADD_ADDRESS, wish->name, place, wish->address);
}

static void add_routes(struct builder *builder, const struct wish *wish, const char *place,
                       const struct ath_link *link)
{
    bool has_it = false;
    for (size_t i = 0; wish->route && link && i < link->route_count; i++) {
        if (ath_address_equals(&link->routes[i], wish->route))
            has_it = true;
        else
            add_address_step(builder->plan, ATH_STEP_REMOVE_ROUTE, wish->name, place,
                             &link->routes[i]);
    }
    if (wish->route && !has_it)
        add_address_step(builder->plan, ATH_STEP_ADD_ROUTE, wish->name, place, wish->route);
}

/* The kernel can change neither a macvlan's parent nor its mode from or to passthru. */
static bool must_be_recreated(const struct builder *builder, const struct wish *wish,
                              const struct ath_macvlan_found *found)
{
    bool was_passthru = found->link->macvlan_mode == ATH_MACVLAN_PASSTHRU;
    return !ath_macvlan_is_child(found->place, found->link, builder->request->parent) ||
           was_passthru != (wish->mode == ATH_MACVLAN_PASSTHRU);
}

static bool is_same_path(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* Returns the path of the namespace that the plan leaves the link in; NULL is the host. */
static const char *target_of(const struct builder *builder, const struct wish *wish,
                             const struct ath_macvlan_found *found)
{
    if (!wish->stays)
        return wish->target_path;
    bool is_away = found->place && !ath_netstate_is_host(found->place);
    return is_away ? found->place->path : builder->own_path;
}

static void plan_link(struct builder *builder, const struct wish *wish)
{
    struct ath_macvlan_found found = ath_macvlan_find(
        builder->request->present, builder->request->wanted->name, wish->name, wish->alias);
    const struct ath_link *link = found.link;
    const char *target = target_of(builder, wish, &found);

    if (link && must_be_recreated(builder, wish, &found)) {
        add_delete(builder->plan, builder->request->present, &found);
        link = NULL;
    }
    const char *place = link ? found.place->path : builder->own_path;
    if (!link)
        add_create(builder, wish);
    if (!link || !ath_link_has_alias(link, wish->alias))
        add_alias(builder, wish, place, link);
    if (link)
        add_mode_and_mtu(builder, wish, place, link);
    if (!is_same_path(place, target)) {
        add_move(builder->plan, wish->name, place, target);
        place = target;
        link = NULL; /* a moved link is down and has no addresses */
    }
    add_addresses(builder, wish, place, link);
    if (!link || !link->is_up)
        add_up(builder->plan, wish->name, place);
    add_routes(builder, wish, place, link);
}

static struct ath_macvlan_step *add_netns(struct ath_macvlan_plan *plan,
                                          enum ath_macvlan_action action, const char *name)
{
    struct ath_macvlan_step *step = add(plan, action, "", NULL);
    step->netns = ath_xstrdup(name);
    step->text = ath_xasprintf(action == ATH_STEP_MAKE_NETNS ? _("make network namespace '%s'")
                                                             : _("delete network namespace '%s'"),
                               name);
    return step;
}

/* True if the plan creates the link, which always happens in its own namespace, or leaves it
 * there. */
static bool needs_netns(const struct builder *builder, const struct wish *wish)
{
    struct ath_macvlan_found found = ath_macvlan_find(
        builder->request->present, builder->request->wanted->name, wish->name, wish->alias);
    return !found.link || must_be_recreated(builder, wish, &found) ||
           is_same_path(target_of(builder, wish, &found), builder->own_path);
}

/* Notes the document beside the label of lo. The kernel refuses an alias of IFALIASZ bytes
 * (dev_set_alias() in net/core/dev.c); so long a path is not noted. lo: as it is; NULL: new. */
static void add_note(struct builder *builder, const char *netns, const struct ath_link *lo)
{
    const char *document = builder->request->wanted->document;
    ath_auto_free char *label = ath_netns_label(netns);
    ath_auto_free char *note = ath_xasprintf("%s %s", label, document ? document : "");

    if (!document || strlen(note) >= IFALIASZ || (lo && ath_link_has_alias(lo, note)))
        return;
    struct ath_macvlan_step *step = add(builder->plan, ATH_STEP_ALIAS, "lo", builder->own_path);
    step->alias = ath_xstrdup(note);
    step->old_alias = ath_xstrdup(lo && lo->alias ? lo->alias : label);
    say(step, _("note the macvlan's document '%s'"), document);
}

/* Plans the namespace and brings its lo up. While lo is down, a link's own address does not answer
 * within the namespace. */
static void plan_netns(struct builder *builder, const char *name, const struct wish *wishes,
                       size_t count)
{
    const struct ath_netstate_place *own =
        ath_macvlan_own_place(builder->request->present, builder->request->wanted->name);
    const struct ath_link *lo = own ? ath_links_find(&own->links, "lo") : NULL;
    bool is_needed = false;
    for (size_t i = 0; i < count; i++)
        is_needed |= needs_netns(builder, &wishes[i]);
    if (!own && !is_needed)
        return;
    if (!own)
        add_netns(builder->plan, ATH_STEP_MAKE_NETNS, name);
    if (!lo || !lo->is_up)
        add_up(builder->plan, "lo", builder->own_path);
    add_note(builder, name, lo);
}

static void plan_companion_away(struct builder *builder, const struct wish *wish)
{
    struct ath_macvlan_found found = ath_macvlan_find(
        builder->request->present, builder->request->wanted->name, wish->name, wish->alias);
    if (found.link)
        add_delete(builder->plan, builder->request->present, &found);
}

/* Returns the route to the link's address alone (/32 or /128). */
static struct ath_address host_route(const struct ath_address *address)
{
    struct ath_address route = *address;
    route.prefix = 8 * ath_address_size(address);
    return route;
}

static void plan_all(const struct ath_macvlan_request *request, const char *target_path,
                     struct ath_macvlan_plan *plan)
{
    const struct ath_macvlan_wanted *wanted = request->wanted;
    ath_auto_free char *netns = ath_netns_name_of(wanted->name);
    ath_auto_free char *own_path = ath_netns_path(netns);
    ath_auto_free char *alias = ath_macvlan_alias(wanted->name);
    ath_auto_free char *companion_alias = ath_macvlan_companion_alias(wanted->name);
    struct ath_address route = host_route(&request->address);
    struct builder builder = { .request = request, .own_path = own_path, .plan = plan };
    const struct wish wishes[] = {
        { .name = wanted->name,
          .alias = alias,
          .stays = !target_path,
          .target_path = target_path,
          .mode = wanted->mode,
          .address = request->has_address ? &request->address : NULL },
        { .name = request->companion,
          .alias = companion_alias,
          .mode = ATH_MACVLAN_BRIDGE,
          .address = request->has_companion_address ? &request->companion_address : NULL,
          .route = &route },
    };
    size_t count = wanted->wants_companion ? 2 : 1;

    plan_netns(&builder, netns, wishes, count);
    if (count == 1) /* first, because passthru mode allows no other macvlan on the parent */
        plan_companion_away(&builder, &wishes[1]);
    for (size_t i = 0; i < count; i++)
        plan_link(&builder, &wishes[i]);
}

int ath_macvlan_plan(const struct ath_macvlan_wanted *wanted, const struct ath_netstate *present,
                     struct ath_macvlan_plan *out, struct ath_err *err)
{
    ATH_AUTO(ath_macvlan_request) request = { 0 };
    const struct ath_netstate_place *target = NULL;
    int status = ath_macvlan_check(wanted, present, &request, err);
    if (status)
        return status;
    if (wanted->netns_path && !(target = ath_netstate_at(present, wanted->netns_path)))
        return ath_err_set(
            err, -ENOENT, ATH_E_NOT_FOUND,
            _("the network namespace '%s' does not exist, or this user may not enter it"),
            wanted->netns_path);
    *out = (struct ath_macvlan_plan){ 0 };
    plan_all(&request, target ? target->path : NULL, out);
    return 0;
}

/* Links that the kernel adds to every new namespace (net.core.fb_tunnels_only_for_init_net). */
static bool is_of_the_kernel(const struct ath_link *link)
{
    static const char *const names[] = { "lo",      "tunl0", "gre0",    "gretap0", "erspan0",
                                         "ip_vti0", "sit0",  "ip6tnl0", "ip6gre0", "ip6_vti0" };
    for (size_t i = 0; i < ATH_COUNT(names); i++)
        if (!strcmp(link->name, names[i]))
            return true;
    return false;
}

static int check_namespace(const struct ath_netstate_place *own, const struct ath_link *const *ours,
                           struct ath_err *err)
{
    for (size_t i = 0; own && i < own->links.count; i++) {
        const struct ath_link *link = &own->links.items[i];
        if (link == ours[0] || link == ours[1] || is_of_the_kernel(link))
            continue;
        ath_err_set(err, -EBUSY, ATH_E_FOREIGN,
                    _("the network namespace '%s' holds the link '%s', which aitherion did not "
                      "make"),
                    own->name, link->name);
        return ath_err_hint(err, -EBUSY, _("move the link out: ip -n %s link set %s netns 1"),
                            own->name, link->name);
    }
    return 0;
}

static int check_delete(const char *name, const struct ath_netstate *present,
                        const struct ath_netstate_place *own, const struct ath_link *const *ours,
                        struct ath_err *err)
{
    if (!ours[0] && ath_links_find(&present->places[0].links, name))
        return ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                           _("aitherion did not make the link '%s', and leaves it alone"), name);
    return check_namespace(own, ours, err);
}

int ath_macvlan_plan_delete(const char *name, const struct ath_netstate *present,
                            struct ath_macvlan_plan *out, struct ath_err *err)
{
    ath_auto_free char *netns = ath_netns_name_of(name);
    ath_auto_free char *alias = ath_macvlan_alias(name);
    ath_auto_free char *companion_alias = ath_macvlan_companion_alias(name);
    ath_auto_free char *companion = ath_macvlan_companion_name(name);
    const struct ath_macvlan_found found[] = {
        ath_macvlan_find(present, name, companion, companion_alias),
        ath_macvlan_find(present, name, name, alias),
    };
    const struct ath_link *ours[] = { found[1].link, found[0].link };
    const struct ath_netstate_place *own = ath_macvlan_own_place(present, name);
    int status = check_delete(name, present, own, ours, err);
    if (status)
        return status;

    *out = (struct ath_macvlan_plan){ 0 };
    for (size_t i = 0; i < ATH_COUNT(found); i++)
        if (found[i].link)
            add_delete(out, present, &found[i]);
    if (own)
        add_netns(out, ATH_STEP_DELETE_NETNS, netns)->old_alias =
            ath_xstrdup(ath_links_find(&own->links, "lo")->alias);
    return 0;
}
