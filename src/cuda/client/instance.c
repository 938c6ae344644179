/* The library's instance: written once, before the library's first call. */
#include "config.h"

#include "cuda/client/instance.h"

#define INSTANCE_BITS ((uint64_t)ATH_INSTANCE_MASK << ATH_INSTANCE_SHIFT)

static struct ath_instance self;

void aitherion_instance(const struct ath_instance *instance)
{
    self = *instance;
}

const char *ath_instance_server(void)
{
    return self.server;
}

unsigned int ath_instance_index(void)
{
    return self.index;
}

/* Texture and surface objects and conditional handles are passed to kernels as parameters, which
 * the client does not convert. They keep the driver's value and belong to the current context. */
static bool is_numbered(enum ath_cuda_kind kind, uint64_t handle)
{
    switch (kind) {
    case ATH_CUDA_KIND_ADDRESS:
    case ATH_CUDA_KIND_HOST:
    case ATH_CUDA_KIND_DEVICE:
    case ATH_CUDA_KIND_GRAPH_CONDITIONAL_HANDLE:
    case ATH_CUDA_KIND_SURF_OBJECT:
    case ATH_CUDA_KIND_TEX_OBJECT:
        return false;
    case ATH_CUDA_KIND_STREAM:
        return handle > (uintptr_t)CU_STREAM_PER_THREAD;
    default:
        return handle;
    }
}

uint64_t ath_instance_to_own(enum ath_cuda_kind kind, uint64_t wire)
{
    int device = (int)wire;
    if (kind == ATH_CUDA_KIND_DEVICE && self.device_to_own && device >= 0)
        return (uint64_t)(int64_t)self.device_to_own(self.index, device);
    if (!self.server || !is_numbered(kind, wire))
        return wire;
    /* a server that sends another number would choose handles of another server */
    return (wire & ~INSTANCE_BITS) | (uint64_t)self.index << ATH_INSTANCE_SHIFT;
}

bool ath_instance_to_wire(enum ath_cuda_kind kind, uint64_t own, uint64_t *out)
{
    int device = (int)own;
    *out = own;
    if (kind == ATH_CUDA_KIND_DEVICE && self.device_to_wire && device >= 0) {
        device = self.device_to_wire(self.index, device);
        *out = (uint64_t)(int64_t)device;
        return device >= 0;
    }
    /* with one server all handles keep the server's values */
    if (!self.server || !is_numbered(kind, own))
        return true;
    *out = own & ~INSTANCE_BITS;
    return ath_instance_of(own) == self.index;
}
