/* A table of sizes, each with the addresses that the program has not taken yet. */
#include "config.h"

#include "cuda/client/memory_ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/code_facts.h"
#include "cuda/client/connection.h"
#include "cuda/client/instance.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"

enum {
    SIZES_MAX = 128,
    MOST = 16,
    WISHES_MAX = 256, /* blocks of one question */
    PART_OF_GPU = 32,
    PART_OF_FREE = 8,
    WAITS_MAX = 64, /* after which the program no longer takes memory */
    FREE_BYTES_MAX = 4096
};

struct size {
    CUcontext context;
    size_t bytes;
    uint64_t taken; /* by the program, also of earlier contexts */
    size_t count;
    CUdeviceptr unused[MOST];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct size sizes[SIZES_MAX];
static size_t size_count, unused_bytes;
static atomic_size_t unused_count; /* read without the lock, too */
static atomic_size_t free_bytes;   /* as the server said last; 0: not known. The same */
static atomic_uint waits;          /* since memory was taken */
static atomic_bool has_asked_all;
static _Thread_local bool is_asking;

/* ---- how many ---- */

/* The program that runs: its command line. */
static uint64_t program;
static pthread_once_t program_once = PTHREAD_ONCE_INIT;

static void read_program(void)
{
    char words[4096];
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t length = file ? fread(words, 1, sizeof words, file) : 0;
    if (file)
        fclose(file);
    program = length ? ath_fingerprint_of(words, length).a : 0;
}

/* The fact that this program once took a number of blocks of a size. */
static struct ath_cuda_code_fact fact_of(size_t bytes, uint64_t taken)
{
    pthread_once(&program_once, read_program);
    return (struct ath_cuda_code_fact){ ATH_CUDA_CODE_MEMORY, program, { bytes, taken } };
}

/* How many the program's last run took of a size, rounded down to a power of two; at most MOST. */
static uint64_t count_before(size_t bytes)
{
    for (uint64_t count = MOST; count > 1; count /= 2) {
        struct ath_cuda_code_fact fact = fact_of(bytes, count);
        if (ath_cuda_code_facts_has(&fact))
            return count;
    }
    return 1;
}

/* ---- which sizes: each that a run of the program took once ---- */

static struct ath_cuda_code_fact size_fact(size_t index)
{
    pthread_once(&program_once, read_program);
    return (struct ath_cuda_code_fact){ ATH_CUDA_CODE_SIZE, program, { index } };
}

/* The sizes of earlier runs; this run's are added to the file only. */
static struct {
    size_t count;
    uint64_t bytes[SIZES_MAX];
} before;
static pthread_once_t before_once = PTHREAD_ONCE_INIT;
static atomic_size_t noted; /* sizes of this run */

static void read_sizes(void)
{
    for (; before.count < SIZES_MAX; before.count++) {
        const struct ath_cuda_code_fact fact = size_fact(before.count);
        if (!ath_cuda_code_facts_value(&fact, &before.bytes[before.count]))
            break;
    }
}

/* Notes a size that this run takes for the first time. */
static void note_size(size_t bytes)
{
    for (size_t i = 0; i < before.count; i++)
        if (before.bytes[i] == bytes)
            return;
    const struct ath_cuda_code_fact fact = size_fact(before.count + noted++);
    if (fact.numbers[0] < SIZES_MAX)
        ath_cuda_code_facts_note_value(&fact, bytes);
}

static bool is_power(uint64_t count)
{
    return count > 1 && count <= MOST && !(count & (count - 1));
}

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

/* How many blocks to ask for, with the program's own one. */
static size_t count_ahead(struct size *size, uint64_t last_run, size_t total_bytes)
{
    uint64_t wanted = size->taken ? size->taken + 1 : last_run;
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

static void add_unused(CUcontext context, size_t bytes, CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    struct size *size = size_of(context, bytes);
    if (size && size->count < MOST) {
        size->unused[size->count++] = address;
        unused_bytes += bytes;
        unused_count++;
    }
    pthread_mutex_unlock(&lock);
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

/* Adds what the program's last run took of all sizes, once it is known how much memory is free. */
static void wish_for_all(struct wish *wish, size_t total_bytes)
{
    size_t room = total_bytes / PART_OF_GPU;
    if (!free_bytes || atomic_exchange(&has_asked_all, true))
        return;
    if (room > free_bytes / PART_OF_FREE)
        room = free_bytes / PART_OF_FREE;
    for (size_t i = 0; i < before.count; i++) {
        size_t bytes = before.bytes[i];
        size_t wanted = bytes == wish->bytes[0] ? 0 : (size_t)count_before(bytes);
        for (; wanted && bytes <= room; wanted--, room -= bytes)
            wish_for(wish, bytes, 1);
    }
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
    if (begin_info(&info))
        end_info(&info);
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
    uint64_t last_run = count_before(bytes), taken = 0;
    bool is_taken = false, is_new = true;
    pthread_mutex_lock(&lock);
    struct size *size = size_of(ath_cuda_current_context(), bytes);
    *out_count = size ? count_ahead(size, last_run, total) : 1;
    for (size_t i = 0; i < size_count; i++)
        is_new &= sizes[i].bytes != bytes || !sizes[i].taken;
    if (size && size->count) {
        *address = size->unused[--size->count];
        unused_bytes -= bytes;
        unused_count--;
        is_taken = true;
    }
    if (size)
        taken = ++size->taken;
    waits = 0;
    pthread_mutex_unlock(&lock);
    if (is_new)
        note_size(bytes);
    if (is_power(taken)) {
        struct ath_cuda_code_fact fact = fact_of(bytes, taken);
        ath_cuda_code_facts_note(&fact);
    }
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
    ath_cuda_code_facts_begin();
    pthread_once(&before_once, read_sizes);
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

/* The caller holds `order`, which guards the builder too. */
static void send_free(CUcontext context, CUdeviceptr address)
{
    static struct ath_wire_builder builder = { .max_bytes = FREE_BYTES_MAX };
    struct ath_cuda_wire_call_builder call = ath_cuda_own_call_start(&builder, context);
    ath_cuda_wire_mem_free_v2_set_address(ath_cuda_wire_call_init_mem_free_v2(call), address);
    ath_cuda_own_call_post(&builder, ATH_CUDA_METHOD_cuMemFree_v2);
}

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
    has_asked_all = false;
    pthread_mutex_unlock(&lock);
}
