/*
 * A table of layouts, emptied when modules may have gone: their handles may come again for other
 * kernels.
 */
#include "config.h"

#include "runtime/cuda/by_hand/layout.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/cuda/client.h"

enum { BUCKETS = 1024 };

struct entry {
    struct entry *next;
    const void *function;
    struct ath_cuda_layout *layout;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *buckets[BUCKETS];
static uint64_t valid_at; /* ath_cuda_forgotten() of what is in the table */

static struct entry **bucket_of(const void *function)
{
    return &buckets[((uintptr_t)function * UINT64_C(0x9e3779b97f4a7c15) >> 54) % BUCKETS];
}

static size_t size_of(size_t count)
{
    struct ath_cuda_layout *layout = NULL;
    return sizeof *layout + count * sizeof layout->parameters[0];
}

static struct ath_cuda_layout *copy_of(const struct ath_cuda_layout *layout)
{
    struct ath_cuda_layout *copy = layout ? malloc(size_of(layout->count)) : NULL;
    return copy ? memcpy(copy, layout, size_of(layout->count)) : NULL;
}

static void empty(void)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct entry *entry = buckets[i], *next; entry; entry = next) {
            next = entry->next;
            free(entry->layout);
            free(entry);
        }
        buckets[i] = NULL;
    }
}

static struct ath_cuda_layout *find(const void *function)
{
    pthread_mutex_lock(&lock);
    if (valid_at != ath_cuda_forgotten()) {
        empty();
        valid_at = ath_cuda_forgotten();
    }
    const struct entry *entry = *bucket_of(function);
    while (entry && entry->function != function)
        entry = entry->next;
    struct ath_cuda_layout *copy = copy_of(entry ? entry->layout : NULL);
    pthread_mutex_unlock(&lock);
    return copy;
}

static void add(const void *function, const struct ath_cuda_layout *layout, uint64_t asked_at)
{
    struct entry *entry = calloc(1, sizeof *entry);
    struct ath_cuda_layout *copy = copy_of(layout);
    pthread_mutex_lock(&lock);
    if (entry && copy && valid_at == asked_at) {
        *entry = (struct entry){ *bucket_of(function), function, copy };
        *bucket_of(function) = entry;
        entry = NULL;
        copy = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(copy);
    free(entry);
}

/* What travels, as a layout; NULL without memory. */
static struct ath_cuda_layout *read_layout(struct ath_cuda_wire_layout from)
{
    struct ath_wire_list offsets = ath_cuda_wire_layout_offsets(from);
    struct ath_wire_list sizes = ath_cuda_wire_layout_sizes(from);
    size_t count = offsets.count < sizes.count ? offsets.count : sizes.count;
    struct ath_cuda_layout *layout = calloc(1, size_of(count));
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

void ath_cuda_layout_learn(const void *function, struct ath_cuda_wire_layout from)
{
    ath_auto_free struct ath_cuda_layout *known = find(function);
    if (known || !ath_cuda_wire_layout_is_known(from))
        return;
    struct ath_cuda_layout *layout = read_layout(from);
    if (layout)
        add(function, layout, ath_cuda_forgotten());
    free(layout); /* by hand: clang's analyzer knows no cleanup attribute, and sees a leak */
}

static CUresult ask(const void *function, struct ath_cuda_layout **out)
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

bool ath_cuda_layout_is_known(const void *function)
{
    ath_auto_free struct ath_cuda_layout *known = find(function);
    return known;
}

CUresult ath_cuda_layout_of(const void *function, struct ath_cuda_layout **out_layout)
{
    uint64_t asked_at = ath_cuda_forgotten();
    struct ath_cuda_layout *layout = find(function);
    if (!layout) {
        CUresult status = ask(function, &layout);
        if (status) {
            free(layout);
            return status;
        }
        add(function, layout, asked_at);
    }
    *out_layout = layout;
    return CUDA_SUCCESS;
}
