/* Applies the GPU's changes to the program's side of mirrors. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/client/client.h"
#include "cuda/client/deferred_copy.h"
#include "cuda/client/mirror_entry.h"
#include "cuda/common/byte_mask.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

/* Answers that bring the GPU's changes, in their order. The thread that waited for the GPU applies
 * them, not the thread that reads answers: a push may need the reader to go on. */
static pthread_mutex_t arrived_lock = PTHREAD_MUTEX_INITIALIZER;
static struct arrived {
    struct arrived *next;
    struct ath_frame answer;
} * arrived, **arrived_last = &arrived;

/* Changes of memory that is not in the list yet: another thread's call brought them. */
enum { EARLY_MAX = 1024 };
static struct early {
    struct early *next;
    uintptr_t address;
    size_t length;
    uint8_t bytes[];
} * early;
static int early_count;

int ath_cuda_mirror_take_changes(struct ath_frame *answer)
{
    struct arrived *one = malloc(sizeof *one);
    if (!one)
        return -ENOMEM;
    *one = (struct arrived){ .answer = *answer };
    *answer = (struct ath_frame){ 0 };
    pthread_mutex_lock(&arrived_lock);
    *arrived_last = one;
    arrived_last = &one->next;
    pthread_mutex_unlock(&arrived_lock);
    return 0;
}

static struct arrived *take_arrived(void)
{
    pthread_mutex_lock(&arrived_lock);
    struct arrived *all = arrived;
    arrived = NULL;
    arrived_last = &arrived;
    pthread_mutex_unlock(&arrived_lock);
    return all;
}

/* A byte that the program changed meanwhile stays, and is pushed next time. */
static void apply_changes(uint8_t *now, uint8_t *shadow, struct ath_wire_bytes data,
                          struct ath_wire_bytes mask)
{
    ath_byte_mask_apply(now, shadow, data.data, data.length, mask.length ? mask.data : NULL);
}

/* Keeps changes of memory that was just made; every byte counts. */
static CUresult keep_early_change(uintptr_t address, struct ath_wire_bytes data)
{
    struct early *one = early_count < EARLY_MAX ? malloc(sizeof *one + data.length) : NULL;
    if (!one)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *one = (struct early){ .next = early, .address = address, .length = data.length };
    memcpy(one->bytes, data.data, data.length);
    early = one;
    early_count++;
    return CUDA_SUCCESS;
}

static CUresult apply_part(struct ath_cuda_wire_memory_part part)
{
    struct ath_wire_bytes data = ath_cuda_wire_memory_part_data(part);
    struct ath_wire_bytes mask = ath_cuda_wire_memory_part_mask(part);
    uintptr_t address = (uintptr_t)ath_cuda_wire_memory_part_address(part);
    if (ath_cuda_wire_memory_part_is_copied(part)) {
        ath_cuda_deferred_copy_arrived(address, data.data, data.length);
        return CUDA_SUCCESS;
    }
    const struct ath_cuda_mirror_entry *entry = ath_cuda_mirror_entry_of((const void *)address);
    if (!entry)
        return keep_early_change(address, data);
    size_t offset = address - entry->facts.address;
    if (!entry->shadow || data.length > entry->facts.bytes - offset ||
        (mask.length && mask.length < ath_byte_mask_bytes(data.length)))
        return CUDA_ERROR_DEVICE_UNAVAILABLE; /* our server never sends this */
    if (entry->is_gone)
        return CUDA_SUCCESS;
    apply_changes((uint8_t *)entry->facts.address + offset, entry->shadow + offset, data, mask);
    return CUDA_SUCCESS;
}

static CUresult apply_answer(const struct ath_frame *frame)
{
    struct ath_cuda_wire_answer answer;
    CUresult status = CUDA_SUCCESS;
    if (ath_cuda_wire_answer_open(ath_frame_message(frame), ath_frame_message_length(frame),
                                  &answer))
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    struct ath_wire_list parts = ath_cuda_wire_answer_changes(answer);
    for (uint32_t i = 0; !status && i < parts.count; i++)
        status = apply_part((struct ath_cuda_wire_memory_part){ ath_wire_list_struct(parts, i) });
    return status;
}

/* Applies early changes of memory that is in the list by now. */
static void apply_early(void)
{
    for (struct early **at = &early, *one; (one = *at);) {
        const struct ath_cuda_mirror_entry *entry =
            ath_cuda_mirror_entry_of((const void *)one->address);
        size_t offset = entry ? one->address - entry->facts.address : 0;
        if (!entry) {
            at = &one->next;
            continue;
        }
        if (entry->shadow && !entry->is_gone && one->length <= entry->facts.bytes - offset)
            apply_changes((uint8_t *)entry->facts.address + offset, entry->shadow + offset,
                          (struct ath_wire_bytes){ one->bytes, one->length },
                          (struct ath_wire_bytes){ NULL, 0 });
        *at = one->next;
        early_count--;
        free(one);
    }
}

CUresult ath_cuda_mirrors_take_all(void)
{
    CUresult status = CUDA_SUCCESS;
    struct arrived *all = take_arrived();
    if (all || early)
        ath_cuda_mirrors_find_gone();
    if (early)
        apply_early();
    for (struct arrived *next; all; all = next) {
        next = all->next;
        if (!status)
            status = apply_answer(&all->answer);
        ath_frame_free(&all->answer);
        free(all);
    }
    return status;
}

static CUresult apply_arrived(void)
{
    pthread_mutex_lock(&ath_cuda_mirrors.lock);
    for (struct ath_cuda_mirror_entry *entry = ath_cuda_mirrors.entries; entry; entry = entry->next)
        entry->is_pushed = false;
    CUresult status = ath_cuda_mirrors_take_all();
    pthread_mutex_unlock(&ath_cuda_mirrors.lock);
    return status;
}

static bool may_have_changes(void)
{
    return ath_cuda_mirrors.mirror_count || ath_cuda_has_deferred_copies();
}

CUresult ath_cuda_mirror_pull(enum ath_cuda_method method)
{
    return may_have_changes() && ath_cuda_methods[method].synchronizes ? apply_arrived()
                                                                       : CUDA_SUCCESS;
}

CUresult ath_cuda_mirror_pull_all(void)
{
    struct ath_cuda_exchange exchange;
    if (!may_have_changes())
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athPullMemory);
    if (status)
        return status;
    ath_cuda_wire_call_set_pull_memory(exchange.call);
    return ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
}

void ath_cuda_mirrors_drop_early(void)
{
    while (early) {
        struct early *next = early->next;
        free(early);
        early = next;
    }
    early_count = 0;
}
