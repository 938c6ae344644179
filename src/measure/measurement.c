/* Runs the measurement in a child process, and takes its result from shared memory. */
#include "config.h"

#include "measure/measurement.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/alloc.h"
#include "base/bind.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/isolated.h"
#include "measure/copies.h"
#include "measure/driver.h"

/* Without nvidia-persistenced, the driver first initialises each GPU. */
enum { START_MS = 60000, GPU_MS = 15000, PAIR_MS = 5000 };

/* Shared with the child, which fills `measurement`. */
struct shared {
    const struct ath_machine *machine;
    struct ath_measurement measurement;
    struct ath_err err;
    char step[128]; /* the step that the child takes, for the message if it does not return */
    struct ath_measure_side sides[ATH_MEASURED_GPUS_MAX];
};

__attribute__((format(printf, 2, 3))) static void begin_step(struct shared *shared,
                                                             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(shared->step, sizeof shared->step, format, args);
    va_end(args);
}

static void copy_error(char *out, size_t size, const struct ath_measure_driver *driver,
                       CUresult status)
{
    snprintf(out, size, "%s", ath_measure_driver_error(driver, status));
}

static const char *name_of(const struct shared *shared, int gpu, char out[ATH_PCI_TEXT])
{
    return ath_pci_format(&shared->measurement.gpus[gpu].pci, out);
}

/* ---- the child ---- */

static void format_uuid(const CUuuid *uuid, char *out, size_t size)
{
    const unsigned char *byte = (const unsigned char *)uuid->bytes;
    snprintf(out, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             byte[0], byte[1], byte[2], byte[3], byte[4], byte[5], byte[6], byte[7], byte[8],
             byte[9], byte[10], byte[11], byte[12], byte[13], byte[14], byte[15]);
}

/* Binds the child to the CPUs and the memory of a GPU's node, if it may. */
static void move_near(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    const struct ath_numa_node *node = ath_machine_node(machine, gpu->numa_node);
    ATH_AUTO(ath_idset) one = { 0 };

    if (!node || !node->cpus.range_count)
        return;
    ath_idset_add(&one, node->id, node->id);
    ath_bind_cpus(&node->cpus);
    ath_bind_memory(ATH_MEMORY_PREFERRED, &one);
}

/* Opens a GPU that the machine has, and measures its way to the host. */
static void take_gpu(struct shared *shared, const struct ath_measure_driver *driver,
                     CUdevice device, const struct ath_gpu *gpu)
{
    struct ath_measurement *out = &shared->measurement;
    int index = out->gpu_count;
    struct ath_measured_gpu *measured = &out->gpus[index];
    CUuuid uuid;
    char name[ATH_PCI_TEXT];

    *measured = (struct ath_measured_gpu){ .pci = gpu->pci,
                                           .to_gpu_bytes_per_s = ATH_UNKNOWN,
                                           .from_gpu_bytes_per_s = ATH_UNKNOWN };
    if (!driver->cuDeviceGetUuid(&uuid, device))
        format_uuid(&uuid, measured->uuid, sizeof measured->uuid);
    out->gpu_count++;
    begin_step(shared, _("the start of GPU %s"), name_of(shared, index, name));
    move_near(shared->machine, gpu);
    CUresult status = ath_measure_open(driver, device, &shared->sides[index]);
    begin_step(shared, _("copies between the host and GPU %s"), name);
    if (!status)
        status = ath_measure_host(driver, &shared->sides[index], &measured->to_gpu_bytes_per_s,
                                  &measured->from_gpu_bytes_per_s);
    if (status)
        copy_error(measured->error, sizeof measured->error, driver, status);
}

static void measure_copies(struct shared *shared, const struct ath_measure_driver *driver,
                           const CUdevice *devices, int from, int to)
{
    struct ath_measured_copies *out = &shared->measurement.copies[from][to];
    const struct ath_measure_side *a = &shared->sides[from], *b = &shared->sides[to];
    char names[2][ATH_PCI_TEXT];
    int can_access = 0;

    begin_step(shared, _("copies from GPU %s to GPU %s"), name_of(shared, from, names[0]),
               name_of(shared, to, names[1]));
    CUresult status = driver->cuDeviceCanAccessPeer(&can_access, devices[from], devices[to]);
    if (!status)
        status = driver->cuCtxSetCurrent(a->context);
    if (!status && can_access) {
        CUresult enabled = driver->cuCtxEnablePeerAccess(b->context, 0);
        out->is_direct = !enabled || enabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    }
    if (!status)
        status = ath_measure_bandwidth(driver, a, b, &out->bytes_per_s);
    if (!status)
        status = ath_measure_latency(driver, a, b, &out->latency_ns);
    if (status)
        copy_error(out->error, sizeof out->error, driver, status);
}

/* Both directions are opened before the first pair is measured. */
static void open_ways(struct shared *shared, const struct ath_measure_driver *driver,
                      const CUdevice *devices)
{
    int can_access;

    for (int i = 0; i < shared->measurement.gpu_count; i++)
        for (int j = 0; j < shared->measurement.gpu_count; j++)
            if (i != j && !*shared->measurement.gpus[i].error &&
                !*shared->measurement.gpus[j].error &&
                !driver->cuDeviceCanAccessPeer(&can_access, devices[i], devices[j]) && can_access &&
                !driver->cuCtxSetCurrent(shared->sides[i].context))
                driver->cuCtxEnablePeerAccess(shared->sides[j].context, 0);
}

/* Parts of one GPU (MIG) have its address: the first one is measured. */
static bool is_taken(const struct ath_measurement *measurement, const struct ath_pci *pci)
{
    for (int i = 0; i < measurement->gpu_count; i++)
        if (ath_pci_equals(&measurement->gpus[i].pci, pci))
            return true;
    return false;
}

static void measure_all(struct shared *shared, const struct ath_measure_driver *driver, int count)
{
    struct ath_measurement *out = &shared->measurement;
    CUdevice devices[ATH_MEASURED_GPUS_MAX] = { 0 };

    for (int i = 0; i < count && out->gpu_count < ATH_MEASURED_GPUS_MAX; i++) {
        char text[64] = "";
        struct ath_pci pci;
        CUdevice device;
        if (driver->cuDeviceGet(&device, i) ||
            driver->cuDeviceGetPCIBusId(text, sizeof text, device) || ath_pci_parse(text, &pci))
            continue;
        const struct ath_gpu *gpu = ath_machine_gpu(shared->machine, &pci);
        devices[out->gpu_count] = device;
        if (gpu && !is_taken(out, &pci))
            take_gpu(shared, driver, device, gpu);
    }
    open_ways(shared, driver, devices);
    for (int i = 0; i < out->gpu_count; i++)
        for (int j = 0; j < out->gpu_count; j++) {
            out->copies[i][j].bytes_per_s = out->copies[i][j].latency_ns = ATH_UNKNOWN;
            if (i != j && !*out->gpus[i].error && !*out->gpus[j].error)
                measure_copies(shared, driver, devices, i, j);
        }
}

/* Runs in the child. */
static int measure(void *argument)
{
    struct shared *shared = argument;
    struct ath_measure_driver driver;
    int count = 0;

    begin_step(shared, "%s", _("the start of CUDA"));
    if (ath_measure_driver_load(&driver, &shared->err))
        return 1;
    CUresult status = driver.cuInit(0);
    if (!status)
        status = driver.cuDriverGetVersion(&shared->measurement.cuda_version);
    if (!status)
        status = driver.cuDeviceGetCount(&count);
    if (status) {
        ath_err_set(&shared->err, -EIO, ATH_E_DRIVER, _("the GPU driver refuses to start: %s"),
                    ath_measure_driver_error(&driver, status));
        ath_err_hint(&shared->err, -EIO, "nvidia-smi; dmesg | grep -i -e nvrm -e xid");
        return 1;
    }
    measure_all(shared, &driver, count);
    return 0;
}

/* ---- the parent ---- */

static size_t count_gpus(const struct ath_machine *machine, const char **out_version)
{
    size_t count = 0;
    for (size_t i = 0; i < machine->gpu_count; i++) {
        if (machine->gpus[i].vendor_id != ATH_VENDOR_NVIDIA)
            continue;
        count++;
        if (machine->gpus[i].driver_version)
            *out_version = machine->gpus[i].driver_version;
    }
    return count;
}

static int limit_ms(size_t gpus)
{
    gpus = gpus < ATH_MEASURED_GPUS_MAX ? gpus : ATH_MEASURED_GPUS_MAX;
    return START_MS + (int)gpus * GPU_MS + (int)(gpus * (gpus - 1)) * PAIR_MS;
}

static int fail(struct shared *shared, int status, int timeout_ms, struct ath_err *err)
{
    if (status > 0) {
        if (err)
            ath_err_copy(err, &shared->err);
        return shared->err.code == ATH_E_LIBRARY ? -ENOENT : -EIO;
    }
    if (status == -ETIMEDOUT)
        ath_err_set(err, status, ATH_E_DRIVER,
                    _("the GPU driver did not return within %d s, at: %s"), timeout_ms / 1000,
                    shared->step);
    else if (status == -EFAULT)
        ath_err_set(err, status, ATH_E_DRIVER, _("the GPU driver crashed, at: %s"), shared->step);
    else
        return ath_err_system(err, status, _("cannot start the measurement"));
    return ath_err_hint(err, status, "dmesg | grep -i -e nvrm -e xid");
}

static int refuse(size_t gpus, struct ath_err *err)
{
    const char *chosen = getenv("CUDA_VISIBLE_DEVICES");

    if (!gpus)
        ath_err_set(err, -ENODEV, ATH_E_MISFIT, _("this machine has no GPU of NVIDIA to measure"));
    else if (chosen)
        ath_err_set(err, -ENODEV, ATH_E_MISFIT,
                    _("CUDA shows none of the machine's GPUs, with CUDA_VISIBLE_DEVICES='%s'"),
                    chosen);
    else
        ath_err_set(err, -ENODEV, ATH_E_MISFIT, _("CUDA shows none of the machine's GPUs"));
    return ath_err_hint(err, -ENODEV, gpus ? "nvidia-smi" : "aitherion discover");
}

static void stamp(struct ath_measurement *measurement, const char *version)
{
    time_t now = time(NULL);
    struct tm parts;

    gmtime_r(&now, &parts);
    strftime(measurement->date, sizeof measurement->date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    snprintf(measurement->driver_version, sizeof measurement->driver_version, "%s",
             version ? version : "");
}

int ath_measure(const struct ath_machine *machine, int timeout_ms, struct ath_measurement **out,
                struct ath_err *err)
{
    const char *version = NULL;
    size_t gpus = count_gpus(machine, &version);

    if (!gpus)
        return refuse(0, err);
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED)
        return ath_err_system(err, -errno, _("cannot start the measurement"));
    shared->machine = machine;
    int limit = timeout_ms ? timeout_ms : limit_ms(gpus);
    int status = ath_run_isolated(measure, shared, NULL, limit);
    if (status)
        status = fail(shared, status, limit, err);
    else if (!shared->measurement.gpu_count)
        status = refuse(gpus, err);
    if (!status) {
        *out = ath_xalloc(sizeof **out);
        **out = shared->measurement;
        stamp(*out, version);
    }
    munmap(shared, sizeof *shared);
    return status;
}
