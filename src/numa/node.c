/*
 * NUMA nodes from sys/devices/system/node (Documentation/ABI/stable/sysfs-devices-node).
 *
 * Only online nodes have a folder. `possible` does not say which nodes exist (0-255 on AC922). A
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
#define DAX "sys/bus/dax/devices"

/* CONFIG_NODES_SHIFT is at most 10; a distance is one byte of the ACPI SLIT. */
enum { NODES_MAX = 1024, DISTANCE_MAX = 255, CPUS_MAX = 1 << 20 };

/* Returns the bytes of "3952 kB", or ATH_UNKNOWN. */
static int64_t parse_kibibytes(const char *text)
{
    uint64_t value;
    ath_auto_free char *digits = ath_xasprintf("%.*s", (int)strcspn(text, " \t"), text);
    if (ath_parse_u64(digits, 10, &value) || value > INT64_MAX / 1024)
        return ATH_UNKNOWN;
    return (int64_t)value * 1024;
}

/* Returns the length of "Node 8 ", which begins each line of a node's meminfo. */
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

/* Reads a folder like hugepages-2048kB below `path`. */
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

    /* sorted by size, because numbers in names sort as numbers */
    ath_root_list(root, path, &names, &count);
    for (size_t i = 0; i < count; i++)
        read_hugepage_size(root, path, names[i], node);
    ath_names_free(names, count);
}

/* Reads a set of ids in list form. Returns false if the file is missing or invalid. */
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

/* Adds the CPUs of the links cpuN in a node's folder. Newer kernels leave offline CPUs out of
 * cpulist (node_read_cpumap() in drivers/base/node.c), but keep their links. */
static void add_linked_cpus(const struct ath_root *root, struct ath_numa_node *node)
{
    ath_auto_free char *path = ath_xasprintf(NODES "/node%d", node->id);
    char **names;
    size_t count;
    int cpu;

    ath_root_list(root, path, &names, &count);
    for (size_t i = 0; i < count; i++)
        if (ath_starts_with(names[i], "cpu") &&
            !ath_parse_int(names[i] + strlen("cpu"), 0, ATH_ID_MAX, &cpu))
            ath_idset_add(&node->cpus, cpu, cpu);
    ath_names_free(names, count);
}

static void read_cpus(const struct ath_root *root, struct ath_machine *machine,
                      struct ath_numa_node *node, const struct ath_idset *online)
{
    ath_auto_free char *list = ath_xasprintf(NODES "/node%d/cpulist", node->id);
    ath_auto_free char *lost = ath_xasprintf(_("the CPUs of node %d"), node->id);

    if (!read_list(root, machine, list, lost, &node->cpus)) { /* needed for kernels before 2.6.29 */
        ath_auto_free char *mask = ath_root_read(root, NODES "/node%d/cpumap", node->id);
        if (mask)
            ath_idset_parse_mask(mask, &node->cpus);
    }
    if (online) {
        add_linked_cpus(root, node);
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

/* Reads the numbers of a `distance` file. Returns how many there are, or -1 if one is invalid. */
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

/* Tells the kind of memory that a DAX device gave to a node, from the device's place: below CXL's
 * root device, a bus of NVDIMMs, or memory that the firmware keeps for a purpose (HBM). */
static const char *kind_of_dax(const char *path)
{
    static const struct {
        const char *mark, *kind;
    } kinds[] = {
        { "/ACPI0017", "CXL" }, { "/dax_region", "CXL" }, { "/ndbus", "NVM" }, { "/hmem", "SPM" }
    };

    for (size_t i = 0; i < ATH_COUNT(kinds); i++)
        if (strstr(path, kinds[i].mark))
            return kinds[i].kind;
    return NULL;
}

static void read_memory_kinds(const struct ath_root *root, struct ath_machine *machine)
{
    char **names;
    size_t count;

    ath_root_list(root, DAX, &names, &count);
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *path = ath_root_link(root, DAX "/%s", names[i]);
        int64_t id = ath_root_read_number(root, ATH_UNKNOWN, DAX "/%s/target_node", names[i]);
        struct ath_numa_node *node =
            path && id >= 0 && id <= ATH_ID_MAX ? ath_machine_find_node(machine, (int)id) : NULL;
        if (node && !node->cpus.range_count && !node->memory_kind)
            node->memory_kind = ath_xstrdup(kind_of_dax(path));
    }
    ath_names_free(names, count);
}

/* Lists the ids of the nodeN folders. Returns 0 or a negative errno. */
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

/* Reads the ids in `online`, or uses the ids of the folders if the file is missing or
 * implausible. */
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

/* Reads which CPUs are online, from each CPU's own file if there is no list (kernels
 * before 2.6.28). A CPU that cannot be switched off has no such file. Returns false if that is not
 * known. */
static bool read_cpus_online(const struct ath_root *root, struct ath_machine *machine,
                             struct ath_idset *out)
{
    char **names;
    size_t count;
    int cpu;

    if (read_list(root, machine, CPUS "/online", _("which CPUs are online"), out))
        return true;
    if (ath_root_exists(root, CPUS "/online"))
        return false;
    ath_root_list(root, CPUS, &names, &count);
    for (size_t i = 0; i < count; i++)
        if (ath_starts_with(names[i], "cpu") &&
            !ath_parse_int(names[i] + strlen("cpu"), 0, CPUS_MAX - 1, &cpu) &&
            ath_root_read_number(root, 1, CPUS "/%s/online", names[i]))
            ath_idset_add(out, cpu, cpu);
    ath_names_free(names, count);
    return out->range_count;
}

static void read_nodes(const struct ath_root *root, struct ath_machine *machine,
                       const struct ath_idset *folders)
{
    ATH_AUTO(ath_idset) online = { 0 }, cpus_online = { 0 }, all = { 0 };

    read_online(root, machine, folders, &online);
    bool has_cpus_online = read_cpus_online(root, machine, &cpus_online);
    ath_auto_free char *smt = ath_root_read(root, CPUS "/smt/control");
    machine->is_smt_off = smt && (!strcmp(smt, "off") || !strcmp(smt, "forceoff"));
    ath_idset_copy(folders, &all);
    for (size_t i = 0; i < online.range_count; i++)
        ath_idset_add(&all, online.ranges[i].first, online.ranges[i].last);
    for (int id = -1; (id = ath_idset_next(&all, id)) >= 0;)
        read_node(root, machine, id, folders, &online, has_cpus_online ? &cpus_online : NULL);
    read_memory_kinds(root, machine);
}

/* Adds node 0, the only node of a kernel without NUMA. */
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

/* Reads a machine whose kernel has no NUMA (CONFIG_NUMA unset): CPUs, but no node folder. */
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

/* Reads the CPUs that the scheduler allows for this process. */
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

/* Reads a live machine without /sys, as in a bare chroot, with system calls. */
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
        ath_err_set(err, -ENODATA, ATH_E_NO_NUMA, _("no NUMA node is visible in '%s'"), root->path);
        return ath_err_hint(err, -ENODATA, _("ls '%s/%s' must list a node such as node0"),
                            root->is_live ? "" : root->path, NODES);
    }
    return 0;
}

/* Files with the CPUs and memory nodes of a cpuset, as hwloc-gather-topology captures them (cgroup
 * v2, cgroup v1, the older file system). */
static const char *const cpuset_files[][2] = {
    { "sys/fs/cgroup%s/cpuset.cpus.effective", "sys/fs/cgroup%s/cpuset.mems.effective" },
    { "sys/fs/cgroup/cpuset%s/cpuset.cpus", "sys/fs/cgroup/cpuset%s/cpuset.mems" },
    { "dev/cpuset%s/cpus", "dev/cpuset%s/mems" },
};

/* Returns the list of CPUs (which: 0) or memory nodes (1) of the cpuset of the process that took a
 * capture, or NULL. The caller frees it. */
static char *read_cpuset(const struct ath_root *root, int which)
{
    ath_auto_free char *cpuset = ath_root_read(root, "proc/self/cpuset");
    char *list = NULL;

    for (size_t i = 0; cpuset && *cpuset == '/' && !list && i < ATH_COUNT(cpuset_files); i++) {
        const char *place = strstr(cpuset_files[i][which], "%s");
        list = ath_root_read(root, "%.*s%s%s", (int)(place - cpuset_files[i][which]),
                             cpuset_files[i][which], strcmp(cpuset, "/") ? cpuset : "", place + 2);
    }
    return list;
}

/* Warns about existing ids that are missing in the list of allowed ones. */
static void check_allowed(struct ath_machine *machine, const char *list,
                          const struct ath_idset *existing, const char *object)
{
    ATH_AUTO(ath_idset) allowed = { 0 }, lacking = { 0 };

    if (!list || ath_idset_parse_list(list, &allowed))
        return;
    ath_idset_subtract(existing, &allowed, &lacking);
    if (!lacking.range_count)
        return;
    ath_auto_free char *ids = ath_idset_format(&lacking);
    ath_warning_add(machine, ATH_W_CPUSET_LIMITED, object, ids,
                    machine->source == ATH_SOURCE_LIVE ? _("this process")
                                                       : _("the process that took the capture"),
                    NULL);
}

void ath_nodes_check_allowed(const struct ath_root *root, struct ath_machine *machine)
{
    ath_auto_free char *status = ath_root_read(root, "proc/self/status");
    ath_auto_free char *cpu_list =
        status ? ath_line_value(status, "Cpus_allowed_list") : read_cpuset(root, 0);
    ath_auto_free char *memory_list =
        status ? ath_line_value(status, "Mems_allowed_list") : read_cpuset(root, 1);
    ATH_AUTO(ath_idset) cpus = { 0 }, memory = { 0 };

    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *node = &machine->nodes[i];
        for (size_t j = 0; j < node->cpus_online.range_count; j++)
            ath_idset_add(&cpus, node->cpus_online.ranges[j].first,
                          node->cpus_online.ranges[j].last);
        if (node->is_online && node->memory_total_bytes > 0)
            ath_idset_add(&memory, node->id, node->id);
    }
    check_allowed(machine, cpu_list, &cpus, "CPUs");
    check_allowed(machine, memory_list, &memory, "NUMA nodes");
}
