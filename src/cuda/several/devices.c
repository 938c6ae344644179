/* One list of devices: the first server's, then the second's. And calls that concern all
 * servers. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/client/client.h"
#include "cuda/several/several.h"
#include "proto/cuda-client.h"
#include "remote/session/visible_devices.h"

struct device {
    unsigned int index; /* the server's number */
    int number;         /* its number on that server */
};

static struct device list[ATH_DEVICES_MAX];
static int count;
static int own[ATH_SERVERS_MAX][ATH_DEVICES_MAX]; /* the program's numbers */
static atomic_bool is_known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_device(CUdevice device)
{
    return device >= 0 && device < count;
}

unsigned int ath_several_of_device(CUdevice device)
{
    return is_known && is_device(device) ? list[device].index : ath_several_here();
}

unsigned int ath_several_of_place(const CUmemLocation *location)
{
    return location && location->type == CU_MEM_LOCATION_TYPE_DEVICE
               ? ath_several_of_device(location->id)
               : ath_several_here();
}

/* While the list is made, each server's devices have the server's numbers. */
int ath_several_device_to_own(unsigned int index, int device)
{
    if (!is_known)
        return device;
    return device >= 0 && device < ATH_DEVICES_MAX ? own[index][device] : -1;
}

int ath_several_device_to_wire(unsigned int index, int device)
{
    if (!is_known)
        return device;
    return is_device(device) && list[device].index == index ? list[device].number : -1;
}

/* ---- making the list ---- */

static void write_uuid(const CUuuid *uuid, char *out, size_t size)
{
    const unsigned char *byte = (const unsigned char *)uuid;
    size_t at = (size_t)snprintf(out, size, "GPU-");
    for (int i = 0; i < 16 && at + 3 < size; i++)
        at += (size_t)snprintf(out + at, size - at,
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", byte[i]);
}

static CUresult add_devices(struct ath_several *to, struct ath_devices *all, struct device *places)
{
    int number = 0;
    CUresult status = to->calls.cuDeviceGetCount(&number);
    for (int i = 0; !status && i < number && all->count < ATH_DEVICES_MAX; i++) {
        CUuuid uuid;
        status = to->calls.cuDeviceGetUuid_v2(&uuid, i);
        if (status)
            break;
        write_uuid(&uuid, all->items[all->count].uuid, sizeof all->items[0].uuid);
        places[all->count++] = (struct device){ to->self.index, i };
    }
    return status;
}

static CUresult make_list(void)
{
    struct device places[ATH_DEVICES_MAX];
    size_t chosen[ATH_DEVICES_MAX];
    CUresult status = CUDA_SUCCESS;
    ath_auto_free struct ath_devices *all = ath_cuda_allocate(sizeof *all);
    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; !status && i < ath_several_count(); i++)
        status = add_devices(&ath_several_all[i], all, places);
    if (status)
        return status;
    count = (int)ath_visible_devices(all, getenv("CUDA_VISIBLE_DEVICES"), false, chosen);
    memset(own, -1, sizeof own);
    for (int i = 0; i < count; i++) {
        list[i] = places[chosen[i]];
        own[list[i].index][list[i].number] = i;
    }
    is_known = true;
    return CUDA_SUCCESS;
}

CUresult ath_several_find_devices(void)
{
    pthread_mutex_lock(&lock);
    CUresult status = is_known ? CUDA_SUCCESS : make_list();
    pthread_mutex_unlock(&lock);
    return !status && !count ? CUDA_ERROR_NO_DEVICE : status;
}

/* ---- cuInit() ---- */

CUresult ath_cuda_by_hand_cuInit(unsigned int flags)
{
    CUresult status = ath_several_load();
    for (size_t i = 0; !status && i < ath_several_count(); i++) {
        status = ath_several_all[i].calls.cuInit(flags);
        /* lost meanwhile; the others go on */
        if (status == CUDA_ERROR_DEVICE_UNAVAILABLE && is_known)
            status = CUDA_SUCCESS;
    }
    return status ? status : ath_several_find_devices();
}

/* The oldest driver of all servers: its functions exist on all of them. */
static atomic_int driver_version; /* the least of all servers; 0: not asked yet */

int ath_cuda_driver_version(void)
{
    return driver_version;
}

CUresult ath_cuda_by_hand_cuDriverGetVersion(int *version)
{
    int least = 0;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = ath_several_load();
    for (size_t i = 0; !status && i < ath_several_count(); i++) {
        int one = 0;
        status = ath_several_all[i].calls.cuDriverGetVersion(&one);
        least = !i || one < least ? one : least;
    }
    if (!status) {
        driver_version = least;
        *version = least;
    }
    return status;
}

/* ---- the list ---- */

static CUresult is_list_ready(void)
{
    CUcontext ignored;
    return ath_cuda_by_hand_cuCtxGetCurrent(&ignored);
}

CUresult ath_cuda_do_cuDeviceGetCount(int *out)
{
    CUresult status = is_list_ready();
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = count;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_do_cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult status = is_list_ready();
    if (status)
        return status;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_do_cuDeviceGetByPCIBusId(CUdevice *device, const char *bus_id)
{
    CUresult status = is_list_ready();
    CUdevice found = -1;
    for (size_t i = 0; !status && i < ath_several_count(); i++) {
        status = ath_several_all[i].calls.cuDeviceGetByPCIBusId(device ? &found : NULL, bus_id);
        if (!status && found >= 0) {
            *device = found;
            return CUDA_SUCCESS;
        }
        status = status == CUDA_ERROR_INVALID_DEVICE ? CUDA_SUCCESS : status;
    }
    return status ? status : CUDA_ERROR_INVALID_DEVICE;
}

/* ---- pairs of devices: devices of two servers do not reach each other's memory ---- */

static bool are_apart(CUdevice a, CUdevice b)
{
    return is_device(a) && is_device(b) && list[a].index != list[b].index;
}

CUresult ath_cuda_do_cuDeviceCanAccessPeer(int *can_access_peer, CUdevice device, CUdevice peer_dev)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_device(device), &to);
    if (status || !are_apart(device, peer_dev) || !can_access_peer)
        return status ? status : to->calls.cuDeviceCanAccessPeer(can_access_peer, device, peer_dev);
    *can_access_peer = 0;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_do_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute,
                                             CUdevice src_device, CUdevice dst_device)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_device(src_device), &to);
    if (status || !are_apart(src_device, dst_device) || !value)
        return status ? status
                      : to->calls.cuDeviceGetP2PAttribute(value, attribute, src_device, dst_device);
    *value = 0;
    return CUDA_SUCCESS;
}

static bool is_elsewhere(CUcontext peer)
{
    return peer && ath_cuda_current_context() &&
           ath_instance_of((uintptr_t)peer) != ath_several_here();
}

CUresult ath_cuda_do_cuCtxEnablePeerAccess(CUcontext peer_context, unsigned int flags)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_here(), &to);
    if (status)
        return status;
    return is_elsewhere(peer_context) ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
                                      : to->calls.cuCtxEnablePeerAccess(peer_context, flags);
}

CUresult ath_cuda_do_cuCtxDisablePeerAccess(CUcontext peer_context)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_here(), &to);
    if (status)
        return status;
    return is_elsewhere(peer_context) ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
                                      : to->calls.cuCtxDisablePeerAccess(peer_context);
}

/* ---- all servers ---- */

CUresult ath_cuda_do_cuProfilerStart(void)
{
    CUresult status = is_list_ready();
    for (size_t i = 0; !status && i < ath_several_count(); i++)
        status = ath_several_all[i].calls.cuProfilerStart();
    return status;
}

CUresult ath_cuda_do_cuProfilerStop(void)
{
    CUresult status = is_list_ready();
    for (size_t i = 0; !status && i < ath_several_count(); i++)
        status = ath_several_all[i].calls.cuProfilerStop();
    return status;
}

/* The mode belongs to the thread, on every server. */
CUresult ath_cuda_by_hand_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult status = ath_several_load();
    if (status || !mode)
        return status ? status : CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode wanted = *mode, before = *mode;
    for (size_t i = 0; !status && i < ath_several_count(); i++) {
        before = wanted;
        status = ath_several_all[i].calls.cuThreadExchangeStreamCaptureMode(&before);
    }
    if (!status)
        *mode = before;
    return status;
}
