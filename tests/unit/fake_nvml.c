/*
 * A library that answers like NVIDIA's NVML, for tests without NVIDIA's driver.
 *
 * FAKE_NVML selects the machine: "ac922" (two V100 at 0004:04 and 0004:05, three NVLinks to each
 * other and to the CPU), "mesh" (a V100 with two NVLinks to each of two GPUs, and two to a GPU
 * whose address is not told), "nvswitch" (four H100 with 18 links to switches) or "tree" (a PCI
 * tree without NVLinks: GPUs 1b and 1c behind one switch, 43 behind the next, 52 on the same host
 * bridge, 9d on another node). It can also select a fault: "init-fails", "no-device", "crash",
 * "hang". Built with OLD_DRIVER, the library lacks newer functions.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numa/nvml_api.h"

enum { ERROR_UNKNOWN = 999, ERROR_NOT_FOUND = 6 };

struct nvml_device {
    unsigned int domain, bus;
};

static struct nvml_device opened[16];
static unsigned int opened_count;

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int status);
int nvmlDeviceGetHandleByPciBusId_v2(const char *name, nvml_device *out);
int nvmlDeviceGetUUID(nvml_device device, char *out, unsigned int size);
int nvmlDeviceGetName(nvml_device device, char *out, unsigned int size);
int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *out);
int nvmlSystemGetDriverVersion(char *out, unsigned int size);
int nvmlDeviceGetCurrPcieLinkGeneration(nvml_device device, unsigned int *out);
int nvmlDeviceGetCurrPcieLinkWidth(nvml_device device, unsigned int *out);
int nvmlDeviceGetNvLinkState(nvml_device device, unsigned int link, unsigned int *out);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned int link,
                                        struct nvml_pci *out);
int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, unsigned int link, unsigned int *out);
int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields);
int nvmlDeviceGetP2PStatus(nvml_device a, nvml_device b, unsigned int index, unsigned int *out);
int nvmlDeviceGetTopologyCommonAncestor(nvml_device a, nvml_device b, unsigned int *out);
int nvmlDeviceGetMemoryAffinity(nvml_device device, unsigned int count, unsigned long *nodes,
                                unsigned int scope);

static int is(const char *machine)
{
    const char *name = getenv("FAKE_NVML");
    return name && !strcmp(name, machine);
}

int nvmlInit_v2(void)
{
    return is("init-fails") ? ERROR_UNKNOWN : NVML_SUCCESS;
}

int nvmlShutdown(void)
{
    return NVML_SUCCESS;
}

const char *nvmlErrorString(int status)
{
    return status == ERROR_NOT_FOUND ? "Not Found" : "Unknown Error";
}

/* Accepts only the form "00000004:04:00.0", as NVML does for a domain above 16 bits. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *name, nvml_device *out)
{
    char *end;
    unsigned long domain = strtoul(name, &end, 16);
    if (is("no-device") || strlen(name) != 16 || end != name + 8)
        return ERROR_NOT_FOUND;
    nvml_device device = &opened[opened_count++ % 16];
    device->domain = (unsigned int)domain;
    device->bus = (unsigned int)strtoul(end + 1, NULL, 16);
    *out = device;
    return NVML_SUCCESS;
}

int nvmlDeviceGetUUID(nvml_device device, char *out, unsigned int size)
{
    snprintf(out, size, "GPU-%08x-%02x", device->domain, device->bus);
    return NVML_SUCCESS;
}

int nvmlDeviceGetName(nvml_device device, char *out, unsigned int size)
{
    (void)device;
    snprintf(out, size, is("ac922") ? "Tesla V100-SXM2-32GB" : "NVIDIA H100 80GB HBM3");
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *out)
{
    (void)device;
    *out = (struct nvml_memory){ .total = 33822867456, .free = 33285996544 };
    return NVML_SUCCESS;
}

int nvmlSystemGetDriverVersion(char *out, unsigned int size)
{
    snprintf(out, size, "440.33.01");
    return NVML_SUCCESS;
}

int nvmlDeviceGetCurrPcieLinkGeneration(nvml_device device, unsigned int *out)
{
    (void)device;
    *out = 3;
    return NVML_SUCCESS;
}

int nvmlDeviceGetCurrPcieLinkWidth(nvml_device device, unsigned int *out)
{
    (void)device;
    *out = 2;
    return NVML_SUCCESS;
}

static unsigned int link_count(void)
{
    return is("nvswitch") ? 18 : is("tree") ? 0 : 6;
}

int nvmlDeviceGetNvLinkState(nvml_device device, unsigned int link, unsigned int *out)
{
    (void)device;
    if (is("crash"))
        raise(SIGKILL);
    while (is("hang"))
        pause();
    if (link >= link_count())
        return NVML_INVALID_ARGUMENT;
    *out = NVML_ENABLED;
    return NVML_SUCCESS;
}

/* Links 0 to 2 of a V100 of an AC922 lead to the other GPU, 3 to 5 to the CPU. Links of an H100
 * lead to switches, whose addresses a virtual machine does not see (as observed with two H200,
 * driver 580.159). */
int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned int link, struct nvml_pci *out)
{
    *out = (struct nvml_pci){ 0 };
    if (is("nvswitch")) {
        snprintf(out->bus_id, sizeof out->bus_id, "FFFFFFFF:FF:FF.0");
    } else if (is("mesh")) {
        if (link < 4)
            snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0",
                     device->bus + 1 + link / 2);
    } else if (link < 3) {
        snprintf(out->bus_id, sizeof out->bus_id, "00000004:%02X:00.0", device->bus ^ 1);
        out->device_id = 0x1db510de;
    } else {
        snprintf(out->bus_id, sizeof out->bus_id, "00000006:00:%02X.%u", device->bus & 1, link - 3);
        out->device_id = 0x04ea1014;
    }
    return NVML_SUCCESS;
}

int nvmlDeviceGetP2PStatus(nvml_device a, nvml_device b, unsigned int index, unsigned int *out)
{
    (void)a;
    *out = index == NVML_P2P_NVLINK && b->bus == 0x9d ? 1 : 0; /* one GPU is not in the fabric */
    return NVML_SUCCESS;
}

#ifndef OLD_DRIVER
/* The place of a GPU in the tree, its parts one digit each: node, host bridge, switches, switch. */
static unsigned int tree_place(nvml_device device)
{
    return device->bus == 0x1b || device->bus == 0x1c ? 0
           : device->bus == 0x43                      ? 1
           : device->bus == 0x52                      ? 11
                                                      : 1111;
}

int nvmlDeviceGetTopologyCommonAncestor(nvml_device a, nvml_device b, unsigned int *out)
{
    unsigned int from = tree_place(a), to = tree_place(b), level = 10;
    if (!is("tree"))
        return NVML_NOT_SUPPORTED;
    for (; from != to; from /= 10, to /= 10)
        level += 10;
    *out = level;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryAffinity(nvml_device device, unsigned int count, unsigned long *nodes,
                                unsigned int scope)
{
    unsigned int node = tree_place(device) < 1000 ? 0 : 70;
    if (!is("tree") || scope || count < 2)
        return NVML_NOT_SUPPORTED;
    nodes[node / (8 * sizeof *nodes)] |= 1UL << node % (8 * sizeof *nodes);
    return NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, unsigned int link, unsigned int *out)
{
    (void)device;
    *out = is("nvswitch")           ? NVML_REMOTE_SWITCH
           : is("mesh") || link < 3 ? NVML_REMOTE_GPU
                                    : NVML_REMOTE_NPU;
    return NVML_SUCCESS;
}

int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields)
{
    (void)device;
    for (int i = 0; i < count; i++) {
        int is_known = is("nvswitch") ? fields[i].field_id == NVML_FIELD_SPEED_COMMON
                                      : fields[i].field_id >= NVML_FIELD_SPEED_L0 &&
                                            fields[i].field_id < NVML_FIELD_SPEED_L0 + 6;
        fields[i].status = is_known ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
        fields[i].value_type = 1;
        fields[i].value.small = is("nvswitch") ? 26562 : 25781;
    }
    return NVML_SUCCESS;
}
#endif
