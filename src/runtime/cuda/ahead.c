/* The message without what changes from call to call is what an answer is found by. */
#include "config.h"

#include "runtime/cuda/ahead.h"

#include <stdlib.h>

#include "runtime/cuda/cache.h"

enum { FIRST = 256 };

struct ath_cuda_asked {
    struct ath_cuda_exchange exchange;
    struct ath_frame message;
    uint64_t age, settings; /* of the cache, and of the kernel that it is about */
};

/* Room for one more. */
static struct ath_cuda_asked *next_asked(struct ath_cuda_ahead *ahead)
{
    if (ahead->count == ahead->capacity) {
        size_t capacity = ahead->capacity ? 2 * ahead->capacity : FIRST;
        struct ath_cuda_asked *grown = realloc(ahead->asked, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        ahead->asked = grown;
        ahead->capacity = capacity;
    }
    return &ahead->asked[ahead->count];
}

void ath_cuda_ahead_ask(struct ath_cuda_ahead *ahead, struct ath_cuda_exchange *exchange)
{
    size_t length;
    int built;
    struct ath_cuda_asked *asked = next_asked(ahead);
    uint64_t settings = ath_cuda_settings_of(exchange);
    ath_cuda_wire_call_set_number(exchange->call,
                                  settings); /* as ath_cuda_ask_cached() looks for it */
    const uint8_t *frame = ath_wire_finish(&exchange->thread->builder, &length, &built);
    if (!asked || !frame || ath_cuda_cache_find(frame, length, &exchange->thread->answer))
        return;
    *asked = (struct ath_cuda_asked){ .age = ath_cuda_cache_age(), .settings = settings };
    if (ath_frame_copy(&asked->message, frame, length))
        return;
    if (ath_cuda_ask_begin(exchange)) {
        ath_frame_free(&asked->message);
        return;
    }
    asked->exchange = *exchange;
    ahead->count++;
}

void ath_cuda_ahead_wait(struct ath_cuda_ahead *ahead)
{
    for (size_t i = 0; i < ahead->count; i++) {
        struct ath_cuda_asked *asked = &ahead->asked[i];
        struct ath_cuda_exchange *exchange = &asked->exchange;
        CUresult status = ath_cuda_ask_end(exchange);
        bool is_answer = !status || status == CUDA_ERROR_INVALID_VALUE; /* nor is there any later */
        if (is_answer && asked->settings == ath_cuda_settings_of(exchange))
            ath_cuda_cache_add(exchange->method, asked->message.bytes, asked->message.length,
                               &exchange->thread->answer, asked->age);
    }
}

void ath_cuda_ahead_free(struct ath_cuda_ahead *ahead)
{
    for (size_t i = 0; i < ahead->count; i++)
        ath_frame_free(&ahead->asked[i].message);
    free(ahead->asked);
}
