/*
 * Stacked network links, from sysfs.
 *
 * A link in a bond, bridge or team has a symbolic link `master`. A stacked link has symbolic links
 * lower_NAME (Documentation/ABI/testing/sysfs-class-net). DEVTYPE in uevent tells VLANs from
 * macvlans; captures without uevent may have proc/net/vlan/config ("eth0.5 | 5 | eth0"). Two kinds
 * of master do not hold the addresses of their parts: a VRF leaves the addresses on the parts (only
 * a VRF sets IFF_NOARP, drivers/net/vrf.c), and Open vSwitch has them on separate links (DEVTYPE
 * openvswitch).
 *
 * Subfunctions lie below mlx5_core.sf.N. Representors have a phys_port_name like pf0vf3
 * (Documentation/networking/devlink/devlink-port.rst).
 */
#include "config.h"

#include "roce/kinship.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/unknown.h"

enum { FLAG_NOARP = 0x80, DEPTH_MAX = 8 };

int ath_subfunction_of_path(const char *path)
{
    static const char mark[] = ".sf.";
    const char *at = strstr(path, mark);
    int number;

    if (!at)
        return ATH_UNKNOWN;
    at += sizeof mark - 1;
    ath_auto_free char *digits = ath_xasprintf("%.*s", (int)strcspn(at, "/"), at);
    return ath_parse_int(digits, 0, INT_MAX, &number) ? ATH_UNKNOWN : number;
}

/* Returns the text after a prefix like "pf0" or "c1" (letters and a number), or NULL if the text
 * does not begin with that prefix. */
static const char *pass(const char *text, const char *letters)
{
    if (!ath_starts_with(text, letters))
        return NULL;
    text += strlen(letters);
    return isdigit((unsigned char)*text) ? text + strspn(text, "0123456789") : NULL;
}

bool ath_port_name_is_uplink(const char *name)
{
    const char *rest = name ? pass(name, "p") : NULL;
    return rest && !*rest;
}

/* Examples: pf0vf3, c1pf0sf88, pf0hpf. */
bool ath_port_name_is_representor(const char *name)
{
    const char *controller = name ? pass(name, "c") : NULL;
    const char *rest = name ? pass(controller ? controller : name, "pf") : NULL;
    return rest &&
           (ath_starts_with(rest, "vf") || ath_starts_with(rest, "sf") || !strcmp(rest, "hpf"));
}

bool ath_link_is_representor(const struct ath_root *root, const char *link)
{
    ath_auto_free char *name = ath_root_read(root, "sys/class/net/%s/phys_port_name", link);
    return ath_port_name_is_representor(name);
}

/* Returns "bond", "bridge", "vlan", "macvlan"..., or NULL for a plain link or a capture without
 * uevent. The caller frees the text. */
static char *read_kind(const struct ath_root *root, const char *link)
{
    ath_auto_free char *text = ath_root_read(root, "sys/class/net/%s/uevent", link);
    char *rest = text;

    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (ath_starts_with(line, "DEVTYPE="))
            return ath_xstrdup(line + strlen("DEVTYPE="));
    return NULL;
}

static bool has_addresses(const struct ath_root *root, const char *master)
{
    ath_auto_free char *kind = read_kind(root, master);
    int64_t flags = ath_root_read_number(root, 0, "sys/class/net/%s/flags", master);

    return !(flags & FLAG_NOARP) && (!kind || strcmp(kind, "openvswitch") != 0);
}

/* Returns the bond, bridge or team directly above, or NULL. The caller frees the name. */
static char *read_master(const struct ath_root *root, const char *link)
{
    ath_auto_free char *target = ath_root_link(root, "sys/class/net/%s/master", link);
    const char *slash = target ? strrchr(target, '/') : NULL;

    if (!target)
        return NULL;
    char *master = ath_xstrdup(slash ? slash + 1 : target);
    if (*master && has_addresses(root, master))
        return master;
    free(master);
    return NULL;
}

char *ath_link_master(const struct ath_root *root, const char *link)
{
    char *master = read_master(root, link);

    for (int i = 1; master && i < DEPTH_MAX; i++) {
        char *above = read_master(root, master);
        if (!above)
            break;
        free(master);
        master = above;
    }
    return master;
}

/* Returns the third column of the VLAN's line. The caller frees the text. */
static char *parent_in_config(const struct ath_root *root, const char *vlan)
{
    ath_auto_free char *text = ath_root_read(root, "proc/net/vlan/config");
    char *rest = text;

    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        const char *bar = strrchr(line, '|');
        size_t length = strcspn(line, " \t|");
        if (bar && length == strlen(vlan) && !strncmp(line, vlan, length)) {
            bar += 1 + strspn(bar + 1, " \t");
            return ath_xasprintf("%.*s", (int)strcspn(bar, " \t"), bar);
        }
    }
    return NULL;
}

static char *parent_in_folder(const struct ath_root *root, const char *vlan)
{
    ath_auto_free char *path = ath_xasprintf("sys/class/net/%s", vlan);
    char **names, *parent = NULL;
    size_t count;

    ath_root_list(root, path, &names, &count);
    for (size_t i = 0; i < count && !parent; i++)
        if (ath_starts_with(names[i], "lower_"))
            parent = ath_xstrdup(names[i] + strlen("lower_"));
    ath_names_free(names, count);
    return parent;
}

/* Returns the parent of a VLAN, or NULL for any other link. The caller frees the name. */
static char *vlan_parent(const struct ath_root *root, const char *link)
{
    ath_auto_free char *kind = read_kind(root, link);

    if (kind && strcmp(kind, "vlan") != 0)
        return NULL;
    char *parent = kind ? parent_in_folder(root, link) : NULL;
    return parent ? parent : parent_in_config(root, link);
}

/* True if `upper` is the link itself, or a bond, bridge or team above. */
static bool is_above(const struct ath_root *root, const char *upper, const char *link)
{
    ath_auto_free char *at = ath_xstrdup(link);

    for (int i = 0; at && i < DEPTH_MAX; i++) {
        if (!strcmp(at, upper))
            return true;
        char *above = read_master(root, at);
        free(at);
        at = above;
    }
    return false;
}

enum ath_link_relation ath_link_relation(const struct ath_root *root, const char *upper,
                                         const char *link)
{
    ath_auto_free char *at = ath_xstrdup(upper);

    for (int i = 0; at && i < DEPTH_MAX; i++) {
        if (is_above(root, at, link))
            return i ? ATH_LINK_VLAN : ATH_LINK_OWN;
        char *below = vlan_parent(root, at);
        free(at);
        at = below;
    }
    return ATH_LINK_STRANGER;
}
