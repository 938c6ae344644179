/*
 * Copies of two and three dimensions. Where the program's memory is on a side, its rows are put one
 * after another and travel so; what the server reaches by itself is left to the driver. All of them
 * are done in three dimensions.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proto/cuda-client.h"
#include "proto/cuda-structs.h"
#include "runtime/cuda/box.h"
#include "runtime/cuda/by_hand/captured.h"
#include "runtime/cuda/by_hand/host.h"
#include "runtime/cuda/by_hand/sides.h"
#include "runtime/cuda/bytes.h"
#include "runtime/cuda/client.h"
#include "runtime/cuda/zeroed.h"

enum { CHUNK = 8 * 1024 * 1024, ROW_UNIT = 4096 };

typedef CUDA_MEMCPY3D_PEER cuboid;

static CUDA_MEMCPY3D to_3d(const cuboid *copy)
{
    CUDA_MEMCPY3D made;
    memcpy(&made, copy, sizeof made);
    made.reserved0 = NULL;
    made.reserved1 = NULL;
    return made;
}

/* ---- the program's side ---- */

static size_t or_else(size_t value, size_t other)
{
    return value ? value : other;
}

static size_t span_of(const struct ath_cuda_rows *rows, const cuboid *copy)
{
    return (copy->Depth - 1) * rows->slice + (copy->Height - 1) * rows->pitch + copy->WidthInBytes;
}

static size_t bytes_of(const cuboid *copy)
{
    return copy->WidthInBytes * copy->Height * copy->Depth;
}

/* A unified address becomes the one or the other. */
static void settle_source(cuboid *copy)
{
    if (copy->srcMemoryType != CU_MEMORYTYPE_UNIFIED)
        return;
    copy->srcMemoryType = CU_MEMORYTYPE_DEVICE;
    if (ath_cuda_is_program_memory(copy->srcDevice, 1)) {
        copy->srcMemoryType = CU_MEMORYTYPE_HOST;
        copy->srcHost = (const void *)(uintptr_t)copy->srcDevice;
    }
}

static void settle_target(cuboid *copy)
{
    if (copy->dstMemoryType != CU_MEMORYTYPE_UNIFIED)
        return;
    copy->dstMemoryType = CU_MEMORYTYPE_DEVICE;
    if (ath_cuda_is_program_memory(copy->dstDevice, 1)) {
        copy->dstMemoryType = CU_MEMORYTYPE_HOST;
        copy->dstHost = (void *)(uintptr_t)copy->dstDevice;
    }
}

/* Whether the rows must travel. */
static bool source_travels(const cuboid *copy)
{
    if (copy->srcMemoryType != CU_MEMORYTYPE_HOST)
        return false;
    struct ath_cuda_rows rows = ath_cuda_box_rows(copy, true);
    return !ath_cuda_host_reaches(rows.first, span_of(&rows, copy));
}

static bool target_travels(const cuboid *copy)
{
    if (copy->dstMemoryType != CU_MEMORYTYPE_HOST)
        return false;
    struct ath_cuda_rows rows = ath_cuda_box_rows(copy, false);
    return !ath_cuda_host_reaches(rows.first, span_of(&rows, copy));
}

/* Of the program's memory, to memory of the GPU's that has less. */
static bool is_too_much(const cuboid *copy)
{
    struct ath_cuda_rows from = ath_cuda_box_rows(copy, true);
    struct ath_cuda_rows to = ath_cuda_box_rows(copy, false);
    CUdeviceptr target = copy->dstDevice + (uintptr_t)to.first;
    return copy->dstMemoryType == CU_MEMORYTYPE_DEVICE &&
           ath_cuda_is_too_much(target, span_of(&to, copy), from.first, span_of(&from, copy));
}

static CUresult bring(const cuboid *copy, CUstream stream)
{
    struct ath_cuda_rows from = ath_cuda_box_rows(copy, true);
    return ath_cuda_host_bring(from.first, span_of(&from, copy), stream);
}

/* ---- what travels ---- */

static CUresult gather(const cuboid *copy, uint8_t **out)
{
    cuboid packed = *copy;
    *out = ath_cuda_zeroed(bytes_of(copy));
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    ath_cuda_box_pack_target(&packed, *out);
    ath_cuda_box_move(&packed);
    return CUDA_SUCCESS;
}

static CUresult scatter(const cuboid *copy, struct ath_wire_bytes data)
{
    cuboid packed = *copy;
    if (data.length != bytes_of(copy))
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    ath_cuda_box_pack_source(&packed, data.data);
    ath_cuda_box_move(&packed);
    return CUDA_SUCCESS;
}

/* Both ends are the program's. */
static CUresult copy_here(const cuboid *copy, CUstream stream)
{
    CUresult status = ath_cuda_do_cuStreamSynchronize(stream);
    if (!status)
        ath_cuda_box_move(copy);
    return status;
}

/* is_asked: it is done when it returns, or fails now. A target that travels is waited for anyway.
 */
static CUresult send(const cuboid *copy, CUstream stream, bool is_asked)
{
    ath_auto_free uint8_t *bytes = NULL;
    struct ath_cuda_exchange exchange;
    bool is_given = source_travels(copy), is_taken = target_travels(copy);
    cuboid other = *copy;
    if (is_given)
        other.srcHost = NULL;
    if (is_taken)
        other.dstHost = NULL;
    CUresult status = is_given ? gather(copy, &bytes) : CUDA_SUCCESS;
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athHostCopy);
    if (status)
        return status;
    struct ath_cuda_wire_host_copy_builder call = ath_cuda_wire_call_init_host_copy(exchange.call);
    ath_cuda_put_memcpy3d_peer(&exchange.side, ath_cuda_wire_host_copy_init_copy(call), &other);
    ath_cuda_wire_host_copy_set_stream(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    if (is_given)
        ath_cuda_wire_host_copy_set_source(call, (struct ath_wire_bytes){ bytes, bytes_of(copy) });
    status = is_taken || is_asked ? ath_cuda_ask(&exchange) : ath_cuda_post(&exchange);
    if (!status && is_taken)
        status = scatter(copy, ath_cuda_wire_host_copy_result_data(
                                   ath_cuda_wire_answer_host_copy(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

/* The larger part of a copy that is too much for a message goes first, then the rest. */
static CUresult send_in_parts(cuboid copy, CUstream stream, bool is_asked)
{
    CUresult status = CUDA_SUCCESS;
    while (!status && bytes_of(&copy) > CHUNK) {
        cuboid part = copy;
        if (copy.Depth > 1) {
            part.Depth = copy.Depth / 2;
            copy.srcZ += part.Depth;
            copy.dstZ += part.Depth;
            copy.Depth -= part.Depth;
        } else if (copy.Height > 1) {
            part.Height = copy.Height / 2;
            copy.srcY += part.Height;
            copy.dstY += part.Height;
            copy.Height -= part.Height;
        } else {
            part.WidthInBytes = copy.WidthInBytes / 2 / ROW_UNIT * ROW_UNIT;
            copy.srcXInBytes += part.WidthInBytes;
            copy.dstXInBytes += part.WidthInBytes;
            copy.WidthInBytes -= part.WidthInBytes;
        }
        status = send_in_parts(part, stream, is_asked);
    }
    return status ? status : send(&copy, stream, is_asked);
}

/* ---- a copy ---- */

static bool is_sane(const cuboid *copy)
{
    size_t bytes;
    bool has_source = copy->srcMemoryType != CU_MEMORYTYPE_HOST || copy->srcHost;
    bool has_target = copy->dstMemoryType != CU_MEMORYTYPE_HOST || copy->dstHost;
    return has_source && has_target &&
           !__builtin_mul_overflow(copy->WidthInBytes, copy->Height, &bytes) &&
           !__builtin_mul_overflow(bytes, copy->Depth, &bytes);
}

/* Pitches and heights that are left out mean as much as there is: they are made explicit, since
 * parts of a copy have less. */
static void complete(cuboid *copy)
{
    copy->srcPitch = or_else(copy->srcPitch, copy->srcXInBytes + copy->WidthInBytes);
    copy->dstPitch = or_else(copy->dstPitch, copy->dstXInBytes + copy->WidthInBytes);
    copy->srcHeight = or_else(copy->srcHeight, copy->srcY + copy->Height);
    copy->dstHeight = or_else(copy->dstHeight, copy->dstY + copy->Height);
}

static CUresult leave_to_driver(const cuboid *copy, CUstream stream, bool is_asked)
{
    const CUDA_MEMCPY3D plain = to_3d(copy);
    if (copy->srcContext || copy->dstContext)
        return is_asked ? ath_cuda_do_cuMemcpy3DPeer(copy)
                        : ath_cuda_do_cuMemcpy3DPeerAsync(copy, stream);
    return is_asked ? ath_cuda_do_cuMemcpy3D_v2(&plain)
                    : ath_cuda_do_cuMemcpy3DAsync_v2(&plain, stream);
}

static bool is_in_mirror(const cuboid *copy)
{
    return (copy->dstMemoryType == CU_MEMORYTYPE_DEVICE &&
            ath_cuda_host_is_mirror(copy->dstDevice)) ||
           (copy->dstMemoryType == CU_MEMORYTYPE_HOST &&
            ath_cuda_host_is_mirror((uintptr_t)copy->dstHost));
}

/* is_asked is of the default stream: it is done when it returns. */
static CUresult run(cuboid copy, CUstream stream, bool is_asked)
{
    if (!is_sane(&copy))
        return CUDA_ERROR_INVALID_VALUE;
    if (!bytes_of(&copy))
        return ath_cuda_ready(ATH_CUDA_METHOD_athHostCopy);
    settle_source(&copy);
    settle_target(&copy);
    complete(&copy);
    if (copy.srcMemoryType != CU_MEMORYTYPE_HOST)
        copy.srcHost = NULL;
    if (copy.dstMemoryType != CU_MEMORYTYPE_HOST)
        copy.dstHost = NULL;
    bool is_given = source_travels(&copy), is_taken = target_travels(&copy);
    if ((is_given || is_taken) && ath_cuda_captures(stream))
        return ath_cuda_captured_box(&copy, stream);
    if ((is_given || is_taken) && copy.srcMemoryType == copy.dstMemoryType)
        return copy_here(&copy, stream);
    if (is_given && is_too_much(&copy))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = is_given ? bring(&copy, stream) : CUDA_SUCCESS;
    if (!status)
        status = is_given || is_taken ? send_in_parts(copy, stream, is_asked)
                                      : leave_to_driver(&copy, stream, is_asked);
    return status || !is_asked || !is_in_mirror(&copy) ? status
                                                       : ath_cuda_do_cuStreamSynchronize(stream);
}

CUresult ath_cuda_by_hand_cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    return copy ? run(ath_cuda_box_of_2d(copy), NULL, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
    bool is_own = copy && copy->srcMemoryType != CU_MEMORYTYPE_HOST &&
                  copy->dstMemoryType != CU_MEMORYTYPE_HOST &&
                  copy->srcMemoryType != CU_MEMORYTYPE_UNIFIED &&
                  copy->dstMemoryType != CU_MEMORYTYPE_UNIFIED;
    return is_own ? ath_cuda_do_cuMemcpy2DUnaligned_v2(copy) : ath_cuda_by_hand_cuMemcpy2D_v2(copy);
}

CUresult ath_cuda_by_hand_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    return copy ? run(ath_cuda_box_of_2d(copy), stream, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
    return copy ? run(ath_cuda_box_of_3d(copy), NULL, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    return copy ? run(ath_cuda_box_of_3d(copy), stream, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy)
{
    return copy ? run(*copy, NULL, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    return copy ? run(*copy, stream, false) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- batches: their copies may run in any order, so this one will do ---- */

/* Bytes of an element of an array; 0: it is of none that has such. */
static CUresult element_bytes(CUarray array, size_t *out)
{
    CUDA_ARRAY3D_DESCRIPTOR facts;
    CUresult status = ath_cuda_do_cuArray3DGetDescriptor_v2(&facts, array);
    if (status)
        return status;
    *out = ath_cuda_bytes_of_format(facts.Format) * facts.NumChannels;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* Where an operand is an array its elements are what is counted, else bytes are. */
static CUresult unit_of(const CUDA_MEMCPY3D_BATCH_OP *copy, size_t *out)
{
    const CUmemcpy3DOperand *const ends[] = { &copy->src, &copy->dst };
    *out = 1;
    for (size_t i = 0; i < 2; i++)
        if (ends[i]->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
            return element_bytes(ends[i]->op.array.array, out);
    return CUDA_SUCCESS;
}

static bool is_operand(const CUmemcpy3DOperand *operand)
{
    return operand->type == CU_MEMCPY_OPERAND_TYPE_POINTER ||
           operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
}

static void set_source(cuboid *copy, const CUmemcpy3DOperand *from, size_t unit)
{
    if (from->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy->srcArray = from->op.array.array;
        copy->srcXInBytes = from->op.array.offset.x * unit;
        copy->srcY = from->op.array.offset.y;
        copy->srcZ = from->op.array.offset.z;
        return;
    }
    copy->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy->srcDevice = from->op.ptr.ptr;
    copy->srcPitch = from->op.ptr.rowLength * unit;
    copy->srcHeight = from->op.ptr.layerHeight;
}

static void set_target(cuboid *copy, const CUmemcpy3DOperand *to, size_t unit)
{
    if (to->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy->dstArray = to->op.array.array;
        copy->dstXInBytes = to->op.array.offset.x * unit;
        copy->dstY = to->op.array.offset.y;
        copy->dstZ = to->op.array.offset.z;
        return;
    }
    copy->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy->dstDevice = to->op.ptr.ptr;
    copy->dstPitch = to->op.ptr.rowLength * unit;
    copy->dstHeight = to->op.ptr.layerHeight;
}

static CUresult run_of_batch(const CUDA_MEMCPY3D_BATCH_OP *asked, CUstream stream)
{
    size_t unit;
    if (!is_operand(&asked->src) || !is_operand(&asked->dst))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = unit_of(asked, &unit);
    if (status)
        return status;
    cuboid copy = { .WidthInBytes = asked->extent.width * unit,
                    .Height = asked->extent.height,
                    .Depth = asked->extent.depth };
    set_source(&copy, &asked->src, unit);
    set_target(&copy, &asked->dst, unit);
    return run(copy, stream, false);
}

CUresult ath_cuda_by_hand_cuMemcpy3DBatchAsync(size_t op_count, CUDA_MEMCPY3D_BATCH_OP *ops,
                                               size_t *fail_index, unsigned long long flags,
                                               CUstream stream)
{
    CUresult status = CUDA_SUCCESS;
    size_t at = SIZE_MAX; /* none in particular */
    if (!op_count || !ops || flags || !stream)
        status = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !status && i < op_count; i++)
        if ((status = run_of_batch(&ops[i], stream)))
            at = i;
    if (status && fail_index)
        *fail_index = at;
    return status;
}

CUresult ath_cuda_by_hand_cuMemcpy3DBatchAsync_v2(size_t op_count, CUDA_MEMCPY3D_BATCH_OP *ops,
                                                  unsigned long long flags, CUstream stream)
{
    return ath_cuda_by_hand_cuMemcpy3DBatchAsync(op_count, ops, NULL, flags, stream);
}

/* ---- nodes of graphs: the server gets to know pinned memory; other memory goes as captured ----
 */

static CUresult map_sides(const CUDA_MEMCPY3D *copy)
{
    struct ath_cuda_host host;
    const void *const memory[] = {
        copy->srcMemoryType == CU_MEMORYTYPE_HOST ? copy->srcHost : NULL,
        copy->dstMemoryType == CU_MEMORYTYPE_HOST ? copy->dstHost : NULL,
    };
    CUresult status = CUDA_SUCCESS;
    for (size_t i = 0; !status && i < 2; i++) {
        if (!memory[i])
            continue;
        status = ath_cuda_host_find(memory[i], &host) ? ath_cuda_host_map(memory[i])
                                                      : CUDA_ERROR_NOT_SUPPORTED;
    }
    return status;
}

/* What a side does not use may be anything: it does not travel. */
static CUresult prepare_node(const CUDA_MEMCPY3D *copy, CUDA_MEMCPY3D *out)
{
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    cuboid made = ath_cuda_box_of_3d(copy);
    settle_source(&made);
    settle_target(&made);
    *out = to_3d(&made);
    if (out->srcMemoryType != CU_MEMORYTYPE_HOST)
        out->srcHost = NULL;
    if (out->dstMemoryType != CU_MEMORYTYPE_HOST)
        out->dstHost = NULL;
    return map_sides(out);
}

/* Into a graph, by a stream that captures: see captured.h. */
static CUresult capture(CUgraph graph, const CUDA_MEMCPY3D *copy)
{
    CUstream stream;
    CUresult status = ath_cuda_do_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (status)
        return status;
    status = ath_cuda_by_hand_cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                                          CU_STREAM_CAPTURE_MODE_RELAXED);
    if (!status) {
        status = ath_cuda_by_hand_cuMemcpy3DAsync_v2(copy, stream);
        CUresult ended = ath_cuda_by_hand_cuStreamEndCapture(stream, &graph);
        status = status ? status : ended;
    }
    CUresult destroyed = ath_cuda_do_cuStreamDestroy_v2(stream);
    return status ? status : destroyed;
}

/* What is done for the copy is one node to the program, whatever it makes depend on it. */
static CUresult add_captured(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                             size_t dependency_count, const CUDA_MEMCPY3D *copy)
{
    CUgraph captured;
    CUresult status = ath_cuda_do_cuGraphCreate(&captured, 0);
    if (status)
        return status;
    status = capture(captured, copy);
    if (!status)
        status = ath_cuda_do_cuGraphAddChildGraphNode(node, graph, dependencies, dependency_count,
                                                      captured);
    CUresult destroyed = ath_cuda_do_cuGraphDestroy(captured);
    return status ? status : destroyed;
}

CUresult ath_cuda_by_hand_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph,
                                               const CUgraphNode *dependencies,
                                               size_t dependency_count, const CUDA_MEMCPY3D *copy,
                                               CUcontext context)
{
    CUDA_MEMCPY3D prepared;
    CUresult status = prepare_node(copy, &prepared);
    if (status == CUDA_ERROR_NOT_SUPPORTED && node)
        return add_captured(node, graph, dependencies, dependency_count, &prepared);
    return status ? status
                  : ath_cuda_do_cuGraphAddMemcpyNode(node, graph, dependencies, dependency_count,
                                                     &prepared, context);
}

CUresult ath_cuda_by_hand_cuGraphExecMemcpyNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                                         const CUDA_MEMCPY3D *copy,
                                                         CUcontext context)
{
    CUDA_MEMCPY3D prepared;
    CUresult status = prepare_node(copy, &prepared);
    return status
               ? status
               : ath_cuda_do_cuGraphExecMemcpyNodeSetParams(graph_exec, node, &prepared, context);
}

CUresult ath_cuda_by_hand_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
    CUDA_MEMCPY3D prepared;
    CUresult status = prepare_node(params, &prepared);
    return status ? status : ath_cuda_do_cuGraphMemcpyNodeSetParams(node, &prepared);
}
