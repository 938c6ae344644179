/* Three small hash maps under one lock. */
#include "config.h"

#include "cuda/client/lasting_results.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "cuda/client/client.h"

/* By the value and the method. */
struct kept {
    struct ath_map_entry entry;
    enum ath_cuda_method method;
    void *blocks;
};

/* By a hash of the letters. */
struct text {
    struct ath_map_entry entry;
    char letters[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ath_map kept = ATH_MAP(10), texts = ATH_MAP(10);
static struct ath_map kernels = ATH_MAP(10); /* entries alone, by the handle */

static struct kept *find_kept(enum ath_cuda_method method, uint64_t value)
{
    struct ath_map_entry **at = ath_map_at(&kept, value);
    while (*at && ((const struct kept *)*at)->method != method)
        at = ath_map_same(&(*at)->next, value);
    return (struct kept *)*at;
}

void ath_cuda_lasting_results_replace(enum ath_cuda_method method, uint64_t value, void *blocks)
{
    void *old = NULL; /* kept too if there is no memory for an entry: the program may use it */
    pthread_mutex_lock(&lock);
    struct kept *found = find_kept(method, value);
    if (!found && (found = calloc(1, sizeof *found))) {
        found->method = method;
        ath_map_add(&kept, &found->entry, value);
    }
    if (found) {
        old = found->blocks;
        found->blocks = blocks;
    }
    pthread_mutex_unlock(&lock);
    ath_cuda_blocks_free(old);
}

static struct text *find_text(const char *letters, uint64_t hash)
{
    struct ath_map_entry **at = ath_map_at(&texts, hash);
    while (*at && strcmp(((const struct text *)*at)->letters, letters))
        at = ath_map_same(&(*at)->next, hash);
    return (struct text *)*at;
}

const char *ath_cuda_intern(const char *text)
{
    uint64_t hash = 0;
    for (const char *at = text; *at; at++)
        hash = hash * 31 + (unsigned char)*at;
    pthread_mutex_lock(&lock);
    struct text *found = find_text(text, hash);
    if (!found && (found = calloc(1, sizeof *found + strlen(text) + 1))) {
        strcpy(found->letters, text);
        ath_map_add(&texts, &found->entry, hash);
    }
    pthread_mutex_unlock(&lock);
    return found ? found->letters : NULL;
}

void ath_cuda_kernel_add(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct ath_map_entry *entry = ath_map_find(&kernels, handle);
    if (!entry && (entry = calloc(1, sizeof *entry)))
        ath_map_add(&kernels, entry, handle);
    pthread_mutex_unlock(&lock);
}

void ath_cuda_kernel_remove(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    free(ath_map_take(ath_map_at(&kernels, handle)));
    pthread_mutex_unlock(&lock);
}

bool ath_cuda_is_kernel(const void *handle)
{
    pthread_mutex_lock(&lock);
    bool is_known = ath_map_find(&kernels, (uintptr_t)handle);
    pthread_mutex_unlock(&lock);
    return is_known;
}

/* Interned texts stay: the program may still use them. */
void ath_cuda_lasting_results_clear(void)
{
    pthread_mutex_lock(&lock);
    ATH_MAP_EACH(&kept, at)
    {
        struct kept *one = ath_map_take(at);
        ath_cuda_blocks_free(one->blocks);
        free(one);
    }
    ATH_MAP_EACH(&kernels, at)
    free(ath_map_take(at));
    pthread_mutex_unlock(&lock);
}
