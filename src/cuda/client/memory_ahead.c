/* A table of sizes, each with the addresses that the program has not taken yet. */
#include "config.h"

#include "cuda/client/memory_ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/connection.h"
#include "cuda/client/instance.h"
#include "cuda/client/start_plan.h"
#include "cuda/client/start_stock.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"

enum {
    SIZES_MAX = 128,
    MOST = 16,                  /* of a size at once, beside the plan's */
    ROOM = ATH_CUDA_PLAN_COUNT, /* unused ones of a size */
    WISHES_MAX = 512,           /* blocks of one question */
    PART_OF_GPU = 32,
    PART_OF_FREE = 8,
    PLAN_OF_GPU = 4, /* with what the last start took */
    PLAN_OF_FREE = 2,
    ROUNDS_MAX = 4, /* in which the plan's blocks are asked for: they may be given back between */
    WAITS_MAX = 64, /* after which the program no longer takes memory */
    FREE_BYTES_MAX = 4096
};

struct size {
    CUcontext context;
    size_t bytes;
    uint64_t taken; /* by the program */
    size_t count;
    CUdeviceptr unused[ROOM];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct size sizes[SIZES_MAX];
static size_t size_count, unused_bytes;
static atomic_size_t unused_count; /* read without the lock, too */
static atomic_size_t free_bytes;   /* as the server said last; 0: not known. The same */
static atomic_uint waits;          /* since memory was taken */
static atomic_uint rounds;         /* see ROUNDS_MAX */
static _Thread_local bool is_asking;

/* ---- how many ---- */

/* The caller holds the lock. Returns NULL if there are too many sizes. */
static struct size *size_of(CUcontext context, size_t bytes)
{
    struct size *at = sizes;
    while (at < sizes + size_count && (at->context != context || at->bytes != bytes))
        at++;
    if (at == sizes + size_count && size_count < SIZES_MAX) {
        size_count++;
        *at = (struct size){ .context = context, .bytes = bytes };
    }
    return at < sizes + size_count ? at : NULL;
}

static bool may_ask_ahead(size_t bytes)
{
    return bytes && !ath_is_off(ATH_SWITCH_SPARES) && ath_cuda_is_line_slow() &&
           !ath_instance_server() && !ath_cuda_may(ATH_CUDA_METHOD_cuMemAlloc_v2) &&
           !ath_cuda_is_any_capturing() && ath_cuda_current_context() &&
           !ath_cuda_known_fault(ath_cuda_current_context());
}

/* How many blocks to ask for, with the program's own one. The caller holds the lock. */
static size_t count_ahead(const struct size *size, size_t total_bytes)
{
    uint64_t wanted = size->taken + 1;
    size_t most = total_bytes / PART_OF_GPU, free_part = free_bytes / PART_OF_FREE;
    size_t room = most > unused_bytes ? most - unused_bytes : 0;
    if (room > free_part)
        room = free_part;
    if (wanted > MOST)
        wanted = MOST;
    return wanted > 1 + room / size->bytes ? 1 + room / size->bytes : (size_t)wanted;
}

/* ---- asking ---- */

static bool begin_allocation(struct ath_cuda_exchange *begun, size_t bytes)
{
    if (ath_cuda_begin(begun, ATH_CUDA_METHOD_cuMemAlloc_v2))
        return false;
    ath_cuda_wire_mem_alloc_v2_set_bytes(ath_cuda_wire_call_init_mem_alloc_v2(begun->call), bytes);
    return !ath_cuda_ask_begin(begun);
}

static bool begin_info(struct ath_cuda_exchange *begun)
{
    if (ath_cuda_begin(begun, ATH_CUDA_METHOD_cuMemGetInfo_v2))
        return false;
    ath_cuda_wire_call_set_mem_get_info_v2(begun->call);
    is_asking = true; /* not the program's question: nothing is given back */
    bool is_sent = !ath_cuda_ask_begin(begun);
    is_asking = false;
    return is_sent;
}

static CUresult end_allocation(struct ath_cuda_exchange *exchange, CUdeviceptr *address)
{
    CUresult status = ath_cuda_ask_end(exchange);
    if (!status)
        *address = ath_cuda_to_own(&exchange->side, ATH_CUDA_KIND_ADDRESS,
                                   ath_cuda_wire_mem_alloc_v2_result_address(
                                       ath_cuda_wire_answer_mem_alloc_v2(exchange->answer)));
    return ath_cuda_end(exchange, status);
}

static void end_info(struct ath_cuda_exchange *exchange)
{
    CUresult status = ath_cuda_ask_end(exchange);
    free_bytes = status ? 0
                        : ath_cuda_wire_mem_get_info_v2_result_free_bytes(
                              ath_cuda_wire_answer_mem_get_info_v2(exchange->answer));
    (void)ath_cuda_end(exchange, status);
}

/* The caller holds `order`, which guards the builder too. */
static void send_free(CUcontext context, CUdeviceptr address)
{
    static struct ath_wire_builder builder = { .max_bytes = FREE_BYTES_MAX };
    struct ath_cuda_wire_call_builder call = ath_cuda_own_call_start(&builder, context);
    ath_cuda_wire_mem_free_v2_set_address(ath_cuda_wire_call_init_mem_free_v2(call), address);
    ath_cuda_own_call_post(&builder, ATH_CUDA_METHOD_cuMemFree_v2);
}

static bool keep_unused(CUcontext context, size_t bytes, CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    struct size *size = size_of(context, bytes);
    bool has_room = size && size->count < ROOM;
    if (has_room) {
        size->unused[size->count++] = address;
        unused_bytes += bytes;
        unused_count++;
    }
    pthread_mutex_unlock(&lock);
    return has_room;
}

/* Threads that ask at the same time may get more than there is room for. */
static void add_unused(CUcontext context, size_t bytes, CUdeviceptr address)
{
    if (keep_unused(context, bytes, address))
        return;
    pthread_mutex_lock(&ath_cuda_connection.order);
    send_free(context, address);
    pthread_mutex_unlock(&ath_cuda_connection.order);
}

/* The blocks of one question. The first is the caller's. */
struct wish {
    size_t count;
    size_t bytes[WISHES_MAX];
    struct ath_cuda_exchange exchanges[WISHES_MAX];
};

static void wish_for(struct wish *wish, size_t bytes, size_t count)
{
    for (; count && wish->count < WISHES_MAX; count--)
        wish->bytes[wish->count++] = bytes;
}

/* How many more blocks the plan has of a size than are there already, or are wished for. */
static size_t count_missing(const struct wish *wish, size_t bytes, size_t left)
{
    pthread_mutex_lock(&lock);
    const struct size *size = size_of(ath_cuda_current_context(), bytes);
    size_t there = size ? size->count : ROOM;
    pthread_mutex_unlock(&lock);
    for (size_t i = 1; i < wish->count; i++) /* the first is the program's own */
        there += wish->bytes[i] == bytes;
    return left > there ? left - there : 0;
}

/* Adds what the program's last start took beyond this one, once it is known how much memory is
 * free. */
static void wish_for_all(struct wish *wish, size_t total_bytes)
{
    struct ath_cuda_plan_row row;
    size_t most = total_bytes / PLAN_OF_GPU, room, bytes;
    if (!free_bytes || rounds >= ROUNDS_MAX)
        return;
    if (most > free_bytes / PLAN_OF_FREE)
        most = free_bytes / PLAN_OF_FREE;
    pthread_mutex_lock(&lock);
    room = most > unused_bytes ? most - unused_bytes : 0;
    pthread_mutex_unlock(&lock);
    size_t before = wish->count;
    for (size_t i = 0; ath_cuda_start_plan_row(i, &row); i++) {
        if (row.method != ATH_CUDA_METHOD_cuMemAlloc_v2 || row.length != sizeof bytes)
            continue;
        memcpy(&bytes, row.what, sizeof bytes);
        for (size_t missing = count_missing(wish, bytes, row.left);
             missing && bytes && bytes <= room; missing--, room -= bytes)
            wish_for(wish, bytes, 1);
    }
    rounds += wish->count > before;
}

/* Asks for all blocks, and how much memory is free then. */
static CUresult ask_for(struct wish *wish, CUdeviceptr *address)
{
    struct ath_cuda_exchange info;
    CUcontext context = ath_cuda_current_context();
    CUresult status = CUDA_ERROR_UNKNOWN;
    size_t sent = 0;
    while (sent < wish->count && begin_allocation(&wish->exchanges[sent], wish->bytes[sent]))
        sent++;
    if (!sent)
        return ath_cuda_do_cuMemAlloc_v2(address, wish->bytes[0]);
    struct ath_cuda_start_stock *stock = ath_cuda_start_stock_begin();
    if (begin_info(&info))
        end_info(&info);
    ath_cuda_start_stock_end(stock);
    while (sent) {
        CUdeviceptr got = 0;
        status = end_allocation(&wish->exchanges[--sent], &got);
        if (!status && sent)
            add_unused(context, wish->bytes[sent], got);
        else if (!status)
            *address = got;
    }
    return status;
}

/* Takes a block that was asked for before. */
static bool take_unused(size_t bytes, size_t total, size_t *out_count, CUdeviceptr *address)
{
    bool is_taken = false;
    ath_cuda_start_plan_take(ATH_CUDA_METHOD_cuMemAlloc_v2, &bytes, sizeof bytes);
    pthread_mutex_lock(&lock);
    struct size *size = size_of(ath_cuda_current_context(), bytes);
    *out_count = size ? count_ahead(size, total) : 1;
    if (size && size->count) {
        *address = size->unused[--size->count];
        unused_bytes -= bytes;
        unused_count--;
        is_taken = true;
    }
    if (size)
        size->taken++;
    waits = 0;
    pthread_mutex_unlock(&lock);
    return is_taken;
}

/* Gives everything back. Returns whether there was something. */
static bool give_back(void);

CUresult ath_cuda_by_hand_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    CUdevice device;
    size_t count, total = 0;
    if (!address || !may_ask_ahead(bytes) || ath_cuda_by_hand_cuCtxGetDevice(&device) ||
        ath_cuda_do_cuDeviceTotalMem_v2(&total, device))
        return ath_cuda_do_cuMemAlloc_v2(address, bytes);
    ath_cuda_start_plan_begin();
    if (take_unused(bytes, total, &count, address))
        return CUDA_SUCCESS;
    ath_auto_free struct wish *wish = ath_cuda_allocate(sizeof *wish);
    if (!wish)
        return ath_cuda_do_cuMemAlloc_v2(address, bytes);
    wish_for(wish, bytes, count);
    wish_for_all(wish, total);
    CUresult status = ask_for(wish, address);
    return status == CUDA_ERROR_OUT_OF_MEMORY && give_back()
               ? ath_cuda_do_cuMemAlloc_v2(address, bytes)
               : status;
}

/* ---- giving back ---- */

/* Takes any block out of the table. Returns false if there is none. */
static bool take_any(CUcontext *context, CUdeviceptr *address)
{
    pthread_mutex_lock(&lock);
    struct size *size = sizes;
    while (size < sizes + size_count && !size->count)
        size++;
    bool is_any = size < sizes + size_count;
    if (is_any) {
        *context = size->context;
        *address = size->unused[--size->count];
        unused_bytes -= size->bytes;
        unused_count--;
    }
    pthread_mutex_unlock(&lock);
    return is_any;
}

/* The caller holds `order`. */
static bool send_all(void)
{
    CUcontext context;
    CUdeviceptr address;
    bool is_any = false;
    for (; take_any(&context, &address); is_any = true)
        send_free(context, address);
    return is_any;
}

static bool give_back(void)
{
    pthread_mutex_lock(&ath_cuda_connection.order);
    bool is_any = send_all();
    pthread_mutex_unlock(&ath_cuda_connection.order);
    return is_any;
}

void ath_cuda_memory_ahead_send(enum ath_cuda_method method)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    bool takes = facts->takes && !facts->of_code && !facts->gets && !facts->launches;
    bool could_tell = (facts->counts && !facts->waits) || takes || facts->drops_stock ||
                      facts->ends_context || facts->resets_device || facts->releases_device ||
                      facts->begins_capture;
    if ((!unused_count && !free_bytes) || is_asking || method == ATH_CUDA_METHOD_cuMemAlloc_v2)
        return;
    if (takes) /* a limit could refuse what is asked ahead, and log that */
        free_bytes = 0;
    if (could_tell || (facts->waits && ++waits > WAITS_MAX))
        (void)send_all();
}

void ath_cuda_memory_ahead_clear(void)
{
    pthread_mutex_lock(&lock);
    size_count = 0;
    unused_bytes = 0;
    unused_count = 0;
    free_bytes = 0;
    rounds = 0;
    pthread_mutex_unlock(&lock);
}
