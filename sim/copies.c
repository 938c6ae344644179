/* The functions that copy and fill, synchronously or in a stream; the default stream is the
 * context's or the thread's. */
#include "config.h"

#include "sim/array.h"
#include "sim/capture.h"
#include "sim/copy.h"
#include "sim/sim.h"
#include "sim/stream.h"

/* The source or the target of a copy. */
struct end {
    CUmemorytype type;
    void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z;       /* bytes, rows, layers */
    size_t pitch, height; /* of memory; 0: the size of the copy */
};

static struct end host(const void *p)
{
    return (struct end){ .type = CU_MEMORYTYPE_HOST, .host = (void *)(uintptr_t)p };
}

static struct end device(CUdeviceptr p)
{
    return (struct end){ .type = CU_MEMORYTYPE_DEVICE, .device = p };
}

static struct end any(CUdeviceptr p)
{
    return (struct end){ .type = CU_MEMORYTYPE_UNIFIED, .device = p };
}

static struct end array(CUarray array, size_t offset)
{
    return (struct end){ .type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset };
}

static CUresult copy_box(struct end to, struct end from, size_t width, size_t height, size_t depth,
                         CUstream stream, enum sim_when when)
{
    const CUDA_MEMCPY3D copy = {
        .srcMemoryType = from.type,
        .srcHost = from.host,
        .srcDevice = from.device,
        .srcArray = from.array,
        .srcXInBytes = from.x,
        .srcY = from.y,
        .srcZ = from.z,
        .srcPitch = from.pitch,
        .srcHeight = from.height,
        .dstMemoryType = to.type,
        .dstHost = to.host,
        .dstDevice = to.device,
        .dstArray = to.array,
        .dstXInBytes = to.x,
        .dstY = to.y,
        .dstZ = to.z,
        .dstPitch = to.pitch,
        .dstHeight = to.height,
        .WidthInBytes = width,
        .Height = height,
        .Depth = depth,
    };
    return sim_copy(&copy, stream, when);
}

static CUresult copy(struct end to, struct end from, size_t bytes, CUstream stream,
                     enum sim_when when)
{
    return copy_box(to, from, bytes, 1, 1, stream, when);
}

static CUresult peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                     size_t bytes, CUstream stream)
{
    const CUDA_MEMCPY3D_PEER copy = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = from,
        .srcContext = from_context,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = to,
        .dstContext = to_context,
        .WidthInBytes = bytes,
        .Height = 1,
        .Depth = 1,
    };
    return sim_copy_peer(&copy, stream, SIM_NOW);
}

/* Driver 580 captures no batch of copies. */
static CUresult refuse_capture(CUstream handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    return status || !stream->capture ? status : sim_capture_refuse(stream);
}

/* If a copy is refused, the ones before it are already under way, as the interface specifies. The
 * legacy default stream is refused (docs.nvidia.com/cuda/cuda-driver-api, "cuMemcpyBatchAsync"). */
static CUresult batch(const CUdeviceptr *to, const CUdeviceptr *from, const size_t *bytes,
                      size_t count, bool is_described, size_t *failed, CUstream stream)
{
    CUresult status = CUDA_SUCCESS;
    size_t at = SIZE_MAX; /* no particular copy */
    if (!to || !from || !bytes || !count || !stream || !is_described)
        status = CUDA_ERROR_INVALID_VALUE;
    else
        status = refuse_capture(stream);
    for (size_t i = 0; !status && i < count; i++)
        if ((status = copy(any(to[i]), any(from[i]), bytes[i], stream, SIM_LATER)))
            at = i;
    if (status && failed)
        *failed = at;
    return status;
}

/* Returns whether each attribute of a batch has an order of access, and they begin at ascending
 * copies. */
static bool is_described(const CUmemcpyAttributes *attributes, const size_t *begins, size_t count,
                         size_t copies)
{
    bool is = !count || (attributes && begins && !begins[0] && count <= copies);
    for (size_t i = 0; is && i < count; i++)
        is = attributes[i].srcAccessOrder >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM &&
             attributes[i].srcAccessOrder <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
             (!i || (begins[i] > begins[i - 1] && begins[i] < copies));
    return is;
}

/* Returns the size of an operand's unit: an element of an array, or one byte. */
static size_t element_of(const CUmemcpy3DOperand *operand)
{
    SIM_LOCKED;
    const struct sim_array *array = operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY
                                        ? sim_object_find(SIM_ARRAY, operand->op.array.array)
                                        : NULL;
    return array ? array->row_bytes / array->asked.Width : 1;
}

static bool is_operand(const CUmemcpy3DOperand *operand)
{
    return operand->type == CU_MEMCPY_OPERAND_TYPE_POINTER ||
           operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
}

static struct end end_of(const CUmemcpy3DOperand *operand, size_t unit)
{
    struct end end;
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        end = array(operand->op.array.array, operand->op.array.offset.x * unit);
        end.y = operand->op.array.offset.y;
        end.z = operand->op.array.offset.z;
    } else {
        end = any(operand->op.ptr.ptr);
        end.pitch = operand->op.ptr.rowLength * unit;
        end.height = operand->op.ptr.layerHeight;
    }
    return end;
}

static CUresult one_of_batch(const CUDA_MEMCPY3D_BATCH_OP *asked, CUstream stream)
{
    const CUmemcpy3DOperand *from = &asked->src, *to = &asked->dst;
    if (!is_operand(from) || !is_operand(to))
        return CUDA_ERROR_INVALID_VALUE;
    size_t unit = element_of(from->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? from : to);
    return copy_box(end_of(to, unit), end_of(from, unit), asked->extent.width * unit,
                    asked->extent.height, asked->extent.depth, stream, SIM_LATER);
}

static CUresult batch_3d(size_t count, const CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed,
                         unsigned long long flags, CUstream stream)
{
    CUresult status = CUDA_SUCCESS;
    size_t at = SIZE_MAX;
    if (!count || !list || flags || !stream)
        status = CUDA_ERROR_INVALID_VALUE;
    else
        status = refuse_capture(stream);
    for (size_t i = 0; !status && i < count; i++)
        if ((status = one_of_batch(&list[i], stream)))
            at = i;
    if (status && failed)
        *failed = at;
    return status;
}

static CUresult fill_bytes(CUdeviceptr to, size_t pitch, unsigned int value, unsigned int bytes,
                           size_t width, size_t height, CUstream stream)
{
    return sim_fill((struct sim_fill){ to, pitch, width, height, value, bytes }, stream);
}

/* A function whose body is one call, with the parameters in the same order. */
#define ENTRY(name, params, call)                                                                  \
    CUresult name params                                                                           \
    {                                                                                              \
        return call;                                                                               \
    }

#define OWN CU_STREAM_PER_THREAD

#define H_TO_D (CUdeviceptr to, const void *from, size_t bytes)
#define H_TO_D_ASYNC (CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
ENTRY(cuMemcpyHtoD_v2, H_TO_D, copy(device(to), host(from), bytes, NULL, SIM_NOW))
ENTRY(cuMemcpyHtoD_v2_ptds, H_TO_D, copy(device(to), host(from), bytes, OWN, SIM_NOW))
ENTRY(cuMemcpyHtoDAsync_v2, H_TO_D_ASYNC, copy(device(to), host(from), bytes, stream, SIM_LATER))
ENTRY(cuMemcpyHtoDAsync_v2_ptsz, H_TO_D_ASYNC,
      copy(device(to), host(from), bytes, sim_own(stream), SIM_LATER))

#define D_TO_H (void *to, CUdeviceptr from, size_t bytes)
#define D_TO_H_ASYNC (void *to, CUdeviceptr from, size_t bytes, CUstream stream)
ENTRY(cuMemcpyDtoH_v2, D_TO_H, copy(host(to), device(from), bytes, NULL, SIM_NOW))
ENTRY(cuMemcpyDtoH_v2_ptds, D_TO_H, copy(host(to), device(from), bytes, OWN, SIM_NOW))
ENTRY(cuMemcpyDtoHAsync_v2, D_TO_H_ASYNC, copy(host(to), device(from), bytes, stream, SIM_LATER))
ENTRY(cuMemcpyDtoHAsync_v2_ptsz, D_TO_H_ASYNC,
      copy(host(to), device(from), bytes, sim_own(stream), SIM_LATER))

#define D_TO_D (CUdeviceptr to, CUdeviceptr from, size_t bytes)
#define D_TO_D_ASYNC (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
ENTRY(cuMemcpyDtoD_v2, D_TO_D, copy(device(to), device(from), bytes, NULL, SIM_NOW))
ENTRY(cuMemcpyDtoD_v2_ptds, D_TO_D, copy(device(to), device(from), bytes, OWN, SIM_NOW))
ENTRY(cuMemcpyDtoDAsync_v2, D_TO_D_ASYNC, copy(device(to), device(from), bytes, stream, SIM_LATER))
ENTRY(cuMemcpyDtoDAsync_v2_ptsz, D_TO_D_ASYNC,
      copy(device(to), device(from), bytes, sim_own(stream), SIM_LATER))
ENTRY(cuMemcpy, D_TO_D, copy(any(to), any(from), bytes, NULL, SIM_NOW))
ENTRY(cuMemcpy_ptds, D_TO_D, copy(any(to), any(from), bytes, OWN, SIM_NOW))
ENTRY(cuMemcpyAsync, D_TO_D_ASYNC, copy(any(to), any(from), bytes, stream, SIM_LATER))
ENTRY(cuMemcpyAsync_ptsz, D_TO_D_ASYNC, copy(any(to), any(from), bytes, sim_own(stream), SIM_LATER))

#define PEER                                                                                       \
    (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes)
#define PEER_ASYNC                                                                                 \
    (CUdeviceptr to, __attribute__((unused)) CUcontext to_context, CUdeviceptr from,               \
     __attribute__((unused)) CUcontext from_context, size_t bytes, CUstream stream)
ENTRY(cuMemcpyPeer, PEER, peer(to, to_context, from, from_context, bytes, NULL))
ENTRY(cuMemcpyPeer_ptds, PEER, peer(to, to_context, from, from_context, bytes, OWN))
ENTRY(cuMemcpyPeerAsync, PEER_ASYNC, copy(device(to), device(from), bytes, stream, SIM_LATER))
ENTRY(cuMemcpyPeerAsync_ptsz, PEER_ASYNC,
      copy(device(to), device(from), bytes, sim_own(stream), SIM_LATER))

#define H_TO_A (CUarray to, size_t offset, const void *from, size_t bytes)
#define H_TO_A_ASYNC (CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream)
ENTRY(cuMemcpyHtoA_v2, H_TO_A, copy(array(to, offset), host(from), bytes, NULL, SIM_NOW))
ENTRY(cuMemcpyHtoA_v2_ptds, H_TO_A, copy(array(to, offset), host(from), bytes, OWN, SIM_NOW))
ENTRY(cuMemcpyHtoAAsync_v2, H_TO_A_ASYNC,
      copy(array(to, offset), host(from), bytes, stream, SIM_LATER))
ENTRY(cuMemcpyHtoAAsync_v2_ptsz, H_TO_A_ASYNC,
      copy(array(to, offset), host(from), bytes, sim_own(stream), SIM_LATER))

#define A_TO_H (void *to, CUarray from, size_t offset, size_t bytes)
#define A_TO_H_ASYNC (void *to, CUarray from, size_t offset, size_t bytes, CUstream stream)
ENTRY(cuMemcpyAtoH_v2, A_TO_H, copy(host(to), array(from, offset), bytes, NULL, SIM_NOW))
ENTRY(cuMemcpyAtoH_v2_ptds, A_TO_H, copy(host(to), array(from, offset), bytes, OWN, SIM_NOW))
ENTRY(cuMemcpyAtoHAsync_v2, A_TO_H_ASYNC,
      copy(host(to), array(from, offset), bytes, stream, SIM_LATER))
ENTRY(cuMemcpyAtoHAsync_v2_ptsz, A_TO_H_ASYNC,
      copy(host(to), array(from, offset), bytes, sim_own(stream), SIM_LATER))

#define D_TO_A (CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
#define A_TO_D (CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
#define A_TO_A (CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes)
ENTRY(cuMemcpyDtoA_v2, D_TO_A, copy(array(to, offset), device(from), bytes, NULL, SIM_NOW))
ENTRY(cuMemcpyDtoA_v2_ptds, D_TO_A, copy(array(to, offset), device(from), bytes, OWN, SIM_NOW))
ENTRY(cuMemcpyAtoD_v2, A_TO_D, copy(device(to), array(from, offset), bytes, NULL, SIM_NOW))
ENTRY(cuMemcpyAtoD_v2_ptds, A_TO_D, copy(device(to), array(from, offset), bytes, OWN, SIM_NOW))
ENTRY(cuMemcpyAtoA_v2, A_TO_A,
      copy(array(to, to_offset), array(from, from_offset), bytes, NULL, SIM_NOW))
ENTRY(cuMemcpyAtoA_v2_ptds, A_TO_A,
      copy(array(to, to_offset), array(from, from_offset), bytes, OWN, SIM_NOW))

#define IN_2D (const CUDA_MEMCPY2D *copy)
#define IN_2D_ASYNC (const CUDA_MEMCPY2D *copy, CUstream stream)
ENTRY(cuMemcpy2D_v2, IN_2D, sim_copy_2d(copy, NULL, SIM_NOW))
ENTRY(cuMemcpy2D_v2_ptds, IN_2D, sim_copy_2d(copy, OWN, SIM_NOW))
ENTRY(cuMemcpy2DUnaligned_v2, IN_2D, sim_copy_2d(copy, NULL, SIM_NOW))
ENTRY(cuMemcpy2DUnaligned_v2_ptds, IN_2D, sim_copy_2d(copy, OWN, SIM_NOW))
ENTRY(cuMemcpy2DAsync_v2, IN_2D_ASYNC, sim_copy_2d(copy, stream, SIM_LATER))
ENTRY(cuMemcpy2DAsync_v2_ptsz, IN_2D_ASYNC, sim_copy_2d(copy, sim_own(stream), SIM_LATER))

#define IN_3D (const CUDA_MEMCPY3D *copy)
#define IN_3D_ASYNC (const CUDA_MEMCPY3D *copy, CUstream stream)
ENTRY(cuMemcpy3D_v2, IN_3D, sim_copy(copy, NULL, SIM_NOW))
ENTRY(cuMemcpy3D_v2_ptds, IN_3D, sim_copy(copy, OWN, SIM_NOW))
ENTRY(cuMemcpy3DAsync_v2, IN_3D_ASYNC, sim_copy(copy, stream, SIM_LATER))
ENTRY(cuMemcpy3DAsync_v2_ptsz, IN_3D_ASYNC, sim_copy(copy, sim_own(stream), SIM_LATER))

#define PEER_3D (const CUDA_MEMCPY3D_PEER *copy)
#define PEER_3D_ASYNC (const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
ENTRY(cuMemcpy3DPeer, PEER_3D, sim_copy_peer(copy, NULL, SIM_NOW))
ENTRY(cuMemcpy3DPeer_ptds, PEER_3D, sim_copy_peer(copy, OWN, SIM_NOW))
ENTRY(cuMemcpy3DPeerAsync, PEER_3D_ASYNC, sim_copy_peer(copy, stream, SIM_LATER))
ENTRY(cuMemcpy3DPeerAsync_ptsz, PEER_3D_ASYNC, sim_copy_peer(copy, sim_own(stream), SIM_LATER))

#define BATCH_V1                                                                                   \
    (CUdeviceptr * to, CUdeviceptr * from, size_t * bytes, size_t count,                           \
     CUmemcpyAttributes * attributes, size_t * begins, size_t described, size_t * failed,          \
     CUstream stream)
#define BATCH                                                                                      \
    (CUdeviceptr * to, CUdeviceptr * from, size_t * bytes, size_t count,                           \
     CUmemcpyAttributes * attributes, size_t * begins, size_t described, CUstream stream)
#define DESCRIBED is_described(attributes, begins, described, count)
ENTRY(cuMemcpyBatchAsync, BATCH_V1, batch(to, from, bytes, count, DESCRIBED, failed, stream))
ENTRY(cuMemcpyBatchAsync_ptsz, BATCH_V1,
      batch(to, from, bytes, count, DESCRIBED, failed, sim_own(stream)))
ENTRY(cuMemcpyBatchAsync_v2, BATCH, batch(to, from, bytes, count, DESCRIBED, NULL, stream))
ENTRY(cuMemcpyBatchAsync_v2_ptsz, BATCH,
      batch(to, from, bytes, count, DESCRIBED, NULL, sim_own(stream)))

#define BATCH_3D_V1                                                                                \
    (size_t count, CUDA_MEMCPY3D_BATCH_OP * list, size_t * failed, unsigned long long flags,       \
     CUstream stream)
#define BATCH_3D                                                                                   \
    (size_t count, CUDA_MEMCPY3D_BATCH_OP * list, unsigned long long flags, CUstream stream)
ENTRY(cuMemcpy3DBatchAsync, BATCH_3D_V1, batch_3d(count, list, failed, flags, stream))
ENTRY(cuMemcpy3DBatchAsync_ptsz, BATCH_3D_V1, batch_3d(count, list, failed, flags, sim_own(stream)))
ENTRY(cuMemcpy3DBatchAsync_v2, BATCH_3D, batch_3d(count, list, NULL, flags, stream))
ENTRY(cuMemcpy3DBatchAsync_v2_ptsz, BATCH_3D, batch_3d(count, list, NULL, flags, sim_own(stream)))

/* Defines the common part of cuMemsetD8, D16 and D32: fills of n elements, or of rows. */
#define FILLS(bits, type)                                                                          \
    ENTRY(cuMemsetD##bits##_v2, (CUdeviceptr to, type value, size_t n),                            \
          fill_bytes(to, 0, value, bits / 8, n, 1, NULL))                                          \
    ENTRY(cuMemsetD##bits##_v2_ptds, (CUdeviceptr to, type value, size_t n),                       \
          fill_bytes(to, 0, value, bits / 8, n, 1, OWN))                                           \
    ENTRY(cuMemsetD##bits##Async, (CUdeviceptr to, type value, size_t n, CUstream stream),         \
          fill_bytes(to, 0, value, bits / 8, n, 1, stream))                                        \
    ENTRY(cuMemsetD##bits##Async_ptsz, (CUdeviceptr to, type value, size_t n, CUstream stream),    \
          fill_bytes(to, 0, value, bits / 8, n, 1, sim_own(stream)))                               \
    ENTRY(cuMemsetD2D##bits##_v2,                                                                  \
          (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height),                 \
          fill_bytes(to, pitch, value, bits / 8, width, height, NULL))                             \
    ENTRY(cuMemsetD2D##bits##_v2_ptds,                                                             \
          (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height),                 \
          fill_bytes(to, pitch, value, bits / 8, width, height, OWN))                              \
    ENTRY(                                                                                         \
        cuMemsetD2D##bits##Async,                                                                  \
        (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, CUstream stream),  \
        fill_bytes(to, pitch, value, bits / 8, width, height, stream))                             \
    ENTRY(                                                                                         \
        cuMemsetD2D##bits##Async_ptsz,                                                             \
        (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, CUstream stream),  \
        fill_bytes(to, pitch, value, bits / 8, width, height, sim_own(stream)))

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)
