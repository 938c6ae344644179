/*
 * Many threads on one stream.
 *
 * Sending. Where each write costs a call of the kernel's, frames gather until somebody waits for an
 * answer, or the sender thread comes by. Whoever writes goes on until nothing is left, so nobody
 * else needs to wait for a turn: a thread that waits for its answer reads, whatever the others'
 * writing waits for.
 *
 * Answers. One of those who wait reads, for itself and for the others, and passes that on when it
 * has its own. So a lone thread is woken by nobody but the kernel.
 */
#include "config.h"

#include "runtime/transport/link.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/switches.h"
#include "runtime/transport/look.h"
#include "runtime/transport/printed.h"
#include "runtime/transport/recording.h"

enum {
    EARLY_MAX = 4096, /* answers that nobody waits for yet: no more than there are threads */
    ANSWER_MAX = 80 * 1024 * 1024,
    DIRECT_BYTES = 32 * 1024,   /* from so many on a frame is not worth a copy */
    PENDING_BYTES = 256 * 1024, /* so much is written without waiting for the sender */
};

struct bytes {
    uint8_t *data;
    size_t length, capacity;
};

struct waiter {
    struct waiter *next;
    uint64_t number;
    struct ath_frame *answer;
    bool is_done;
    pthread_cond_t wake;
};

/* An answer that came before the one who asked began to wait. */
struct early {
    struct early *next;
    uint64_t number;
    struct ath_frame answer;
};

struct link {
    struct ath_cuda_link base; /* first */
    struct ath_stream *stream;
    atomic_int failure; /* negative errno; 0: none yet */
    struct ath_recording calls, answers;

    pthread_mutex_t out_lock; /* of what is to be written */
    pthread_cond_t to_send, sent;
    struct bytes pending, writing;
    atomic_bool has_pending, is_closing; /* which the sender looks at without the lock */
    bool is_writing, sender_sleeps, has_sender;
    _Atomic uint32_t sender_patience_us;
    pthread_t sender;

    pthread_mutex_t in_lock; /* of who waits */
    struct waiter *waiters;
    struct early *early;
    size_t early_count;
    bool is_reading;
    atomic_uint inside; /* threads in wait */
};

/* The first failure holds for all. */
static int fail(struct link *link, int status)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&link->failure, &none, status))
        link->stream->ops->shut(link->stream);
    return link->failure;
}

/* ---- sending ---- */

static int append(struct bytes *bytes, const uint8_t *frame, size_t length)
{
    if (bytes->capacity - bytes->length < length) {
        size_t capacity = bytes->capacity ? bytes->capacity : PENDING_BYTES;
        while (capacity - bytes->length < length)
            capacity *= 2;
        uint8_t *grown = realloc(bytes->data, capacity);
        if (!grown)
            return -ENOMEM;
        bytes->data = grown;
        bytes->capacity = capacity;
    }
    memcpy(bytes->data + bytes->length, frame, length);
    bytes->length += length;
    return 0;
}

/* Writes what is pending, and last (a frame's parts; NULL: nothing more) behind it. The caller has
 * out_lock and nobody writes. */
static int write_pending(struct link *link, const struct iovec *last)
{
    int status = 0;
    link->is_writing = true;
    while (!status && (link->pending.length || last)) {
        struct bytes now = link->pending;
        link->pending = link->writing;
        link->writing = now;
        link->has_pending = false;
        struct iovec ahead = { now.data, now.length };
        pthread_mutex_unlock(&link->out_lock);
        status = last ? ath_stream_write_frame(link->stream, ahead, last)
                      : link->stream->ops->write(link->stream, &ahead, 1);
        pthread_mutex_lock(&link->out_lock);
        link->writing.length = 0;
        last = NULL;
    }
    link->is_writing = false;
    pthread_cond_broadcast(&link->sent);
    return status ? fail(link, status) : 0;
}

/* Waits until nobody writes and little is pending; in order, since posts come one at a time. */
static void wait_for_turn(struct link *link)
{
    while (link->is_writing && !link->failure)
        pthread_cond_wait(&link->sent, &link->out_lock);
}

static int post(struct link *link, const struct iovec parts[ATH_FRAME_PARTS], bool is_asked)
{
    size_t length = parts[0].iov_len + parts[1].iov_len;
    int status = link->failure;

    if (status)
        return status;
    if (!link->stream->ops->wants_batches) { /* one post at a time, and nobody else writes */
        status = link->stream->ops->write(link->stream, parts, ATH_FRAME_PARTS);
        return status ? fail(link, status) : 0;
    }
    pthread_mutex_lock(&link->out_lock);
    if (parts[1].iov_len || length >= DIRECT_BYTES ||
        link->pending.length + length > PENDING_BYTES || ath_is_off(ATH_SWITCH_BATCHING)) {
        wait_for_turn(link);
        status = link->failure ? link->failure : write_pending(link, parts);
    } else {
        status = append(&link->pending, parts[0].iov_base, length);
        link->has_pending = !status;
        if (link->sender_sleeps && !is_asked) /* who waits for an answer sends it himself */
            pthread_cond_signal(&link->to_send);
    }
    pthread_mutex_unlock(&link->out_lock);
    return status;
}

static int link_post_lent(struct ath_cuda_link *base, const uint8_t *frame, size_t length,
                          struct ath_wire_bytes lent, bool is_asked)
{
    static uint8_t padding[ATH_WIRE_WORD];
    struct link *link = (struct link *)base;
    struct iovec parts[ATH_FRAME_PARTS] = { { (void *)(uintptr_t)frame, length },
                                            { (void *)(uintptr_t)lent.data, lent.length },
                                            { padding, ath_wire_lent_padding(lent) } };
    int status = post(link, parts, is_asked);
    for (size_t i = 0; i < ATH_FRAME_PARTS && !status; i++)
        ath_recording_add(&link->calls, parts[i].iov_base, parts[i].iov_len);
    return status;
}

static int link_post(struct ath_cuda_link *base, const uint8_t *frame, size_t length, bool is_asked)
{
    return link_post_lent(base, frame, length, (struct ath_wire_bytes){ 0 }, is_asked);
}

/* Whoever writes already takes along what is pending. */
static int link_flush(struct ath_cuda_link *base)
{
    struct link *link = (struct link *)base;
    int status = 0;
    if (!link->stream->ops->wants_batches)
        return link->failure;
    pthread_mutex_lock(&link->out_lock);
    if (!link->is_writing && link->pending.length)
        status = write_pending(link, NULL);
    pthread_mutex_unlock(&link->out_lock);
    return status ? status : link->failure;
}

/* Whether more comes before patience ends. The caller has out_lock. */
static bool more_comes(struct link *link)
{
    enum { ROUNDS = 32 };
    struct ath_look look = { 0 };
    pthread_mutex_unlock(&link->out_lock);
    while (!link->has_pending && !link->is_closing &&
           ath_look_again(&look, ROUNDS, &link->sender_patience_us))
        ;
    pthread_mutex_lock(&link->out_lock);
    return link->pending.length;
}

static void *send_all(void *argument)
{
    struct link *link = argument;
    pthread_mutex_lock(&link->out_lock);
    while (!link->is_closing && !link->failure) {
        if (link->pending.length && !link->is_writing) {
            write_pending(link, NULL);
        } else if (link->is_writing) {
            pthread_cond_wait(&link->sent, &link->out_lock);
        } else if (!more_comes(link) && !link->is_closing) {
            link->sender_sleeps = true;
            pthread_cond_wait(&link->to_send, &link->out_lock);
            link->sender_sleeps = false;
        }
    }
    pthread_mutex_unlock(&link->out_lock);
    return NULL;
}

/* The program's signals are none of its business. */
static int start_sender(struct link *link)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int status = pthread_create(&link->sender, NULL, send_all, link);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    link->has_sender = !status;
    return -status;
}

/* ---- answers ---- */

/* The number in an answer's head; the rest is checked by whom it is for. */
static int number_of(const struct ath_frame *frame, uint64_t *out)
{
    static const struct ath_wire_shape head = { .pointers = NULL };
    struct ath_cuda_wire_answer answer;
    if (ath_wire_open(ath_frame_message(frame), ath_frame_message_length(frame), &head, &answer.at))
        return -EBADMSG;
    *out = ath_cuda_wire_answer_number(answer);
    return 0;
}

static struct waiter **waiter_of(struct link *link, uint64_t number)
{
    struct waiter **at = &link->waiters;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

static void finish(struct waiter **at)
{
    struct waiter *waiter = *at;
    *at = waiter->next;
    waiter->is_done = true;
}

static void swap(struct ath_frame *a, struct ath_frame *b)
{
    struct ath_frame frame = *a;
    *a = *b;
    *b = frame;
}

/* Puts aside what is in a frame. The caller has in_lock. */
static int keep_early(struct link *link, uint64_t number, struct ath_frame *answer)
{
    struct early *early = link->early_count < EARLY_MAX ? calloc(1, sizeof *early) : NULL;
    if (!early)
        return -EBADMSG;
    early->number = number;
    early->next = link->early;
    link->early = early;
    link->early_count++;
    swap(&early->answer, answer);
    return 0;
}

/* Whether the answer came already; then it is in *answer. The caller has in_lock. */
static bool take_early(struct link *link, uint64_t number, struct ath_frame *answer)
{
    struct early **at = &link->early;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    struct early *early = *at;
    if (!early)
        return false;
    *at = early->next;
    link->early_count--;
    swap(&early->answer, answer);
    ath_frame_free(&early->answer);
    free(early);
    return true;
}

/* An answer to no call. */
static int take_aside(const struct link *link, struct ath_frame *answer)
{
    struct ath_cuda_wire_answer opened;
    if (ath_cuda_wire_answer_open(ath_frame_message(answer), ath_frame_message_length(answer),
                                  &opened))
        return -EBADMSG;
    if (ath_cuda_wire_answer_changes(opened).count && link->base.take_changes)
        return link->base.take_changes(answer);
    return ath_printed_write(answer);
}

/* Reads one answer into own's frame and gives it to whom it is for; the frames change hands, so
 * that nothing is copied. The caller has in_lock and reads. */
static int read_answer(struct link *link, struct waiter *own)
{
    uint64_t number;
    pthread_mutex_unlock(&link->in_lock);
    int status = ath_stream_read_frame(link->stream, ANSWER_MAX, own->answer);
    if (!status)
        status = number_of(own->answer, &number);
    if (!status)
        ath_recording_add(&link->answers, own->answer->bytes, own->answer->length);
    if (!status && !number)
        status = take_aside(link, own->answer);
    pthread_mutex_lock(&link->in_lock);
    if (status)
        return fail(link, status);
    if (!number)
        return 0;
    struct waiter **at = waiter_of(link, number), *waiter = *at;
    if (!waiter) {
        status = keep_early(link, number, own->answer);
        return status ? fail(link, status) : 0;
    }
    finish(at);
    if (waiter != own) {
        swap(waiter->answer, own->answer);
        pthread_cond_signal(&waiter->wake);
    }
    return 0;
}

/* Reads until own answer is there, then lets another one read. */
static void read_for_all(struct link *link, struct waiter *own)
{
    link->is_reading = true;
    while (!own->is_done && !link->failure)
        read_answer(link, own);
    link->is_reading = false;
    if (link->failure)
        for (struct waiter *one = link->waiters; one; one = one->next)
            pthread_cond_signal(&one->wake);
    else if (link->waiters)
        pthread_cond_signal(&link->waiters->wake);
}

static int await_answer(struct link *link, struct waiter *own)
{
    pthread_mutex_lock(&link->in_lock);
    if (take_early(link, own->number, own->answer)) {
        pthread_mutex_unlock(&link->in_lock);
        return 0;
    }
    own->next = link->waiters;
    link->waiters = own;
    while (!own->is_done && !link->failure) {
        if (link->is_reading)
            pthread_cond_wait(&own->wake, &link->in_lock);
        else
            read_for_all(link, own);
    }
    bool is_answered = own->is_done;
    if (!is_answered)
        finish(waiter_of(link, own->number));
    pthread_mutex_unlock(&link->in_lock);
    return is_answered ? 0 : link->failure;
}

static int link_wait(struct ath_cuda_link *base, uint64_t number, struct ath_frame *answer)
{
    struct link *link = (struct link *)base;
    struct waiter own = { .number = number, .answer = answer };

    link->inside++;
    int status = link_flush(base);
    pthread_cond_init(&own.wake, NULL);
    if (!status)
        status = await_answer(link, &own);
    pthread_cond_destroy(&own.wake);
    link->inside--;
    return status;
}

/* ---- memory of both sides ---- */

static int link_share(struct ath_cuda_link *base, size_t bytes, void *wanted, void **out_address,
                      uint64_t *out_id)
{
    struct link *link = (struct link *)base;
    if (link->failure)
        return link->failure;
    if (!link->stream->ops->share)
        return -ENOTSUP;
    return link->stream->ops->share(link->stream, bytes, wanted, out_address, out_id);
}

static int link_share_file(struct ath_cuda_link *base, int fd, uint64_t offset, size_t bytes,
                           const void *wanted, uint64_t *out_id)
{
    struct link *link = (struct link *)base;
    if (link->failure)
        return link->failure;
    if (!link->stream->ops->share_file)
        return -ENOTSUP;
    return link->stream->ops->share_file(link->stream, fd, offset, bytes, wanted, out_id);
}

static void link_unshare(struct ath_cuda_link *base, uint64_t id)
{
    struct link *link = (struct link *)base;
    if (link->stream->ops->unshare)
        link->stream->ops->unshare(link->stream, id);
}

/* ---- how answers are waited for ---- */

static void link_sleep_at_once(struct ath_cuda_link *base, bool yes)
{
    struct link *link = (struct link *)base;
    link->stream->patience_us = yes ? 0 : ath_stream_patience_us(ATH_STREAM_BUSY);
}

/* ---- beginning and end ---- */

static _Atomic(struct link *) link_now;

/* The parent's connection must not stay open because of a child that has no use for it. */
static void abandon_in_child(void)
{
    struct link *link = atomic_exchange(&link_now, NULL);
    if (!link)
        return;
    link->failure = -EOWNERDEAD;
    link->stream->ops->abandon(link->stream);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, abandon_in_child);
}

static void link_free(struct link *link)
{
    pthread_mutex_destroy(&link->out_lock);
    pthread_mutex_destroy(&link->in_lock);
    pthread_cond_destroy(&link->to_send);
    pthread_cond_destroy(&link->sent);
    for (struct early *one = link->early, *next; one; one = next) {
        next = one->next;
        ath_frame_free(&one->answer);
        free(one);
    }
    ath_recording_free(&link->calls);
    ath_recording_free(&link->answers);
    free(link->pending.data);
    free(link->writing.data);
    free(link);
}

static void link_close(struct ath_cuda_link *base)
{
    struct link *link = (struct link *)base;
    struct link *is_now = link;
    atomic_compare_exchange_strong(&link_now, &is_now, NULL);
    pthread_mutex_lock(&link->out_lock);
    link->is_closing = true;
    pthread_cond_broadcast(&link->to_send);
    pthread_cond_broadcast(&link->sent);
    pthread_mutex_unlock(&link->out_lock);
    fail(link, -ESHUTDOWN);
    if (link->has_sender)
        pthread_join(link->sender, NULL);
    while (link->inside) /* they have failed, and are on their way out */
        sched_yield();
    link->stream->ops->close(link->stream);
    link_free(link);
}

static const struct ath_cuda_link_ops ops = {
    .post = link_post,
    .post_lent = link_post_lent,
    .wait = link_wait,
    .flush = link_flush,
    .share = link_share,
    .share_file = link_share_file,
    .unshare = link_unshare,
    .sleep_at_once = link_sleep_at_once,
    .close = link_close,
};

struct ath_cuda_link *ath_link_open(struct ath_stream *stream)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->base.ops = &ops;
    link->stream = stream;
    link->sender_patience_us = ath_stream_patience_us(ATH_STREAM_IDLE);
    stream->patience_us = ath_stream_patience_us(ATH_STREAM_BUSY); /* who reads waits for it */
    link->calls = ath_recording_of("AITHERION_RECORD");
    link->answers = ath_recording_of("AITHERION_RECORD_ANSWERS");
    pthread_mutex_init(&link->out_lock, NULL);
    pthread_mutex_init(&link->in_lock, NULL);
    pthread_cond_init(&link->to_send, NULL);
    pthread_cond_init(&link->sent, NULL);
    if (stream->ops->wants_batches && start_sender(link)) {
        link_free(link);
        return NULL;
    }
    pthread_once(&once, watch_forks);
    link_now = link;
    return &link->base;
}
