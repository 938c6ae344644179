/* Threads that block all signals, and conditions that wait by the monotonic clock. */
#include "config.h"

#include "base/thread.h"

#include <signal.h>
#include <stdbool.h>

#include "base/clock.h"
#include "patience.h"
#include "unit.h"

SECONDS(60);

static void *note_mask(void *out)
{
    pthread_sigmask(SIG_SETMASK, NULL, out);
    return NULL;
}

/* Neither the kernel lets a thread block all signals, nor the C library its own ones, nor qemu's
 * user emulation the last two. */
static bool is_blockable(int signal)
{
    return signal != SIGKILL && signal != SIGSTOP &&
           (signal < 32 || (signal >= SIGRTMIN && signal < SIGRTMAX - 1));
}

static void check_own_mask(void)
{
    sigset_t mask;
    note_mask(&mask);
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        ck_assert_msg(!is_blockable(signal) ||
                          sigismember(&mask, signal) == (signal == SIGUSR1 || signal == SIGRTMIN),
                      "the caller's mask has changed for signal %d", signal);
}

static void set_own_mask(void)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigaddset(&mask, SIGRTMIN);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

TEST(thread_blocks_all_signals)
{
    pthread_t thread;
    sigset_t inside;
    set_own_mask();
    ck_assert_int_eq(ath_thread_start(&thread, note_mask, &inside), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        ck_assert_msg(!is_blockable(signal) || sigismember(&inside, signal) == 1,
                      "the thread does not block signal %d", signal);
    check_own_mask();
}

TEST(start_that_fails_keeps_the_mask)
{
    pthread_attr_t attributes, before;
    pthread_t thread;
    sigset_t inside;
    set_own_mask();
    ck_assert_int_eq(pthread_getattr_default_np(&before), 0);
    /* No machine has room for this stack. */
    pthread_attr_init(&attributes);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, (size_t)1 << 60), 0);
    ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
    ck_assert_int_eq(ath_thread_start(&thread, note_mask, &inside), -EAGAIN);
    ck_assert_int_eq(ath_thread_start(NULL, note_mask, &inside), -EAGAIN);
    ck_assert_int_eq(pthread_setattr_default_np(&before), 0);
    pthread_attr_destroy(&before);
    check_own_mask();
}

struct look {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int detach_state; /* -1 until the thread has looked */
};

static void *note_detach_state(void *argument)
{
    struct look *look = argument;
    pthread_attr_t attributes;
    pthread_mutex_lock(&look->lock);
    if (!pthread_getattr_np(pthread_self(), &attributes)) {
        pthread_attr_getdetachstate(&attributes, &look->detach_state);
        pthread_attr_destroy(&attributes);
    }
    pthread_cond_signal(&look->changed);
    pthread_mutex_unlock(&look->lock);
    return NULL;
}

TEST(thread_without_a_place_is_detached)
{
    static struct look look = { .lock = PTHREAD_MUTEX_INITIALIZER, .detach_state = -1 };
    const struct timespec until = ath_moment(ath_now_ms() + PATIENCE_MS);
    int status = 0;
    ath_cond_init(&look.changed);
    pthread_mutex_lock(&look.lock); /* the thread looks when it has been started and detached */
    ck_assert_int_eq(ath_thread_start(NULL, note_detach_state, &look), 0);
    while (look.detach_state == -1 && !status)
        status = pthread_cond_timedwait(&look.changed, &look.lock, &until);
    pthread_mutex_unlock(&look.lock);
    ck_assert_int_eq(look.detach_state, PTHREAD_CREATE_DETACHED);
}

TEST(moment_has_seconds_and_the_rest)
{
    const struct timespec moment = ath_moment(12999);
    ck_assert_int_eq(moment.tv_sec, 12);
    ck_assert_int_eq(moment.tv_nsec, 999000000);
}

/* A wait by the time of day would end at once: its clock passed such moments in 1970. */
TEST(wait_ends_by_the_monotonic_clock)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    const uint64_t until_ms = ath_now_ms() + LIMIT_MS;
    const struct timespec until = ath_moment(until_ms);
    int status = 0;
    ath_cond_init(&condition);
    pthread_mutex_lock(&lock);
    while (!status)
        status = pthread_cond_timedwait(&condition, &lock, &until);
    pthread_mutex_unlock(&lock);
    ck_assert_int_eq(status, ETIMEDOUT);
    ck_assert_uint_ge(ath_now_ms(), until_ms);
    ck_assert_uint_lt(ath_now_ms(), until_ms + PATIENCE_MS);
    pthread_cond_destroy(&condition);
}
