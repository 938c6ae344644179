/* The key of an answer is the message without the fields that differ from call to call. */
#include "config.h"

#include "cuda/client/prefetch.h"

#include <stdlib.h>

#include "cuda/client/answer_cache.h"
#include "cuda/client/code_facts.h"
#include "proto/cuda-wire.h"

enum { FIRST = 256 };

struct ath_cuda_prefetched {
    struct ath_cuda_exchange exchange;
    struct ath_frame message;
    struct ath_frame key;   /* for code_facts.h; empty: the answer is not kept */
    uint64_t age, settings; /* of the answer cache; of the kernel in question */
};

/* Makes room for one more. */
static struct ath_cuda_prefetched *next_asked(struct ath_cuda_prefetch *ahead)
{
    if (ahead->count == ahead->capacity) {
        size_t capacity = ahead->capacity ? 2 * ahead->capacity : FIRST;
        struct ath_cuda_prefetched *grown = realloc(ahead->asked, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        ahead->asked = grown;
        ahead->capacity = capacity;
    }
    return &ahead->asked[ahead->count];
}

/* The question as ath_cuda_ask_cached() looks it up. Returns NULL if memory runs
 * out. */
static const uint8_t *key_of(struct ath_cuda_exchange *exchange, uint64_t settings, size_t *length)
{
    int built;
    ath_cuda_wire_call_set_number(exchange->call, settings);
    return ath_wire_finish(&exchange->thread->builder, length, &built);
}

void ath_cuda_prefetch_told(struct ath_cuda_exchange *exchange, struct ath_wire_builder *answer,
                            uint64_t age)
{
    size_t key_length, length;
    int built;
    struct ath_frame frame = { 0 };
    const uint8_t *key = key_of(exchange, ath_cuda_settings_of(exchange), &key_length);
    const uint8_t *bytes = ath_wire_finish(answer, &length, &built);
    if (key && bytes && !exchange->side.status && !ath_frame_copy(&frame, bytes, length))
        ath_cuda_answer_cache_add(exchange->method, key, key_length, &frame, age);
    ath_frame_free(&frame);
    ath_cuda_side_free(&exchange->side);
}

/* Puts the answer of an earlier run into the answer cache. Returns false if there is none. */
static bool take_fact(const struct ath_cuda_exchange *exchange,
                      const struct ath_cuda_prefetched *asked)
{
    struct ath_frame *answer = &exchange->thread->answer;
    if (!asked->key.length || !ath_cuda_code_facts_find(exchange, &asked->key, answer))
        return false;
    ath_cuda_answer_cache_add(exchange->method, asked->message.bytes, asked->message.length, answer,
                              asked->age);
    return true;
}

void ath_cuda_prefetch_ask(struct ath_cuda_prefetch *ahead, struct ath_cuda_exchange *exchange)
{
    size_t length;
    struct ath_cuda_prefetched *asked = next_asked(ahead);
    uint64_t settings = ath_cuda_settings_of(exchange);
    const uint8_t *frame = key_of(exchange, settings, &length);
    if (!asked || !frame || ath_cuda_answer_cache_find(frame, length, &exchange->thread->answer))
        return;
    *asked =
        (struct ath_cuda_prefetched){ .age = ath_cuda_answer_cache_age(), .settings = settings };
    if (ath_frame_copy(&asked->message, frame, length))
        return;
    (void)ath_cuda_code_facts_key(exchange, &asked->key);
    if (take_fact(exchange, asked) || ath_cuda_ask_begin(exchange)) {
        ath_frame_free(&asked->message);
        ath_frame_free(&asked->key);
        return;
    }
    asked->exchange = *exchange;
    ahead->count++;
}

void ath_cuda_prefetch_wait(struct ath_cuda_prefetch *ahead)
{
    for (size_t i = 0; i < ahead->count; i++) {
        struct ath_cuda_prefetched *asked = &ahead->asked[i];
        struct ath_cuda_exchange *exchange = &asked->exchange;
        CUresult status = ath_cuda_ask_end(exchange);
        bool is_answer = !status || ath_cuda_is_refusal(status);
        if (!is_answer || asked->settings != ath_cuda_settings_of(exchange))
            continue;
        ath_cuda_answer_cache_add(exchange->method, asked->message.bytes, asked->message.length,
                                  &exchange->thread->answer, asked->age);
        if (asked->key.length)
            ath_cuda_code_facts_add(exchange, &asked->key, true);
    }
}

void ath_cuda_prefetch_free(struct ath_cuda_prefetch *ahead)
{
    for (size_t i = 0; i < ahead->count; i++) {
        ath_frame_free(&ahead->asked[i].message);
        ath_frame_free(&ahead->asked[i].key);
    }
    free(ahead->asked);
}
