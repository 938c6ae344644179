/*
 * GPUs from sysfs and /proc/driver/nvidia.
 *
 * A table of vendors and PCI classes (0300 VGA, 0302 3D, 0380 display, 1200 processing accelerator)
 * decides which functions count, so that a server's ASPEED or Matrox display does not. If the
 * memory of a GPU is a NUMA node (AC922, Grace Hopper),
 * /proc/driver/nvidia/gpus/ADDRESS/numa_status names the node ("Node: 255", "Status: online",
 * "Size: 3f0000000"). No fixed rule ties nodes to GPUs.
 */
#include "config.h"

#include "numa/gpu.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/pci_names.h"
#include "base/pcidev.h"
#include "base/text.h"
#include "gpu/nvml_health.h"
#include "numa/near.h"
#include "numa/offline_cpus.h"
#include "numa/read.h"

#define NVIDIA "proc/driver/nvidia"

enum { CLASS_VGA = 0x0300, CLASS_3D = 0x0302, CLASS_DISPLAY = 0x0380, CLASS_ACCELERATOR = 0x1200 };

/* All of Intel's GPUs are displays (Flex and Max 0380). Intel's class 1200 covers NPUs of
 * processors and FPGAs. */
static const struct {
    int vendor_id;
    int classes[4];
} accelerators[] = {
    { ATH_VENDOR_NVIDIA, { CLASS_VGA, CLASS_3D } },
    { ATH_VENDOR_AMD, { CLASS_VGA, CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } },
    { ATH_VENDOR_INTEL, { CLASS_VGA, CLASS_3D, CLASS_DISPLAY } },
    { 0x1da3 /* Habana */, { CLASS_ACCELERATOR } },
    { 0x19e5 /* Huawei Ascend */, { CLASS_ACCELERATOR } },
    { 0x1d94 /* Hygon */, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } },
    { 0xcabc /* Cambricon */, { CLASS_3D, CLASS_DISPLAY, CLASS_ACCELERATOR } },
};

static bool is_listed(int vendor_id, int class)
{
    for (size_t i = 0; i < ATH_COUNT(accelerators); i++)
        for (size_t j = 0; j < ATH_COUNT(accelerators[i].classes); j++)
            if (accelerators[i].vendor_id == vendor_id && accelerators[i].classes[j] == class)
                return true;
    return false;
}

/*
 * True for graphics inside a processor. Intel's are device 2 of the root bus (i915 expects them
 * there). Other devices of that bus may be GPUs that were passed to a virtual machine. AMD's share
 * their slot with functions of the processor (security processor, USB), which have the vendor id of
 * AMD's CPUs.
 */
static bool is_in_processor(int vendor_id, int class, const struct ath_pci *pci,
                            bool (*has_beside)(const void *context, int vendor_id),
                            const void *context)
{
    if (vendor_id == ATH_VENDOR_INTEL)
        return pci->bus == 0 && pci->device == 2;
    return vendor_id == ATH_VENDOR_AMD && (class == CLASS_VGA || class == CLASS_DISPLAY) &&
           has_beside(context, ATH_VENDOR_AMD_CPU);
}

/*
 * True for a display that cannot compute: servers have one for their console (Rage XL, Radeon 7000,
 * ES1000). AMD's drivers for computing begin with the R600. The ids of older chips are apart from
 * the newer ones (pci.ids).
 */
static bool is_display_only(int vendor_id, int device_id)
{
    static const struct {
        int vendor_id, first, last;
    } displays[] = {
        { ATH_VENDOR_AMD, 0x3150, 0x5fff }, /* Rage, R100 to R400; ES1000 is 515e */
        { ATH_VENDOR_AMD, 0x7100, 0x72ff }, /* R500 */
        { ATH_VENDOR_AMD, 0x7834, 0x796e }, /* in chipsets: RS350 to RS740 */
        { ATH_VENDOR_AMD, 0x9610, 0x9616 }, /* RS780 */
        { ATH_VENDOR_AMD, 0x9710, 0x9715 }, /* RS880 */
    };
    for (size_t i = 0; i < ATH_COUNT(displays); i++)
        if (displays[i].vendor_id == vendor_id && displays[i].first <= device_id &&
            device_id <= displays[i].last)
            return true;
    return false;
}

bool ath_gpu_is_one(int vendor_id, int device_id, int class, const struct ath_pci *pci,
                    bool (*has_beside)(const void *context, int vendor_id), const void *context)
{
    if (vendor_id == ATH_UNKNOWN)
        return class == CLASS_3D;
    return is_listed(vendor_id, class) && !is_display_only(vendor_id, device_id) &&
           !is_in_processor(vendor_id, class, pci, has_beside, context);
}

struct slot {
    const struct ath_root *root;
    const struct ath_pci *pci;
};

static bool has_beside(const void *context, int vendor_id)
{
    const struct slot *slot = context;

    for (uint8_t function = 0; function < 8; function++) {
        struct ath_pci other = *slot->pci;
        other.function = function;
        if (ath_pcidev_number(slot->root, &other, "vendor") == vendor_id)
            return true;
    }
    return false;
}

static bool is_accelerator(const struct ath_root *root, const struct ath_pcidev *device)
{
    struct slot slot = { root, &device->address };
    struct ath_pci parent;
    bool may_be = device->class >> 8 == CLASS_VGA >> 8 || device->class == CLASS_ACCELERATOR;
    if (device->class < 0 || !may_be)
        return false;
    int vendor_id = ath_pcidev_number(root, &device->address, "vendor");
    int device_id = ath_pcidev_number(root, &device->address, "device");
    return ath_gpu_is_one(vendor_id, device_id, device->class, &device->address, has_beside,
                          &slot) &&
           !ath_pcidev_is_virtual(root, &device->address, &parent);
}

/* The text is "8.0 GT/s PCIe", on older kernels "8 GT/s", or "Unknown" while the link is down. */
int ath_pcie_generation(const char *speed)
{
    static const double gigatransfers[] = { 2.5, 5, 8, 16, 32, 64 };
    ath_auto_free char *digits = ath_xasprintf("%.*s", (int)strcspn(speed, " "), speed);
    double value;

    if (ath_parse_double(digits, &value))
        return ATH_UNKNOWN;
    for (size_t i = 0; i < ATH_COUNT(gigatransfers); i++)
        if (value > gigatransfers[i] - 0.1 && value < gigatransfers[i] + 0.1)
            return (int)i + 1;
    return ATH_UNKNOWN;
}

static void read_link(const struct ath_root *root, struct ath_gpu *gpu)
{
    enum { WIDTH_MAX = 32 }; /* the kernel writes 63 or 255 for an unknown width */
    ath_auto_free char *speed = ath_pcidev_text(root, &gpu->pci, "current_link_speed");
    int width = ath_pcidev_number(root, &gpu->pci, "current_link_width");

    if (speed)
        gpu->pcie_gen = ath_pcie_generation(speed);
    if (width > 0 && width <= WIDTH_MAX)
        gpu->pcie_width = width;
    ath_gpu_pcie_read(root, &gpu->pci, &gpu->facts);
}

static char *nvidia_path(const struct ath_gpu *gpu, const char *file)
{
    char address[ATH_PCI_TEXT];
    return ath_xasprintf(NVIDIA "/gpus/%s/%s", ath_pci_format(&gpu->pci, address), file);
}

static void read_numa_status(const struct ath_root *root, struct ath_machine *machine,
                             struct ath_gpu *gpu)
{
    ath_auto_free char *path = nvidia_path(gpu, "numa_status");
    ath_auto_free char *text =
        ath_read_or_warn(root, machine, path, _("which NUMA node is this GPU's memory"));
    int error = text ? 0 : errno;
    ath_auto_free char *node = text ? ath_line_value(text, "Node") : NULL;
    ath_auto_free char *status = text ? ath_line_value(text, "Status") : NULL;
    ath_auto_free char *size = text ? ath_line_value(text, "Size") : NULL;
    uint64_t bytes;

    /* The driver answers EIO, or question marks, for a GPU that has fallen off the bus. */
    gpu->is_lost = error == EIO || (node && strchr(node, '?')) || (status && strchr(status, '?'));
    if (!node || ath_parse_int(node, 0, ATH_ID_MAX, &gpu->memory_node))
        return; /* -1: the memory is not a NUMA node */
    if (status)
        gpu->memory_state = strcmp(status, "online") ? ATH_MEMORY_OFFLINE : ATH_MEMORY_ONLINE;
    if (size && !ath_parse_u64(size, 16, &bytes) && bytes > 0 && bytes <= INT64_MAX)
        gpu->memory_total_bytes = (int64_t)bytes;
}

/* The driver writes question marks until it has initialised the GPU. */
static char *known_value(const char *text, const char *key)
{
    ath_auto_free char *value = ath_line_value(text, key);
    bool is_known = value && *value && !strchr(value, '?') && strcmp(value, "Unknown");
    return is_known ? ath_steal(&value) : NULL;
}

static void read_information(const struct ath_root *root, struct ath_gpu *gpu)
{
    ath_auto_free char *path = nvidia_path(gpu, "information");
    ath_auto_free char *text = ath_root_read(root, "%s", path);
    if (!text)
        return;
    gpu->model = known_value(text, "Model");
    gpu->uuid = known_value(text, "GPU UUID");
}

/* Returns the first word of digits and dots in "NVRM version: NVIDIA UNIX x86_64 Kernel Module
 * 535.104.05 Sat...". */
static char *version_in(const char *text)
{
    for (const char *word = text; *word; word += strspn(word, " \t")) {
        size_t length = strcspn(word, " \t\n"), digits = strspn(word, "0123456789.");
        if (length && digits == length && memchr(word, '.', length))
            return ath_xasprintf("%.*s", (int)length, word);
        if (word[length] == '\n')
            break;
        word += length;
    }
    return NULL;
}

static char *read_driver_version(const struct ath_root *root, const struct ath_gpu *gpu)
{
    bool is_other = gpu->driver && strcmp(gpu->driver, "nvidia") != 0;
    if (gpu->vendor_id == ATH_VENDOR_NVIDIA && !is_other) {
        ath_auto_free char *text = ath_root_read(root, NVIDIA "/version");
        char *version = text ? version_in(text) : NULL;
        if (version)
            return version;
    }
    return gpu->driver ? ath_root_read(root, "sys/module/%s/version", gpu->driver) : NULL;
}

/* Reads which driver runs the GPU. A capture may have neither links to drivers nor their folder;
 * then a GPU without a link says nothing. */
static void read_driver(const struct ath_root *root, struct ath_gpu *gpu, bool is_nvidia)
{
    gpu->driver = is_nvidia ? ath_xstrdup("nvidia") : ath_pcidev_driver(root, &gpu->pci);
    gpu->knows_driver = gpu->driver || ath_root_exists(root, "sys/bus/pci/drivers");
    gpu->driver_version = read_driver_version(root, gpu);
}

static int64_t read_amd_bytes(const struct ath_root *root, const struct ath_gpu *gpu,
                              const char *which)
{
    char address[ATH_PCI_TEXT];
    return ath_root_read_number(root, ATH_UNKNOWN, "sys/bus/pci/devices/%s/mem_info_vram_%s",
                                ath_pci_format(&gpu->pci, address), which);
}

/* amdgpu shows the size of its memory in sysfs, and how much of it is used. */
static void read_amd_memory(const struct ath_root *root, struct ath_gpu *gpu)
{
    int64_t total = read_amd_bytes(root, gpu, "total"), used = read_amd_bytes(root, gpu, "used");

    if (total > 0)
        gpu->memory_total_bytes = total;
    if (total > 0 && used >= 0 && used <= total)
        gpu->memory_free_bytes = total - used;
}

/* An Instinct MI300 can be split (Documentation/gpu/amdgpu, "current_compute_partition"): SPX is
 * whole. In mode CPX the number depends on the chip. */
static void read_partitions(const struct ath_root *root, struct ath_gpu *gpu)
{
    static const struct {
        const char *mode;
        int count;
    } modes[] = { { "SPX", 1 }, { "DPX", 2 }, { "TPX", 3 }, { "QPX", 4 } };

    gpu->partition_mode = ath_pcidev_text(root, &gpu->pci, "current_compute_partition");
    for (size_t i = 0; gpu->partition_mode && i < ATH_COUNT(modes); i++)
        if (!strcmp(gpu->partition_mode, modes[i].mode))
            gpu->partitions = modes[i].count;
}

static void read_gpu(const struct ath_root *root, struct ath_machine *machine,
                     const struct ath_pci *pci, bool is_nvidia)
{
    struct ath_gpu *gpu = ath_machine_add_gpu(machine, pci);

    gpu->vendor_id = ath_pcidev_number(root, pci, "vendor");
    if (is_nvidia && gpu->vendor_id == ATH_UNKNOWN)
        gpu->vendor_id = ATH_VENDOR_NVIDIA; /* NVIDIA's driver runs only NVIDIA's GPUs */
    gpu->device_id = ath_pcidev_number(root, pci, "device");
    gpu->place = ath_pcidev_place(root, pci);
    read_link(root, gpu);
    if (is_nvidia) {
        read_numa_status(root, machine, gpu);
        read_information(root, gpu);
    }
    if (gpu->vendor_id == ATH_VENDOR_AMD) {
        read_amd_memory(root, gpu);
        read_partitions(root, gpu);
    }
    if (!gpu->model)
        gpu->model = ath_xstrdup(ath_pci_name(gpu->vendor_id, gpu->device_id));
    read_driver(root, gpu, is_nvidia);
}

static void place_gpu(const struct ath_root *root, const struct ath_machine *machine,
                      struct ath_gpu *gpu)
{
    int said = ath_pcidev_number(root, &gpu->pci, "numa_node");
    gpu->numa_node = ath_near_node(root, machine, &gpu->pci, said, gpu->place, gpu->memory_node);
}

static int compare_devices(const void *a, const void *b)
{
    const struct ath_pcidev *x = a, *y = b;
    return ath_pci_compare(&x->address, &y->address);
}

/* Returns the functions that NVIDIA's driver runs, whatever their class. The caller frees the
 * list. */
static struct ath_pcidev *list_nvidia(const struct ath_root *root, size_t *out_count)
{
    char **names;
    size_t name_count, count = 0;
    struct ath_pcidev *list = NULL;
    struct ath_pci address;

    ath_root_list(root, NVIDIA "/gpus", &names, &name_count);
    for (size_t i = 0; i < name_count; i++)
        if (!ath_pci_parse(names[i], &address))
            *(struct ath_pcidev *)ath_push(&list, &count, sizeof *list) =
                (struct ath_pcidev){ address, ATH_UNKNOWN };
    ath_names_free(names, name_count);
    if (count)
        qsort(list, count, sizeof *list, compare_devices);
    *out_count = count;
    return list;
}

void ath_gpus_read(const struct ath_root *root, struct ath_machine *machine)
{
    size_t nvidia_count, count;
    ath_auto_free struct ath_pcidev *nvidia = list_nvidia(root, &nvidia_count);
    ath_auto_free struct ath_pcidev *devices;
    ath_pcidev_list(root, &devices, &count);
    machine->lacks_pci = !root->is_live && !count;

    for (size_t i = 0; i < nvidia_count; i++)
        if (!i || !ath_pci_equals(&nvidia[i].address, &nvidia[i - 1].address))
            read_gpu(root, machine, &nvidia[i].address, true);
    for (size_t i = 0; i < count; i++)
        if (!ath_pcidev_find(nvidia, nvidia_count, &devices[i].address) &&
            is_accelerator(root, &devices[i]))
            read_gpu(root, machine, &devices[i].address, false);
    ath_offline_cpus_read(root, machine, devices, count);
    for (size_t i = 0; i < machine->gpu_count; i++)
        place_gpu(root, machine, &machine->gpus[i]);
    ath_log(ATH_LOG_VERBOSE,
            _("GPUs: %zu, from sys/bus/pci (%zu functions) and proc/driver/nvidia (%zu GPUs)"),
            machine->gpu_count, count, nvidia_count);
    ath_machine_sort(machine);
}
