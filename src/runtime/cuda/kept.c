/* Three small hash tables under one lock. */
#include "config.h"

#include "runtime/cuda/kept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/client.h"

enum { BUCKETS = 1024 };

struct kept {
    struct kept *next;
    enum ath_cuda_method method;
    uint64_t value;
    void *blocks;
};

struct text {
    struct text *next;
    char letters[];
};

struct kernel {
    struct kernel *next;
    uint64_t handle;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *kept[BUCKETS];
static struct text *texts[BUCKETS];
static struct kernel *kernels[BUCKETS];

static size_t bucket_of(uint64_t value)
{
    return (size_t)(value * UINT64_C(0x9e3779b97f4a7c15) >> 54) % BUCKETS;
}

void ath_cuda_kept_replace(enum ath_cuda_method method, uint64_t value, void *blocks)
{
    void *old =
        NULL; /* without memory for a place they stay for ever: the program has them already */
    pthread_mutex_lock(&lock);
    struct kept **at = &kept[bucket_of(value)];
    while (*at && ((*at)->method != method || (*at)->value != value))
        at = &(*at)->next;
    if (!*at && (*at = calloc(1, sizeof **at)))
        **at = (struct kept){ .method = method, .value = value };
    if (*at) {
        old = (*at)->blocks;
        (*at)->blocks = blocks;
    }
    pthread_mutex_unlock(&lock);
    ath_cuda_blocks_free(old);
}

const char *ath_cuda_intern(const char *text)
{
    uint64_t hash = 0;
    for (const char *at = text; *at; at++)
        hash = hash * 31 + (unsigned char)*at;
    pthread_mutex_lock(&lock);
    struct text **at = &texts[bucket_of(hash)];
    while (*at && strcmp((*at)->letters, text))
        at = &(*at)->next;
    if (!*at && (*at = calloc(1, sizeof **at + strlen(text) + 1)))
        strcpy((*at)->letters, text);
    const char *letters = *at ? (*at)->letters : NULL;
    pthread_mutex_unlock(&lock);
    return letters;
}

static struct kernel **kernel_place(uint64_t handle)
{
    struct kernel **at = &kernels[bucket_of(handle)];
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

void ath_cuda_kernel_add(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct kernel **at = kernel_place(handle);
    if (!*at && (*at = calloc(1, sizeof **at)))
        (*at)->handle = handle;
    pthread_mutex_unlock(&lock);
}

void ath_cuda_kernel_remove(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct kernel **at = kernel_place(handle), *gone = *at;
    if (gone) {
        *at = gone->next;
        free(gone);
    }
    pthread_mutex_unlock(&lock);
}

bool ath_cuda_is_kernel(const void *handle)
{
    pthread_mutex_lock(&lock);
    bool is_known = *kernel_place((uintptr_t)handle);
    pthread_mutex_unlock(&lock);
    return is_known;
}

/* Texts stay: a program may hold them still. */
void ath_cuda_kept_clear(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct kept *one = kept[i], *next; one; one = next) {
            next = one->next;
            ath_cuda_blocks_free(one->blocks);
            free(one);
        }
        for (struct kernel *one = kernels[i], *next; one; one = next) {
            next = one->next;
            free(one);
        }
        kept[i] = NULL;
        kernels[i] = NULL;
    }
    pthread_mutex_unlock(&lock);
}
