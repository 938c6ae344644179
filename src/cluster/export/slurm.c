/*
 * Slurm's gres.conf and topology.conf, the lines of slurm.conf for the nodes, and the line of
 * slurm.conf that counts the same GPUs as licenses, for jobs on other nodes
 * (etc/slurm/job_submit.lua).
 *
 * gres.conf: File is the device of the GPU's number; Cores are Slurm's numbers of cores, counted
 * from the first NUMA node on; Links has the number of NVLinks to each GPU, -1 for itself.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cluster/export/export.h"
#include "cluster/hostlist.h"
#include "numa/gpu_links.h"

/* Returns a model as the type of a GRES, as Slurm's own plugin for NVML writes it: small letters,
 * '_' for blanks. NULL without a model. The caller frees it. */
static char *type_of(const struct ath_machine *machine)
{
    char *type = machine->gpu_count ? ath_xstrdup(machine->gpus[0].model) : NULL;

    for (char *c = type; c && *c; c++)
        *c = isalnum((unsigned char)*c) || strchr("-._", *c) ? (char)tolower((unsigned char)*c)
                                                             : '_';
    return type;
}

/* Returns whether one line can stand for two nodes. */
static bool is_alike(const struct ath_cluster *cluster, size_t a, size_t b)
{
    const struct ath_cluster_node *left = &cluster->nodes[a], *right = &cluster->nodes[b];
    return left->machine == right->machine;
}

/* Returns the names of the nodes from first to last - 1. The caller frees them. */
static char *names_of(const struct ath_cluster *cluster, size_t first, size_t last)
{
    ATH_AUTO(ath_texts) names = { 0 };
    for (size_t i = first; i < last; i++)
        ath_texts_add(&names, cluster->nodes[i].name);
    return ath_hostlist_write(&names);
}

/* ---- gres.conf ---- */

/* Returns the numbers of a NUMA node's cores; "" if cores are not known. The caller frees it. */
static char *cores_of(const struct ath_machine *machine, int id)
{
    ATH_AUTO(ath_idset) numbers = { 0 };
    int number = 0;

    for (size_t n = 0; n < machine->node_count; n++)
        for (size_t i = 0; i < machine->core_count; i++) {
            if (!ath_idset_has(&machine->nodes[n].cpus, ath_idset_next(&machine->cores[i], -1)))
                continue;
            if (machine->nodes[n].id == id)
                ath_idset_add(&numbers, number, number);
            number++;
        }
    return ath_idset_format(&numbers);
}

/* Adds " Links=..." if the links to all other GPUs are known. */
static void add_links(const struct ath_machine *machine, size_t gpu, struct ath_text *out)
{
    ATH_AUTO(ath_text) links = { 0 };

    for (size_t i = 0; i < machine->gpu_count; i++) {
        int count = -1;
        if (i != gpu && (!ath_gpu_links(machine, gpu, i, &count) || count < 0))
            return;
        ath_text_add_part(&links, ",", "%d", count);
    }
    ath_text_add(out, " Links=%s", links.data);
}

static void add_gpus(const struct ath_machine *machine, const char *names, struct ath_text *out)
{
    ath_auto_free char *type = type_of(machine);

    for (size_t i = 0; i < machine->gpu_count; i++) {
        ath_auto_free char *cores = cores_of(machine, machine->gpus[i].numa_node);
        ath_text_add(out, "NodeName=%s Name=gpu", names);
        if (type)
            ath_text_add(out, " Type=%s", type);
        ath_text_add(out, " File=/dev/nvidia%zu", i);
        if (*cores)
            ath_text_add(out, " Cores=%s", cores);
        add_links(machine, i, out);
        ath_text_add(out, "\n");
    }
}

/* ---- slurm.conf ---- */

/* Adds the shape of the processors if all NUMA nodes with CPUs have equally many cores, and all
 * cores equally many threads. Slurm counts sockets; these are NUMA nodes. */
static void add_processors(const struct ath_machine *machine, struct ath_text *out)
{
    size_t nodes = 0, threads = 0;

    for (size_t i = 0; i < machine->node_count; i++)
        nodes += ath_idset_count(&machine->nodes[i].cpus) > 0;
    for (size_t i = 0; i < machine->core_count; i++) {
        size_t own = ath_idset_count(&machine->cores[i]);
        if (i && own != threads)
            return;
        threads = own;
    }
    if (nodes && machine->core_count && machine->core_count % nodes == 0)
        ath_text_add(out, " Sockets=%zu CoresPerSocket=%zu ThreadsPerCore=%zu", nodes,
                     machine->core_count / nodes, threads);
}

static void add_memory(const struct ath_machine *machine, struct ath_text *out)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < machine->node_count; i++)
        if (machine->nodes[i].kind == ATH_NODE_CPU && machine->nodes[i].memory_total_bytes > 0)
            bytes += machine->nodes[i].memory_total_bytes;
    if (bytes >> 20)
        ath_text_add(out, " RealMemory=%lld", (long long)(bytes >> 20));
}

static void add_node(const struct ath_machine *machine, const char *names, struct ath_text *out)
{
    ath_auto_free char *type = type_of(machine);

    ath_text_add(out, "NodeName=%s", names);
    add_processors(machine, out);
    add_memory(machine, out);
    if (machine->gpu_count)
        ath_text_add(out, " Gres=gpu:%s%s%zu", type ? type : "", type ? ":" : "",
                     machine->gpu_count);
    ath_text_add(out, "\n");
}

/* ---- licenses.conf ---- */

static void add_licenses(const struct ath_cluster *cluster, struct ath_export *out)
{
    struct ath_text text = { 0 };
    size_t gpus = 0;

    for (size_t i = 0; i < cluster->node_count; i++)
        gpus += cluster->nodes[i].machine->gpu_count;
    ath_text_add(&text, "Licenses=aitherion:%zu\n", gpus);
    if (gpus)
        ath_export_add_text(out, "licenses.conf", ath_text_take(&text));
    else
        ath_text_free(&text);
}

/* ---- topology.conf ---- */

static int add_switch(const struct ath_cluster *cluster, size_t s, struct ath_text *out,
                      struct ath_err *err)
{
    ATH_AUTO(ath_texts) nodes = { 0 };
    ATH_AUTO(ath_texts) switches = { 0 };

    for (size_t i = cluster->node_starts[s]; i < cluster->node_starts[s + 1]; i++)
        ath_texts_add(&nodes, cluster->nodes[cluster->nodes_of[i]].name);
    for (size_t i = cluster->switch_starts[s]; i < cluster->switch_starts[s + 1]; i++)
        ath_texts_add(&switches, cluster->switches[cluster->switches_of[i]].name);
    if (nodes.count && switches.count) {
        ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                    _("below the switch '%s' are nodes and switches, and Slurm's trees have one of "
                      "both"),
                    cluster->switches[s].name);
        return ath_err_hint(err, -EINVAL, _("put the nodes on a switch of their own"));
    }
    if (!nodes.count && !switches.count)
        return 0;
    ath_auto_free char *list = ath_hostlist_write(nodes.count ? &nodes : &switches);
    ath_text_add(out, "SwitchName=%s %s=%s\n", cluster->switches[s].name,
                 nodes.count ? "Nodes" : "Switches", list);
    return 0;
}

static int add_topology(const struct ath_cluster *cluster, struct ath_export *out,
                        struct ath_err *err)
{
    struct ath_text text = { 0 };
    int status = 0;

    if (cluster->has_implied_switch)
        return 0;
    for (size_t i = 0; !status && i < cluster->switch_count; i++)
        status = add_switch(cluster, i, &text, err);
    ath_export_add_text(out, "topology.conf", ath_text_take(&text));
    return status;
}

int ath_export_slurm(const struct ath_export_request *request, struct ath_export *out,
                     struct ath_err *err)
{
    const struct ath_cluster *cluster = request->cluster;
    struct ath_text gres = { 0 }, nodes = { 0 };

    ath_text_add(&nodes, "GresTypes=gpu\n");
    for (size_t i = 0, end; i < cluster->node_count; i = end) {
        for (end = i + 1; end < cluster->node_count && is_alike(cluster, i, end);)
            end++;
        ath_auto_free char *names = names_of(cluster, i, end);
        add_gpus(cluster->nodes[i].machine, names, &gres);
        add_node(cluster->nodes[i].machine, names, &nodes);
    }
    ath_export_add_text(out, "gres.conf", ath_text_take(&gres));
    ath_export_add_text(out, "nodes.conf", ath_text_take(&nodes));
    add_licenses(cluster, out);
    return add_topology(cluster, out, err);
}
