/* The server's side of all other calls that the generator does not write. */
#include "config.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cuda/common/bytes.h"
#include "cuda/server/current_context.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"

/* ---- lists of attributes ---- */

/* One piece of memory for each value. */
static void **pieces(struct ath_cuda_side *side, uint32_t count, const size_t *sizes)
{
    void **made = ath_cuda_room(side, count, sizeof *made);
    for (uint32_t i = 0; made && i < count; i++)
        made[i] = ath_cuda_room(side, sizes[i], 1);
    return made;
}

/* Notes a pool or a context that an attribute names: the client may use its handle. */
static void note_attribute(struct ath_cuda_side *side, CUpointer_attribute attribute,
                           const void *value)
{
    uint64_t handle;
    if (attribute != CU_POINTER_ATTRIBUTE_CONTEXT &&
        attribute != CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
        return;
    memcpy(&handle, value, sizeof handle);
    ath_cuda_to_wire(side,
                     attribute == CU_POINTER_ATTRIBUTE_CONTEXT ? ATH_CUDA_KIND_CONTEXT
                                                               : ATH_CUDA_KIND_MEMORY_POOL,
                     handle);
}

void ath_cuda_serve_cuPointerGetAttributes(struct ath_cuda_served *served)
{
    NEEDS(served, cuPointerGetAttributes)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_pointer_get_attributes call =
        ath_cuda_wire_call_pointer_get_attributes(served->call);
    struct ath_wire_list list = ath_cuda_wire_pointer_get_attributes_attributes(call);
    CUpointer_attribute *attributes = ath_cuda_room(side, list.count, sizeof *attributes);
    size_t *sizes = ath_cuda_room(side, list.count, sizeof *sizes);
    for (uint32_t i = 0; attributes && sizes && i < list.count; i++) {
        attributes[i] = (CUpointer_attribute)ath_wire_u32(ath_wire_item(list, i), 0, 0);
        sizes[i] = ath_cuda_bytes_of_pointer_attribute(attributes[i]);
        if (!sizes[i])
            side->status = CUDA_ERROR_INVALID_VALUE;
    }
    void **values = sizes ? pieces(side, list.count, sizes) : NULL;
    CUdeviceptr address = ath_cuda_to_own(side, ATH_CUDA_KIND_ADDRESS,
                                          ath_cuda_wire_pointer_get_attributes_address(call));
    if (ath_cuda_refused(served))
        return;
    served->status =
        served->driver->cuPointerGetAttributes(list.count, attributes, values, address);
    if (served->status)
        return;
    struct ath_wire_array answers = ath_cuda_wire_pointer_get_attributes_result_init_values(
        ath_cuda_wire_answer_init_pointer_get_attributes(served->answer), list.count);
    for (uint32_t i = 0; attributes && sizes && values && i < answers.count; i++) {
        note_attribute(side, attributes[i], values[i]);
        ath_wire_array_set_data(answers, i, (struct ath_wire_bytes){ values[i], sizes[i] });
    }
}

void ath_cuda_serve_cuMemRangeGetAttributes(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemRangeGetAttributes)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_mem_range_get_attributes call =
        ath_cuda_wire_call_mem_range_get_attributes(served->call);
    struct ath_wire_list list = ath_cuda_wire_mem_range_get_attributes_attributes(call);
    struct ath_wire_list lengths = ath_cuda_wire_mem_range_get_attributes_sizes(call);
    CUmem_range_attribute *attributes = ath_cuda_room(side, list.count, sizeof *attributes);
    size_t *sizes = ath_cuda_room(side, list.count, sizeof *sizes);
    for (uint32_t i = 0; attributes && sizes && i < list.count; i++) {
        attributes[i] = (CUmem_range_attribute)ath_wire_u32(ath_wire_item(list, i), 0, 0);
        sizes[i] = (size_t)ath_wire_u64(ath_wire_item(lengths, i), 0, 0);
    }
    if (lengths.count != list.count)
        side->status = CUDA_ERROR_INVALID_VALUE;
    void **values = sizes && lengths.count == list.count ? pieces(side, list.count, sizes) : NULL;
    CUdeviceptr address = ath_cuda_to_own(side, ATH_CUDA_KIND_ADDRESS,
                                          ath_cuda_wire_mem_range_get_attributes_address(call));
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuMemRangeGetAttributes(
        values, sizes, attributes, list.count, address,
        (size_t)ath_cuda_wire_mem_range_get_attributes_count(call));
    if (served->status)
        return;
    struct ath_wire_array answers = ath_cuda_wire_mem_range_get_attributes_result_init_values(
        ath_cuda_wire_answer_init_mem_range_get_attributes(served->answer), list.count);
    for (uint32_t i = 0; values && i < answers.count; i++)
        ath_wire_array_set_data(answers, i, (struct ath_wire_bytes){ values[i], sizes[i] });
}

/* ---- the others ---- */

void ath_cuda_serve_cuOccupancyMaxPotentialBlockSizeWithFlags(struct ath_cuda_served *served)
{
    NEEDS(served, cuOccupancyMaxPotentialBlockSizeWithFlags)
    struct ath_cuda_wire_occupancy_max_potential_block_size_with_flags call =
        ath_cuda_wire_call_occupancy_max_potential_block_size_with_flags(served->call);
    CUfunction function = ath_cuda_function_of(
        &served->side, ath_cuda_wire_occupancy_max_potential_block_size_with_flags_function(call));
    int grid = 0, block = 0;
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuOccupancyMaxPotentialBlockSizeWithFlags(
        &grid, &block, function, NULL,
        (size_t)ath_cuda_wire_occupancy_max_potential_block_size_with_flags_dynamic_s_mem_size(
            call),
        ath_cuda_wire_occupancy_max_potential_block_size_with_flags_block_size_limit(call),
        ath_cuda_wire_occupancy_max_potential_block_size_with_flags_flags(call));
    if (served->status)
        return;
    struct ath_cuda_wire_occupancy_max_potential_block_size_with_flags_result_builder answer =
        ath_cuda_wire_answer_init_occupancy_max_potential_block_size_with_flags(served->answer);
    ath_cuda_wire_occupancy_max_potential_block_size_with_flags_result_set_min_grid_size(answer,
                                                                                         grid);
    ath_cuda_wire_occupancy_max_potential_block_size_with_flags_result_set_block_size(answer,
                                                                                      block);
}

/* The driver writes into a file by name. A file in memory has a name under /proc. */
void ath_cuda_serve_cuGraphDebugDotPrint(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphDebugDotPrint)
    struct ath_cuda_wire_graph_debug_dot_print call =
        ath_cuda_wire_call_graph_debug_dot_print(served->call);
    CUgraph graph = (CUgraph)(uintptr_t)ath_cuda_to_own(
        &served->side, ATH_CUDA_KIND_GRAPH, ath_cuda_wire_graph_debug_dot_print_graph(call));
    ath_auto_close int fd = memfd_create("graph", MFD_CLOEXEC);
    char path[64];
    if (ath_cuda_refused(served))
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0) {
        served->status = CUDA_ERROR_OPERATING_SYSTEM;
        return;
    }
    served->status = served->driver->cuGraphDebugDotPrint(
        graph, path, ath_cuda_wire_graph_debug_dot_print_flags(call));
    off_t length = served->status ? 0 : lseek(fd, 0, SEEK_END);
    char *text = length > 0 ? ath_cuda_room(&served->side, (uint64_t)length, 1) : NULL;
    if (text && pread(fd, text, (size_t)length, 0) == length)
        ath_cuda_wire_graph_debug_dot_print_result_set_text(
            ath_cuda_wire_answer_init_graph_debug_dot_print(served->answer),
            (struct ath_wire_bytes){ (const uint8_t *)text, (size_t)length });
}

/* ---- green contexts ---- */

void ath_cuda_serve_cuCtxFromGreenCtx(struct ath_cuda_served *served)
{
    NEEDS(served, cuCtxFromGreenCtx)
    uint64_t green = ath_cuda_to_own(&served->side, ATH_CUDA_KIND_GREEN_CTX,
                                     ath_cuda_wire_ctx_from_green_ctx_green_context(
                                         ath_cuda_wire_call_ctx_from_green_ctx(served->call)));
    CUcontext context;
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuCtxFromGreenCtx(&context, (CUgreenCtx)(uintptr_t)green);
    if (!served->status)
        served->status = ath_cuda_note_green(served->session, context);
    if (!served->status)
        ath_cuda_wire_ctx_from_green_ctx_result_set_context(
            ath_cuda_wire_answer_init_ctx_from_green_ctx(served->answer),
            ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_CONTEXT, (uintptr_t)context));
}
