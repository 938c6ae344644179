/* The names of macvlan links, and their state in the kernel. */
#include "config.h"

#include "roce/macvlan.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "roce/macvlan_internal.h"
#include "roce/netns.h"

#define COMPANION_SUFFIX "-host"
#define COMPANION_ALIAS_SUFFIX ":host"

/* ---- names ---- */

char *ath_macvlan_alias(const char *name)
{
    return ath_xasprintf(ATH_LINK_ALIAS_PREFIX "%s", name);
}

char *ath_macvlan_companion_alias(const char *name)
{
    return ath_xasprintf(ATH_LINK_ALIAS_PREFIX "%s" COMPANION_ALIAS_SUFFIX, name);
}

char *ath_macvlan_companion_name(const char *name)
{
    if (strlen(name) + strlen(COMPANION_SUFFIX) < ATH_LINK_NAME_SIZE)
        return ath_xasprintf("%s" COMPANION_SUFFIX, name);
    /* The hash (FNV-1a) keeps long names with the same beginning apart. */
    uint32_t hash = 2166136261u;
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    return ath_xasprintf("%.6s%04x" COMPANION_SUFFIX, name, (hash ^ hash >> 16) & 0xffff);
}

/* ---- links and namespaces that exist ---- */

const struct ath_netstate_place *ath_macvlan_own_place(const struct ath_netstate *present,
                                                       const char *name)
{
    ath_auto_free char *netns = ath_netns_name_of(name);
    const struct ath_netstate_place *place = ath_netstate_named(present, netns);
    return place && ath_netstate_is_ours(place) ? place : NULL;
}

struct ath_macvlan_found ath_macvlan_find(const struct ath_netstate *present, const char *name,
                                          const char *link, const char *alias)
{
    for (size_t i = 0; alias && i < present->count; i++)
        for (size_t j = 0; j < present->places[i].links.count; j++) {
            const struct ath_link *candidate = &present->places[i].links.items[j];
            if (ath_link_is_macvlan(candidate) && ath_link_has_alias(candidate, alias))
                return (struct ath_macvlan_found){ &present->places[i], candidate };
        }

    const struct ath_netstate_place *own = ath_macvlan_own_place(present, name);
    const struct ath_link *candidate = own ? ath_links_find(&own->links, link) : NULL;
    if (candidate && ath_link_is_macvlan(candidate) && !candidate->alias)
        return (struct ath_macvlan_found){ own, candidate };
    return (struct ath_macvlan_found){ 0 };
}

const char *ath_macvlan_state_word(enum ath_macvlan_state state)
{
    static const char *const words[] = { [ATH_MACVLAN_RECORDED] = "recorded",
                                         [ATH_MACVLAN_MADE] = "made",
                                         [ATH_MACVLAN_MOVED] = "moved",
                                         [ATH_MACVLAN_GONE] = "gone" };
    return words[state];
}

enum ath_macvlan_state ath_macvlan_state(const char *name, const struct ath_netstate *present,
                                         const struct ath_netstate_place **out_place,
                                         const struct ath_link **out_link)
{
    ath_auto_free char *alias = ath_macvlan_alias(name);
    const struct ath_netstate_place *own = ath_macvlan_own_place(present, name);
    struct ath_macvlan_found found = ath_macvlan_find(present, name, name, alias);

    if (out_place)
        *out_place = found.place;
    if (out_link)
        *out_link = found.link;
    if (!found.link)
        return own ? ATH_MACVLAN_GONE : ATH_MACVLAN_RECORDED;
    bool is_away = found.place != own && !ath_netstate_is_host(found.place);
    return is_away ? ATH_MACVLAN_MOVED : ATH_MACVLAN_MADE;
}

const char *ath_macvlan_document(const char *name, const struct ath_netstate *present)
{
    const struct ath_netstate_place *own = ath_macvlan_own_place(present, name);
    const char *blank = own ? strchr(ath_links_find(&own->links, "lo")->alias, ' ') : NULL;
    return blank ? blank + 1 : NULL;
}

/* Takes ownership of name, and drops duplicates. */
static void add_name(char ***names, size_t *count, char *name)
{
    for (size_t i = 0; i < *count; i++)
        if (!strcmp((*names)[i], name)) {
            free(name);
            return;
        }
    *(char **)ath_push(names, count, sizeof name) = name;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void ath_macvlan_names(const struct ath_netstate *present, char ***out, size_t *out_count)
{
    char **names = NULL;
    size_t count = 0;

    for (size_t i = 0; i < present->count; i++) {
        const struct ath_netstate_place *place = &present->places[i];
        if (ath_netstate_is_ours(place))
            add_name(&names, &count, ath_xstrdup(place->name + strlen(ATH_NETNS_PREFIX)));
        for (size_t j = 0; j < place->links.count; j++) {
            if (!ath_link_is_ours(&place->links.items[j]))
                continue;
            /* In a companion's alias, the macvlan's name ends at ":host". */
            const char *alias = place->links.items[j].alias + strlen(ATH_LINK_ALIAS_PREFIX);
            add_name(&names, &count, strndup(alias, strcspn(alias, ":")));
        }
    }
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    *out = names;
    *out_count = count;
}
