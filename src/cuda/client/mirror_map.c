/* Makes the server map host memory, and says what it reaches. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/deferred_copy.h"
#include "cuda/client/host_callback.h"
#include "cuda/client/mapped_file.h"
#include "cuda/client/mirror_entry.h"
#include "cuda/common/shadow_copy.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

/* Shares the pages of a file that the program has mapped, since other processes may use them too.
 * *out_shared stays 0 if no file is mapped there. */
static CUresult share_file(const struct ath_cuda_host_memory *facts, uint64_t *out_shared)
{
    ath_auto_close int fd = -1;
    uint64_t offset = 0;
    if (facts->kind != ATH_CUDA_HOST_REGISTERED ||
        !ath_cuda_mapped_file((const void *)facts->address, facts->bytes, &fd, &offset))
        return CUDA_SUCCESS;
    size_t before = facts->address % ath_cuda_host_pages(1);
    int status =
        fd < 0 ? -ENOTSUP
               : ath_cuda_link_share_file(fd, offset, ath_cuda_host_pages(before + facts->bytes),
                                          (const void *)(facts->address - before), out_shared);
    return !status             ? CUDA_SUCCESS
           : status == -EINVAL ? CUDA_ERROR_INVALID_VALUE
                               : CUDA_ERROR_NOT_SUPPORTED;
}

/* Without a flag the server maps the memory for copies. */
static unsigned int flags_for(const struct ath_cuda_host_memory *facts)
{
    return facts->is_open ? CU_MEMHOSTREGISTER_DEVICEMAP : 0;
}

static CUresult tell_server(const struct ath_cuda_host_memory *facts, CUdeviceptr *out_device)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemHostRegister_v2);
    if (status)
        return status;
    struct ath_cuda_wire_mem_host_register_v2_builder call =
        ath_cuda_wire_call_init_mem_host_register_v2(exchange.call);
    ath_cuda_wire_mem_host_register_v2_set_memory(call, facts->address);
    ath_cuda_wire_mem_host_register_v2_set_bytes(call, facts->bytes);
    ath_cuda_wire_mem_host_register_v2_set_flags(call, flags_for(facts));
    ath_cuda_wire_mem_host_register_v2_set_shared(call, facts->shared);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *out_device =
            ath_cuda_to_own(&exchange.side, ATH_CUDA_KIND_ADDRESS,
                            ath_cuda_wire_mem_host_register_v2_result_address(
                                ath_cuda_wire_answer_mem_host_register_v2(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

/* Natively the memory was pinned before the capture began. So mapping it now must not break a
 * capture. */
static CUresult tell_server_relaxed(const struct ath_cuda_host_memory *facts,
                                    CUdeviceptr *out_device)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUstreamCaptureMode mode = thread->mode;
    thread->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult status = tell_server(facts, out_device);
    thread->mode = mode;
    return status;
}

/* shadow: of a mirror, or NULL. */
static void note_mapped(const struct ath_cuda_host_memory *facts, uint8_t *shadow)
{
    pthread_mutex_lock(&ath_cuda_mirrors.lock);
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    struct ath_cuda_mirror_entry *entry = ath_cuda_mirror_entry_of((const void *)facts->address);
    if (entry) {
        entry->shadow = shadow;
        entry->is_unsure = true; /* the program has written it already */
        if (shadow)
            ath_cuda_mirror_track(entry);
        entry->facts.is_mapped = true;
        entry->facts.is_open = facts->is_open || facts->shared;
        entry->is_pointed = entry->is_pointed && !entry->facts.is_open;
        entry->facts.shared = facts->shared;
        entry->facts.device = facts->device;
        if (facts->device != facts->address)
            ath_cuda_mirrors.has_displaced = true;
        ath_cuda_mirrors.mirror_count += shadow != NULL;
        ath_cuda_mirrors_find_closed();
    }
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    pthread_mutex_unlock(&ath_cuda_mirrors.lock);
    if (!entry)
        ath_cuda_shadow_copy_free(shadow, facts->bytes);
}

static CUresult map_entry(struct ath_cuda_host_memory *facts, bool is_mirror_enough)
{
    CUresult status = share_file(facts, &facts->shared);
    if (status == CUDA_ERROR_NOT_SUPPORTED && is_mirror_enough)
        status = CUDA_SUCCESS;
    if (status)
        return status;
    uint8_t *shadow = facts->shared ? NULL : ath_cuda_shadow_copy_make(facts->bytes);
    status = shadow || facts->shared ? tell_server_relaxed(facts, &facts->device)
                                     : CUDA_ERROR_OUT_OF_MEMORY;
    if (!status) {
        note_mapped(facts, shadow);
        return CUDA_SUCCESS;
    }
    ath_cuda_shadow_copy_free(shadow, facts->bytes);
    if (facts->shared)
        ath_cuda_link_unshare(facts->shared);
    return status;
}

static void note_open(const struct ath_cuda_host_memory *facts)
{
    pthread_mutex_lock(&ath_cuda_mirrors.lock);
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    struct ath_cuda_mirror_entry *entry = ath_cuda_mirror_entry_of((const void *)facts->address);
    if (entry) {
        entry->facts.is_open = true;
        entry->is_pointed = false;
        ath_cuda_mirrors_find_closed();
    }
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    pthread_mutex_unlock(&ath_cuda_mirrors.lock);
}

/* Opens a mirror that copies use. */
static CUresult open_entry(struct ath_cuda_host_memory *facts)
{
    CUresult status = tell_server_relaxed(facts, &facts->device);
    if (!status)
        note_open(facts);
    return status;
}

enum purpose { FOR_COPIES, FOR_KERNELS, FOR_KERNELS_AS_ASKED };

static bool is_ready_for(const struct ath_cuda_host_memory *facts, enum purpose purpose)
{
    return facts->is_mapped && (facts->is_open || purpose == FOR_COPIES);
}

/* The list's lock is not held while the server is asked. If two threads ask, one waits for the
 * other. */
static CUresult make_ready(const void *address, enum purpose purpose)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    struct ath_cuda_host_memory facts;
    if (!ath_cuda_host_find(address, &facts) || is_ready_for(&facts, purpose))
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_deferred_copies_await((const void *)facts.address, facts.bytes);
    if (status)
        return status;
    pthread_mutex_lock(&one_at_a_time);
    if (ath_cuda_host_find(address, &facts) && !is_ready_for(&facts, purpose)) {
        facts.is_open = purpose != FOR_COPIES;
        status = facts.is_mapped ? open_entry(&facts)
                                 : map_entry(&facts, purpose != FOR_KERNELS_AS_ASKED);
    }
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

CUresult ath_cuda_host_map(const void *address)
{
    return make_ready(address, FOR_COPIES);
}

CUresult ath_cuda_host_open(const void *address)
{
    return make_ready(address, FOR_KERNELS);
}

CUresult ath_cuda_host_open_as_asked(const void *address)
{
    return make_ready(address, FOR_KERNELS_AS_ASKED);
}

bool ath_cuda_host_may_hold(void)
{
    return ath_cuda_mirrors.waits_for_memory || ath_cuda_callbacks_due();
}

/* Pinned memory that is not shared is best copied at the time of the call. But if the program may
 * fill it later, or if a graph copies it repeatedly, the GPU must copy it from a mirror. If a
 * mirror exists already, the GPU may have written it too. */
bool ath_cuda_host_reaches(const void *address, size_t bytes)
{
    struct ath_cuda_host_memory found;
    if (!ath_cuda_host_find(address, &found) ||
        (uintptr_t)address - found.address + bytes > found.bytes)
        return false;
    if (found.is_mapped || found.shared || found.kind == ATH_CUDA_HOST_MANAGED)
        return found.is_mapped;
    return (ath_cuda_host_may_hold() || ath_cuda_is_any_capturing()) && !ath_cuda_host_map(address);
}

bool ath_cuda_host_is_mirror(CUdeviceptr address)
{
    struct ath_cuda_host_memory found;
    return ath_cuda_mirrors.mirror_count &&
           ath_cuda_host_find((const void *)(uintptr_t)address, &found) && found.is_mapped &&
           !found.shared;
}

bool ath_cuda_host_is_copied_here(CUdeviceptr address, size_t bytes)
{
    struct ath_cuda_host_memory found;
    const void *memory = (const void *)(uintptr_t)address;
    return ath_cuda_host_find(memory, &found) && found.kind != ATH_CUDA_HOST_MANAGED &&
           !found.shared && (uintptr_t)address - found.address + bytes <= found.bytes &&
           !ath_cuda_host_reaches(memory, bytes);
}

uint64_t ath_cuda_host_device_address(uint64_t address)
{
    struct ath_cuda_host_memory found;
    if (!ath_cuda_mirrors.has_displaced ||
        !ath_cuda_host_find((const void *)(uintptr_t)address, &found) || !found.is_mapped ||
        !found.device)
        return address;
    return found.device + (address - found.address);
}
