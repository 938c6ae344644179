/* Reading the links of all namespaces. */
#include "config.h"

#include "roce/netstate.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
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
    *state = (struct ath_netstate){ 0 };
}

bool ath_netstate_is_host(const struct ath_netstate_place *place)
{
    return !place->path;
}

bool ath_netstate_is_ours(const struct ath_netstate_place *place)
{
    return place->name && ath_starts_with(place->name, ATH_NETNS_PREFIX);
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

static int read_links(const char *path, struct ath_links *out, struct ath_err *err)
{
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    int status = ath_netns_netlink(path, NETLINK_ROUTE, &netlink, err);
    return status ? status : ath_links_read(netlink, out, err);
}

static int add_place(struct ath_netstate *state, const struct ath_netns *netns, struct ath_err *err)
{
    ATH_AUTO(ath_links) links = { 0 };
    bool must_be_read =
        !netns->path || (netns->name && ath_starts_with(netns->name, ATH_NETNS_PREFIX));
    int status = read_links(netns->path, &links, err);
    if (status)
        return must_be_read && status != -ENOENT ? status : 0; /* gone since it was listed */

    struct ath_netstate_place *place = ath_push(&state->places, &state->count, sizeof *place);
    place->name = netns->path ? ath_xstrdup(netns->name) : NULL;
    place->path = ath_xstrdup(netns->path);
    place->inode = netns->inode;
    place->links = links;
    links = (struct ath_links){ 0 };
    return 0;
}

int ath_netstate_read(struct ath_netstate *out, struct ath_err *err)
{
    ATH_AUTO(ath_netnses) list = { 0 };
    ATH_AUTO(ath_netstate) state = { 0 };
    int status = 0;

    ath_netnses_read(&list);
    for (size_t i = 0; i < list.count && !status; i++)
        status = add_place(&state, &list.items[i], err);
    if (status)
        return status;
    *out = state;
    state = (struct ath_netstate){ 0 };
    return 0;
}
