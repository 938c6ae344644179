/*
 * A library that looks like NVIDIA's libcuda.so.1, with a clock of its own: a copy takes 1,000 ns
 * and its bytes at the speed of its way. FAKE_CUDA says how it behaves: "works", "refuses",
 * "hangs", "crashes" (at the start of CUDA), "hangs-later" (at the first copy between GPUs), "full"
 * (GPU 1 has no memory), "noisy" (two copies in seven take ten times as long).
 */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/api/cuda_api.h"

enum { DEVICES = 3, EVENTS = 16, NS_PER_COPY = 1000 };

struct CUctx_st {
    int device;
};
struct CUevent_st {
    double ns;
};

static struct CUctx_st contexts[DEVICES] = { { 0 }, { 1 }, { 2 } };
static struct CUevent_st events[EVENTS];
static int event_count, current, copies;
static double now_ns;
static char memory[DEVICES]; /* its addresses are those of the devices' memory */

/* Bytes per nanosecond from one device to another. The way back is slower. */
static const double speeds[DEVICES][DEVICES] = { { 0, 50, 10 }, { 40, 0, 10 }, { 10, 10, 0 } };

static bool is(const char *mode)
{
    const char *text = getenv("FAKE_CUDA");
    return text && !strcmp(text, mode);
}

static void hang(void)
{
    for (;;)
        pause();
}

/* Each context has one stream. */
static CUstream stream_of(int device)
{
    return (CUstream)(uintptr_t)(device + 1);
}

static CUresult copy(double bytes_per_ns, size_t bytes, CUstream stream)
{
    if (stream != stream_of(current))
        return CUDA_ERROR_INVALID_HANDLE;
    bool is_slow = is("noisy") && copies++ % 7 < 2;
    now_ns += (NS_PER_COPY + (double)bytes / bytes_per_ns) * (is_slow ? 10 : 1);
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags)
{
    if (is("hangs"))
        hang();
    if (is("crashes"))
        raise(SIGSEGV);
    return flags || is("refuses") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = 12080;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
            : error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                                : NULL;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = DEVICES;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int number)
{
    *device = number;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device)
{
    static const char *const addresses[DEVICES] = { "0000:41:00.0", "0000:42:00.0",
                                                    "0000:43:00.0" };
    strncpy(text, addresses[device], (size_t)length);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    memset(uuid, 0x10 + device, sizeof *uuid);
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    *can = device != 2 && peer != 2;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = &contexts[device];
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    current = context->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    (void)peer;
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *total = (size_t)8 << 30;
    *free_bytes = is("full") && current == 1 ? 1 << 20 : *total;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    (void)bytes;
    *address = (CUdeviceptr)(uintptr_t)&memory[current];
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
    (void)flags;
    *out = malloc(bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address)
{
    free(address);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream)
{
    if (is("hangs-later"))
        hang();
    if (to != (CUdeviceptr)(uintptr_t)&memory[to_context->device] ||
        from != (CUdeviceptr)(uintptr_t)&memory[from_context->device])
        return CUDA_ERROR_INVALID_VALUE;
    return copy(speeds[from_context->device][to_context->device], bytes, stream);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)to, (void)from;
    return copy(20, bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)to, (void)from;
    return copy(25, bytes, stream);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    if (flags != CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    *stream = stream_of(current);
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    if (flags || event_count == EVENTS)
        return CUDA_ERROR_INVALID_VALUE;
    *event = &events[event_count++];
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    if (stream != stream_of(current))
        return CUDA_ERROR_INVALID_HANDLE;
    event->ns = now_ns;
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *out_ms, CUevent first, CUevent last)
{
    *out_ms = (float)((last->ns - first->ns) / 1e6);
    return CUDA_SUCCESS;
}
