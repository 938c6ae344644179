/* Pinned memory as the program asks for it (mirror.h). */
#include "config.h"

#include "cuda/client/pinned_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/deferred_copy.h"
#include "cuda/client/instance.h"
#include "cuda/client/mirror.h"
#include "cuda/client/program_memory.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"
#include "remote/session/open.h"

/*
 * The zone for memory that the server must have at the same address. It is far from the addresses
 * that Linux gives a program (PIE at 0x55.., libraries and stacks below 0x7fff..), also on ppc64le.
 * The bytes of kernels are searched for these addresses (pointer_scan.c), so they must be unlike
 * other numbers: two sizes side by side have no upper half of 27987 with a lower one above 2^31,
 * and as bfloat16 or float the upper half is far larger or smaller than data are. (With 0x4000 as
 * upper half, any small number beside 16384 was an address.)
 */
#define ZONE ((uintptr_t)0x6d5390000000)

#define ZONE_BYTES                                                                                 \
    ((uintptr_t)1 << 40) /* each library instance has one (cuda/client/instance.h)                 \
                          */

static _Atomic(uintptr_t) places_taken; /* bytes from the beginning of the zone */

/* Maps private pages at an address that is most likely free in the server too. */
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

static CUresult ask_host_alloc(const struct ath_cuda_host_memory *facts, CUdeviceptr *out_device)
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

/* Memory of the transport that both sides see. On an error there is none. */
static CUresult alloc_shared(struct ath_cuda_host_memory *facts)
{
    void *address = NULL;
    int status = ath_cuda_link_share(ath_cuda_host_pages(facts->bytes), &address, &facts->shared);
    if (status)
        return status == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_SUPPORTED;
    facts->address = (uintptr_t)address;
    facts->is_mapped = facts->is_open = true;
    CUresult asked = ask_host_alloc(facts, &facts->device);
    if (asked)
        ath_cuda_link_unshare(facts->shared);
    return asked;
}

CUresult ath_cuda_host_alloc_shared(size_t bytes, void **out)
{
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostAlloc);
    struct ath_cuda_host_memory facts = { .kind = ATH_CUDA_HOST_ALLOCATED,
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

CUresult ath_cuda_host_alloc(void **memory, size_t bytes, unsigned int flags)
{
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostAlloc);
    if (status)
        return status;
    struct ath_cuda_host_memory facts = { .kind = ATH_CUDA_HOST_ALLOCATED,
                                          .bytes = bytes,
                                          .flags = flags,
                                          .context = ath_cuda_current_context() };
    status = alloc_shared(&facts);
    if (status == CUDA_ERROR_NOT_SUPPORTED) {
        facts.shared = 0;
        facts.is_mapped = facts.is_open = false;
        facts.address = (uintptr_t)private_pages(ath_cuda_host_pages(bytes));
        status = facts.address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!status)
        status = ath_cuda_host_add(&facts, false);
    if (!status && flags & CU_MEMHOSTALLOC_DEVICEMAP)
        status = ath_cuda_host_open((const void *)facts.address);
    if (!status)
        *memory = (void *)facts.address;
    return status;
}

/* Has the driver judge whether a capture forbids to take memory, and spoil that capture: it takes a
 * byte of the GPU's memory, which the same captures forbid. Without a capture nothing is asked. */
static CUresult check_captures(void)
{
    CUdeviceptr unwanted;
    if (!ath_cuda_is_any_capturing())
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_do_cuMemAlloc_v2(&unwanted, 1);
    if (!status)
        ath_cuda_by_hand_cuMemFree_v2(unwanted);
    return status == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ? status : CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
    const unsigned int known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostAlloc);
    if (!status)
        status = check_captures(); /* ahead of the arguments, as the driver does */
    if (status)
        return status;
    if (!memory || !bytes || flags & ~known)
        return CUDA_ERROR_INVALID_VALUE;
    return ath_cuda_host_alloc(memory, bytes, flags);
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

/* Waits for copies under way. Returns CUDA_ERROR_NOT_READY if a stream captures: nothing may be
 * waited for then. */
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

CUresult ath_cuda_pinned_memory_end(uintptr_t address)
{
    struct ath_cuda_host_memory facts;
    CUresult status = CUDA_SUCCESS;
    if (ath_cuda_host_find((const void *)address, &facts))
        ath_cuda_deferred_copies_await((const void *)address, facts.bytes);
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

/* Memory that the program freed while a stream captured. It is freed with the next memory that is
 * freed. */
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
        ath_cuda_pinned_memory_end(all->address);
        free(all);
    }
}

static CUresult let_go(uintptr_t address, enum ath_cuda_host_memory_kind kind)
{
    struct ath_cuda_host_memory facts;
    bool is_there = ath_cuda_host_find((const void *)address, &facts) && facts.kind == kind &&
                    !is_doomed(facts.address);
    if (!is_there && kind == ATH_CUDA_HOST_REGISTERED)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (!is_there || facts.address != address)
        return CUDA_ERROR_INVALID_VALUE; /* also inside of registered memory (driver 580) */
    CUresult status = quiesce();
    if (status == CUDA_ERROR_NOT_READY)
        return kind == ATH_CUDA_HOST_ALLOCATED ? doom(address)
                                               : ath_cuda_pinned_memory_end(address);
    if (status)
        return status;
    end_doomed();
    return ath_cuda_pinned_memory_end(address);
}

/* Needs no current context, as with NVIDIA's driver (580): the memory's own context is made current
 * for the call. */
static CUresult end_memory(enum ath_cuda_method method, uintptr_t address,
                           enum ath_cuda_host_memory_kind kind)
{
    struct ath_cuda_host_memory facts;
    CUresult status = ath_cuda_ready(method);
    if (!status)
        status = check_captures(); /* ahead of the address, as the driver does */
    if (status != CUDA_ERROR_INVALID_CONTEXT)
        return status ? status : let_go(address, kind);
    if (!ath_cuda_host_find((const void *)address, &facts))
        return let_go(address, kind);
    status = ath_cuda_by_hand_cuCtxPushCurrent_v2(facts.context);
    if (status)
        return status;
    status = let_go(address, kind);
    ath_cuda_by_hand_cuCtxPopCurrent_v2(NULL);
    return status;
}

CUresult ath_cuda_by_hand_cuMemFreeHost(void *memory)
{
    return end_memory(ATH_CUDA_METHOD_cuMemFreeHost, (uintptr_t)memory, ATH_CUDA_HOST_ALLOCATED);
}

/* Kernels of several processes communicate through a mapped file (NCCL does, between GPUs without
 * peer access). In a mirror of the file they would wait forever. */
static CUresult open_as_asked(const void *memory)
{
    static atomic_bool is_said;
    CUresult status = ath_cuda_host_open_as_asked(memory);
    if (status == CUDA_ERROR_NOT_SUPPORTED && ath_client_logs_calls() &&
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
    struct ath_cuda_host_memory facts;
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostRegister_v2);
    if (!status)
        status = check_captures();
    if (status)
        return status;
    if (!memory || !bytes || flags & ~(known | CU_MEMHOSTREGISTER_IOMEMORY))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!ath_cuda_is_all_mapped(memory, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (ath_cuda_host_find_of(memory, bytes, &facts)) /* these errors as with driver 580 */
        return facts.kind == ATH_CUDA_HOST_REGISTERED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                                      : CUDA_ERROR_INVALID_VALUE;
    status =
        ath_cuda_host_add(&(struct ath_cuda_host_memory){ .kind = ATH_CUDA_HOST_REGISTERED,
                                                          .address = (uintptr_t)memory,
                                                          .bytes = bytes,
                                                          .flags = flags,
                                                          .context = ath_cuda_current_context() },
                          false);
    if (!status && flags & CU_MEMHOSTREGISTER_DEVICEMAP) {
        status = open_as_asked(memory);
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
    return end_memory(ATH_CUDA_METHOD_cuMemHostUnregister, (uintptr_t)memory,
                      ATH_CUDA_HOST_REGISTERED);
}

CUresult ath_cuda_by_hand_cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory,
                                                       unsigned int flags)
{
    struct ath_cuda_host_memory facts;
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostGetDevicePointer_v2);
    if (status)
        return status;
    if (!address || flags || !ath_cuda_host_find(memory, &facts) ||
        facts.kind == ATH_CUDA_HOST_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    status = open_as_asked(memory);
    if (!status && ath_cuda_host_find(memory, &facts))
        *address = facts.device + ((uintptr_t)memory - facts.address);
    return status;
}

CUresult ath_cuda_by_hand_cuMemHostGetFlags(unsigned int *flags, void *memory)
{
    struct ath_cuda_host_memory facts;
    CUresult status = ath_cuda_ready(ATH_CUDA_METHOD_cuMemHostGetFlags);
    if (status)
        return status;
    if (!flags || !ath_cuda_host_find(memory, &facts))
        return CUDA_ERROR_INVALID_VALUE;
    /* With unified addresses all pinned memory is mapped, whatever flags were given. Managed memory
     * has no other flags (seen with driver 580). */
    *flags = CU_MEMHOSTALLOC_DEVICEMAP | (facts.kind == ATH_CUDA_HOST_MANAGED ? 0 : facts.flags);
    return CUDA_SUCCESS;
}
