/* A hash table of frames, emptied when it grows too large. */
#include "config.h"

#include "runtime/cuda/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/by_hand/attribute.h"
#include "runtime/cuda/memo.h"
#include "runtime/switches.h"

enum { BUCKETS = 4096, ENTRIES_MAX = 65536 };

struct entry {
    struct entry *next;
    uint64_t hash;
    enum ath_cuda_method method;
    size_t length, answer_length;
    uint8_t bytes[]; /* the message, then the answer */
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct entry *buckets[BUCKETS];
static size_t entry_count;
static uint64_t age;

/* A message is whole words, mostly few of them. */
static uint64_t hash_of(const uint8_t *message, size_t length)
{
    uint64_t hash = length;
    for (size_t i = 0; i + sizeof(uint64_t) <= length; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, message + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

static struct entry *entry_of(const uint8_t *message, size_t length, uint64_t hash)
{
    struct entry *entry = buckets[hash % BUCKETS];
    while (entry && (entry->hash != hash || entry->length != length ||
                     memcmp(entry->bytes, message, length)))
        entry = entry->next;
    return entry;
}

/* Frees the entries of a method, or with method -1 all. The caller has the lock. */
static void drop(int method)
{
    for (size_t i = 0; entry_count && i < BUCKETS; i++) {
        for (struct entry **at = &buckets[i]; *at;) {
            struct entry *entry = *at;
            if (method >= 0 && (int)entry->method != method) {
                at = &entry->next;
                continue;
            }
            *at = entry->next;
            free(entry);
            entry_count--;
        }
    }
}

bool ath_cuda_cache_find(const uint8_t *message, size_t length, struct ath_frame *answer)
{
    if (ath_is_off(ATH_SWITCH_CACHES))
        return false;
    uint64_t hash = hash_of(message, length);
    pthread_rwlock_rdlock(&lock);
    const struct entry *entry = entry_of(message, length, hash);
    bool is_found = entry && !ath_frame_copy(answer, entry->bytes + length, entry->answer_length);
    pthread_rwlock_unlock(&lock);
    return is_found;
}

void ath_cuda_cache_add(enum ath_cuda_method method, const uint8_t *message, size_t length,
                        const struct ath_frame *answer, uint64_t asked_at)
{
    struct entry *entry = malloc(sizeof *entry + length + answer->length);
    if (!entry)
        return;
    *entry = (struct entry){ .hash = hash_of(message, length),
                             .method = method,
                             .length = length,
                             .answer_length = answer->length };
    memcpy(entry->bytes, message, length);
    memcpy(entry->bytes + length, answer->bytes, answer->length);
    pthread_rwlock_wrlock(&lock);
    if (age == asked_at && !entry_of(message, length, entry->hash)) {
        if (entry_count == ENTRIES_MAX)
            drop(-1);
        entry->next = buckets[entry->hash % BUCKETS];
        buckets[entry->hash % BUCKETS] = entry;
        entry_count++;
        entry = NULL;
    }
    pthread_rwlock_unlock(&lock);
    free(entry);
}

uint64_t ath_cuda_cache_age(void)
{
    pthread_rwlock_rdlock(&lock);
    uint64_t now = age;
    pthread_rwlock_unlock(&lock);
    return now;
}

static bool forgets(const struct ath_cuda_method_facts *facts, enum ath_cuda_method method)
{
    const short *stale = facts->forgets;
    while (stale && *stale >= 0 && *stale != (short)method)
        stale++;
    return facts->forgets_all || (stale && *stale >= 0);
}

bool ath_cuda_cache_has_of_settings(enum ath_cuda_method method)
{
    return forgets(&ath_cuda_methods[ATH_CUDA_METHOD_cuFuncSetCacheConfig], method);
}

bool ath_cuda_cache_forget(enum ath_cuda_method method)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    if (!facts->forgets_all && !facts->forgets)
        return false;
    pthread_rwlock_wrlock(&lock);
    age++;
    if (facts->forgets_all)
        drop(-1);
    for (const short *stale = facts->forgets; stale && *stale >= 0; stale++)
        drop(*stale);
    pthread_rwlock_unlock(&lock);
    ath_cuda_memo_forget();
    if (forgets(facts,
                ATH_CUDA_METHOD_cuFuncGetAttribute)) /* they may be others, of another kernel */
        ath_cuda_attributes_forget(facts->forgets_all);
    return facts->forgets_all;
}

void ath_cuda_cache_clear(void)
{
    pthread_rwlock_wrlock(&lock);
    age++;
    drop(-1);
    pthread_rwlock_unlock(&lock);
    ath_cuda_memo_forget();
    ath_cuda_attributes_forget(true);
}
