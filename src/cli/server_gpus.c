/*
 * A server's NVML is reached with aitherion's own libnvidia-ml.so.1, which asks the server that
 * AITHERION_SERVER names. So a server on this machine and one far away tell the same, and nothing
 * is needed of a server that programs do not use as well.
 */
#include "config.h"

#include "cli/server_gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "numa/nvml.h"
#include "place/matrix.h"
#include "place/set.h"
#include "remote/session/visible_devices.h"

enum { NVML_TIMEOUT_MS = 60000 /* some hundred questions, one after another */ };

void ath_server_gpus_free(struct ath_server_gpus *gpus)
{
    if (!gpus)
        return;
    for (size_t i = 0; i < gpus->count; i++) {
        free(gpus->items[i].name);
        free(gpus->items[i].uuid);
    }
    free(gpus->items);
    *gpus = (struct ath_server_gpus){ 0 };
}

/* ---- the list ---- */

static int compare_pci(const void *a, const void *b)
{
    const struct ath_server_gpu *x = a, *y = b;
    return ath_pci_compare(&x->pci, &y->pci);
}

static bool has_pci_order(void)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");
    return order && !strcmp(order, "PCI_BUS_ID");
}

void ath_server_gpus_add(struct ath_server_gpus *gpus, const struct ath_runtime_health *health,
                         const struct ath_figures *figures)
{
    size_t first = gpus->count;
    bool has_figures = figures && figures->device_count == health->device_count;

    for (size_t i = 0; i < health->device_count; i++) {
        const struct ath_runtime_device *device = &health->devices[i];
        if (device->is_forbidden) {
            gpus->forbidden_count++;
            continue;
        }
        struct ath_server_gpu *gpu = ath_push(&gpus->items, &gpus->count, sizeof *gpu);
        *gpu = (struct ath_server_gpu){ .server = gpus->server_count,
                                        .device = i,
                                        .name = ath_xstrdup(device->name),
                                        .uuid = ath_xstrdup(device->uuid),
                                        .is_visible = true,
                                        .is_idle = !device->sessions && !device->is_reserved,
                                        .health_score = has_figures
                                                            ? (int)figures->devices[i].health_score
                                                            : ATH_UNKNOWN };
        gpu->has_pci = device->pci && !ath_pci_parse(device->pci, &gpu->pci);
    }
    gpus->server_count++;
    if (has_pci_order() && gpus->count > first)
        qsort(&gpus->items[first], gpus->count - first, sizeof *gpus->items, compare_pci);
}

/* Returns the GPUs in the form that ath_visible_devices() reads; at most ATH_DEVICES_MAX, which is
 * what a program sees. The caller frees them. */
static struct ath_devices *devices_of(const struct ath_server_gpus *gpus)
{
    struct ath_devices *devices = ath_xalloc(sizeof *devices);

    for (size_t i = 0; i < gpus->count && i < ATH_DEVICES_MAX; i++) {
        struct ath_device *device = &devices->items[devices->count++];
        if (gpus->items[i].uuid)
            snprintf(device->uuid, sizeof device->uuid, "%s", gpus->items[i].uuid);
    }
    return devices;
}

void ath_server_gpus_hide(struct ath_server_gpus *gpus)
{
    size_t chosen[ATH_DEVICES_MAX];
    ath_auto_free struct ath_devices *devices = devices_of(gpus);
    size_t count = ath_visible_devices(devices, getenv("CUDA_VISIBLE_DEVICES"), false, chosen);

    for (size_t i = 0; i < gpus->count; i++)
        gpus->items[i].is_visible = false;
    for (size_t i = 0; i < count; i++)
        gpus->items[chosen[i]].is_visible = true;
}

/* ---- bandwidths ---- */

static void warn(const char *server, const char *why)
{
    ath_log(ATH_LOG_NORMAL, _("warning: the runtime %s does not tell how its GPUs are linked: %s"),
            server, why);
}

/* Reads the GPUs of a server into a machine that has nothing else. */
static void read_server(const struct ath_server_gpus *gpus, size_t server, const char *address,
                        const char *library, struct ath_machine *out)
{
    ath_auto_free char *before = ath_xstrdup(getenv("AITHERION_SERVER"));

    for (size_t i = 0; i < gpus->count; i++)
        if (gpus->items[i].server == server && gpus->items[i].has_pci)
            ath_machine_add_gpu(out, &gpus->items[i].pci)->vendor_id = ATH_VENDOR_NVIDIA;
    ath_machine_sort(out);
    setenv("AITHERION_SERVER", address, true); /* for the child process that asks */
    ath_nvml_read(out, library, NVML_TIMEOUT_MS);
    if (before)
        setenv("AITHERION_SERVER", before, true);
    if (out->warning_count)
        warn(address, out->warnings[0].message);
    ath_machine_finish(out);
}

/* Returns the index of a GPU in its server's machine, or SIZE_MAX. */
static size_t index_in(const struct ath_machine *machine, const struct ath_server_gpu *gpu)
{
    const struct ath_gpu *found = gpu->has_pci ? ath_machine_gpu(machine, &gpu->pci) : NULL;
    return found ? (size_t)(found - machine->gpus) : SIZE_MAX;
}

static void fill(const struct ath_server_gpus *gpus, size_t server,
                 const struct ath_machine *machine, int64_t *matrix)
{
    ath_auto_free int64_t *own = ath_place_matrix(machine);

    for (size_t i = 0; i < gpus->count; i++)
        for (size_t j = 0; j < gpus->count; j++) {
            if (gpus->items[i].server != server || gpus->items[j].server != server || i == j)
                continue;
            size_t a = index_in(machine, &gpus->items[i]), b = index_in(machine, &gpus->items[j]);
            matrix[i * gpus->count + j] = a == SIZE_MAX || b == SIZE_MAX
                                              ? ATH_SET_UNKNOWN_FAR
                                              : own[a * machine->gpu_count + b];
        }
}

int64_t *ath_server_gpus_matrix(const struct ath_server_gpus *gpus, const char *const *servers)
{
    int64_t *matrix = ath_xalloc(gpus->count * gpus->count * sizeof *matrix);
    ath_auto_free char *library = ath_path_library("libnvidia-ml.so.1");

    for (size_t i = 0; i < gpus->count * gpus->count; i++)
        matrix[i] = ATH_SET_UNKNOWN_APART;
    if (!library)
        warn(servers[0], _("libnvidia-ml.so.1 of aitherion is not installed"));
    for (size_t server = 0; library && server < gpus->server_count; server++) {
        ATH_AUTO(ath_machine) machine = { 0 };
        read_server(gpus, server, servers[server], library, &machine);
        fill(gpus, server, &machine, matrix);
    }
    return matrix;
}

/* ---- the choice as a variable ---- */

static bool is_unique(const struct ath_server_gpus *gpus, size_t gpu)
{
    const char *uuid = gpus->items[gpu].uuid;

    for (size_t i = 0; uuid && i < gpus->count; i++)
        if (i != gpu && gpus->items[i].uuid && !strcmp(gpus->items[i].uuid, uuid))
            return false;
    return uuid != NULL;
}

char *ath_server_gpus_value(const struct ath_server_gpus *gpus, const size_t *chosen, size_t count)
{
    ATH_AUTO(ath_text) uuids = { 0 }, numbers = { 0 };
    bool has_uuids = true;

    for (size_t i = 0; i < count; i++) {
        has_uuids = has_uuids && is_unique(gpus, chosen[i]);
        ath_text_add_part(&uuids, ",", "%s",
                          gpus->items[chosen[i]].uuid ? gpus->items[chosen[i]].uuid : "");
        ath_text_add_part(&numbers, ",", "%zu", chosen[i]);
    }
    return ath_text_take(has_uuids ? &uuids : &numbers);
}
