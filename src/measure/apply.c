/* Finds the measured GPUs in a machine by address and UUID, and sets their figures. */
#include "config.h"

#include "measure/apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "measure/record.h"
#include "numa/warning.h"

static const char *version_of(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].vendor_id == ATH_VENDOR_NVIDIA && machine->gpus[i].driver_version)
            return machine->gpus[i].driver_version;
    return NULL;
}

/* Returns the machine's GPU, or NULL with the reason in *why if there is another one or none. */
static struct ath_gpu *find_gpu(const struct ath_measured_gpu *measured,
                                const struct ath_machine *machine, char **why)
{
    struct ath_gpu *gpu = ath_machine_gpu(machine, &measured->pci);
    bool is_other = gpu && gpu->uuid && *measured->uuid && strcmp(gpu->uuid, measured->uuid) != 0;
    char pci[ATH_PCI_TEXT];

    if (gpu && !is_other)
        return gpu;
    if (!*why) {
        ath_pci_format(&measured->pci, pci);
        *why = ath_xasprintf(gpu ? _("GPU '%s' is another one now") : _("GPU '%s' is gone"), pci);
    }
    return NULL;
}

static void allocate(struct ath_machine *machine)
{
    size_t count = machine->gpu_count * machine->gpu_count;

    free(machine->measured);
    machine->measured = ath_xalloc(count * sizeof *machine->measured);
    for (size_t i = 0; i < count; i++)
        machine->measured[i] = (struct ath_measured){ ATH_UNKNOWN, ATH_UNKNOWN };
}

char *ath_measurement_apply(const struct ath_measurement *measurement, struct ath_machine *machine)
{
    const char *version = version_of(machine), *own = measurement->driver_version;
    struct ath_gpu *gpus[ATH_MEASURED_GPUS_MAX];
    char *why = NULL;

    if (version && *own && strcmp(version, own) != 0)
        return ath_xasprintf(_("it was measured with driver %s, and now it is %s"), own, version);
    allocate(machine);
    for (int i = 0; i < measurement->gpu_count; i++) {
        gpus[i] = find_gpu(&measurement->gpus[i], machine, &why);
        if (!gpus[i])
            continue;
        gpus[i]->to_gpu_bytes_per_s = measurement->gpus[i].to_gpu_bytes_per_s;
        gpus[i]->from_gpu_bytes_per_s = measurement->gpus[i].from_gpu_bytes_per_s;
    }
    for (int i = 0; i < measurement->gpu_count; i++)
        for (int j = 0; j < measurement->gpu_count; j++) {
            if (i == j || !gpus[i] || !gpus[j])
                continue;
            size_t from = (size_t)(gpus[i] - machine->gpus), to = (size_t)(gpus[j] - machine->gpus);
            machine->measured[from * machine->gpu_count + to] =
                (struct ath_measured){ measurement->copies[i][j].bytes_per_s,
                                       measurement->copies[i][j].latency_ns };
        }
    return why;
}

bool ath_measurement_apply_file(const char *path, struct ath_machine *machine)
{
    ath_auto_free struct ath_measurement *measurement = NULL;
    ath_auto_free char *why = NULL;
    struct ath_err err = { 0 };
    int status = access(path, F_OK) ? -ENOENT : ath_measurement_load(path, &measurement, &err);

    if (status == -ENOENT)
        return false;
    why = status ? ath_xstrdup(err.message) : ath_measurement_apply(measurement, machine);
    if (why)
        ath_warning_add(machine, ATH_W_MEASURED, path, why, NULL);
    return true;
}
