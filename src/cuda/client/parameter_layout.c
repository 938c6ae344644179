/* A map of layouts. It is emptied when modules may have ended, because their handles may name
 * other kernels later. */
#include "config.h"

#include "cuda/client/parameter_layout.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "cuda/client/client.h"
#include "proto/cuda-wire.h"

struct entry {
    struct ath_map_entry entry; /* by the function */
    struct ath_cuda_parameter_layout *layout;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ath_map entries = ATH_MAP(10);
static uint64_t valid_at; /* the entries hold for this ath_cuda_forgotten() */

static size_t size_of(size_t count)
{
    struct ath_cuda_parameter_layout *layout = NULL;
    return sizeof *layout + count * sizeof layout->parameters[0];
}

static struct ath_cuda_parameter_layout *copy_layout(const struct ath_cuda_parameter_layout *layout)
{
    struct ath_cuda_parameter_layout *copy = layout ? malloc(size_of(layout->count)) : NULL;
    return copy ? memcpy(copy, layout, size_of(layout->count)) : NULL;
}

static void drop_layouts(void)
{
    ATH_MAP_EACH(&entries, at)
    {
        struct entry *entry = ath_map_take(at);
        free(entry->layout);
        free(entry);
    }
}

static struct ath_cuda_parameter_layout *copy_layout_of(const void *function)
{
    pthread_mutex_lock(&lock);
    if (valid_at != ath_cuda_forgotten()) {
        drop_layouts();
        valid_at = ath_cuda_forgotten();
    }
    const struct entry *entry = ath_map_find(&entries, (uintptr_t)function);
    struct ath_cuda_parameter_layout *copy = copy_layout(entry ? entry->layout : NULL);
    pthread_mutex_unlock(&lock);
    return copy;
}

static void add_layout(const void *function, const struct ath_cuda_parameter_layout *layout,
                       uint64_t asked_at)
{
    struct entry *entry = calloc(1, sizeof *entry);
    struct ath_cuda_parameter_layout *copy = copy_layout(layout);
    pthread_mutex_lock(&lock);
    if (entry && copy && valid_at == asked_at) {
        entry->layout = copy;
        ath_map_add(&entries, &entry->entry, (uintptr_t)function);
        entry = NULL;
        copy = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(copy);
    free(entry);
}

/* Reads a layout from a message. Returns NULL if memory runs out. */
static struct ath_cuda_parameter_layout *read_layout(struct ath_cuda_wire_layout from)
{
    struct ath_wire_list offsets = ath_cuda_wire_layout_offsets(from);
    struct ath_wire_list sizes = ath_cuda_wire_layout_sizes(from);
    size_t count = offsets.count < sizes.count ? offsets.count : sizes.count;
    struct ath_cuda_parameter_layout *layout = calloc(1, size_of(count));
    if (layout)
        layout->max_threads = ath_cuda_wire_layout_max_threads(from);
    for (uint32_t i = 0; layout && i < count; i++) {
        size_t offset = ath_wire_u32(ath_wire_item(offsets, i), 0, 0);
        size_t size = ath_wire_u32(ath_wire_item(sizes, i), 0, 0);
        layout->parameters[i].offset = offset;
        layout->parameters[i].size = size;
        layout->count++;
        if (offset + size > layout->bytes)
            layout->bytes = offset + size;
    }
    return layout;
}

void ath_cuda_parameter_layout_learn(const void *function, struct ath_cuda_wire_layout from)
{
    struct ath_cuda_parameter_layout *known = copy_layout_of(function);
    bool is_known = known;
    free(known); /* clang's analyzer ignores the cleanup attribute and would report a leak */
    if (is_known || !ath_cuda_wire_layout_is_known(from))
        return;
    struct ath_cuda_parameter_layout *layout = read_layout(from);
    if (layout)
        add_layout(function, layout, ath_cuda_forgotten());
    free(layout);
}

static CUresult ask_layout(const void *function, struct ath_cuda_parameter_layout **out)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athFunctionLayout);
    if (status)
        return status;
    bool is_kernel = ath_cuda_is_kernel(function);
    struct ath_cuda_wire_function_layout_builder call =
        ath_cuda_wire_call_init_function_layout(exchange.call);
    ath_cuda_wire_function_layout_set_function(
        call,
        ath_cuda_to_wire(&exchange.side, is_kernel ? ATH_CUDA_KIND_KERNEL : ATH_CUDA_KIND_FUNCTION,
                         (uintptr_t)function));
    ath_cuda_wire_function_layout_set_is_kernel(call, is_kernel);
    status = ath_cuda_ask(&exchange);
    if (!status) {
        *out = read_layout(ath_cuda_wire_function_layout_result_layout(
            ath_cuda_wire_answer_function_layout(exchange.answer)));
        status = *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    return ath_cuda_end(&exchange, status);
}

bool ath_cuda_parameter_layout_is_known(const void *function)
{
    ath_auto_free struct ath_cuda_parameter_layout *known = copy_layout_of(function);
    return known;
}

CUresult ath_cuda_parameter_layout_of(const void *function,
                                      struct ath_cuda_parameter_layout **out_layout)
{
    uint64_t asked_at = ath_cuda_forgotten();
    struct ath_cuda_parameter_layout *layout = copy_layout_of(function);
    if (!layout) {
        CUresult status = ask_layout(function, &layout);
        if (status) {
            free(layout);
            return status;
        }
        add_layout(function, layout, asked_at);
    }
    *out_layout = layout;
    return CUDA_SUCCESS;
}
