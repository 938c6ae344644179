/* Pinned and managed memory as the program asks for it: see host.h. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/cuda-client.h"
#include "runtime/cuda/by_hand/host.h"
#include "runtime/cuda/by_hand/sides.h"
#include "runtime/cuda/client.h"
#include "runtime/cuda/instance.h"

/* Where memory is put that the server shall have at the same address: far from where Linux puts a
 * program's own things (PIE at 0x55.., libraries and stacks below 0x7fff..), also on ppc64le. */
#define ZONE ((uintptr_t)0x400000000000)

#define ZONE_BYTES ((uintptr_t)1 << 40) /* each instance has one (runtime/cuda/instance.h) */

static _Atomic(uintptr_t) places_taken; /* bytes from the zone's beginning */

/* ---- pinned memory ---- */

/* Pages of the program's alone, at a place that the server most likely has free too. */
static void *private_pages(size_t bytes)
{
    void *memory = MAP_FAILED;
    for (int i = 0; i < 64 && memory == MAP_FAILED; i++) {
        uintptr_t place = ZONE + ath_instance_index() * ZONE_BYTES +
                          atomic_fetch_add(&places_taken, bytes + ath_cuda_host_pages(1));
        memory = mmap((void *)place, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    }
    return memory == MAP_FAILED ? NULL : memory;
}

static CUresult ask_host_alloc(const struct ath_cuda_host *facts, CUdeviceptr *out_device)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemHostAlloc);
    if (status)
        return status;
    struct ath_cuda_wire_mem_host_alloc_builder call =
        ath_cuda_wire_call_init_mem_host_alloc(exchange.call);
    ath_cuda_wire_mem_host_alloc_set_bytes(call, facts->bytes);
    ath_cuda_wire_mem_host_alloc_set_flags(call, facts->flags);
    ath_cuda_wire_mem_host_alloc_set_shared(call, facts->shared);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *out_device = ath_cuda_to_own(&exchange.side, ATH_CUDA_KIND_ADDRESS,
                                      ath_cuda_wire_mem_host_alloc_result_address(
                                          ath_cuda_wire_answer_mem_host_alloc(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_ready(enum ath_cuda_method method)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, method);
    if (!status)
        status = ath_cuda_end(&exchange, CUDA_SUCCESS);
    return status ? status : ath_cuda_current_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* Memory of the transport's that both sides see; without CUDA_SUCCESS there is none. */
static CUresult alloc_shared(struct ath_cuda_host *facts)
{
    void *address = NULL;
    if (ath_cuda_link_share(ath_cuda_host_pages(facts->bytes), &address, &facts->shared))
        return CUDA_ERROR_NOT_SUPPORTED;
    facts->address = (uintptr_t)address;
    facts->is_mapped = true;
    CUresult status = ask_host_alloc(facts, &facts->device);
    if (status)
        ath_cuda_link_unshare(facts->shared);
    return status;
}

CUresult ath_cuda_host_alloc_shared(size_t bytes, void **out)
{
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostAlloc);
    struct ath_cuda_host facts = { .kind = ATH_CUDA_HOST_ALLOCATED,
                                   .bytes = bytes,
                                   .flags = CU_MEMHOSTALLOC_PORTABLE,
                                   .context = ath_cuda_current_context() };
    if (!status)
        status = alloc_shared(&facts);
    if (!status)
        status = ath_cuda_host_add(&facts, false);
    if (!status)
        *out = (void *)facts.address;
    return status;
}

CUresult ath_cuda_by_hand_cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
    const unsigned int known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostAlloc);
    if (status)
        return status;
    if (!memory || !bytes || flags & ~known)
        return CUDA_ERROR_INVALID_VALUE;
    struct ath_cuda_host facts = { .kind = ATH_CUDA_HOST_ALLOCATED,
                                   .bytes = bytes,
                                   .flags = flags,
                                   .context = ath_cuda_current_context() };
    status = alloc_shared(&facts);
    if (status == CUDA_ERROR_NOT_SUPPORTED) {
        facts.shared = 0;
        facts.is_mapped = false;
        facts.address = (uintptr_t)private_pages(ath_cuda_host_pages(bytes));
        status = facts.address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!status)
        status = ath_cuda_host_add(&facts, false);
    if (!status && flags & CU_MEMHOSTALLOC_DEVICEMAP)
        status = ath_cuda_host_map((const void *)facts.address);
    if (!status)
        *memory = (void *)facts.address;
    return status;
}

CUresult ath_cuda_by_hand_cuMemAllocHost_v2(void **memory, size_t bytes)
{
    return ath_cuda_by_hand_cuMemHostAlloc(memory, bytes, 0);
}

static CUresult forget_on_server(uintptr_t address)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemHostUnregister);
    if (status)
        return status;
    ath_cuda_wire_mem_host_unregister_set_memory(
        ath_cuda_wire_call_init_mem_host_unregister(exchange.call), address);
    return ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
}

/* Copies that are under way end before. CUDA_ERROR_NOT_READY: they cannot be waited for while a
 * stream captures. */
static CUresult quiesce(void)
{
    struct ath_cuda_exchange exchange;
    if (ath_cuda_is_lost())
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athQuiesce);
    if (status)
        return status;
    ath_cuda_wire_call_set_quiesce(exchange.call);
    status = ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
    return ath_cuda_is_lost() ? CUDA_SUCCESS : status;
}

static CUresult end_of(uintptr_t address)
{
    struct ath_cuda_host facts;
    CUresult status = CUDA_SUCCESS;
    if (!ath_cuda_host_take(address, false, &facts))
        return CUDA_ERROR_INVALID_VALUE;
    if (facts.is_mapped)
        status = forget_on_server(address);
    if (facts.shared)
        ath_cuda_link_unshare(facts.shared);
    else if (facts.kind == ATH_CUDA_HOST_ALLOCATED)
        munmap((void *)address, ath_cuda_host_pages(facts.bytes));
    return status;
}

/* Memory that the program freed while a stream captured: it goes with the next that is freed. */
struct doomed {
    struct doomed *next;
    uintptr_t address;
};
static pthread_mutex_t doomed_lock = PTHREAD_MUTEX_INITIALIZER;
static struct doomed *doomed;

static bool is_doomed(uintptr_t address)
{
    pthread_mutex_lock(&doomed_lock);
    const struct doomed *at = doomed;
    while (at && at->address != address)
        at = at->next;
    pthread_mutex_unlock(&doomed_lock);
    return at;
}

static CUresult doom(uintptr_t address)
{
    struct doomed *one = malloc(sizeof *one);
    if (!one)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&doomed_lock);
    *one = (struct doomed){ .next = doomed, .address = address };
    doomed = one;
    pthread_mutex_unlock(&doomed_lock);
    return CUDA_SUCCESS;
}

static void end_doomed(void)
{
    pthread_mutex_lock(&doomed_lock);
    struct doomed *all = doomed;
    doomed = NULL;
    pthread_mutex_unlock(&doomed_lock);
    for (struct doomed *next; all; all = next) {
        next = all->next;
        end_of(all->address);
        free(all);
    }
}

static CUresult let_go(uintptr_t address, enum ath_cuda_host_kind kind)
{
    struct ath_cuda_host facts;
    if (!ath_cuda_host_find((const void *)address, &facts) || facts.address != address ||
        facts.kind != kind || is_doomed(address))
        return kind == ATH_CUDA_HOST_REGISTERED ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
                                                : CUDA_ERROR_INVALID_VALUE;
    CUresult status = quiesce();
    if (status == CUDA_ERROR_NOT_READY)
        return kind == ATH_CUDA_HOST_ALLOCATED ? doom(address) : end_of(address);
    if (status)
        return status;
    end_doomed();
    return end_of(address);
}

CUresult ath_cuda_by_hand_cuMemFreeHost(void *memory)
{
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemFreeHost);
    return status ? status : let_go((uintptr_t)memory, ATH_CUDA_HOST_ALLOCATED);
}

/* In a mapped file kernels of several processes talk to each other (NCCL's, where GPUs have no peer
 * access). In a mirror of it they would wait for ever. */
static CUresult map_for_kernels(const void *memory)
{
    static atomic_bool is_said;
    CUresult status = ath_cuda_host_map_for_kernels(memory);
    if (status == CUDA_ERROR_NOT_SUPPORTED && getenv("AITHERION_CUDA_LOG") &&
        !atomic_exchange(&is_said, true))
        fputs("aitherion: cuMemHostRegister is not supported for this file that is mapped "
              "MAP_SHARED: a kernel would not see what other processes write there; it would in a "
              "file of /dev/shm, by the unix socket of a server on this host\n",
              stderr);
    return status;
}

CUresult ath_cuda_by_hand_cuMemHostRegister_v2(void *memory, size_t bytes, unsigned int flags)
{
    const unsigned int known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    struct ath_cuda_host facts;
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostRegister_v2);
    if (status)
        return status;
    if (!memory || !bytes || flags & ~(known | CU_MEMHOSTREGISTER_IOMEMORY))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!ath_cuda_is_all_mapped(memory, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (ath_cuda_host_has_of(memory, bytes))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    status = ath_cuda_host_add(&(struct ath_cuda_host){ .kind = ATH_CUDA_HOST_REGISTERED,
                                                        .address = (uintptr_t)memory,
                                                        .bytes = bytes,
                                                        .flags = flags,
                                                        .context = ath_cuda_current_context() },
                               false);
    if (!status && flags & CU_MEMHOSTREGISTER_DEVICEMAP) {
        status = map_for_kernels(memory);
        if (status)
            ath_cuda_host_take((uintptr_t)memory, false, &facts);
    }
    return status;
}

CUresult ath_cuda_by_hand_cuMemHostRegister(void *memory, size_t bytes, unsigned int flags)
{
    return ath_cuda_by_hand_cuMemHostRegister_v2(memory, bytes, flags);
}

CUresult ath_cuda_by_hand_cuMemHostUnregister(void *memory)
{
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostUnregister);
    return status ? status : let_go((uintptr_t)memory, ATH_CUDA_HOST_REGISTERED);
}

CUresult ath_cuda_by_hand_cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory,
                                                       unsigned int flags)
{
    struct ath_cuda_host facts;
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostGetDevicePointer_v2);
    if (status)
        return status;
    if (!address || flags || !ath_cuda_host_find(memory, &facts) ||
        facts.kind == ATH_CUDA_HOST_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    status = map_for_kernels(memory);
    if (!status && ath_cuda_host_find(memory, &facts))
        *address = facts.device + ((uintptr_t)memory - facts.address);
    return status;
}

CUresult ath_cuda_by_hand_cuMemHostGetFlags(unsigned int *flags, void *memory)
{
    struct ath_cuda_host facts;
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostGetFlags);
    if (status)
        return status;
    if (!flags || !ath_cuda_host_find(memory, &facts))
        return CUDA_ERROR_INVALID_VALUE;
    /* All of it is mapped where one address is for both sides, whatever was asked for; managed
     * memory is nothing else (driver 580, asked). */
    *flags = CU_MEMHOSTALLOC_DEVICEMAP | (facts.kind == ATH_CUDA_HOST_MANAGED ? 0 : facts.flags);
    return CUDA_SUCCESS;
}

/* ---- managed memory ---- */

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

/*
 * The program's pages where the server has its own. Small pieces of managed memory lie several in
 * one page: a page that one does not fill is counted, and goes with the last of them.
 */
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

/* The pages of a piece of memory: whole ones, and those at its ends that it does not fill; 0: none.
 */
struct span {
    uintptr_t head, tail, first, end;
    size_t page;
};

static struct span span_of(uintptr_t address, size_t bytes)
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
    struct span span = span_of(address, bytes);
    if (span.end > span.first)
        munmap((void *)span.first, span.end - span.first);
    if (span.head)
        give_edge(span.head, span.page);
    if (span.tail)
        give_edge(span.tail, span.page);
}

static bool map_there(CUdeviceptr address, size_t bytes)
{
    struct span span = span_of((uintptr_t)address, bytes);
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

/* Where the program has something at the server's address already, the server tries others. What is
 * refused is kept until one is right, with larger and larger pieces beside it: the next one lies
 * behind them. */
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
    status = ath_cuda_host_add(&(struct ath_cuda_host){ .kind = ATH_CUDA_HOST_MANAGED,
                                                        .address = (uintptr_t)got,
                                                        .bytes = bytes,
                                                        .flags = flags,
                                                        .is_mapped = true,
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
    struct ath_cuda_host facts;
    if (!ath_cuda_host_take((uintptr_t)address, true, &facts))
        return false;
    unmap_there(facts.address, facts.bytes);
    return true;
}

/* Amid a capture it stays (server_memory.c). */
CUresult ath_cuda_by_hand_cuMemFree_v2(CUdeviceptr address)
{
    CUresult status = ath_cuda_may(ATH_CUDA_METHOD_cuMemFree_v2);
    if (status)
        return status;
    bool is_managed =
        ath_cuda_host_has_mirrors() && ath_cuda_host_set_aside((uintptr_t)address, true);
    status = ask_free(address);
    if (is_managed && !status)
        ath_cuda_host_free_managed(address);
    if (is_managed && status == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        ath_cuda_host_set_aside((uintptr_t)address, false);
    return status;
}

/* The driver frees it with the context, and the server must not look into it from then on. */
void ath_cuda_host_end_in(CUcontext context)
{
    struct ath_cuda_host facts;
    while (ath_cuda_host_has_mirrors() && ath_cuda_host_of_context(context, &facts)) {
        if (facts.kind != ATH_CUDA_HOST_MANAGED) {
            end_of(facts.address);
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

/* Their first values come from the server. */
CUresult ath_cuda_by_hand_cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes,
                                              CUlibrary library, const char *name)
{
    struct ath_cuda_host known;
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
        status = ath_cuda_host_add(&(struct ath_cuda_host){ .kind = ATH_CUDA_HOST_MANAGED,
                                                            .address = (uintptr_t)got,
                                                            .bytes = size,
                                                            .is_mapped = true,
                                                            .device = got,
                                                            .context = ath_cuda_current_context(),
                                                            .library = library },
                                   true);
        if (!status)
            status = ath_cuda_host_pull_all();
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
    if (ath_cuda_host_has_mirrors())
        ath_cuda_host_set_library_aside(library);
    status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLibraryUnload);
    if (status)
        return status;
    ath_cuda_wire_library_unload_set_library(
        ath_cuda_wire_call_init_library_unload(exchange.call),
        ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_LIBRARY, (uintptr_t)library));
    status = ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
    for (uintptr_t address; library && (address = ath_cuda_host_of_library(library));)
        ath_cuda_host_free_managed(address);
    return status;
}
