/* Managed memory, and managed variables of libraries. The server allocates them, and the program
 * maps pages at the same addresses; their bytes are mirrored (mirror.h). */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/client/client.h"
#include "cuda/client/code_facts.h"
#include "cuda/client/deferred_copy.h"
#include "cuda/client/memory_reuse.h"
#include "cuda/client/mirror.h"
#include "cuda/client/pinned_memory.h"
#include "cuda/client/program_memory.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

static CUresult ask_managed(size_t bytes, unsigned int flags, CUdeviceptr *out)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemAllocManaged);
    if (status)
        return status;
    struct ath_cuda_wire_mem_alloc_managed_builder call =
        ath_cuda_wire_call_init_mem_alloc_managed(exchange.call);
    ath_cuda_wire_mem_alloc_managed_set_bytes(call, bytes);
    ath_cuda_wire_mem_alloc_managed_set_flags(call, flags);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *out = ath_cuda_to_own(&exchange.side, ATH_CUDA_KIND_ADDRESS,
                               ath_cuda_wire_mem_alloc_managed_result_address(
                                   ath_cuda_wire_answer_mem_alloc_managed(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

/* Maps the program's pages at the addresses of the server's managed memory. Several small
 * allocations may share a page. A page that an allocation does not fill is counted, and unmapped
 * with its last allocation. */
static pthread_mutex_t edges_lock = PTHREAD_MUTEX_INITIALIZER;
static struct edge {
    struct edge *next;
    uintptr_t address;
    size_t count;
} * edges;

static bool map_pages(uintptr_t first, size_t bytes)
{
    void *memory = mmap((void *)first, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != MAP_FAILED && memory != (void *)first)
        munmap(memory, bytes);
    return memory == (void *)first;
}

static struct edge **edge_at(uintptr_t address)
{
    struct edge **at = &edges;
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    return at;
}

static bool take_edge(uintptr_t address, size_t page)
{
    pthread_mutex_lock(&edges_lock);
    struct edge *edge = *edge_at(address);
    struct edge *made = edge ? NULL : malloc(sizeof *made);
    if (made && map_pages(address, page)) {
        *made = (struct edge){ .next = edges, .address = address };
        edge = edges = made;
    } else {
        free(made);
    }
    if (edge)
        edge->count++;
    pthread_mutex_unlock(&edges_lock);
    return edge;
}

static void give_edge(uintptr_t address, size_t page)
{
    pthread_mutex_lock(&edges_lock);
    struct edge **at = edge_at(address), *edge = *at;
    if (edge && !--edge->count) {
        *at = edge->next;
        munmap((void *)address, page);
        free(edge);
    }
    pthread_mutex_unlock(&edges_lock);
}

/* The pages of an allocation: the whole ones, and the partly filled ones at its ends; 0: none. */
struct span {
    uintptr_t head, tail, first, end;
    size_t page;
};

static struct span pages_of(uintptr_t address, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = address / page * page, end = address + bytes;
    uintptr_t last = (end - 1) / page * page;
    struct span span = { .page = page, .first = first, .end = last + page };
    if (address != first || end < first + page) {
        span.head = first;
        span.first += page;
    }
    if (end != last + page && last != span.head) {
        span.tail = last;
        span.end = last;
    }
    if (span.end < span.first)
        span.end = span.first;
    return span;
}

static void unmap_there(uintptr_t address, size_t bytes)
{
    struct span span = pages_of(address, bytes);
    if (span.end > span.first)
        munmap((void *)span.first, span.end - span.first);
    if (span.head)
        give_edge(span.head, span.page);
    if (span.tail)
        give_edge(span.tail, span.page);
}

static bool map_there(CUdeviceptr address, size_t bytes)
{
    struct span span = pages_of((uintptr_t)address, bytes);
    if (span.head && !take_edge(span.head, span.page))
        return false;
    bool has_tail = span.tail && take_edge(span.tail, span.page);
    if (has_tail == (span.tail != 0) &&
        (span.end == span.first || map_pages(span.first, span.end - span.first)))
        return true;
    if (span.head)
        give_edge(span.head, span.page);
    if (has_tail)
        give_edge(span.tail, span.page);
    return false;
}

static CUresult ask_free(CUdeviceptr address)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemFree_v2);
    if (status)
        return status;
    ath_cuda_wire_mem_free_v2_set_address(
        ath_cuda_wire_call_init_mem_free_v2(exchange.call),
        ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_ADDRESS, address));
    return ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
}

/* If the program uses the server's address already, the server allocates again. Rejected
 * allocations are held until one fits, with larger and larger ones beside them, so that the next
 * one lies behind them. */
static CUresult managed_there(size_t bytes, unsigned int flags, CUdeviceptr *out)
{
    enum { TRIES = 64, PIECE_MAX = 64 * 1024 * 1024 };
    CUdeviceptr refused[TRIES] = { 0 };
    int count = 0;
    CUresult status = CUDA_SUCCESS;
    for (size_t piece = bytes; !status; piece *= 2) {
        status = ask_managed(bytes, flags, out);
        if (status || map_there(*out, bytes))
            break;
        refused[count++] = *out;
        if (count < TRIES && piece < PIECE_MAX && !ask_managed(piece, flags, &refused[count]))
            count++;
        if (count == TRIES)
            status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    while (count)
        ask_free(refused[--count]);
    return status;
}

CUresult ath_cuda_by_hand_cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
    CUdeviceptr got = 0;
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemAllocManaged);
    if (status)
        return status;
    if (!address || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    status = managed_there(bytes, flags, &got);
    if (status)
        return status;
    status =
        ath_cuda_host_add(&(struct ath_cuda_host_memory){ .kind = ATH_CUDA_HOST_MANAGED,
                                                          .address = (uintptr_t)got,
                                                          .bytes = bytes,
                                                          .flags = flags,
                                                          .is_mapped = true,
                                                          .is_open = true,
                                                          .device = got,
                                                          .context = ath_cuda_current_context() },
                          true);
    if (status) {
        unmap_there((uintptr_t)got, bytes);
        ask_free(got);
        return status;
    }
    *address = got;
    return CUDA_SUCCESS;
}

bool ath_cuda_host_free_managed(CUdeviceptr address)
{
    struct ath_cuda_host_memory facts;
    if (!ath_cuda_host_take((uintptr_t)address, true, &facts))
        return false;
    unmap_there(facts.address, facts.bytes);
    return true;
}

/* During a capture the memory stays (cuda/server/regions.c). */
CUresult ath_cuda_by_hand_cuMemFree_v2(CUdeviceptr address)
{
    CUresult status = ath_cuda_may(ATH_CUDA_METHOD_cuMemFree_v2);
    if (status)
        return status;
    ath_cuda_memory_reuse_forget(address);
    bool is_managed = ath_cuda_has_mirrors() && ath_cuda_host_set_aside((uintptr_t)address, true);
    status = ask_free(address);
    if (is_managed && !status)
        ath_cuda_host_free_managed(address);
    if (is_managed && status == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        ath_cuda_host_set_aside((uintptr_t)address, false);
    return status;
}

/* The driver frees the memory with the context, so the server must stop reading it before. */
void ath_cuda_host_end_in(CUcontext context)
{
    struct ath_cuda_host_memory facts;
    ath_cuda_deferred_copies_end_in(context);
    while (ath_cuda_has_mirrors() && ath_cuda_host_of_context(context, &facts)) {
        if (facts.kind != ATH_CUDA_HOST_MANAGED) {
            ath_cuda_pinned_memory_end(facts.address);
            continue;
        }
        ath_cuda_host_set_aside(facts.address, true);
        ask_free(facts.address);
        ath_cuda_host_free_managed(facts.address);
    }
}

/* ---- managed variables of libraries ---- */

static CUresult ask_variable(CUlibrary library, const char *name, CUdeviceptr *out,
                             size_t *out_bytes)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLibraryGetManaged);
    if (status)
        return status;
    struct ath_cuda_wire_library_get_managed_builder call =
        ath_cuda_wire_call_init_library_get_managed(exchange.call);
    ath_cuda_wire_library_get_managed_set_library(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_LIBRARY, (uintptr_t)library));
    ath_cuda_wire_library_get_managed_set_name(call, name);
    status = ath_cuda_ask(&exchange);
    if (!status) {
        struct ath_cuda_wire_library_get_managed_result answer =
            ath_cuda_wire_answer_library_get_managed(exchange.answer);
        *out = ath_cuda_to_own(&exchange.side, ATH_CUDA_KIND_ADDRESS,
                               ath_cuda_wire_library_get_managed_result_address(answer));
        *out_bytes = (size_t)ath_cuda_wire_library_get_managed_result_bytes(answer);
    }
    return ath_cuda_end(&exchange, status);
}

/* The server has the variables' first values. */
CUresult ath_cuda_by_hand_cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes,
                                              CUlibrary library, const char *name)
{
    struct ath_cuda_host_memory known;
    CUdeviceptr got = 0;
    size_t size = 0;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = ask_variable(library, name, &got, &size);
    if (status)
        return status;
    if (!ath_cuda_host_find((const void *)(uintptr_t)got, &known)) {
        if (!map_there(got, size))
            return CUDA_ERROR_OUT_OF_MEMORY;
        status =
            ath_cuda_host_add(&(struct ath_cuda_host_memory){ .kind = ATH_CUDA_HOST_MANAGED,
                                                              .address = (uintptr_t)got,
                                                              .bytes = size,
                                                              .is_mapped = true,
                                                              .is_open = true,
                                                              .device = got,
                                                              .context = ath_cuda_current_context(),
                                                              .library = library },
                              true);
        if (!status)
            status = ath_cuda_mirror_pull_all();
    }
    if (!status && address)
        *address = got;
    if (!status && bytes)
        *bytes = size;
    return status;
}

CUresult ath_cuda_by_hand_cuLibraryUnload(CUlibrary library)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_may(ATH_CUDA_METHOD_cuLibraryUnload);
    if (status)
        return status;
    if (ath_cuda_has_mirrors())
        ath_cuda_host_set_library_aside(library);
    status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLibraryUnload);
    if (status)
        return status;
    ath_cuda_wire_library_unload_set_library(
        ath_cuda_wire_call_init_library_unload(exchange.call),
        ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_LIBRARY, (uintptr_t)library));
    /* libraries like cuDNN unload theirs when the program ends, one after another */
    bool is_posted =
        !ath_cuda_host_of_library(library) && ath_cuda_promise_holds((uintptr_t)library);
    status =
        ath_cuda_end(&exchange, is_posted ? ath_cuda_post(&exchange) : ath_cuda_ask(&exchange));
    if (!status)
        ath_cuda_promise_end((uintptr_t)library);
    for (uintptr_t address; library && (address = ath_cuda_host_of_library(library));)
        ath_cuda_host_free_managed(address);
    return status;
}
