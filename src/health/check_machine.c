/* Checks of the machine: the warnings of its model, and memory that the document relies on. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "config/check.h"
#include "health/check.h"
#include "numa/gpu_health.h"
#include "numa/usable.h"
#include "numa/warning.h"

static bool is_parent(const struct ath_document *document, const char *link)
{
    for (size_t i = 0; document && i < document->roce.macvlans.count; i++)
        if (!strcmp(document->roce.macvlans.items[i].parent, link))
            return true;
    return false;
}

/* True if a check of the document reports the same as a fault, with the entries that it affects. */
static bool is_told_by_another(const struct ath_health *health, const struct ath_warning *warning)
{
    const char *code = warning->code, *object = warning->object;

    if (!object)
        return false;
    if (!strcmp(code, ath_warning_word(ATH_W_NO_USABLE_GID)))
        return ath_health_is_bound(health->facts, object);
    return !strcmp(code, ath_warning_word(ATH_W_INFINIBAND_MODE)) &&
           is_parent(health->facts->document, object);
}

static bool has_gpus(const struct ath_machine *machine)
{
    return machine->gpu_count > 0;
}

static bool knows_links(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].has_nvlinks)
            return true;
    return false;
}

static bool has_measured(const struct ath_machine *machine)
{
    return machine->measured != NULL;
}

static bool has_nics(const struct ath_machine *machine)
{
    return machine->nic_count > 0;
}

static bool is_live(const struct ath_machine *machine)
{
    return machine->source == ATH_SOURCE_LIVE;
}

static bool knows_drivers(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].knows_driver)
            return true;
    return false;
}

/* NVML is asked only on the live machine. */
static bool asks_nvml(const struct ath_machine *machine)
{
    for (size_t i = 0; is_live(machine) && i < machine->gpu_count; i++)
        if (machine->gpus[i].vendor_id == ATH_VENDOR_NVIDIA)
            return true;
    return false;
}

/* For each kind of warning the condition under which discovery looks for it. If the condition does
 * not hold, the absence of a warning says nothing. Discovery always looks for kinds that are not
 * listed. */
static const struct {
    enum ath_warning_kind kind;
    bool (*is_looked_at)(const struct ath_machine *machine);
} conditions[] = {
    { ATH_W_GPU_DRIVER, knows_drivers },
    { ATH_W_GPU_LOST, knows_drivers },
    { ATH_W_GPU_MEMORY_UNKNOWN, has_gpus },
    { ATH_W_MEMORY_OWNER_UNKNOWN, ath_machine_has_gpu_nodes },
    { ATH_W_GPU_NODE_UNKNOWN, has_gpus },
    { ATH_W_MEMORY_NODE_MISSING, has_gpus },
    { ATH_W_GPU_MEMORY_OFFLINE, has_gpus },
    { ATH_W_NVML_MISSING, asks_nvml },
    { ATH_W_NVML_FAILED, asks_nvml },
    { ATH_W_SMI_TOPO, knows_links },
    { ATH_W_GPU_LINKS_LOST, knows_links },
    { ATH_W_LINKS_SLOW, has_measured },
    { ATH_W_CPUSET_LIMITED, is_live },
    { ATH_W_SAME_SUBNET, has_nics },
    { ATH_W_INFINIBAND_MODE, has_nics },
    { ATH_W_NO_USABLE_GID, has_nics },
    { ATH_W_NO_SYSFS, is_live },
};

static bool is_looked_at(const char *code, const struct ath_machine *machine)
{
    for (size_t i = 0; i < ATH_COUNT(conditions); i++)
        if (!strcmp(ath_warning_word(conditions[i].kind), code))
            return conditions[i].is_looked_at(machine);
    return true;
}

static void add_hint(struct ath_health_finding *finding, const struct ath_warning *warning)
{
    if (warning->hint)
        ath_health_hint(finding, "%s", warning->hint);
}

bool ath_health_check_from_warning(struct ath_health *health)
{
    const struct ath_machine *machine = health->facts->machine;

    for (size_t i = 0; i < machine->warning_count; i++) {
        const struct ath_warning *warning = &machine->warnings[i];
        if (strcmp(warning->code, health->check->code) != 0 || is_told_by_another(health, warning))
            continue;
        add_hint(ath_health_wrong(health, warning->object, "%s", warning->message), warning);
    }
    return is_looked_at(health->check->code, machine);
}

/* Returns the machine's GPU with this address, or NULL. */
static const struct ath_gpu *gpu_at(const struct ath_machine *machine, const char *address)
{
    struct ath_pci pci;
    return address && !ath_pci_parse(address, &pci) ? ath_machine_gpu(machine, &pci) : NULL;
}

/* True if an entry of the document serves the GPU. */
static bool is_served(const struct ath_document *document, const struct ath_gpu *gpu)
{
    for (size_t i = 0; i < document->numa.count; i++)
        for (size_t g = 0; g < document->numa.items[i].gpus.count; g++) {
            struct ath_pci pci;
            if (!ath_pci_parse(document->numa.items[i].gpus.items[g], &pci) &&
                ath_pci_equals(&pci, &gpu->pci))
                return true;
        }
    return false;
}

static bool has_fault(const struct ath_health *health, const char *code)
{
    ATH_AUTO(ath_faults) faults = { 0 };

    ath_document_check(health->facts->document, health->facts->machine, &faults);
    for (size_t i = 0; i < faults.count; i++)
        if (!strcmp(faults.items[i].code, code))
            return true;
    return false;
}

/* Reports GPUs that CUDA cannot use. A GPU that the document leaves out may be in use by others, a
 * virtual machine for example. If the document has no fault, the doubt is a warning. */
bool ath_health_check_gpu_usable(struct ath_health *health)
{
    const struct ath_machine *machine = health->facts->machine;
    const struct ath_document *document = health->facts->document;
    const char *code = health->check->code;

    for (size_t i = 0; i < machine->warning_count; i++) {
        const struct ath_warning *warning = &machine->warnings[i];
        const struct ath_gpu *gpu = gpu_at(machine, warning->object);
        if (strcmp(warning->code, code) != 0 || (document && gpu && !is_served(document, gpu)))
            continue;
        bool is_doubt = document && gpu && !has_fault(health, code);
        add_hint(is_doubt ? ath_health_warn(health, warning->object, "%s", warning->message)
                          : ath_health_wrong(health, warning->object, "%s", warning->message),
                 warning);
    }
    return is_looked_at(code, machine);
}

/* Reports each reason of a low score that no other check reports. A fault is only what the document
 * serves, or what it may serve when it is made. */
static void report_deductions(struct ath_health *health, const struct ath_gpu *gpu,
                              const char *object)
{
    const struct ath_document *document = health->facts->document;
    bool is_fault =
        gpu->health.score < ATH_GPU_SCORE_POOR && (!document || is_served(document, gpu));

    for (size_t i = 0; i < gpu->health.deduction_count; i++) {
        enum ath_gpu_deduction deduction = gpu->health.deductions[i];
        ath_auto_free char *message = ath_gpu_deduction_message(deduction, &gpu->facts, object);
        ath_auto_free char *hint = ath_gpu_deduction_hint(deduction, &gpu->facts, object);
        int points = ath_gpu_deduction_points(deduction);
        if (ath_gpu_deduction_is_told(health->facts->machine, gpu, deduction))
            continue;
        const char *format = _("%s (takes %d points; the GPU's health score is %d of 100)");
        ath_health_hint(
            is_fault ? ath_health_wrong(health, object, format, message, points, gpu->health.score)
                     : ath_health_warn(health, object, format, message, points, gpu->health.score),
            "%s", hint);
    }
}

/* Says the score of a GPU that is well, and what is not known of it. */
static void report_fine(struct ath_health *health, const struct ath_gpu *gpu)
{
    ATH_AUTO(ath_text) text = { 0 };
    char object[ATH_PCI_TEXT];
    size_t place = 0;

    ath_pci_format(&gpu->pci, object);
    for (size_t i = 0; i < gpu->health.deduction_count; i++) {
        ath_auto_free char *message =
            ath_gpu_deduction_message(gpu->health.deductions[i], &gpu->facts, object);
        ath_text_add(&text, "; %s", message);
    }
    for (const char *name, *start = _("; not known: ");
         (name = ath_gpu_next_unknown(&gpu->facts, &place)); start = _(", "))
        ath_text_add(&text, "%s%s", start, name);
    ath_health_fine(health, object, _("the health score of GPU '%s' is %d of 100%s"), object,
                    gpu->health.score, text.data ? text.data : "");
}

bool ath_health_check_gpu_health(struct ath_health *health)
{
    const struct ath_machine *machine = health->facts->machine;

    for (size_t i = 0; i < machine->warning_count; i++) {
        const struct ath_warning *warning = &machine->warnings[i];
        const struct ath_gpu *gpu = gpu_at(machine, warning->object);
        if (strcmp(warning->code, health->check->code) != 0)
            continue;
        if (gpu)
            report_deductions(health, gpu, warning->object);
        else
            add_hint(ath_health_wrong(health, warning->object, "%s", warning->message), warning);
    }
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].health.score >= ATH_GPU_SCORE_FINE)
            report_fine(health, &machine->gpus[i]);
    return false; /* each GPU with a score has a finding, except those of other checks */
}

/* Only '/proc' tells the state; a topology file does not. */
bool ath_health_check_gpu_memory(struct ath_health *health)
{
    const struct ath_machine *machine = health->facts->machine;

    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        char pci[ATH_PCI_TEXT];
        if (gpu->memory_node != ATH_UNKNOWN && gpu->memory_state == ATH_MEMORY_UNKNOWN)
            ath_health_unsure(health, ath_pci_format(&gpu->pci, pci),
                              _("could not tell whether the memory of GPU '%s' (NUMA node %d) is "
                                "online: '/proc/driver/nvidia' does not say"),
                              pci, gpu->memory_node);
    }
    return ath_health_check_from_warning(health);
}

/* True for a GPU's own memory, on which the check "gpu-memory-offline" reports with a better
 * hint. */
static bool is_gpu_memory(const struct ath_machine *machine, int node)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].memory_node == node)
            return true;
    return false;
}

static void look_at_node(struct ath_health *health, const struct ath_document_numa *entry, int id)
{
    const struct ath_numa_node *node = ath_machine_node(health->facts->machine, id);
    ath_auto_free char *object = ath_xasprintf("node %d", id);

    if (!node || node->is_online || is_gpu_memory(health->facts->machine, id))
        return; /* another check reports a missing node */
    struct ath_health_finding *finding =
        id == entry->node
            ? ath_health_wrong(health, object, _("NUMA node %d, on which NUMA%d runs, is offline"),
                               id, entry->id)
            : ath_health_wrong(health, object,
                               _("NUMA node %d, whose memory NUMA%d may use, is offline"), id,
                               entry->id);
    ath_health_hint(finding,
                    _("bring its memory online (lsmem shows it): chmem --enable --blocks "
                      "RANGE; or leave it out: aitherion configure %d --set "
                      "memory_nodes=NODES"),
                    entry->id);
}

bool ath_health_check_node_offline(struct ath_health *health)
{
    const struct ath_document *document = health->facts->document;

    for (size_t i = 0; document && i < document->numa.count; i++) {
        const struct ath_document_numa *entry = &document->numa.items[i];
        const struct ath_idset *set = &entry->memory_nodes;
        if (!ath_idset_has(set, entry->node))
            look_at_node(health, entry, entry->node);
        for (int id = ath_idset_next(set, -1); id >= 0; id = ath_idset_next(set, id))
            look_at_node(health, entry, id);
    }
    return document && document->numa.count;
}
