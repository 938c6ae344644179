/*
 * How an entry's GPUs come into its container.
 *
 * First choice: names of a CDI specification. Such devices survive `systemctl daemon-reload`, after
 * which devices that only a hook has allowed are lost (nvidia-container-toolkit issue 48). Second
 * choice: NVIDIA's runtime or hook, with the device nodes listed as well for the same reason. Last
 * choice: device nodes and the driver's libraries alone, as on ppc64le, which NVIDIA's toolkit
 * dropped in 1.18. nvidia-modeset is for displays and left out.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "container/plan/parts.h"
#include "numa/usable.h"

static const char nvidia_driver_hint[] =
    N_("load NVIDIA's driver: modprobe nvidia; nvidia-modprobe -u -c 0");
static const char memory_online_hint[] =
    "systemctl enable nvidia-persistenced; systemctl restart nvidia-persistenced";

/* Device nodes of the driver. CUDA programs run without the optional ones. */
static const struct {
    const char *path;
    bool is_optional;
} shared_devices[] = {
    { "/dev/nvidiactl", false },
    { "/dev/nvidia-uvm", false },
    { "/dev/nvidia-uvm-tools", true }, /* for debuggers and profilers */
};

/* Returns the index among NVIDIA's GPUs by PCI address, as NVML and nvidia-smi count. */
static int index_of(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    int index = 0;
    for (size_t i = 0; i < machine->gpu_count; i++) {
        if (&machine->gpus[i] == gpu)
            return index;
        index += ath_gpu_lack(machine, &machine->gpus[i]) != ATH_GPU_LACKS_CUDA;
    }
    return ATH_UNKNOWN;
}

/* Returns a copy of "GPU-255a9220-0000-4000-8000-000000000000"; NULL for invalid contents of a
 * capture. */
static char *copy_uuid(const char *uuid)
{
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";
    return uuid && *uuid && !uuid[strspn(uuid, characters)] ? ath_xstrdup(uuid) : NULL;
}

static void add_gpu(const struct ath_plan_making *making, const struct ath_gpu *gpu,
                    struct ath_plan_node *node)
{
    struct ath_plan_gpu *added = ath_push(&node->gpus, &node->gpu_count, sizeof *added);
    int minor = ath_plan_facts_minor(making->facts, &gpu->pci);

    *added = (struct ath_plan_gpu){
        .pci = gpu->pci,
        .uuid = copy_uuid(gpu->uuid),
        .index = index_of(making->machine, gpu),
        .device = minor == ATH_UNKNOWN ? NULL : ath_xasprintf("/dev/nvidia%d", minor),
        .cdi_name = ath_xstrdup(ath_cdi_find(&making->facts->cdi, gpu->uuid, minor)),
        .memory_node = gpu->memory_node,
        .is_waited_for = gpu->memory_node != ATH_UNKNOWN && gpu->memory_state == ATH_MEMORY_OFFLINE,
    };
    if (gpu->memory_node != ATH_UNKNOWN)
        ath_idset_add(&node->memory_nodes, gpu->memory_node, gpu->memory_node);
}

static void check_gpu(const struct ath_gpu *gpu, enum ath_gpu_lack lack, const char *pci,
                      struct ath_plan_node *node)
{
    if (lack == ATH_GPU_LACKS_MEMORY_OWNER)
        ath_plan_warn(node, ATH_PLAN_W_GPU_MEMORY_UNKNOWN, pci,
                      ath_xasprintf("cat /proc/driver/nvidia/gpus/%s/numa_status", pci),
                      _("the NUMA node of the memory of GPU %s is not known: CUDA starts only if "
                        "it is among the memory nodes"),
                      pci);
    if (lack == ATH_GPU_LACKS_MEMORY_ONLINE)
        ath_plan_warn(node, ATH_PLAN_W_GPU_MEMORY_OFFLINE, pci, ath_xstrdup(memory_online_hint),
                      _("the memory of GPU %s (NUMA node %d) is not online: start waits for it"),
                      pci, gpu->memory_node);
}

static void list_gpus(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                      struct ath_plan_node *node)
{
    struct ath_pci pci;

    for (size_t i = 0; i < numa->gpus.count; i++) {
        const char *text = numa->gpus.items[i];
        const struct ath_gpu *gpu =
            ath_pci_parse(text, &pci) ? NULL : ath_machine_gpu(making->machine, &pci);
        enum ath_gpu_lack lack = gpu ? ath_gpu_lack(making->machine, gpu) : ATH_GPU_LACKS_NOTHING;
        if (!gpu || lack == ATH_GPU_LACKS_CUDA || lack == ATH_GPU_LACKS_DRIVER ||
            lack == ATH_GPU_LACKS_ANSWER)
            continue; /* ath_document_check() reports it */
        check_gpu(gpu, lack, text, node);
        add_gpu(making, gpu, node);
    }
}

static bool has_all_cdi_names(const struct ath_plan_node *node)
{
    for (size_t i = 0; i < node->gpu_count; i++)
        if (!node->gpus[i].cdi_name)
            return false;
    return true;
}

static enum ath_plan_gpu_way way_of(const struct ath_plan_making *making,
                                    const struct ath_plan_node *node)
{
    const struct ath_plan_engine *engine = &making->options->engine;

    if (ath_plan_is_sim(making->document, making->options, node->id))
        return ATH_PLAN_GPU_SIM;
    if (!node->gpu_count)
        return ATH_PLAN_GPU_NONE;
    if (making->options->is_process)
        return ATH_PLAN_GPU_NODES;
    if (engine->has_cdi && has_all_cdi_names(node))
        return ATH_PLAN_GPU_CDI;
    if (engine->has_nvidia_runtime)
        return ATH_PLAN_GPU_RUNTIME;
    return making->facts->has_nvidia_hook ? ATH_PLAN_GPU_HOOK : ATH_PLAN_GPU_NODES;
}

/* A specification of another driver version names missing files, and Docker refuses to start. */
static void check_cdi(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    const struct ath_cdi *cdi = &making->facts->cdi;
    const struct ath_gpu *gpu = ath_machine_gpu(making->machine, &node->gpus[0].pci);

    if (cdi->driver_version && gpu && gpu->driver_version &&
        strcmp(cdi->driver_version, gpu->driver_version) != 0)
        ath_plan_warn(node, ATH_PLAN_W_GPU_CDI_STALE, cdi->file,
                      ath_xasprintf("nvidia-ctk cdi generate --output=%s", cdi->file),
                      _("'%s' is for driver version %s, but %s is running"), cdi->file,
                      cdi->driver_version, gpu->driver_version);
}

/* Returns the index in the document's list, or ATH_PLAN_WHOLE. */
static int position_of(const struct ath_document_numa *numa, const struct ath_pci *gpu)
{
    struct ath_pci pci;
    for (size_t i = 0; i < numa->gpus.count; i++)
        if (!ath_pci_parse(numa->gpus.items[i], &pci) && ath_pci_equals(&pci, gpu))
            return (int)i;
    return ATH_PLAN_WHOLE;
}

static void add_gpu_device(const struct ath_plan_making *making,
                           const struct ath_document_numa *numa, const struct ath_plan_gpu *gpu,
                           struct ath_plan_node *node)
{
    bool is_needed = node->gpu_way == ATH_PLAN_GPU_NODES;
    char pci[ATH_PCI_TEXT];
    size_t place = ath_plan_place(&numa->item, "gpus", position_of(numa, &gpu->pci));

    ath_pci_format(&gpu->pci, pci);
    if (gpu->device && ath_plan_facts_may_have(making->facts, gpu->device))
        ath_plan_add_device(node, gpu->device);
    else if (is_needed && making->facts->knows_devices)
        ath_faults_add(making->faults, ATH_FAULT_DEVICE_MISSING, place,
                       _("the GPU %s has no device node '%s': %s"), pci,
                       gpu->device ? gpu->device : "/dev/nvidia*", _(nvidia_driver_hint));
    else if (is_needed)
        ath_plan_warn(node, ATH_PLAN_W_GPU_DEVICE_UNKNOWN, pci, NULL,
                      _("the device node of the GPU %s is not known"), pci);
}

static void add_shared_devices(const struct ath_plan_making *making,
                               const struct ath_document_numa *numa, struct ath_plan_node *node)
{
    bool is_needed = node->gpu_way == ATH_PLAN_GPU_NODES;

    for (size_t i = 0; i < ATH_COUNT(shared_devices); i++) {
        const char *path = shared_devices[i].path;
        if (shared_devices[i].is_optional && !making->facts->knows_devices)
            continue;
        if (ath_plan_facts_may_have(making->facts, path))
            ath_plan_add_device(node, path);
        else if (is_needed && !shared_devices[i].is_optional)
            ath_faults_add(making->faults, ATH_FAULT_DEVICE_MISSING,
                           ath_plan_place(&numa->item, "gpus", ATH_PLAN_WHOLE),
                           _("the device node '%s' does not exist: %s"), path,
                           _(nvidia_driver_hint));
    }
}

static void add_driver(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    const struct ath_libraries *libraries = &making->facts->libraries;

    for (size_t i = 0; i < libraries->count; i++) {
        const struct ath_library *library = &libraries->items[i];
        if (library->use != ATH_LIBRARY_DRIVER)
            continue;
        ath_auto_free char *target = ath_xasprintf("%s/%s", ATH_LIBRARY_FOLDER, library->name);
        ath_plan_add_mount(node, library->path, target, true);
    }
    if (libraries->is_known && !ath_libraries_have(libraries, "libcuda.so.1"))
        ath_plan_warn(node, ATH_PLAN_W_GPU_DRIVER_MISSING, "libcuda.so.1",
                      ath_xstrdup(_("install NVIDIA's driver with its libraries, then: ldconfig")),
                      _("'libcuda.so.1' of NVIDIA's driver was not found on the host: the runtime "
                        "will have no GPU"));
}

void ath_plan_add_gpus(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                       struct ath_plan_node *node)
{
    list_gpus(making, numa, node);
    node->vram_fraction = numa->vram_fraction;
    node->is_enforced = numa->is_enforced;
    node->gpu_way = way_of(making, node);
    if (node->gpu_way == ATH_PLAN_GPU_NONE) {
        ath_plan_warn(
            node, ATH_PLAN_W_NO_GPUS, NULL,
            ath_xasprintf(_("to try it out with simulated GPUs: aitherion start %d --sim"),
                          node->id),
            _("NUMA%d has no GPU, so programs find none there"), node->id);
    } else if (node->gpu_way == ATH_PLAN_GPU_CDI) {
        check_cdi(making, node);
    } else if (node->gpu_count) {
        for (size_t i = 0; i < node->gpu_count; i++)
            add_gpu_device(making, numa, &node->gpus[i], node);
        add_shared_devices(making, numa, node);
    }
    if (node->gpu_way == ATH_PLAN_GPU_NODES && !making->options->is_process)
        add_driver(making, node);
}
