/*
 * Who reads, who serves, and who captures.
 *
 * As a rule one thread reads a call, serves it and reads on. But while functions of the program's
 * may be due (host functions in streams), the driver may wait for one of them in any call, and what
 * says that it returned is a call as well (athNextCallback): then nothing may keep the next call
 * from being read. Calls are put into a queue, which another thread serves in order.
 *
 * So are large ones: while the driver copies their data, the next ones' comes from the network.
 *
 * A call that may wait for the GPU's work, though that is not what it is for, is served in its
 * order like any other, since it hardly ever does. One that lasts leaves the order: what it waits
 * for may be what another of the program's threads calls next.
 */
#include "config.h"

#include "runtime/server/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/cuda/by_hand/regions.h"
#include "runtime/server/printed.h"
#include "runtime/switches.h"
#include "runtime/transport/look.h"

enum {
    CALL_MAX = 80 * 1024 * 1024, /* bytes of a frame */
    THREADS_MAX = 512,
    KEPT_BYTES = 1024 * 1024,         /* of memory for messages that an idle thread keeps */
    ROOM_BYTES = 8 * 1024 * 1024,     /* the same for data: a part of a copy (client_copy.c) */
    LARGE_BYTES = 2 * 1024 * 1024,    /* a frame that is worth another thread */
    AHEAD_BYTES = 20 * 1024 * 1024,   /* of frames that are read before they can be served */
    QUEUED_BYTES = 512 * 1024 * 1024, /* the same where one of them may have to be */
    SPARES = 2,
    PRINTED_BYTES = 64 * 1024, /* of what kernels printed, in a message */
    LASTS_MS = 5,              /* a call that may wait: then it does, most likely */
};

/* A thread of the server, with its memory. */
struct server_thread {
    struct ath_cuda_worker worker;
    struct ath_frame frame;
    struct ath_wire_builder builder;
};

/* A client's thread that captures: its calls are served by a thread of its own. */
struct capturer {
    struct capturer *next;
    struct turns *turns;
    uint32_t client_thread;
    pthread_t thread;
    pthread_cond_t changed;       /* with turns->lock */
    const struct ath_frame *call; /* to be served; NULL: none, or it is */
    bool is_over;
    struct server_thread own;
};

struct head {
    int method; /* -1: none */
    uint32_t thread;
    bool is_asked;
};

/* A call that was read and not served yet. */
struct queued {
    struct queued *next;
    struct head head;
    struct ath_frame frame;
};

/* A call that may wait, while it is served in its order. */
struct watched {
    const struct server_thread *thread; /* who serves it; NULL: there is none */
    bool is_reader;                     /* who serves it is also the one who reads */
    uint64_t count;                     /* of all until now */
    bool has_guard, is_guarded;         /* there is a guard; it looks */
    pthread_cond_t begins;              /* with turns->lock */
};

struct turns {
    struct ath_calls *calls;
    pthread_mutex_t lock;
    pthread_cond_t is_free;
    pthread_cond_t has_room;
    bool is_reading, is_serving; /* somebody is: reads, serves calls in their order */
    unsigned int idle, threads;
    atomic_uint woken; /* idle ones that are to look; read without the lock by who looks */
    bool is_looking;   /* an idle thread does not sleep yet */
    int awaited;       /* calls that are served aside while the client waits for their answers */
    _Atomic uint32_t patience_us[2]; /* by enum ath_stream_wait */
    struct queued *queue, **last;
    size_t queued_bytes;
    struct ath_frame spares[SPARES]; /* memory of large frames, for the next ones */
    struct watched watched;
    pthread_mutex_t write_lock;
    struct ath_wire_builder printed, changes; /* with write_lock */
    struct capturer *capturers;               /* changed by who serves alone, with the lock */
};

/* ---- what a call is, as far as who serves it depends on that ---- */

/* The root alone is looked at; the rest when it is served. */
static bool read_head(const struct ath_frame *frame, struct head *out)
{
    static const struct ath_wire_shape root = { .pointers = NULL };
    struct ath_cuda_wire_call call;
    if (ath_wire_open(ath_frame_message(frame), ath_frame_message_length(frame), &root, &call.at))
        return false;
    out->method = (int)ath_cuda_wire_call_which(call) - 1;
    if (out->method >= ATH_CUDA_METHOD_COUNT)
        out->method = -1;
    out->thread = ath_cuda_wire_call_thread(call);
    out->is_asked = ath_cuda_wire_call_is_asked(call);
    return true;
}

/* Calls of the client's thread that runs functions: a queued call may wait for the function whose
 * memory they bring, or whose end they tell. */
static bool overtakes(const struct head *head)
{
    return head->method == ATH_CUDA_METHOD_athNextCallback ||
           (head->is_asked && (head->method == ATH_CUDA_METHOD_athPushMemory ||
                               head->method == ATH_CUDA_METHOD_athPullMemory));
}

static bool brings_changes(const struct ath_frame *frame)
{
    struct head head;
    return read_head(frame, &head) && head.method >= 0 &&
           ath_cuda_synchronizes((enum ath_cuda_method)head.method);
}

/* What begins or ends a capture is for the thread that captures. */
static bool leaves_order(const struct head *head)
{
    return head->is_asked && head->method >= 0 && !ath_cuda_begins_capture(head->method) &&
           !ath_cuda_ends_capture(head->method) &&
           (ath_cuda_methods[head->method].is_blocking || ath_cuda_functions_due());
}

/* Nothing that follows from a call with an answer is behind it, as long as it is not over. */
static bool may_last(const struct head *head)
{
    return head->is_asked && head->method >= 0 &&
           ath_cuda_may_wait((enum ath_cuda_method)head->method);
}

static bool is_large(const struct ath_frame *frame)
{
    return frame->length >= LARGE_BYTES && !ath_is_off(ATH_SWITCH_OVERLAP);
}

/* ---- serving one ---- */

static void write_out(struct turns *turns, struct ath_wire_builder *builder)
{
    struct ath_calls *calls = turns->calls;
    size_t length;
    int status;
    const uint8_t *bytes = ath_wire_finish(builder, &length, &status);
    if (!bytes)
        calls->over(calls, status);
    struct iovec parts[ATH_FRAME_PARTS] = { { (void *)(uintptr_t)bytes, length } };
    status = ath_stream_write_frame(calls->stream, (struct iovec){ 0 }, parts);
    if (status)
        calls->over(calls, status);
}

/* What kernels printed goes ahead of the answer to the call which made the driver say it. The
 * caller has write_lock. */
static void write_printed(struct turns *turns)
{
    uint8_t text[PRINTED_BYTES];
    for (size_t length; (length = ath_printed_take(text, sizeof text));) {
        struct ath_cuda_wire_answer_builder answer = ath_cuda_wire_answer_start(&turns->printed);
        ath_cuda_wire_answer_set_printed(answer, (struct ath_wire_bytes){ text, length });
        write_out(turns, &turns->printed);
    }
}

/* What the GPU changed in host memory goes ahead of the answer to a call that synchronizes. The
 * caller has write_lock: the client takes it over in this order. */
static void write_changes(struct turns *turns)
{
    int found;
    while ((found = ath_cuda_changes(turns->calls->session, &turns->changes)) > 0)
        write_out(turns, &turns->changes);
    if (found < 0)
        turns->calls->over(turns->calls, found);
    if (turns->changes.capacity * ATH_WIRE_WORD > KEPT_BYTES) {
        ath_wire_builder_free(&turns->changes);
        turns->changes.max_bytes = CALL_MAX;
    }
}

/* Serves and answers. Returns the driver's status as the answer tells it (CUDA_SUCCESS without
 * one). */
static CUresult serve(struct turns *turns, struct server_thread *thread,
                      const struct ath_frame *frame)
{
    struct ath_calls *calls = turns->calls;
    struct ath_cuda_wire_answer answer;
    size_t length;
    int status;

    atomic_fetch_add_explicit(&calls->served, 1, memory_order_relaxed);
    int served = ath_cuda_serve(&thread->worker, ath_frame_message(frame),
                                ath_frame_message_length(frame), &thread->builder);
    if (served < 0)
        calls->over(calls, served);
    if (!served)
        return CUDA_SUCCESS;
    const uint8_t *bytes = ath_wire_finish(&thread->builder, &length, &status);
    if (!bytes)
        calls->over(calls, status);
    static const struct ath_wire_shape root = { .pointers = NULL };
    if (ath_wire_open(bytes + ATH_FRAME_HEAD, length - ATH_FRAME_HEAD, &root, &answer.at))
        calls->over(calls, -EIO);
    static uint8_t padding[ATH_WIRE_WORD];
    struct ath_wire_bytes lent = thread->builder.lent;
    struct iovec parts[ATH_FRAME_PARTS] = { { (void *)(uintptr_t)bytes, length },
                                            { (void *)(uintptr_t)lent.data, lent.length },
                                            { padding, ath_wire_lent_padding(lent) } };
    CUresult told = (CUresult)ath_cuda_wire_answer_status(answer);
    pthread_mutex_lock(&turns->write_lock);
    write_printed(turns);
    if (!told && brings_changes(frame))
        write_changes(turns);
    status = ath_stream_write_frame(calls->stream, (struct iovec){ 0 }, parts);
    pthread_mutex_unlock(&turns->write_lock);
    if (status)
        calls->over(calls, status);
    return told;
}

static struct server_thread thread_of(const struct turns *turns)
{
    return (struct server_thread){ .worker = { .session = turns->calls->session,
                                               .may_lend = !ath_is_off(ATH_SWITCH_LENDING) },
                                   .builder.max_bytes = CALL_MAX };
}

static void thread_free(struct server_thread *thread)
{
    ath_frame_free(&thread->frame);
    ath_wire_builder_free(&thread->builder);
    free(thread->worker.room);
}

/* What one large call needed is not kept by each thread that ever served one. */
static void thread_rest(struct server_thread *thread)
{
    if (thread->frame.capacity > KEPT_BYTES)
        ath_frame_free(&thread->frame);
    if (thread->builder.capacity * ATH_WIRE_WORD > KEPT_BYTES) {
        ath_wire_builder_free(&thread->builder);
        thread->builder.max_bytes = CALL_MAX;
    }
    if (thread->worker.room_bytes > ROOM_BYTES) {
        free(thread->worker.room);
        thread->worker.room = NULL;
        thread->worker.room_bytes = 0;
    }
}

/* ---- captures ---- */

static void *serve_captures(void *argument)
{
    struct capturer *capturer = argument;
    struct turns *turns = capturer->turns;

    pthread_mutex_lock(&turns->lock);
    while (!capturer->is_over) {
        if (!capturer->call) {
            pthread_cond_wait(&capturer->changed, &turns->lock);
            continue;
        }
        pthread_mutex_unlock(&turns->lock);
        serve(turns, &capturer->own, capturer->call);
        pthread_mutex_lock(&turns->lock);
        capturer->call = NULL;
        pthread_cond_broadcast(&capturer->changed);
    }
    pthread_mutex_unlock(&turns->lock);
    return NULL;
}

static struct capturer **capturer_of(struct turns *turns, uint32_t client_thread)
{
    struct capturer **at = &turns->capturers;
    while (*at && (*at)->client_thread != client_thread)
        at = &(*at)->next;
    return at;
}

static void capturer_free(struct capturer *capturer)
{
    pthread_cond_destroy(&capturer->changed);
    thread_free(&capturer->own);
    free(capturer);
}

static struct capturer *capturer_make(struct turns *turns, uint32_t client_thread)
{
    struct capturer *capturer = calloc(1, sizeof *capturer);
    if (!capturer)
        return NULL;
    *capturer = (struct capturer){ .next = turns->capturers,
                                   .turns = turns,
                                   .client_thread = client_thread,
                                   .own = thread_of(turns) };
    pthread_cond_init(&capturer->changed, NULL);
    if (pthread_create(&capturer->thread, NULL, serve_captures, capturer)) {
        capturer_free(capturer);
        return NULL;
    }
    pthread_mutex_lock(&turns->lock);
    turns->capturers = capturer;
    pthread_mutex_unlock(&turns->lock);
    return capturer;
}

static void capturer_end(struct turns *turns, struct capturer **at)
{
    struct capturer *capturer = *at;
    pthread_mutex_lock(&turns->lock);
    *at = capturer->next;
    capturer->is_over = true;
    pthread_cond_broadcast(&capturer->changed);
    pthread_mutex_unlock(&turns->lock);
    pthread_join(capturer->thread, NULL);
    capturer_free(capturer);
}

/* Has the thread that captures serve a call, and waits: the order is everybody's. */
static void serve_by(struct turns *turns, struct capturer *capturer, const struct ath_frame *call)
{
    pthread_mutex_lock(&turns->lock);
    capturer->call = call;
    pthread_cond_broadcast(&capturer->changed);
    while (capturer->call)
        pthread_cond_wait(&capturer->changed, &turns->lock);
    pthread_mutex_unlock(&turns->lock);
}

/* Whether the call was one of a thread that captures, or begins to; then it is served. */
static bool serve_captured(struct turns *turns, const struct head *head,
                           const struct ath_frame *call)
{
    struct capturer **at = capturer_of(turns, head->thread);
    if (!*at) {
        if (!ath_cuda_begins_capture(head->method) || !capturer_make(turns, head->thread))
            return false;
        at = capturer_of(turns, head->thread);
    }
    serve_by(turns, *at, call);
    if (!ath_cuda_captures_by(&turns->calls->session->captures, head->thread))
        capturer_end(turns, at);
    return true;
}

/* ---- turns ---- */

static void *take_turns(void *argument);

/* Whether one more thread will see what there is to do. The caller has the lock. */
static bool wake_one(struct turns *turns)
{
    pthread_t thread;
    if (turns->idle > turns->woken) {
        if (turns->woken++ || !turns->is_looking)
            pthread_cond_signal(&turns->is_free);
        return true;
    }
    if (turns->threads == THREADS_MAX || pthread_create(&thread, NULL, take_turns, turns))
        return false;
    pthread_detach(thread);
    turns->threads++;
    return true;
}

/* ---- calls that last ---- */

/* Who serves it serves on, beside whoever goes on with the order. The caller has the lock. */
static void let_go(struct turns *turns)
{
    struct watched *watched = &turns->watched;
    if (!wake_one(turns))
        return;
    watched->thread = NULL;
    turns->is_serving = false;
    if (watched->is_reader)
        turns->is_reading = false;
}

/* Looks now and then, so that a call that does not last costs nothing; without any it sleeps. */
static void *guard(void *argument)
{
    struct turns *turns = argument;
    struct watched *watched = &turns->watched;
    pthread_mutex_lock(&turns->lock);
    for (;;) {
        const uint64_t seen = watched->count;
        pthread_mutex_unlock(&turns->lock);
        nanosleep(&(struct timespec){ .tv_nsec = LASTS_MS * 1000000L }, NULL);
        pthread_mutex_lock(&turns->lock);
        if (watched->count != seen)
            continue;
        if (watched->thread)
            let_go(turns);
        watched->is_guarded = watched->thread;
        while (!watched->is_guarded)
            pthread_cond_wait(&watched->begins, &turns->lock);
    }
    return NULL;
}

/* The caller has the lock. */
static void watch(struct turns *turns, const struct server_thread *thread, bool is_reader)
{
    struct watched *watched = &turns->watched;
    pthread_t made;
    watched->thread = thread;
    watched->is_reader = is_reader;
    watched->count++;
    if (watched->is_guarded)
        return;
    watched->is_guarded = true;
    if (watched->has_guard)
        pthread_cond_signal(&watched->begins);
    else if (pthread_create(&made, NULL, guard, turns))
        watched->is_guarded = false;
    else
        watched->has_guard = !pthread_detach(made);
}

/* Serves a call in its order. The caller has the lock, and again after it. Returns whether the
 * order is still this thread's to go on with. */
static bool serve_in_order(struct turns *turns, struct server_thread *thread,
                           const struct head *head, const struct ath_frame *call, bool is_reader)
{
    bool is_watched = may_last(head) && !*capturer_of(turns, head->thread);
    turns->is_serving = true;
    if (is_watched)
        watch(turns, thread, is_reader);
    pthread_mutex_unlock(&turns->lock);
    if (is_watched || !serve_captured(turns, head, call))
        serve(turns, thread, call);
    pthread_mutex_lock(&turns->lock);
    if (is_watched && turns->watched.thread != thread)
        return false;
    turns->watched.thread = NULL;
    turns->is_serving = false;
    return true;
}

/* While a call is served for whose answer the client waits, whoever reads looks longer for the
 * next, which follows on that answer. The caller has the lock. */
static void count_awaited(struct turns *turns, int change)
{
    turns->awaited += change;
    turns->calls->stream->patience_us =
        turns->patience_us[turns->awaited ? ATH_STREAM_BUSY : ATH_STREAM_IDLE];
}

/* The caller has the lock, and again after it. */
static void serve_aside(struct turns *turns, struct server_thread *thread,
                        const struct ath_frame *call, bool is_awaited)
{
    count_awaited(turns, is_awaited);
    pthread_mutex_unlock(&turns->lock);
    serve(turns, thread, call);
    pthread_mutex_lock(&turns->lock);
    count_awaited(turns, -(int)is_awaited);
}

/* ---- the queue ---- */

/* Swaps a frame's memory with a spare, which has some (or, to be kept, none). The caller has the
 * lock. */
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
static bool enqueue(struct turns *turns, const struct head *head, struct ath_frame *frame)
{
    struct queued *queued = malloc(sizeof *queued);
    if (!queued)
        return false;
    *queued = (struct queued){ .head = *head, .frame = *frame };
    *frame = (struct ath_frame){ 0 };
    if (is_large(&queued->frame))
        swap_spare(turns, frame, true);
    if (!turns->queue)
        turns->last = &turns->queue;
    *turns->last = queued;
    turns->last = &queued->next;
    turns->queued_bytes += queued->frame.length;
    return true;
}

/* The first of the queue. The caller has the lock, and is the one who serves. */
static void serve_queued(struct turns *turns, struct server_thread *thread)
{
    struct queued *queued = turns->queue;
    bool leaves = leaves_order(&queued->head) && !*capturer_of(turns, queued->head.thread);
    turns->queue = queued->next;
    turns->queued_bytes -= queued->frame.length;
    pthread_cond_signal(&turns->has_room);
    if (leaves && (!turns->queue || wake_one(turns))) {
        serve_aside(turns, thread, &queued->frame, true);
    } else {
        serve_in_order(turns, thread, &queued->head, &queued->frame, false);
    }
    if (is_large(&queued->frame))
        swap_spare(turns, &queued->frame, false);
    ath_frame_free(&queued->frame);
    free(queued);
}

/* ---- reading ---- */

static void read_call(struct turns *turns, struct server_thread *thread, struct head *out)
{
    struct ath_calls *calls = turns->calls;
    int status = ath_stream_read_frame(calls->stream, CALL_MAX, &thread->frame);
    if (!status && !read_head(&thread->frame, out))
        status = -EBADMSG;
    if (status)
        calls->over(calls, status);
}

/* What was read is put behind what waits. The caller has the lock. Returns whether this thread
 * still reads: without another thread it serves. */
static bool put_behind(struct turns *turns, struct server_thread *thread, const struct head *head)
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

/* Serves the call that was read. The caller has the lock. Returns whether this thread still reads.
 */
static bool serve_read(struct turns *turns, struct server_thread *thread, const struct head *head)
{
    bool is_captured = *capturer_of(turns, head->thread);
    if (overtakes(head) ||
        (leaves_order(head) && !is_captured && !turns->queue && !turns->is_serving)) {
        bool is_passed = wake_one(turns);
        turns->is_reading = !is_passed;
        serve_aside(turns, thread, &thread->frame, !overtakes(head));
        return !is_passed;
    }
    if (turns->queue || turns->is_serving || ath_cuda_functions_due() || is_large(&thread->frame)) {
        return put_behind(turns, thread, head);
    }
    return serve_in_order(turns, thread, head, &thread->frame, true);
}

/* The caller has the lock. */
static void read_on(struct turns *turns, struct server_thread *thread)
{
    struct head head = { .method = -1 };
    turns->is_reading = true;
    do {
        pthread_mutex_unlock(&turns->lock);
        read_call(turns, thread, &head);
        pthread_mutex_lock(&turns->lock);
    } while (serve_read(turns, thread, &head));
}

/* Until there may be something to do. To wake a thread costs the one that does it microseconds, in
 * which nothing is served; so one of the idle looks for a while before it sleeps. The caller has
 * the lock. */
static void rest(struct turns *turns, struct server_thread *thread)
{
    enum { ROUNDS = 32 };
    struct ath_look look = { 0 };
    thread_rest(thread);
    turns->idle++;
    if (!turns->woken && !turns->is_looking) {
        turns->is_looking = true;
        pthread_mutex_unlock(&turns->lock);
        while (!turns->woken && ath_look_again(&look, ROUNDS, &turns->patience_us[ATH_STREAM_IDLE]))
            ;
        pthread_mutex_lock(&turns->lock);
        turns->is_looking = false;
    }
    if (!turns->woken)
        pthread_cond_wait(&turns->is_free, &turns->lock);
    turns->idle--;
    turns->woken -= turns->woken > 0;
}

static void *take_turns(void *argument)
{
    struct turns *turns = argument;
    struct server_thread thread = thread_of(turns);
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
    turns = (struct turns){ .calls = calls,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .is_free = PTHREAD_COND_INITIALIZER,
                            .has_room = PTHREAD_COND_INITIALIZER,
                            .write_lock = PTHREAD_MUTEX_INITIALIZER,
                            .watched.begins = PTHREAD_COND_INITIALIZER,
                            .printed.max_bytes = (size_t)2 * PRINTED_BYTES,
                            .changes.max_bytes = CALL_MAX,
                            .patience_us = { ath_stream_patience_us(ATH_STREAM_IDLE),
                                             ath_stream_patience_us(ATH_STREAM_BUSY) },
                            .threads = 1 };
    take_turns(&turns);
    __builtin_unreachable();
}
