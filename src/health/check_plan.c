/* Checks of the plan: faults that a start would meet, and warnings. */

#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "health/check_runtime.h"

static const struct {
    enum ath_fault_code fault;
    const char *hint;
} plan_mends[] = {
    { ATH_FAULT_DEVICE_MISSING,
      N_("the drivers make them: nvidia-modprobe -u -c 0 for GPUs, modprobe ib_uverbs for RDMA") },
    { ATH_FAULT_MEMORY_SMALL,
      N_("reserve fewer huge pages (/sys/devices/system/node/node*/hugepages), or: aitherion "
         "configure ID --memory-percent P") },
    { ATH_FAULT_BRIDGE_MISSING, N_("aitherion configure --set engine.network=host") },
};

static const char *plan_mend(const char *code)
{
    for (size_t i = 0; i < ATH_COUNT(plan_mends); i++)
        if (!strcmp(ath_fault_word(plan_mends[i].fault), code))
            return _(plan_mends[i].hint);
    return NULL;
}

/* Reports faults that only the plan finds, not config/check.c. */
bool ath_health_check_from_plan(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    const char *code = health->check->code;

    for (size_t i = 0; i < runtimes->plan_faults.count; i++) {
        const struct ath_fault *fault = &runtimes->plan_faults.items[i];
        if (strcmp(fault->code, code) != 0)
            continue;
        ath_auto_free char *place =
            ath_xasprintf("%s:%d:%d", fault->file, fault->line, fault->column);
        ath_health_hint(ath_health_wrong(health, place, "%s", fault->message), "%s",
                        plan_mend(code));
    }
    return runtimes->has_planned;
}

static void add_warning(struct ath_health *health, const struct ath_plan_node *node,
                        const struct ath_plan_warning *warning)
{
    ath_auto_free char *name = ath_xasprintf("NUMA%d", node->id);
    bool is_named = ath_starts_with(warning->message, name);
    struct ath_health_finding *finding =
        ath_health_wrong(health, warning->object ? warning->object : name, "%s%s%s",
                         is_named ? "" : name, is_named ? "" : ": ", warning->message);
    if (warning->hint)
        ath_health_hint(finding, "%s", warning->hint);
    else
        ath_health_hint(finding, "aitherion start %d --dry-run", node->id);
}

/* True if the node runs with simulated GPUs, so that it needs none of the document. */
static bool runs_simulated(const struct ath_health *health, int id)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    for (size_t i = 0; i < runtimes->count; i++) {
        const struct ath_health_runtime *runtime = &runtimes->items[i];
        if (runtime->id == id && ath_health_is_running(runtime))
            return runtime->status->has_sim_flag || runtime->is_simulated;
    }
    return false;
}

bool ath_health_check_from_plan_warning(struct ath_health *health)
{
    const struct ath_plan *plan = &health->facts->runtimes.plan;

    for (size_t i = 0; i < plan->node_count; i++)
        for (size_t j = 0; j < plan->nodes[i].warning_count; j++) {
            const struct ath_plan_warning *warning = &plan->nodes[i].warnings[j];
            bool is_moot =
                warning->code == ATH_PLAN_W_NO_GPUS && runs_simulated(health, plan->nodes[i].id);
            if (!is_moot && !strcmp(ath_plan_warning_word(warning->code), health->check->code))
                add_warning(health, &plan->nodes[i], warning);
        }
    return plan->node_count > 0;
}
