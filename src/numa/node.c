/*
 * NUMA nodes from sys/devices/system/node (Documentation/ABI/stable/sysfs-devices-node).
 *
 * Only online nodes have a folder; `possible` says nothing about what exists (0-255 on AC922). A
 * node's `distance` has one number for each online node, in the order of their ids
 * (drivers/base/node.c, node_read_distance).
 */
#include "config.h"

#include "numa/node.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "numa/read.h"
#include "numa/warning.h"

#define NODES "sys/devices/system/node"
#define CPUS "sys/devices/system/cpu"

/* CONFIG_NODES_SHIFT is at most 10; a distance is one byte of the ACPI SLIT. */
enum { NODES_MAX = 1024, DISTANCE_MAX = 255, CPUS_MAX = 1 << 20 };

/* "3952 kB" in bytes, or ATH_UNKNOWN. */
static int64_t parse_kibibytes(const char *text)
{
    uint64_t value;
    ath_auto_free char *digits = ath_xasprintf("%.*s", (int)strcspn(text, " \t"), text);
    if (ath_parse_u64(digits, 10, &value) || value > INT64_MAX / 1024)
        return ATH_UNKNOWN;
    return (int64_t)value * 1024;
}

/* The length of "Node 8 ", which begins each line of a node's own meminfo. */
static size_t prefix_length(const char *meminfo)
{
    if (!ath_starts_with(meminfo, "Node "))
        return 0;
    size_t digits = strspn(meminfo + 5, "0123456789");
    return meminfo[5 + digits] == ' ' ? 5 + digits + 1 : 0;
}

static int64_t memory_value(const char *meminfo, size_t prefix, const char *key)
{
    ath_auto_free char *whole_key = ath_xasprintf("%.*s%s", (int)prefix, meminfo, key);
    ath_auto_free char *value = ath_line_value(meminfo, whole_key);
    return value ? parse_kibibytes(value) : ATH_UNKNOWN;
}

static void fill_memory(struct ath_numa_node *node, const char *meminfo)
{
    meminfo += strspn(meminfo, "\n");
    size_t prefix = prefix_length(meminfo);
    node->memory_total_bytes = memory_value(meminfo, prefix, "MemTotal");
    node->memory_free_bytes = memory_value(meminfo, prefix, "MemFree");
}

/* A folder like hugepages-2048kB below `path`. */
static void read_hugepage_size(const struct ath_root *root, const char *path, const char *name,
                               struct ath_numa_node *node)
{
    static const char prefix[] = "hugepages-";
    if (!ath_starts_with(name, prefix))
        return;
    ath_auto_free char *digits = ath_xstrdup(name + sizeof prefix - 1);
    digits[strspn(digits, "0123456789")] = '\0';
    int64_t size = parse_kibibytes(digits);
    if (size <= 0)
        return;
    struct ath_hugepages *pages = ath_push(&node->hugepages, &node->hugepage_count, sizeof *pages);
    pages->size_bytes = size;
    pages->total = ath_root_read_number(root, ATH_UNKNOWN, "%s/%s/nr_hugepages", path, name);
    pages->free = ath_root_read_number(root, ATH_UNKNOWN, "%s/%s/free_hugepages", path, name);
}

static void read_hugepages(const struct ath_root *root, const char *path,
                           struct ath_numa_node *node)
{
    char **names;
    size_t count;

    ath_root_list(root, path, &names, &count); /* by size, since names sort as numbers do */
    for (size_t i = 0; i < count; i++)
        read_hugepage_size(root, path, names[i], node);
    ath_names_free(names, count);
}

/* A set of ids in the list form; false where the file is missing or garbled. */
static bool read_list(const struct ath_root *root, struct ath_machine *machine, const char *path,
                      const char *lost, struct ath_idset *out)
{
    ath_auto_free char *text = ath_read_or_warn(root, machine, path, lost);
    if (!text)
        return false;
    if (!ath_idset_parse_list(text, out))
        return true;
    ath_warning_add(machine, ATH_W_GARBLED, path, lost, NULL);
    return false;
}

static void read_cpus(const struct ath_root *root, struct ath_machine *machine,
                      struct ath_numa_node *node, const struct ath_idset *online)
{
    ath_auto_free char *list = ath_xasprintf(NODES "/node%d/cpulist", node->id);
    ath_auto_free char *lost = ath_xasprintf(_("the CPUs of node %d"), node->id);

    if (!read_list(root, machine, list, lost, &node->cpus)) { /* kernels before 2.6.29 */
        ath_auto_free char *mask = ath_root_read(root, NODES "/node%d/cpumap", node->id);
        if (mask)
            ath_idset_parse_mask(mask, &node->cpus);
    }
    if (online) {
        ath_idset_intersect(&node->cpus, online, &node->cpus_online);
        node->has_cpus_online = true;
    }
}

static void read_memory(const struct ath_root *root, struct ath_machine *machine,
                        struct ath_numa_node *node)
{
    ath_auto_free char *path = ath_xasprintf(NODES "/node%d/meminfo", node->id);
    ath_auto_free char *lost = ath_xasprintf(_("the memory of node %d"), node->id);
    ath_auto_free char *text = ath_read_or_warn(root, machine, path, lost);
    ath_auto_free char *pages = ath_xasprintf(NODES "/node%d/hugepages", node->id);

    if (text)
        fill_memory(node, text);
    read_hugepages(root, pages, node);
}

/* Reads the numbers of a `distance` file; returns how many there are, or -1 for garbage. */
static int parse_distances(char *text, const struct ath_idset *online, struct ath_numa_node *node)
{
    char *rest = text;
    int count = 0, other = -1, value;

    for (char *word; (word = strsep(&rest, " \t\n"));) {
        if (!*word)
            continue;
        if (ath_parse_int(word, 0, DISTANCE_MAX, &value))
            return -1;
        count++;
        other = other < 0 && count > 1 ? -1 : ath_idset_next(online, other);
        if (other < 0)
            continue;
        *(struct ath_distance *)ath_push(&node->distances, &node->distance_count,
                                         sizeof *node->distances) =
            (struct ath_distance){ other, value };
    }
    return count;
}

static void read_distances(const struct ath_root *root, struct ath_machine *machine,
                           struct ath_numa_node *node, const struct ath_idset *online)
{
    ath_auto_free char *path = ath_xasprintf(NODES "/node%d/distance", node->id);
    ath_auto_free char *lost = ath_xasprintf(_("the distances of node %d"), node->id);
    ath_auto_free char *text = ath_read_or_warn(root, machine, path, lost);
    if (!text)
        return;

    int count = parse_distances(text, online, node), expected = (int)ath_idset_count(online);
    if (count == expected)
        return;
    free(node->distances);
    node->distances = NULL;
    node->distance_count = 0;
    if (count < 0) {
        ath_warning_add(machine, ATH_W_GARBLED, path, lost, NULL);
        return;
    }
    ath_auto_free char *object = ath_xasprintf("node %d", node->id);
    ath_auto_free char *got = ath_xasprintf("%d", count);
    ath_auto_free char *wanted = ath_xasprintf("%d", expected);
    ath_warning_add(machine, ATH_W_DISTANCE_UNKNOWN, object, got, wanted, NULL);
}

/* The ids of the nodeN folders. */
static int list_folders(const struct ath_root *root, struct ath_idset *out)
{
    char **names;
    size_t count;
    int id, status = ath_root_list(root, NODES, &names, &count);

    *out = (struct ath_idset){ 0 };
    for (size_t i = 0; i < count; i++)
        if (ath_starts_with(names[i], "node") &&
            !ath_parse_int(names[i] + strlen("node"), 0, ATH_ID_MAX, &id))
            ath_idset_add(out, id, id);
    ath_names_free(names, count);
    return status;
}

/* The ids in `online`; the folders' where the file is missing or cannot be true. */
static void read_online(const struct ath_root *root, struct ath_machine *machine,
                        const struct ath_idset *folders, struct ath_idset *out)
{
    bool is_read = read_list(root, machine, NODES "/online", _("which NUMA nodes are online"), out);
    if (is_read && ath_idset_count(out) && ath_idset_count(out) <= NODES_MAX)
        return;
    if (is_read) {
        ath_warning_add(machine, ATH_W_GARBLED, NODES "/online", _("which NUMA nodes are online"),
                        NULL);
        ath_idset_free(out);
    }
    ath_idset_copy(folders, out);
}

static void read_node(const struct ath_root *root, struct ath_machine *machine, int id,
                      const struct ath_idset *folders, const struct ath_idset *online,
                      const struct ath_idset *cpus_online)
{
    struct ath_numa_node *node = ath_machine_add_node(machine, id);
    node->is_online = ath_idset_has(online, id);
    if (!ath_idset_has(folders, id)) {
        ath_auto_free char *path = ath_xasprintf(NODES "/node%d", id);
        ath_auto_free char *lost = ath_xasprintf(_("CPUs and memory of node %d"), id);
        ath_warning_add(machine, ATH_W_UNREADABLE, path, strerror(ENOENT), lost, NULL);
        return;
    }
    read_cpus(root, machine, node, cpus_online);
    read_memory(root, machine, node);
    read_distances(root, machine, node, online);
}

static void read_nodes(const struct ath_root *root, struct ath_machine *machine,
                       const struct ath_idset *folders)
{
    ATH_AUTO(ath_idset) online = { 0 }, cpus_online = { 0 }, all = { 0 };

    read_online(root, machine, folders, &online);
    bool has_cpus_online =
        read_list(root, machine, CPUS "/online", _("which CPUs are online"), &cpus_online);
    ath_idset_copy(folders, &all);
    for (size_t i = 0; i < online.range_count; i++)
        ath_idset_add(&all, online.ranges[i].first, online.ranges[i].last);
    for (int id = -1; (id = ath_idset_next(&all, id)) >= 0;)
        read_node(root, machine, id, folders, &online, has_cpus_online ? &cpus_online : NULL);
}

/* One node 0, as the memory management of such a kernel has it. */
static struct ath_numa_node *add_only_node(const struct ath_root *root, struct ath_machine *machine)
{
    struct ath_numa_node *node = ath_machine_add_node(machine, 0);
    ath_auto_free char *meminfo = ath_root_read(root, "proc/meminfo");

    node->is_online = true;
    if (meminfo)
        fill_memory(node, meminfo);
    struct ath_distance *local = ath_push(&node->distances, &node->distance_count, sizeof *local);
    *local = (struct ath_distance){ 0, 10 };
    return node;
}

/* A kernel without NUMA (CONFIG_NUMA unset): CPUs, but no node folder. */
static void read_without_numa(const struct ath_root *root, struct ath_machine *machine)
{
    struct ath_numa_node *node = add_only_node(root, machine);
    const char *lost = _("which CPUs there are");
    ATH_AUTO(ath_idset) present = { 0 }, online = { 0 };

    bool has_online = read_list(root, machine, CPUS "/online", lost, &online);
    bool has_present = read_list(root, machine, CPUS "/present", lost, &present);
    ath_idset_copy(has_present ? &present : &online, &node->cpus);
    if (has_online) {
        ath_idset_copy(&online, &node->cpus_online);
        node->has_cpus_online = true;
    }
    read_hugepages(root, "sys/kernel/mm/hugepages", node);
    ath_warning_add_whole(machine, ATH_W_NO_NUMA_KERNEL, machine->hostname);
}

/* The CPUs that the scheduler lets this process have. */
static void read_affinity(struct ath_idset *out)
{
    ath_auto_free cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);

    if (!set)
        return;
    CPU_ZERO_S(size, set);
    if (!sched_getaffinity(0, size, set))
        for (int cpu = 0; cpu < CPUS_MAX; cpu++)
            if (CPU_ISSET_S((size_t)cpu, size, set))
                ath_idset_add(out, cpu, cpu);
}

/* A live machine without /sys, as in a bare chroot: system calls still tell CPUs and memory. */
static void read_without_sysfs(const struct ath_root *root, struct ath_machine *machine)
{
    struct ath_numa_node *node = add_only_node(root, machine);
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    read_affinity(&node->cpus);
    if (node->memory_total_bytes == ATH_UNKNOWN && pages > 0 && page_bytes > 0)
        node->memory_total_bytes = (int64_t)pages * page_bytes;
    ath_warning_add(machine, ATH_W_NO_SYSFS, "/sys", NULL);
}

int ath_nodes_read(const struct ath_root *root, struct ath_machine *machine, struct ath_err *err)
{
    ATH_AUTO(ath_idset) folders = { 0 };
    int status = list_folders(root, &folders);

    if (folders.range_count)
        read_nodes(root, machine, &folders);
    else if (status == -ENOENT && ath_root_exists(root, CPUS))
        read_without_numa(root, machine);
    else if (status == -ENOENT && root->is_live)
        read_without_sysfs(root, machine);
    else if (status == -EACCES || status == -EPERM)
        return ath_err_system(err, status, _("cannot read the NUMA nodes in '%s'"), root->path);
    else {
        ath_err_set(err, -ENODATA, ATH_E_NO_NUMA, _("cannot see a NUMA node in '%s'"), root->path);
        return ath_err_hint(err, -ENODATA, _("ls '%s/%s' must show node0 or the like"),
                            root->is_live ? "" : root->path, NODES);
    }
    return 0;
}

/* Warns where ids that exist are not in the list behind `key` of proc/self/status. */
static void check_allowed(struct ath_machine *machine, const char *status, const char *key,
                          const struct ath_idset *existing, const char *object)
{
    ath_auto_free char *list = ath_line_value(status, key);
    ATH_AUTO(ath_idset) allowed = { 0 }, lacking = { 0 };

    if (!list || ath_idset_parse_list(list, &allowed))
        return;
    ath_idset_subtract(existing, &allowed, &lacking);
    if (!lacking.range_count)
        return;
    ath_auto_free char *ids = ath_idset_format(&lacking);
    ath_warning_add(machine, ATH_W_CPUSET_LIMITED, object, ids, NULL);
}

void ath_nodes_check_allowed(const struct ath_root *root, struct ath_machine *machine)
{
    ath_auto_free char *status = ath_root_read(root, "proc/self/status");
    ATH_AUTO(ath_idset) cpus = { 0 }, memory = { 0 };

    if (!status)
        return;
    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *node = &machine->nodes[i];
        for (size_t j = 0; j < node->cpus_online.range_count; j++)
            ath_idset_add(&cpus, node->cpus_online.ranges[j].first,
                          node->cpus_online.ranges[j].last);
        if (node->is_online && node->memory_total_bytes > 0)
            ath_idset_add(&memory, node->id, node->id);
    }
    check_allowed(machine, status, "Cpus_allowed_list", &cpus, "CPUs");
    check_allowed(machine, status, "Mems_allowed_list", &memory, "NUMA nodes");
}
