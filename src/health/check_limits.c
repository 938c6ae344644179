/*
 * Checks of what runtimes may use.
 *
 * CUDA fails to start in a process whose cpuset.mems lacks the NUMA nodes of its GPUs' memory
 * (IBM/powerai#125). A container made before these nodes were online lacks them until it is made
 * again.
 */

#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "health/check_runtime.h"

/* Returns the ids of the wanted set that are missing from the kernel's list; "" for none. Returns
 * NULL if the list is not known. The caller frees it. */
static char *lacking(const struct ath_idset *wanted, const char *list)
{
    ATH_AUTO(ath_idset) present = { 0 };
    ATH_AUTO(ath_idset) missing = { 0 };

    if (!list || ath_idset_parse_list(list, &present))
        return NULL;
    ath_idset_subtract(wanted, &present, &missing);
    return ath_idset_format(&missing);
}

static void look_mems(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    ath_auto_free char *name = ath_health_runtime_name(runtime);
    ath_auto_free char *missing =
        runtime->wanted ? lacking(&runtime->wanted->memory_nodes, runtime->status->memory_nodes)
                        : NULL;

    if (!missing || !*missing)
        return;
    struct ath_health_finding *finding = ath_health_wrong(
        health, name,
        _("the runtime of %s may not use the memory of NUMA nodes %s (its cpuset.mems is %s): CUDA "
          "will not start if that is the memory of a GPU"),
        name, missing, runtime->status->memory_nodes);
    if (runtime->status->limits)
        ath_health_hint(finding, "%s", runtime->status->limits);
    else
        ath_health_hint_command(finding, "restart", runtime);
}

bool ath_health_check_runtime_mems(struct ath_health *health)
{
    return ath_health_each_running(health, look_mems);
}

static void look_cpus(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    ath_auto_free char *name = ath_health_runtime_name(runtime);
    ath_auto_free char *wanted = runtime->wanted ? ath_idset_format(&runtime->wanted->cpus) : NULL;

    if (!wanted || !*wanted || !runtime->status->cpus || !strcmp(wanted, runtime->status->cpus))
        return;
    struct ath_health_finding *finding = ath_health_wrong(
        health, name, _("the runtime of %s may use the CPUs %s, but should use %s"), name,
        runtime->status->cpus, wanted);
    if (runtime->status->limits)
        ath_health_hint(finding, "%s", runtime->status->limits);
    else
        ath_health_hint_command(finding, "restart", runtime);
}

bool ath_health_check_runtime_cpus(struct ath_health *health)
{
    return ath_health_each_running(health, look_cpus);
}

static void look_memlock(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    ath_auto_free char *name = ath_health_runtime_name(runtime);
    int64_t bytes = runtime->status->memlock_bytes;

    if (!runtime->wanted || !runtime->wanted->has_memlock || bytes == ATH_UNKNOWN ||
        bytes == INT64_MAX)
        return;
    ath_health_hint(
        ath_health_wrong(
            health, name,
            _("the runtime of %s may lock only %lld KiB of memory: RDMA and GPUs need more"), name,
            (long long)(bytes / 1024)),
        _("allow Docker to raise limits: LimitMEMLOCK=infinity in its systemd unit"));
}

bool ath_health_check_runtime_memlock(struct ath_health *health)
{
    return ath_health_each_running(health, look_memlock);
}
