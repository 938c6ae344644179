/* The list of host memory that CUDA knows. Programs have little of it. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/client/capture_state.h"
#include "cuda/client/deferred_copy.h"
#include "cuda/client/mirror_entry.h"
#include "cuda/client/page_tracking.h"
#include "cuda/client/program_memory.h"
#include "cuda/common/shadow_copy.h"
#include "proto/cuda-client.h"

struct ath_cuda_mirrors ath_cuda_mirrors = { .list_lock = PTHREAD_MUTEX_INITIALIZER,
                                             .lock = PTHREAD_MUTEX_INITIALIZER };
static uint64_t last_id; /* guarded by the list's lock */

static void find_closed(bool is_registered, struct ath_cuda_range *out)
{
    uintptr_t first = UINTPTR_MAX, end = 0;
    for (const struct ath_cuda_mirror_entry *entry = ath_cuda_mirrors.entries; entry;
         entry = entry->next) {
        uintptr_t behind = entry->facts.address + entry->facts.bytes;
        if (entry->facts.is_open ||
            (entry->facts.kind == ATH_CUDA_HOST_REGISTERED) != is_registered)
            continue;
        first = entry->facts.address < first ? entry->facts.address : first;
        end = behind >= end ? behind + 1 : end;
    }
    out->end = end;
    out->first = end ? first : 0;
}

void ath_cuda_mirrors_find_closed(void)
{
    find_closed(false, &ath_cuda_mirrors.closed[0]);
    find_closed(true, &ath_cuda_mirrors.closed[1]);
}

size_t ath_cuda_host_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

void ath_cuda_mirror_track(struct ath_cuda_mirror_entry *entry)
{
    size_t page = ath_cuda_host_pages(1);
    uintptr_t first = ath_cuda_host_pages(entry->facts.address);
    uintptr_t end = (entry->facts.address + entry->facts.bytes) / page * page;
    if (entry->facts.bytes <= ATH_CUDA_ALWAYS_COMPARED ||
        entry->facts.kind == ATH_CUDA_HOST_REGISTERED ||
        ath_page_tracking_watch(first, end - first))
        return;
    entry->tracked_first = first - entry->facts.address;
    entry->tracked_end = end - entry->facts.address;
}

void ath_cuda_mirrors_find_gone(void)
{
    for (struct ath_cuda_mirror_entry *entry = ath_cuda_mirrors.entries; entry; entry = entry->next)
        entry->is_gone =
            entry->shadow && entry->facts.kind == ATH_CUDA_HOST_REGISTERED &&
            !ath_cuda_is_all_mapped((const void *)entry->facts.address, entry->facts.bytes);
}

struct ath_cuda_mirror_entry *ath_cuda_mirror_entry_of(const void *address)
{
    struct ath_cuda_mirror_entry *entry = ath_cuda_mirrors.entries;
    while (entry && (uintptr_t)address - entry->facts.address >= entry->facts.bytes)
        entry = entry->next;
    return entry;
}

bool ath_cuda_host_find(const void *address, struct ath_cuda_host_memory *out)
{
    if (!ath_cuda_mirrors.entry_count)
        return false;
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    const struct ath_cuda_mirror_entry *entry = ath_cuda_mirror_entry_of(address);
    if (entry)
        *out = entry->facts;
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    return entry;
}

static bool find_of(uintptr_t first, size_t bytes, bool is_mirror, struct ath_cuda_host_memory *out)
{
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    const struct ath_cuda_mirror_entry *entry = ath_cuda_mirrors.entries;
    while (entry &&
           ((is_mirror && !entry->shadow) || first >= entry->facts.address + entry->facts.bytes ||
            entry->facts.address >= first + bytes))
        entry = entry->next;
    if (entry)
        *out = entry->facts;
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    return entry;
}

bool ath_cuda_host_find_of(const void *address, size_t bytes, struct ath_cuda_host_memory *out)
{
    return find_of((uintptr_t)address, bytes, false, out);
}

CUresult ath_cuda_host_bring(const void *address, size_t bytes, CUstream stream)
{
    struct ath_cuda_host_memory found;
    bool is_there = ath_cuda_mirrors.mirror_count && !ath_cuda_is_any_capturing() &&
                    find_of((uintptr_t)address, bytes, true, &found);
    CUresult status = is_there ? ath_cuda_do_cuStreamSynchronize(stream) : CUDA_SUCCESS;
    return status ? status : ath_cuda_deferred_copies_await(address, bytes);
}

CUresult ath_cuda_host_add(const struct ath_cuda_host_memory *facts, bool is_mirrored)
{
    ath_auto_free struct ath_cuda_mirror_entry *entry = ath_cuda_allocate(sizeof *entry);
    if (!entry)
        return CUDA_ERROR_OUT_OF_MEMORY;
    entry->facts = *facts;
    if (is_mirrored && !(entry->shadow = ath_cuda_shadow_copy_make(facts->bytes)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (is_mirrored)
        ath_cuda_mirror_track(entry);
    pthread_mutex_lock(&ath_cuda_mirrors.lock);
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    entry->facts.id = ++last_id;
    entry->next = ath_cuda_mirrors.entries;
    ath_cuda_mirrors.entry_count++;
    ath_cuda_mirrors.mirror_count += is_mirrored;
    ath_cuda_mirrors.entries = ath_steal(&entry);
    ath_cuda_mirrors_find_closed();
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    pthread_mutex_unlock(&ath_cuda_mirrors.lock);
    return CUDA_SUCCESS;
}

bool ath_cuda_host_of_context(CUcontext context, struct ath_cuda_host_memory *out)
{
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    const struct ath_cuda_mirror_entry *entry = ath_cuda_mirrors.entries;
    while (entry && (!entry->shadow || entry->facts.context != context || entry->facts.library))
        entry = entry->next;
    if (entry)
        *out = entry->facts;
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    return entry;
}

bool ath_cuda_host_set_aside(uintptr_t address, bool is_aside)
{
    pthread_mutex_lock(&ath_cuda_mirrors.lock);
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    struct ath_cuda_mirror_entry *entry = ath_cuda_mirror_entry_of((const void *)address);
    bool is_managed =
        entry && entry->facts.address == address && entry->facts.kind == ATH_CUDA_HOST_MANAGED;
    if (is_managed)
        entry->is_aside = is_aside;
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    pthread_mutex_unlock(&ath_cuda_mirrors.lock);
    return is_managed;
}

void ath_cuda_host_set_library_aside(CUlibrary library)
{
    pthread_mutex_lock(&ath_cuda_mirrors.lock);
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    for (struct ath_cuda_mirror_entry *entry = ath_cuda_mirrors.entries; library && entry;
         entry = entry->next)
        if (entry->facts.library == library)
            entry->is_aside = true;
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    pthread_mutex_unlock(&ath_cuda_mirrors.lock);
}

bool ath_cuda_has_mirrors(void)
{
    return ath_cuda_mirrors.mirror_count > 0;
}

uintptr_t ath_cuda_host_of_library(CUlibrary library)
{
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    const struct ath_cuda_mirror_entry *entry = ath_cuda_mirrors.entries;
    while (entry && entry->facts.library != library)
        entry = entry->next;
    uintptr_t address = entry ? entry->facts.address : 0;
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    return address;
}

static struct ath_cuda_mirror_entry *take_entry(uintptr_t address, bool is_managed)
{
    pthread_mutex_lock(&ath_cuda_mirrors.lock);
    ath_cuda_mirrors_take_all(); /* arrived changes must not apply to new memory at this address */
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    struct ath_cuda_mirror_entry **at = &ath_cuda_mirrors.entries;
    while (*at && ((*at)->facts.address != address ||
                   ((*at)->facts.kind == ATH_CUDA_HOST_MANAGED) != is_managed))
        at = &(*at)->next;
    struct ath_cuda_mirror_entry *taken = *at;
    if (taken) {
        *at = taken->next;
        ath_cuda_mirrors.entry_count--;
        ath_cuda_mirrors.mirror_count -= taken->shadow != NULL;
        ath_cuda_mirrors_find_closed();
    }
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    pthread_mutex_unlock(&ath_cuda_mirrors.lock);
    return taken;
}

static void entry_free(struct ath_cuda_mirror_entry *entry)
{
    if (entry)
        ath_cuda_shadow_copy_free(entry->shadow, entry->facts.bytes);
    free(entry);
}

bool ath_cuda_host_take(uintptr_t address, bool is_managed, struct ath_cuda_host_memory *out)
{
    struct ath_cuda_mirror_entry *entry =
        ath_cuda_mirrors.entry_count ? take_entry(address, is_managed) : NULL;
    if (!entry)
        return false;
    *out = entry->facts;
    entry_free(entry);
    return true;
}

void ath_cuda_host_clear(void)
{
    pthread_mutex_lock(&ath_cuda_mirrors.lock);
    ath_cuda_mirrors_take_all();
    ath_cuda_mirrors_drop_early();
    ath_cuda_deferred_copies_clear();
    pthread_mutex_lock(&ath_cuda_mirrors.list_lock);
    while (ath_cuda_mirrors.entries) {
        struct ath_cuda_mirror_entry *next = ath_cuda_mirrors.entries->next;
        entry_free(ath_cuda_mirrors.entries);
        ath_cuda_mirrors.entries = next;
    }
    ath_cuda_mirrors.entry_count = 0;
    ath_cuda_mirrors.mirror_count = 0;
    ath_cuda_mirrors.has_displaced = false;
    ath_cuda_mirrors_find_closed();
    pthread_mutex_unlock(&ath_cuda_mirrors.list_lock);
    pthread_mutex_unlock(&ath_cuda_mirrors.lock);
}
