/*
 * GPU facts from NVML.
 *
 * A child process loads and calls the library, because a broken driver may hang or crash. The child
 * writes its answers to shared memory. An NVLink leads to a GPU, to the NPU of a POWER9 (AC922: PCI
 * function 1014:04ea) or to an NVSwitch. Through switches, a GPU reaches every GPU that the driver
 * calls an NVLink peer, with all its links.
 */
#include "config.h"

#include "numa/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/isolated.h"
#include "base/log.h"
#include "gpu/nvml_health.h"
#include "numa/nvml_api.h"
#include "numa/nvml_place.h"
#include "numa/warning.h"

enum {
    LINKS_MAX = 36, /* links of one GPU; Blackwell has 18 */
    TEXT_BYTES = 96,
    ID_IBM_NPU = 0x04ea1014, /* device id in the upper half, vendor id in the lower half */
};

/* The child's answer about one GPU. */
struct answer {
    bool is_known;
    bool is_lost;
    bool is_silent; /* the driver has the GPU, and cannot say anything about it */
    char error[TEXT_BYTES];
    char uuid[TEXT_BYTES], name[TEXT_BYTES], version[TEXT_BYTES];
    int64_t memory_bytes, free_bytes;
    int pcie_gen, pcie_width;
    bool has_nvlinks;
    size_t nvlink_count;
    int numa_node;
    struct ath_gpu_facts facts;
};

/* All answers. They lie in one shared memory, max_links links for each GPU and a level for each
 * pair (nvml_place.h). */
struct answers {
    char error[512];     /* why there are no answers */
    const char *library; /* NULL: the driver's */
    const struct ath_machine *machine;
    size_t max_links;
    struct answer *gpus;
    struct ath_nvlink *links;
    uint8_t *levels;
};

static void copy_text(char *target, size_t size, const char *text)
{
    snprintf(target, size, "%s", text ? text : "?");
}

/* Stores the answer of a text function, or "" on failure. */
static void ask_text(int (*function)(nvml_device, char *, unsigned int), nvml_device device,
                     char target[TEXT_BYTES])
{
    if (!function || function(device, target, TEXT_BYTES - 1) != NVML_SUCCESS)
        target[0] = '\0';
}

static int ask_number(int (*function)(nvml_device, unsigned int *), nvml_device device)
{
    unsigned int value = 0;
    bool is_known = function && function(device, &value) == NVML_SUCCESS;
    return is_known && value > 0 && value < 1024 ? (int)value : ATH_UNKNOWN;
}

static void ask_memory(const struct nvml *nvml, nvml_device device, struct answer *answer)
{
    struct nvml_memory memory = { 0 };
    bool is_known = nvml->nvmlDeviceGetMemoryInfo &&
                    nvml->nvmlDeviceGetMemoryInfo(device, &memory) == NVML_SUCCESS &&
                    memory.total > 0 && memory.total <= INT64_MAX;

    answer->memory_bytes = is_known ? (int64_t)memory.total : ATH_UNKNOWN;
    answer->free_bytes =
        is_known && memory.free <= memory.total ? (int64_t)memory.free : ATH_UNKNOWN;
}

static void ask_facts(const struct nvml *nvml, nvml_device device, struct answer *answer)
{
    ask_text(nvml->nvmlDeviceGetUUID, device, answer->uuid);
    ask_text(nvml->nvmlDeviceGetName, device, answer->name);
    if (!nvml->nvmlSystemGetDriverVersion ||
        nvml->nvmlSystemGetDriverVersion(answer->version, TEXT_BYTES - 1) != NVML_SUCCESS)
        answer->version[0] = '\0';
    ask_memory(nvml, device, answer);
    answer->pcie_gen = ask_number(nvml->nvmlDeviceGetCurrPcieLinkGeneration, device);
    answer->pcie_width = ask_number(nvml->nvmlDeviceGetCurrPcieLinkWidth, device);
}

/* Returns a field that counts megabytes per second, converted to megabits per second, or
 * ATH_UNKNOWN. */
static int64_t ask_speed(const struct nvml *nvml, nvml_device device, unsigned int field,
                         unsigned int scope)
{
    struct nvml_field value = { .field_id = field, .scope_id = scope };

    if (nvml->nvmlDeviceGetFieldValues(device, 1, &value) != NVML_SUCCESS ||
        value.status != NVML_SUCCESS)
        return ATH_UNKNOWN;
    unsigned long long megabytes = value.value_type == 1   ? value.value.small
                                   : value.value_type == 2 ? value.value.large
                                   : value.value_type == 3 ? value.value.larger
                                                           : 0;
    return megabytes > 0 && megabytes < 100000000 ? (int64_t)megabytes * 8 : ATH_UNKNOWN;
}

/* Returns the speed of a link in Mb/s, or ATH_UNKNOWN. Newer drivers have one field for all links;
 * older ones have a field for each link, or one common speed. */
static int64_t ask_link_speed(const struct nvml *nvml, nvml_device device, unsigned int link)
{
    if (!nvml->nvmlDeviceGetFieldValues)
        return ATH_UNKNOWN;
    int64_t speed = ask_speed(nvml, device, NVML_FIELD_SPEED_OF_LINK, link);
    if (speed == ATH_UNKNOWN && link < 6)
        speed = ask_speed(nvml, device, NVML_FIELD_SPEED_L0 + link, 0);
    if (speed == ATH_UNKNOWN && link >= 6 && link < 12)
        speed = ask_speed(nvml, device, NVML_FIELD_SPEED_L6 + link - 6, 0);
    return speed != ATH_UNKNOWN ? speed : ask_speed(nvml, device, NVML_FIELD_SPEED_COMMON, 0);
}

/* Finds what is at the other end of a link: by its type if the driver reports it (since 470), else
 * by its PCI ids. Returns false if neither is known. */
static bool ask_peer(const struct nvml *nvml, const struct ath_machine *machine, nvml_device device,
                     unsigned int number, struct ath_nvlink *out)
{
    unsigned int type = ~0u;
    struct nvml_pci remote = { 0 };
    char address[sizeof remote.bus_id + 1] = "";

    if (nvml->nvmlDeviceGetNvLinkRemoteDeviceType &&
        nvml->nvmlDeviceGetNvLinkRemoteDeviceType(device, number, &type) != NVML_SUCCESS)
        type = ~0u;
    if (nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2 &&
        nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2(device, number, &remote) == NVML_SUCCESS)
        memcpy(address, remote.bus_id, sizeof remote.bus_id);
    out->has_peer = !ath_pci_parse(address, &out->peer);
    if (type == NVML_REMOTE_NPU || remote.device_id == ID_IBM_NPU)
        out->kind = ATH_PEER_CPU;
    else if (type == NVML_REMOTE_SWITCH)
        out->kind = ATH_PEER_SWITCH;
    else if (type == NVML_REMOTE_GPU || (out->has_peer && ath_machine_gpu(machine, &out->peer)))
        out->kind = ATH_PEER_GPU;
    else if (out->has_peer && (remote.device_id & 0xffff) == ATH_VENDOR_NVIDIA)
        out->kind = ATH_PEER_SWITCH;
    else
        return false;
    return true;
}

/* True if two links count as one entry. Links to the same CPU or the same GPU do, and so do all
 * links to switches, which a GPU sees as one fabric. The links of a POWER9 end in functions of its
 * single NPU, which has its own PCI domain. */
static bool is_same_peer(const struct ath_nvlink *a, const struct ath_nvlink *b)
{
    if (a->kind != b->kind || a->has_peer != b->has_peer)
        return false;
    if (a->kind == ATH_PEER_SWITCH || !a->has_peer)
        return true;
    return a->kind == ATH_PEER_CPU ? a->peer.domain == b->peer.domain
                                   : ath_pci_equals(&a->peer, &b->peer);
}

static void add_link(struct answer *answer, struct ath_nvlink *links, const struct ath_nvlink *link)
{
    size_t i = 0;
    while (i < answer->nvlink_count && !is_same_peer(&links[i], link))
        i++;
    if (i == answer->nvlink_count) {
        links[answer->nvlink_count++] = *link;
        return;
    }
    links[i].count++;
    links[i].speed_mbps = links[i].speed_mbps == ATH_UNKNOWN || link->speed_mbps == ATH_UNKNOWN
                              ? ATH_UNKNOWN
                              : links[i].speed_mbps + link->speed_mbps;
}

static void ask_links(const struct nvml *nvml, const struct ath_machine *machine,
                      nvml_device device, struct answer *answer, struct ath_nvlink *links)
{
    for (unsigned int number = 0; number < LINKS_MAX; number++) {
        struct ath_nvlink link = { .count = 1 };
        unsigned int state = 0;
        int status = nvml->nvmlDeviceGetNvLinkState(device, number, &state);
        bool is_missing = status == NVML_NOT_SUPPORTED || status == NVML_INVALID_ARGUMENT;
        if (number == 0)
            answer->has_nvlinks = status == NVML_SUCCESS || is_missing;
        if (is_missing && (number == 0 || status == NVML_INVALID_ARGUMENT))
            break; /* the GPU has no further link */
        if (status != NVML_SUCCESS || state != NVML_ENABLED ||
            !ask_peer(nvml, machine, device, number, &link))
            continue;
        link.speed_mbps = ask_link_speed(nvml, device, number);
        add_link(answer, links, &link);
    }
}

/* Adds the GPUs that a GPU reaches through switches. Each entry has the count and speed of all
 * links to the switches. */
static void pass_switches(const struct nvml *nvml, const struct ath_machine *machine,
                          const nvml_device *devices, size_t index, struct answer *answer,
                          struct ath_nvlink *links)
{
    size_t at = 0;
    while (at < answer->nvlink_count && links[at].kind != ATH_PEER_SWITCH)
        at++;
    if (at == answer->nvlink_count || !nvml->nvmlDeviceGetP2PStatus)
        return;
    struct ath_nvlink through = links[at];
    through.kind = ATH_PEER_GPU;
    through.has_peer = through.is_through_switch = true;
    for (size_t i = 0; i < machine->gpu_count; i++) {
        unsigned int status = ~0u;
        if (i == index || !devices[i] ||
            nvml->nvmlDeviceGetP2PStatus(devices[index], devices[i], NVML_P2P_NVLINK, &status) !=
                NVML_SUCCESS ||
            status != 0)
            continue;
        through.peer = machine->gpus[i].pci;
        links[answer->nvlink_count++] = through;
    }
}

/* NVML names a GPU "00000004:04:00.0". */
static nvml_device open_device(const struct nvml *nvml, const struct ath_pci *pci,
                               struct answer *answer)
{
    char name[ATH_PCI_TEXT];
    nvml_device device = NULL;

    snprintf(name, sizeof name, "%08x:%02x:%02x.%x", pci->domain, pci->bus, pci->device,
             pci->function);
    int status = nvml->nvmlDeviceGetHandleByPciBusId_v2(name, &device);
    if (status == NVML_SUCCESS && device)
        return device;
    answer->is_lost = status == NVML_GPU_IS_LOST;
    answer->is_silent = ath_gpu_nvml_is_silent(status);
    copy_text(answer->error, sizeof answer->error, nvml->nvmlErrorString(status));
    return NULL;
}

/* Asks for the facts of its health, only of the driver itself: a server has its own score of
 * them. */
static void ask_health(const struct nvml *nvml, const struct answers *answers, nvml_device device,
                       const struct ath_gpu *gpu, struct answer *answer)
{
    struct ath_gpu_nvml questions;

    answer->facts = gpu->facts;
    if (answers->library)
        return;
    ath_gpu_nvml_load(nvml->library, &questions);
    ath_gpu_nvml_ask(&questions, device, &answer->facts);
}

static void ask_gpus(const struct nvml *nvml, struct answers *answers)
{
    const struct ath_machine *machine = answers->machine;
    ath_auto_free nvml_device *devices = ath_xalloc(machine->gpu_count * sizeof *devices);

    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].vendor_id == ATH_VENDOR_NVIDIA)
            devices[i] = open_device(nvml, &machine->gpus[i].pci, &answers->gpus[i]);
    for (size_t i = 0; i < machine->gpu_count; i++) {
        struct answer *answer = &answers->gpus[i];
        struct ath_nvlink *links = &answers->links[i * answers->max_links];
        if (!devices[i])
            continue;
        ask_facts(nvml, devices[i], answer);
        if (nvml->nvmlDeviceGetNvLinkState) {
            ask_links(nvml, machine, devices[i], answer, links);
            pass_switches(nvml, machine, devices, i, answer, links);
        }
        if (!machine->gpus[i].place)
            answer->numa_node = nvml_ask_place(nvml, devices, machine->gpu_count, i,
                                               &answers->levels[i * machine->gpu_count]);
        ask_health(nvml, answers, devices[i], &machine->gpus[i], answer);
        answer->is_known = true; /* set last, in case a later GPU crashes the child */
    }
}

/* Runs in the child. */
static int ask(void *argument)
{
    struct answers *answers = argument;
    struct nvml nvml = { 0 };
    const char *reason = nvml_load(answers->library ? answers->library : NVML_LIBRARY, &nvml);

    if (!reason) {
        int status = nvml.nvmlInit_v2();
        if (status == NVML_SUCCESS) {
            ask_gpus(&nvml, answers);
            nvml.nvmlShutdown();
            return 0;
        }
        reason = nvml.nvmlErrorString(status);
    }
    copy_text(answers->error, sizeof answers->error, reason);
    return 0;
}

static void replace(char **target, const char *text)
{
    if (!*text)
        return;
    free(*target);
    *target = ath_xstrdup(text);
}

static void take_answer(const struct answer *answer, const struct ath_nvlink *links,
                        struct ath_gpu *gpu)
{
    replace(&gpu->uuid, answer->uuid);
    replace(&gpu->model, answer->name);
    replace(&gpu->driver_version, answer->version);
    if (answer->memory_bytes > 0)
        gpu->memory_total_bytes = answer->memory_bytes;
    gpu->memory_free_bytes = answer->free_bytes;
    if (gpu->pcie_gen == ATH_UNKNOWN)
        gpu->pcie_gen = answer->pcie_gen;
    if (gpu->pcie_width == ATH_UNKNOWN)
        gpu->pcie_width = answer->pcie_width;
    gpu->has_nvlinks = answer->has_nvlinks;
    gpu->facts = answer->facts;
    for (size_t i = 0; i < answer->nvlink_count; i++)
        *(struct ath_nvlink *)ath_push(&gpu->nvlinks, &gpu->nvlink_count, sizeof *links) = links[i];
}

static void take_answers(const struct answers *answers, struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct answer *answer = &answers->gpus[i];
        char object[ATH_PCI_TEXT];
        ath_pci_format(&machine->gpus[i].pci, object);
        if (answer->is_silent)
            machine->gpus[i].facts.driver = ATH_GPU_DRIVER_SILENT;
        if (answer->is_lost)
            machine->gpus[i].is_lost = true; /* has a warning of its own */
        else if (answer->is_known)
            take_answer(answer, &answers->links[i * answers->max_links], &machine->gpus[i]);
        else if (answer->error[0])
            ath_warning_add(machine, ATH_W_NVML_FAILED, object, answer->error, NULL);
    }
}

/* Sets the places of GPUs that have none, and their NUMA nodes if these are not known. */
static void take_places(const struct answers *answers, struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->gpu_count; i++) {
        struct ath_gpu *gpu = &machine->gpus[i];
        if (gpu->place || !answers->gpus[i].is_known)
            continue;
        gpu->place = nvml_place(answers->levels, machine->gpu_count, i);
        if (gpu->numa_node == ATH_UNKNOWN)
            gpu->numa_node = answers->gpus[i].numa_node;
    }
}

static const char *reason_of(int status, const struct answers *answers)
{
    if (status == -ETIMEDOUT)
        return _("the driver gives no answer");
    if (status == -EFAULT)
        return _("it crashed");
    return status ? strerror(-status) : answers->error;
}

static size_t count_nvidia(const struct ath_machine *machine)
{
    size_t count = 0;
    for (size_t i = 0; i < machine->gpu_count; i++)
        count += machine->gpus[i].vendor_id == ATH_VENDOR_NVIDIA;
    return count;
}

void ath_nvml_read(struct ath_machine *machine, const char *library, int timeout_ms)
{
    size_t known = 0, count = count_nvidia(machine);
    if (!count) {
        ath_log(ATH_LOG_VERBOSE, _("NVML: not asked, there is no NVIDIA GPU"));
        return;
    }
    size_t max_links = LINKS_MAX + machine->gpu_count;
    size_t answers_bytes = machine->gpu_count * sizeof(struct answer);
    size_t links_bytes = machine->gpu_count * max_links * sizeof(struct ath_nvlink);
    size_t size = sizeof(struct answers) + answers_bytes + links_bytes +
                  machine->gpu_count * machine->gpu_count;
    struct answers *answers =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (answers == MAP_FAILED) {
        ath_warning_add(machine, ATH_W_NVML_MISSING, NVML_LIBRARY, strerror(errno), NULL);
        return;
    }
    answers->library = library;
    answers->machine = machine;
    answers->max_links = max_links;
    answers->gpus = (struct answer *)(answers + 1);
    answers->links = (struct ath_nvlink *)(void *)(answers->gpus + machine->gpu_count);
    answers->levels = (uint8_t *)answers->links + links_bytes;

    int status = ath_run_isolated(ask, answers, NULL, timeout_ms);
    take_answers(answers, machine);
    take_places(answers, machine);
    for (size_t i = 0; i < machine->gpu_count; i++)
        known += answers->gpus[i].is_known;
    ath_log(ATH_LOG_VERBOSE, _("NVML: answers about %zu of %zu GPUs"), known, count);
    if (status || answers->error[0])
        ath_warning_add(machine, ATH_W_NVML_MISSING, NVML_LIBRARY, reason_of(status, answers),
                        NULL);
    munmap(answers, size);
}
