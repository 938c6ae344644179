/* Reading the links of all namespaces. */
#include "config.h"

#include "roce/netstate.h"

#include <errno.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "roce/netlink.h"
#include "roce/netns.h"

void ath_netstate_free(struct ath_netstate *state)
{
    if (!state)
        return;
    for (size_t i = 0; i < state->count; i++) {
        free(state->places[i].name);
        free(state->places[i].path);
        ath_links_free(&state->places[i].links);
    }
    free(state->places);
    free(state->unseen);
    *state = (struct ath_netstate){ 0 };
}

bool ath_netstate_is_host(const struct ath_netstate_place *place)
{
    return !place->path;
}

bool ath_netstate_is_ours(const struct ath_netstate_place *place)
{
    ath_auto_free char *label = place->name ? ath_netns_label(place->name) : NULL;
    const struct ath_link *lo = label ? ath_links_find(&place->links, "lo") : NULL;
    const char *alias = lo && lo->alias && ath_starts_with(lo->alias, label) ? lo->alias : NULL;
    return alias && strchr(" ", alias[strlen(label)]); /* the end counts as well */
}

const struct ath_netstate_place *ath_netstate_named(const struct ath_netstate *state,
                                                    const char *name)
{
    for (size_t i = 0; i < state->count; i++)
        if (state->places[i].name && !strcmp(state->places[i].name, name))
            return &state->places[i];
    return NULL;
}

const struct ath_netstate_place *ath_netstate_at(const struct ath_netstate *state, const char *path)
{
    struct stat status;
    uint64_t inode = !stat(path, &status) ? status.st_ino : 0;
    for (size_t i = 0; i < state->count; i++) {
        const struct ath_netstate_place *place = &state->places[i];
        if ((inode && place->inode == inode) || (place->path && !strcmp(place->path, path)))
            return place;
    }
    return NULL;
}

/* Reads the id of the caller's namespace within the socket's namespace (RTM_GETNSID). A negative
 * id means that there is none, so no link there has its parent in the caller's namespace. Returns
 * 0, or a negative errno with err. */
static int read_host_id(struct ath_netlink *netlink, int *out, struct ath_err *err)
{
    const struct rtgenmsg header = { .rtgen_family = AF_UNSPEC };
    const struct nlattr *table[NETNSA_MAX + 1];
    ATH_AUTO(ath_replies) replies = { 0 };
    struct ath_message message;

    ath_auto_close int own = ath_netns_open("/proc/self/ns/net", err);
    if (own < 0)
        return own;
    ath_message_begin(&message, netlink, RTM_GETNSID, 0, &header, sizeof header);
    ath_message_put_u32(&message, NETNSA_FD, (uint32_t)own);
    int status = ath_netlink_talk(&message, &replies, err, "%s",
                                  _("cannot read the id of this network namespace"));
    if (status || !replies.count)
        return status ? status : -ENOENT;
    ath_attributes(replies.items[0], sizeof header, NETNSA_MAX, table);
    *out = (int)ath_attribute_u32(table[NETNSA_NSID], (uint32_t)NETNSA_NSID_NOT_ASSIGNED);
    return 0;
}

/*
 * Drops macvlans that have our label but a parent in a third namespace. They belong to an aitherion
 * there: a nested container, or a test that runs beside this one.
 */
static void drop_foreign(struct ath_links *links, int host_id)
{
    size_t kept = 0;

    for (size_t i = 0; i < links->count; i++) {
        struct ath_link *link = &links->items[i];
        if (ath_link_is_ours(link) && (host_id < 0 || link->parent_netns != host_id))
            ath_link_free(link);
        else
            links->items[kept++] = *link;
    }
    links->count = kept;
}

static int read_links(const char *path, struct ath_links *out, struct ath_err *err)
{
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    int host_id;

    int status = ath_netns_netlink(path, NETLINK_ROUTE, &netlink, err);
    if (!status)
        status = ath_links_read(netlink, out, err);
    /* After the links, because reading them gives the caller's namespace its id there. */
    if (!status && path && !read_host_id(netlink, &host_id, NULL))
        drop_foreign(out, host_id);
    return status;
}

static void note_unseen(struct ath_netstate *state, const char *name)
{
    ath_auto_free char *before = state->unseen;
    state->unseen = ath_xasprintf("%s%s%s", before ? before : "", before ? ", " : "", name);
}

static int add_place(struct ath_netstate *state, const struct ath_netns *netns, bool is_strict,
                     struct ath_err *err)
{
    ATH_AUTO(ath_links) links = { 0 };
    bool is_own = netns->name && ath_starts_with(netns->name, ATH_NETNS_PREFIX);
    int status = read_links(netns->path, &links, err);
    if (status == -ENOENT)
        return 0; /* the namespace ended after it was listed */
    if (status && is_own && !is_strict)
        note_unseen(state, netns->name);
    if (status)
        return !netns->path || (is_own && is_strict) ? status : 0;

    struct ath_netstate_place *place = ath_push(&state->places, &state->count, sizeof *place);
    place->name = netns->path ? ath_xstrdup(netns->name) : NULL;
    place->path = ath_xstrdup(netns->path);
    place->inode = netns->inode;
    place->links = links;
    links = (struct ath_links){ 0 };
    return 0;
}

static int read_all(struct ath_netstate *out, bool is_strict, struct ath_err *err)
{
    ATH_AUTO(ath_netnses) list = { 0 };
    ATH_AUTO(ath_netstate) state = { 0 };
    int status = 0;

    ath_netnses_read(&list);
    for (size_t i = 0; i < list.count && !status; i++)
        status = add_place(&state, &list.items[i], is_strict, err);
    if (status)
        return status;
    *out = state;
    state = (struct ath_netstate){ 0 };
    return 0;
}

int ath_netstate_read(struct ath_netstate *out, struct ath_err *err)
{
    return read_all(out, true, err);
}

int ath_netstate_look(struct ath_netstate *out, struct ath_err *err)
{
    return read_all(out, false, err);
}

bool ath_netstate_is_unseen(const struct ath_netstate *state, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = state->unseen; at && *at; at += strcspn(at, ","), at += strspn(at, ", "))
        if (strcspn(at, ",") == length && !memcmp(at, name, length))
            return true;
    return false;
}
