/* A hash map of frames. It is emptied when it reaches ENTRIES_MAX. Many calls make answers stale,
 * so that must be fast: a stale entry stays until its message is asked again, or until there are
 * STALE_MAX of them. */
#include "config.h"

#include "cuda/client/answer_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "cuda/client/kernel_attribute.h"
#include "cuda/client/launch_fit.h"
#include "cuda/client/thread_cache.h"
#include "remote/switches.h"

enum { ENTRIES_MAX = 65536, STALE_MAX = 1024 };

struct entry {
    struct ath_map_entry entry; /* by a hash of the message */
    enum ath_cuda_method method;
    uint64_t method_age; /* the answer counts as long as its method has this age */
    size_t length, answer_length;
    uint8_t bytes[]; /* the message, then its answer */
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct ath_map entries = ATH_MAP(12);
static size_t entry_count, stale_count; /* of all entries; of those that no longer count */
static uint64_t age;                    /* grows with each call that makes answers stale */
static struct {
    uint64_t age;
    size_t count; /* of the entries that count */
} methods[ATH_CUDA_METHOD_COUNT];

/* A message consists of whole words, usually few. */
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

/* The place of a message, whose answer may be stale; it holds NULL if the message has none. */
static struct ath_map_entry **place_of(const uint8_t *message, size_t length, uint64_t hash)
{
    struct ath_map_entry **at = ath_map_at(&entries, hash);
    for (; *at; at = ath_map_same(&(*at)->next, hash)) {
        const struct entry *entry = (const struct entry *)*at;
        if (entry->length == length && !memcmp(entry->bytes, message, length))
            break;
    }
    return at;
}

static bool counts(const struct entry *entry)
{
    return entry && entry->method_age == methods[entry->method].age;
}

static void drop(struct ath_map_entry **at)
{
    const struct entry *entry = (const struct entry *)*at;
    if (counts(entry))
        methods[entry->method].count--;
    else
        stale_count--;
    entry_count--;
    free(ath_map_take(at));
}

/* Frees all entries, or those that no longer count. The caller holds the lock. */
static void sweep(bool is_all)
{
    if (!entry_count)
        return;
    ATH_MAP_EACH(&entries, at)
    if (is_all || !counts((const struct entry *)*at))
        drop(at);
}

/* Makes the answers of a method stale. The caller holds the lock. */
static void forget_method(int method)
{
    if (!methods[method].count)
        return;
    stale_count += methods[method].count;
    methods[method].count = 0;
    methods[method].age++;
    if (stale_count > STALE_MAX)
        sweep(false);
}

bool ath_cuda_answer_cache_find(const uint8_t *message, size_t length, struct ath_frame *answer)
{
    if (ath_is_off(ATH_SWITCH_CACHES))
        return false;
    uint64_t hash = hash_of(message, length);
    pthread_rwlock_rdlock(&lock);
    const struct entry *entry = (const struct entry *)*place_of(message, length, hash);
    bool is_found =
        counts(entry) && !ath_frame_copy(answer, entry->bytes + length, entry->answer_length);
    pthread_rwlock_unlock(&lock);
    return is_found;
}

void ath_cuda_answer_cache_add(enum ath_cuda_method method, const uint8_t *message, size_t length,
                               const struct ath_frame *answer, uint64_t asked_at)
{
    struct entry *entry = malloc(sizeof *entry + length + answer->length);
    if (!entry)
        return;
    uint64_t hash = hash_of(message, length);
    *entry = (struct entry){ .method = method, .length = length, .answer_length = answer->length };
    memcpy(entry->bytes, message, length);
    memcpy(entry->bytes + length, answer->bytes, answer->length);
    pthread_rwlock_wrlock(&lock);
    struct ath_map_entry **at = place_of(message, length, hash);
    if (age == asked_at && !counts((const struct entry *)*at)) {
        if (*at)
            drop(at);
        if (entry_count == ENTRIES_MAX)
            sweep(true);
        entry->method_age = methods[method].age;
        ath_map_add(&entries, &entry->entry, hash);
        methods[method].count++;
        entry_count++;
        entry = NULL;
    }
    pthread_rwlock_unlock(&lock);
    free(entry);
}

uint64_t ath_cuda_answer_cache_age(void)
{
    pthread_rwlock_rdlock(&lock);
    uint64_t now = age;
    pthread_rwlock_unlock(&lock);
    return now;
}

bool ath_cuda_answer_cache_forget(enum ath_cuda_method method)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    if (!facts->forgets_all && !facts->forgets)
        return false;
    pthread_rwlock_wrlock(&lock);
    age++;
    if (facts->forgets_all)
        sweep(true);
    for (const short *stale = facts->forgets; stale && *stale >= 0; stale++)
        forget_method(*stale);
    pthread_rwlock_unlock(&lock);
    ath_cuda_thread_cache_forget();
    if (facts->forgets_settings) /* they may be another kernel's */
        ath_cuda_attributes_forget(facts->forgets_all);
    if (facts->forgets_all)
        ath_cuda_launch_fit_forget();
    return facts->forgets_all;
}

void ath_cuda_answer_cache_clear(void)
{
    pthread_rwlock_wrlock(&lock);
    age++;
    sweep(true);
    pthread_rwlock_unlock(&lock);
    ath_cuda_thread_cache_forget();
    ath_cuda_attributes_forget(true);
    ath_cuda_launch_fit_forget();
}
