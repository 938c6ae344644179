/*
 * The threads that read calls and serve them in their order or beside it.
 *
 * As a rule one thread reads a call, serves it and reads the next. While functions of the program
 * may be due (host functions in streams), the driver may wait for such a function in any call, and
 * the call that tells of its end (athNextCallback) must be read meanwhile. So calls go into a
 * queue, which another thread serves in order.
 *
 * Large calls go into the queue as well: while the driver copies their data, the next call's data
 * comes from the network.
 *
 * A call that may wait for the GPU, though waiting is not its purpose, is served in its order,
 * since it hardly ever waits. A call that lasts leaves the order: it may wait for what another
 * thread of the program calls next.
 *
 * Calls are read on, whatever blocks the answers. The client asks for several things at once, and
 * its threads take turns to send. So it may take no answer before more of its calls are read.
 */
#include "config.h"

#include "cuda/server/call_threads.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "base/host_budget.h"
#include "cuda/server/call_answer.h"
#include "cuda/server/call_head.h"
#include "cuda/server/call_rooms.h"
#include "cuda/server/capture_threads.h"
#include "cuda/server/driver_thread.h"
#include "remote/switches.h"
#include "remote/transport/poll_briefly.h"

enum {
    THREADS_MAX = 512,
    AHEAD_BYTES = 20 * 1024 * 1024,   /* frames read ahead of being served */
    QUEUED_BYTES = 512 * 1024 * 1024, /* the same while a function of the program may be due */
    SPARES = 2,
    LASTS_MS = 5, /* after so long a call that may wait most likely does */
    ALONE = 16,   /* calls in a row by one thread of the client: others are at rest */
};

/* A call that was read and is not served yet. */
struct queued {
    struct queued *next;
    struct ath_call_head head;
    struct ath_frame frame;
};

/* The call that is served in its order. The guard watches calls that may wait. */
struct in_order {
    const struct ath_call_thread *thread; /* serves it; NULL: none does, or it has left the order */
    bool is_reader;                       /* this thread also reads */
    bool is_watched;
    uint64_t count;             /* of all watched calls until now */
    bool has_guard, is_guarded; /* there is a guard; it looks */
    pthread_cond_t begins;      /* with turns->lock */
};

struct turns {
    struct ath_calls *calls;
    pthread_mutex_t lock;
    pthread_cond_t is_free;
    pthread_cond_t has_room;
    bool is_reading, is_serving; /* a thread reads; a thread serves calls in their order */
    unsigned int idle, threads;
    atomic_uint woken; /* idle threads that must look for work; read without the lock, too */
    unsigned int looking, looking_max; /* idle threads that do not sleep yet */
    uint32_t caller;                   /* the client's thread that called last */
    unsigned int calls_in_row;         /* by this thread */
    int awaited; /* calls served beside the order while the client waits for their answers */
    _Atomic uint32_t patience_us[2]; /* by enum ath_stream_wait */
    struct queued *queue, **last;
    size_t queued_bytes;
    struct ath_frame spares[SPARES]; /* memory of frames too large for rooms, for the next ones */
    struct in_order in_order;
    struct ath_answer_writer writer;
    struct ath_capture_threads captures;
};

/* Returns whether a call that waits is best served by the thread that reads: no other thread calls,
 * and waking another thread to read costs microseconds. The guard wakes one if the wait lasts. */
static bool waits_alone(const struct turns *turns, const struct ath_call_head *head)
{
    return turns->calls_in_row >= ALONE && ath_call_may_last(head) && !ath_cuda_functions_due();
}

/* ---- turns ---- */

static void *take_turns(void *argument);

/* Wakes or starts one more thread to look for work. Returns false if there is none. The caller has
 * the lock. */
static bool wake_one(struct turns *turns)
{
    pthread_t thread;
    if (turns->idle > turns->woken) {
        if (turns->woken++ >= turns->looking)
            pthread_cond_signal(&turns->is_free);
        return true;
    }
    if (turns->threads == THREADS_MAX || !ath_host_take(ATH_HOST_THREADS, 1))
        return false;
    if (ath_driver_thread_make(&thread, take_turns, turns)) {
        ath_host_give(ATH_HOST_THREADS, 1);
        return false;
    }
    pthread_detach(thread);
    turns->threads++;
    return true;
}

/* ---- calls that leave the order ---- */

/* Lets another thread go on with the order while this one still serves or answers its call. The
 * caller has the lock. */
static void let_go(struct turns *turns)
{
    struct in_order *now = &turns->in_order;
    if (!wake_one(turns))
        return;
    now->thread = NULL;
    turns->is_serving = false;
    if (now->is_reader)
        turns->is_reading = false;
}

/* Lets the order go on without a thread whose call is served, and whose answer has to wait. */
static void step_aside(struct ath_answer_writer *writer, const struct ath_call_thread *thread)
{
    struct turns *turns = (struct turns *)((char *)writer - offsetof(struct turns, writer));
    pthread_mutex_lock(&turns->lock);
    if (turns->in_order.thread == thread)
        let_go(turns);
    pthread_mutex_unlock(&turns->lock);
}

/* Looks at the watched call from time to time, so that a short call costs nothing. Sleeps while no
 * call is watched. */
static void *guard(void *argument)
{
    struct turns *turns = argument;
    struct in_order *now = &turns->in_order;
    pthread_mutex_lock(&turns->lock);
    for (;;) {
        const uint64_t seen = now->count;
        pthread_mutex_unlock(&turns->lock);
        nanosleep(&(struct timespec){ .tv_nsec = LASTS_MS * 1000000L }, NULL);
        pthread_mutex_lock(&turns->lock);
        if (now->count != seen)
            continue;
        if (now->thread && now->is_watched)
            let_go(turns);
        now->is_guarded = now->thread && now->is_watched;
        while (!now->is_guarded)
            pthread_cond_wait(&now->begins, &turns->lock);
    }
    return NULL;
}

/* Has the guard watch the call that begins. The caller has the lock. */
static void watch(struct turns *turns)
{
    struct in_order *now = &turns->in_order;
    pthread_t made;
    now->count++;
    if (now->is_guarded)
        return;
    now->is_guarded = true;
    if (now->has_guard)
        pthread_cond_signal(&now->begins);
    else if (pthread_create(&made, NULL, guard, turns))
        now->is_guarded = false;
    else
        now->has_guard = !pthread_detach(made);
}

/* Serves a call in its order. The caller has the lock, before and after. Returns whether this
 * thread still goes on with the order. */
static bool serve_in_order(struct turns *turns, struct ath_call_thread *thread,
                           const struct ath_call_head *head, const struct ath_frame *call,
                           bool is_reader)
{
    struct in_order *now = &turns->in_order;
    turns->is_serving = true;
    now->thread = thread;
    now->is_reader = is_reader;
    now->is_watched =
        ath_call_may_last(head) && !ath_capture_threads_has(&turns->captures, head->thread);
    bool is_watched = now->is_watched;
    if (is_watched)
        watch(turns);
    pthread_mutex_unlock(&turns->lock);
    if (is_watched || !ath_capture_threads_serve(&turns->captures, thread, head, call))
        ath_answer_serve(&turns->writer, thread, head, call);
    pthread_mutex_lock(&turns->lock);
    if (now->thread != thread)
        return false;
    now->thread = NULL;
    turns->is_serving = false;
    return true;
}

/* Counts calls whose answers the client waits for. While there are some, the reading thread looks
 * longer before it sleeps, since the next call follows soon after the answer. The caller has the
 * lock. */
static void count_awaited(struct turns *turns, int change)
{
    turns->awaited += change;
    turns->calls->stream->patience_us =
        turns->patience_us[turns->awaited ? ATH_STREAM_BUSY : ATH_STREAM_IDLE];
}

/* Serves a call beside the order. The caller has the lock, before and after. */
static void serve_aside(struct turns *turns, struct ath_call_thread *thread,
                        const struct ath_call_head *head, const struct ath_frame *call,
                        bool is_awaited)
{
    count_awaited(turns, is_awaited);
    pthread_mutex_unlock(&turns->lock);
    ath_answer_serve(&turns->writer, thread, head, call);
    pthread_mutex_lock(&turns->lock);
    count_awaited(turns, -(int)is_awaited);
}

/* ---- the queue ---- */

/* Swaps a frame's memory with a spare's. wants_memory: with a spare that has memory; else with an
 * empty spare, which keeps the frame's. The caller has the lock. */
static void swap_spare(struct turns *turns, struct ath_frame *frame, bool wants_memory)
{
    for (size_t i = 0; i < SPARES; i++) {
        if (!turns->spares[i].bytes == wants_memory)
            continue;
        struct ath_frame spare = turns->spares[i];
        turns->spares[i] = *frame;
        *frame = spare;
        return;
    }
}

/* Takes the frame's memory. The caller has the lock. */
static bool enqueue(struct turns *turns, const struct ath_call_head *head, struct ath_frame *frame)
{
    struct queued *queued = malloc(sizeof *queued);
    if (!queued)
        return false;
    *queued = (struct queued){ .head = *head, .frame = *frame };
    *frame = (struct ath_frame){ 0 };
    if (ath_call_is_large(queued->frame.length))
        swap_spare(turns, frame, true);
    if (!turns->queue)
        turns->last = &turns->queue;
    *turns->last = queued;
    turns->last = &queued->next;
    turns->queued_bytes += queued->frame.length;
    return true;
}

/* Serves the first call of the queue. The caller has the lock and is the thread that serves. */
static void serve_queued(struct turns *turns, struct ath_call_thread *thread)
{
    struct queued *queued = turns->queue;
    bool leaves = ath_call_leaves_order(&queued->head) &&
                  !ath_capture_threads_has(&turns->captures, queued->head.thread);
    turns->queue = queued->next;
    turns->queued_bytes -= queued->frame.length;
    pthread_cond_signal(&turns->has_room);
    if (leaves && (!turns->queue || wake_one(turns))) {
        serve_aside(turns, thread, &queued->head, &queued->frame, true);
    } else {
        serve_in_order(turns, thread, &queued->head, &queued->frame, false);
    }
    if (ath_call_is_large(queued->frame.length) && !ath_call_room_of(queued->frame.bytes))
        swap_spare(turns, &queued->frame, false);
    ath_call_room_free_frame(&queued->frame);
    free(queued);
}

/* ---- reading ---- */

static void read_call(struct turns *turns, struct ath_call_thread *thread,
                      struct ath_call_head *out)
{
    struct ath_calls *calls = turns->calls;
    size_t length;
    int status = ath_stream_read_head(calls->stream, ATH_CALL_MAX, &length);
    if (!status) {
        ath_call_room_lay(&thread->frame, length);
        status = ath_stream_read_rest(calls->stream, length, &thread->frame);
    }
    if (!status)
        ath_call_room_shield(&thread->frame);
    if (!status && !ath_call_head_read(&thread->frame, out))
        status = -EBADMSG;
    if (status)
        calls->over(calls, status);
    ath_count(&calls->counts->calls, 1);
    ath_count(&calls->counts->received_bytes, thread->frame.length);
}

/* Puts the call that was read at the end of the queue. The caller has the lock. Returns whether
 * this thread still reads: if no other thread can be started it serves the queue. */
static bool put_behind(struct turns *turns, struct ath_call_thread *thread,
                       const struct ath_call_head *head)
{
    bool was_empty = !turns->queue;
    if (!enqueue(turns, head, &thread->frame))
        turns->calls->over(turns->calls, -ENOMEM);
    if (was_empty && !turns->is_serving && !wake_one(turns)) {
        if (ath_cuda_functions_due())
            turns->calls->over(turns->calls, -EAGAIN);
        return turns->is_reading = false;
    }
    while (turns->queued_bytes > (ath_cuda_functions_due() ? QUEUED_BYTES : AHEAD_BYTES))
        pthread_cond_wait(&turns->has_room, &turns->lock);
    return true;
}

/* Serves the call that was read, or queues it. The caller has the lock. Returns whether this thread
 * still reads. */
static bool serve_read(struct turns *turns, struct ath_call_thread *thread,
                       const struct ath_call_head *head)
{
    bool is_captured = ath_capture_threads_has(&turns->captures, head->thread);
    if (ath_call_overtakes(head) || (ath_call_leaves_order(head) && !is_captured && !turns->queue &&
                                     !turns->is_serving && !waits_alone(turns, head))) {
        bool is_passed = wake_one(turns);
        turns->is_reading = !is_passed;
        serve_aside(turns, thread, head, &thread->frame, !ath_call_overtakes(head));
        return !is_passed;
    }
    if (turns->queue || turns->is_serving || ath_cuda_functions_due() ||
        ath_call_is_large(thread->frame.length)) {
        return put_behind(turns, thread, head);
    }
    return serve_in_order(turns, thread, head, &thread->frame, true);
}

/* The caller has the lock. */
static void note_caller(struct turns *turns, const struct ath_call_head *head)
{
    turns->calls_in_row = head->thread == turns->caller ? turns->calls_in_row + 1 : 0;
    turns->caller = head->thread;
}

/* The caller has the lock. */
static void read_on(struct turns *turns, struct ath_call_thread *thread)
{
    struct ath_call_head head = { .method = -1 };
    turns->is_reading = true;
    do {
        pthread_mutex_unlock(&turns->lock);
        read_call(turns, thread, &head);
        pthread_mutex_lock(&turns->lock);
        note_caller(turns, &head);
    } while (serve_read(turns, thread, &head));
}

/* Looks for work for a while. The caller has the lock, before and after. */
static void look_for_work(struct turns *turns)
{
    enum { ROUNDS = 32 };
    struct ath_brief_poll poll_state = { 0 };
    bool is_patient = true;
    turns->looking++;
    while (is_patient && !turns->woken) {
        pthread_mutex_unlock(&turns->lock);
        while (!turns->woken && is_patient)
            is_patient =
                ath_brief_poll_again(&poll_state, ROUNDS, &turns->patience_us[ATH_STREAM_IDLE]);
        pthread_mutex_lock(&turns->lock);
    }
    turns->looking--;
}

/* Waits for work. Waking a sleeping thread costs the waking thread microseconds in which it serves
 * nothing, so some idle threads look for a while before they sleep. The caller has the lock. */
static void rest(struct turns *turns, struct ath_call_thread *thread)
{
    ath_call_thread_rest(thread);
    turns->idle++;
    if (turns->looking < turns->looking_max)
        look_for_work(turns);
    if (!turns->woken)
        pthread_cond_wait(&turns->is_free, &turns->lock);
    turns->idle--;
    turns->woken -= turns->woken > 0;
}

static void *take_turns(void *argument)
{
    struct turns *turns = argument;
    struct ath_call_thread thread = ath_call_thread_make(&turns->writer);
    pthread_mutex_lock(&turns->lock);
    for (;;) {
        if (turns->queue && !turns->is_serving) {
            serve_queued(turns, &thread);
        } else if (!turns->is_reading) {
            read_on(turns, &thread);
        } else {
            rest(turns, &thread);
        }
    }
    return NULL;
}

void ath_calls_serve(struct ath_calls *calls)
{
    static struct turns turns; /* outlives every thread: the process has one session */
    static struct ath_call_counts nowhere;
    if (!calls->counts)
        calls->counts = &nowhere;
    turns = (struct turns){ .calls = calls,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .is_free = PTHREAD_COND_INITIALIZER,
                            .has_room = PTHREAD_COND_INITIALIZER,
                            .captures = { .writer = &turns.writer, .lock = &turns.lock },
                            .in_order.begins = PTHREAD_COND_INITIALIZER,
                            .patience_us = { ath_stream_patience_us(ATH_STREAM_IDLE),
                                             ath_stream_patience_us(ATH_STREAM_BUSY) },
                            .looking_max = 1 + ath_stream_more_pollers(),
                            .threads = 1 };
    ath_answer_writer_init(&turns.writer, calls, step_aside);
    take_turns(&turns);
    __builtin_unreachable();
}
