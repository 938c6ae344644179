/* The part of kubelet's configuration for NUMA nodes. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cluster/export/export.h"
#include "numa/usable.h"

/*
 * kubelet's bit mask of NUMA nodes has 64 bits, and an id above 63 disables every policy without a
 * word (pkg/kubelet/cm/topologymanager/bitmask). Above eight nodes it wants an option. Without a
 * setting it evicts pods below 100 MiB, and the reserved memory must be exactly the sum of what is
 * reserved for the system, for Kubernetes and for that limit.
 */
enum { ID_MAX = 63, NODES_MAX = 8 };
static const uint64_t mib = 1 << 20, eviction_bytes = UINT64_C(100) << 20;

static int check_ids(const struct ath_cluster_node *of, struct ath_err *err)
{
    for (size_t i = 0; i < of->machine->node_count; i++) {
        int id = of->machine->nodes[i].id;
        if (id <= ID_MAX)
            continue;
        ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                    _("kubelet cannot align to the NUMA nodes of '%s': it knows ids up to %d, and "
                      "there is node %d"),
                    of->name, ID_MAX, id);
        return ath_err_hint(err, -EINVAL,
                            _("leave topologyManagerPolicy none; aitherion export nrt, or pod"));
    }
    return 0;
}

static bool has_memory(const struct ath_machine *machine, size_t node)
{
    return machine->nodes[node].memory_total_bytes > 0 &&
           ath_node_has_memory(machine, &machine->nodes[node]);
}

/* Fills the list of reserved memory. Returns the sum in *out_bytes. */
static int reserve(const struct ath_export_request *request, const struct ath_cluster_node *of,
                   json_t *list, uint64_t *out_bytes, struct ath_err *err)
{
    const struct ath_machine *machine = of->machine;
    ath_auto_free char *amount = ath_xasprintf("%" PRIu64 "Mi", request->reserved_bytes / mib);

    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *node = &machine->nodes[i];
        if (!has_memory(machine, i))
            continue;
        if ((uint64_t)node->memory_total_bytes <= request->reserved_bytes) {
            ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("NUMA node %d of '%s' has no %s to reserve"),
                        node->id, of->name, amount);
            return ath_err_hint(err, -EINVAL, _("give less with --reserved"));
        }
        json_array_append_new(
            list, json_pack("{s:i, s:{s:s}}", "numaNode", node->id, "limits", "memory", amount));
        *out_bytes += request->reserved_bytes;
    }
    if (*out_bytes > eviction_bytes)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                *out_bytes ? _("the reserved memory of '%s' does not add up: kubelet keeps 100 MiB "
                               "for evictions, and all NUMA nodes together reserve no more")
                           : _("the memory of the NUMA nodes of '%s' is not known"),
                of->name);
    return ath_err_hint(err, -EINVAL,
                        *out_bytes ? _("give more with --reserved")
                                   : _("export from the machine or from its JSON"));
}

/* Returns the CPUs of the first core; NULL if no CPU is known. The caller frees the text. */
static char *first_core(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->node_count; i++) {
        int cpu = ath_idset_next(&machine->nodes[i].cpus, -1);
        if (cpu < 0)
            continue;
        for (size_t k = 0; k < machine->core_count; k++)
            if (ath_idset_has(&machine->cores[k], cpu))
                return ath_idset_format(&machine->cores[k]);
        return ath_xasprintf("%d", cpu);
    }
    return NULL;
}

static int add_node(const struct ath_export_request *request, const struct ath_cluster_node *node,
                    struct ath_export *out, struct ath_err *err)
{
    json_auto_t *reserved = json_array();
    ath_auto_free char *cpus = first_core(node->machine);
    uint64_t bytes = 0;

    int status = check_ids(node, err);
    if (!status)
        status = reserve(request, node, reserved, &bytes, err);
    if (!status && !cpus)
        status = ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("the CPUs of '%s' are not known"),
                             node->name);
    if (status)
        return status;
    ath_auto_free char *system = ath_xasprintf("%" PRIu64 "Mi", (bytes - eviction_bytes) / mib);
    ath_auto_free char *name =
        request->is_machine ? ath_xstrdup("kubelet.yaml") : ath_xasprintf("%s.yaml", node->name);
    json_t *value = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:{s:s}, s:s, s:s, s:{s:s}, s:{s:s}, s:O}", "apiVersion",
        "kubelet.config.k8s.io/v1beta1", "kind", "KubeletConfiguration", "topologyManagerPolicy",
        "best-effort", "topologyManagerScope", "pod", "cpuManagerPolicy", "static",
        "cpuManagerPolicyOptions", "full-pcpus-only", "true", "reservedSystemCPUs", cpus,
        "memoryManagerPolicy", "Static", "systemReserved", "memory", system, "evictionHard",
        "memory.available", "100Mi", "reservedMemory", reserved);
    if (node->machine->node_count > NODES_MAX) {
        ath_auto_free char *count = ath_xasprintf("%zu", node->machine->node_count);
        json_object_set_new(value, "topologyManagerPolicyOptions",
                            json_pack("{s:s}", "max-allowable-numa-nodes", count));
    }
    ath_export_add_value(out, name, value);
    return 0;
}

int ath_export_kubelet(const struct ath_export_request *request, struct ath_export *out,
                       struct ath_err *err)
{
    int status = 0;

    if (request->reserved_bytes % mib) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("--reserved must be whole MiB"));
        return ath_err_hint(err, -EINVAL, "--reserved 1G");
    }
    for (size_t i = 0; !status && i < request->cluster->node_count; i++)
        status = add_node(request, &request->cluster->nodes[i], out, err);
    return status;
}
