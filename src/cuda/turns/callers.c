/* Gives each thread that calls through the gate a place, and looks whether any thread is inside. */
#include "config.h"

#include "cuda/turns/callers.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

static _Atomic(struct ath_turn_caller *) callers; /* the last one made */
static _Atomic uint64_t last_thread;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

atomic_bool ath_turn_callers_need_barrier = true;
_Thread_local struct ath_turn_caller *ath_turn_own_caller;

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

void ath_turn_callers_begin(void)
{
    long known = membarrier(MEMBARRIER_CMD_QUERY);
    bool has = known > 0 && known & MEMBARRIER_CMD_PRIVATE_EXPEDITED &&
               !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    ath_turn_callers_need_barrier = !has;
}

/* At the end of a thread, which may have been cancelled in a call. */
static void give(void *place)
{
    struct ath_turn_caller *own = place;
    ath_turn_own_caller = NULL;
    if (atomic_load(&own->calls) & 1)
        ath_turn_caller_leave(own);
    atomic_store(&own->is_taken, false);
}

static void make_key(void)
{
    has_key = !pthread_key_create(&key, give);
}

/* Returns a place that no thread has; NULL if there is none. */
static struct ath_turn_caller *take_unused(void)
{
    for (struct ath_turn_caller *one = atomic_load(&callers); one; one = one->next)
        if (!atomic_load(&one->is_taken) && !atomic_exchange(&one->is_taken, true))
            return one;
    return NULL;
}

static struct ath_turn_caller *make(void)
{
    struct ath_turn_caller *made = ath_xalloc(sizeof *made);
    made->is_taken = true;
    made->next = atomic_load(&callers);
    while (!atomic_compare_exchange_weak(&callers, &made->next, made))
        ;
    return made;
}

/* Without a key the place is never given to another thread. */
struct ath_turn_caller *ath_turn_caller_take(void)
{
    pthread_once(&key_once, make_key);
    struct ath_turn_caller *own = take_unused();
    if (!own)
        own = make();
    own->thread = ++last_thread;
    if (has_key)
        pthread_setspecific(key, own);
    ath_turn_own_caller = own;
    return own;
}

void ath_turn_callers_barrier(void)
{
    if (ath_turn_callers_need_barrier || membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        atomic_thread_fence(memory_order_seq_cst);
}

bool ath_turn_callers_are_inside(void)
{
    for (struct ath_turn_caller *one = atomic_load(&callers); one; one = one->next)
        if (atomic_load_explicit(&one->calls, memory_order_acquire) & 1)
            return true;
    return false;
}

uint64_t ath_turn_callers_calls(void)
{
    uint64_t calls = 0;
    for (struct ath_turn_caller *one = atomic_load(&callers); one; one = one->next)
        calls += atomic_load(&one->calls);
    return calls;
}
