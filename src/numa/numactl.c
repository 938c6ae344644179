/*
 * The text of `numactl -H`. numactl says MB for 2^20 bytes (numactl.c of numactl 2.0.14,
 * hardware()).
 */
#include "config.h"

#include "numa/numactl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

enum { NODES_MAX = 1024, DISTANCE_MAX = 65535, MEGABYTES_MAX = 1 << 30, MEGABYTE_SHIFT = 20 };

static const char blanks[] = " \t";

void ath_numactl_free(struct ath_numactl *numactl)
{
    if (!numactl)
        return;
    ath_idset_free(&numactl->available);
    ath_idset_free(&numactl->with_cpus);
    free(numactl->columns);
    *numactl = (struct ath_numactl){ 0 };
}

/* Reads the next number of a line up to max, and moves *at past it. Returns 1; 0 at the end of the
 * line; -1 for another word. */
static int next_number(const char **at, int max, int *out)
{
    const char *begin = *at + strspn(*at, blanks);
    size_t length = strcspn(begin, blanks);
    ath_auto_free char *word = ath_xasprintf("%.*s", (int)length, begin);

    if (!length)
        return 0;
    if (ath_parse_int(word, 0, max, out))
        return -1;
    *at = begin + length;
    return 1;
}

static int refuse(const char *what, const char *rest, struct ath_err *err)
{
    rest += strspn(rest, blanks);
    return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID, _("'%.32s' is no number of %s"), rest,
                       what);
}

static struct ath_numa_node *node_of(struct ath_machine *machine, int id)
{
    struct ath_numa_node *node = ath_machine_find_node(machine, id);
    if (node)
        return node;
    node = ath_machine_add_node(machine, id);
    node->is_online = true;
    return node;
}

/* ---- the lines "node 0 cpus: 0 1 2", "node 0 size: 257716 MB", "node 0 free: ..." ---- */

static int take_cpus(struct ath_numa_node *node, const char *rest, struct ath_err *err)
{
    int cpu, found;

    while ((found = next_number(&rest, ATH_ID_MAX, &cpu)) > 0)
        ath_idset_add(&node->cpus, cpu, cpu);
    return found < 0 ? refuse(_("a CPU"), rest, err) : 0;
}

/* numactl writes "<not available>" if it cannot read the size. */
static int take_size(const char *rest, int64_t *out, struct ath_err *err)
{
    int megabytes;
    const char *at = rest;

    if (*(rest + strspn(rest, blanks)) == '<')
        return 0;
    if (next_number(&at, MEGABYTES_MAX, &megabytes) <= 0 || !ath_starts_with(at, " MB"))
        return refuse(_("megabytes"), rest, err);
    *out = (int64_t)megabytes << MEGABYTE_SHIFT;
    return 0;
}

/* Takes a line of a node. Returns false for another line. */
static bool take_node(struct ath_numactl *numactl, int id, const char *rest, int *status,
                      struct ath_err *err)
{
    static const char *const words[] = { "cpus:", "size:", "free:" };
    size_t which = 0;

    while (which < ATH_COUNT(words) && !ath_starts_with(rest, words[which]))
        which++;
    if (which == ATH_COUNT(words))
        return false;
    if (numactl->machine->node_count >= NODES_MAX) {
        *status = ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                              _("there are more than %d NUMA nodes"), NODES_MAX);
        return true;
    }
    struct ath_numa_node *node = node_of(numactl->machine, id);
    rest += strlen(words[which]);
    if (which == 0) {
        ath_idset_add(&numactl->with_cpus, id, id);
        *status = take_cpus(node, rest, err);
    }
    if (which != 0)
        *status =
            take_size(rest, which == 1 ? &node->memory_total_bytes : &node->memory_free_bytes, err);
    return true;
}

/* ---- distances ---- */

/* Takes the head, "node   0   8  252". */
static int take_columns(struct ath_numactl *numactl, const char *rest, struct ath_err *err)
{
    int id, found;

    if (numactl->columns)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("the table of distances has a second head"));
    while ((found = next_number(&rest, ATH_ID_MAX, &id)) > 0) {
        int *column = ath_push(&numactl->columns, &numactl->column_count, sizeof *column);
        *column = id;
        if (numactl->column_count > NODES_MAX)
            return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                               _("there are more than %d NUMA nodes"), NODES_MAX);
    }
    return found < 0 ? refuse(_("a NUMA node"), rest, err) : 0;
}

/* Takes a row, "  0:  10  40  80". */
static int take_distances(struct ath_numactl *numactl, int id, const char *rest,
                          struct ath_err *err)
{
    struct ath_numa_node *node = ath_machine_find_node(numactl->machine, id);
    int value, found = 1;
    size_t count = 0;

    if (!node || node->distance_count)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           node ? _("the distances of node %d occur twice")
                                : _("the table of distances has node %d, which has no line of "
                                    "CPUs"),
                           id);
    while (count < numactl->column_count &&
           (found = next_number(&rest, DISTANCE_MAX, &value)) > 0) {
        struct ath_distance *distance =
            ath_push(&node->distances, &node->distance_count, sizeof *distance);
        *distance = (struct ath_distance){ numactl->columns[count++], value };
    }
    if (found < 0)
        return refuse(_("a distance"), rest, err);
    if (count < numactl->column_count || next_number(&rest, DISTANCE_MAX, &value))
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("the row of node %d does not have %zu distances, as the head of the "
                             "table has nodes"),
                           id, numactl->column_count);
    return 0;
}

/* Returns the number before the colon of "  0:  10  40", with *rest behind it, or -1. */
static int row_number(const char *line, const char **rest)
{
    const char *begin = line + strspn(line, blanks), *colon = strchr(begin, ':');
    int id;

    if (!colon)
        return -1;
    ath_auto_free char *word = ath_xasprintf("%.*s", (int)(colon - begin), begin);
    *rest = colon + 1;
    return ath_parse_int(word, 0, ATH_ID_MAX, &id) ? -1 : id;
}

/* ---- all lines ---- */

/* Takes "available: 6 nodes (0,8,252-255)". */
static int take_available(struct ath_numactl *numactl, const char *rest, int number,
                          struct ath_err *err)
{
    const char *open = strchr(rest, '('), *close = open ? strchr(open, ')') : NULL;

    if (numactl->has_begun)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("a second text of `numactl -H` begins here, and the first one in line "
                             "%d: give the texts of one machine"),
                           numactl->begin_line);
    numactl->has_begun = true;
    numactl->begin_line = number;
    if (!close)
        return refuse(_("NUMA nodes in brackets"), rest, err);
    ath_auto_free char *list = ath_xasprintf("%.*s", (int)(close - open - 1), open + 1);
    if (ath_idset_parse_list(list, &numactl->available))
        return refuse(_("a NUMA node"), list, err);
    return 0;
}

bool ath_numactl_add(struct ath_numactl *numactl, const char *line, int number, int *status,
                     struct ath_err *err)
{
    static const char available[] = "available: ", node[] = "node ";
    const char *rest = line + strspn(line, blanks);
    int id;

    if (ath_starts_with(rest, available)) {
        *status = take_available(numactl, rest + strlen(available), number, err);
        return true;
    }
    if (!numactl->has_begun && ath_starts_with(rest, node) && strstr(rest, " cpus:")) {
        numactl->has_begun = true; /* the first line is not there */
        numactl->begin_line = number;
    }
    if (!numactl->has_begun)
        return false;
    if (ath_starts_with(rest, "node distances:")) {
        numactl->is_in_distances = true;
        return true;
    }
    if (numactl->is_in_distances && (id = row_number(line, &rest)) >= 0) {
        *status = take_distances(numactl, id, rest, err);
        return true;
    }
    if (!ath_starts_with(rest, node))
        return false;
    rest += strlen(node);
    if (numactl->is_in_distances) {
        *status = take_columns(numactl, rest, err);
        return true;
    }
    if (next_number(&rest, ATH_ID_MAX, &id) <= 0)
        return false;
    return take_node(numactl, id, rest + strspn(rest, blanks), status, err);
}

int ath_numactl_check(const struct ath_numactl *numactl, struct ath_err *err)
{
    for (int id = -1; (id = ath_idset_next(&numactl->available, id)) >= 0;)
        if (!ath_idset_has(&numactl->with_cpus, id))
            return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                               _("the line of the CPUs of NUMA node %d is missing"), id);
    for (size_t i = 0; i < numactl->machine->node_count; i++) {
        int id = numactl->machine->nodes[i].id;
        if (numactl->available.range_count && !ath_idset_has(&numactl->available, id))
            return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                               _("the first line does not name NUMA node %d, which has lines"), id);
    }
    return 0;
}
