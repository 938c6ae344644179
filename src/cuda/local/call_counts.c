/* Counts the program's calls in a counter of each thread, and adds the counters up. */
#include "config.h"

#include "cuda/local/call_counts.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/alloc.h"

static _Atomic(struct ath_local_counter *) counters; /* the last one made */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

_Thread_local struct ath_local_counter *ath_local_own_counter;

/* At the end of a thread. A call that another destructor makes takes a counter again. */
static void give(void *own)
{
    ath_local_own_counter = NULL;
    atomic_store(&((struct ath_local_counter *)own)->is_taken, false);
}

static void make_key(void)
{
    has_key = !pthread_key_create(&key, give);
}

/* Returns a counter that no thread has; NULL if there is none. */
static struct ath_local_counter *take_unused(void)
{
    for (struct ath_local_counter *one = atomic_load(&counters); one; one = one->next)
        if (!atomic_load(&one->is_taken) && !atomic_exchange(&one->is_taken, true))
            return one;
    return NULL;
}

static struct ath_local_counter *make(void)
{
    struct ath_local_counter *made = ath_xalloc(sizeof *made);
    made->is_taken = true;
    made->next = atomic_load(&counters);
    while (!atomic_compare_exchange_weak(&counters, &made->next, made))
        ;
    return made;
}

/* Without a key the counter is never given to another thread. */
struct ath_local_counter *ath_local_counter_take(void)
{
    pthread_once(&key_once, make_key);
    struct ath_local_counter *own = take_unused();
    if (!own)
        own = make();
    if (has_key)
        pthread_setspecific(key, own);
    ath_local_own_counter = own;
    return own;
}

struct ath_local_counts ath_local_counts_sum(void)
{
    struct ath_local_counts sum = { 0 };
    for (struct ath_local_counter *one = atomic_load(&counters); one; one = one->next) {
        sum.calls += atomic_load_explicit(&one->calls, memory_order_relaxed);
        sum.to_gpu_bytes += atomic_load_explicit(&one->to_gpu_bytes, memory_order_relaxed);
        sum.from_gpu_bytes += atomic_load_explicit(&one->from_gpu_bytes, memory_order_relaxed);
    }
    return sum;
}
