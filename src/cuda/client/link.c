/*
 * Many threads on one stream.
 *
 * Sending. If each write costs a system call, frames gather until a thread waits for an answer, or
 * the sender thread writes them. A thread that writes goes on until no frame is pending, so other
 * threads need not wait for a turn. A thread that waits for its answer reads, whatever blocks the
 * other threads' writes.
 *
 * Answers. One of the waiting threads reads for itself and for the others. When it has its own
 * answer, another waiting thread reads. So a single thread is woken only by the kernel.
 */
#include "config.h"

#include "cuda/client/link.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "cuda/client/kernel_output.h"
#include "cuda/client/link_internal.h"
#include "cuda/client/recording.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"
#include "remote/transport/poll_briefly.h"

enum {
    EARLY_MAX = 4096, /* answers that no thread waits for yet: at most one for each thread */
    ANSWER_MAX = 80 * 1024 * 1024,
    DIRECT_BYTES = 32 * 1024,   /* longer frames are not worth a copy */
    PENDING_BYTES = 256 * 1024, /* pending bytes that are held back at most */
};

int ath_link_fail(struct ath_stream_link *link, int status)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&link->failure, &none, status))
        link->stream->ops->shut(link->stream);
    return link->failure;
}

/* ---- sending ---- */

static int append_pending(struct ath_link_bytes *bytes, const uint8_t *frame, size_t length)
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

/* Writes the pending frames, and then last (a frame's parts; NULL: none). The caller holds
 * out_lock, and no other thread writes. */
static int write_pending(struct ath_stream_link *link, const struct iovec *last)
{
    int status = 0;
    link->is_writing = true;
    while (!status && (link->pending.length || last)) {
        struct ath_link_bytes now = link->pending;
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
    return status ? ath_link_fail(link, status) : 0;
}

/* Waits until no thread writes. The order stays, since frames are posted one at a time. */
static void wait_for_turn(struct ath_stream_link *link)
{
    while (link->is_writing && !link->failure)
        pthread_cond_wait(&link->sent, &link->out_lock);
}

static int post_parts(struct ath_stream_link *link, const struct iovec parts[ATH_FRAME_PARTS],
                      bool is_asked)
{
    size_t length = parts[0].iov_len + parts[1].iov_len;
    int status = link->failure;

    if (status)
        return status;
    /* posts come one at a time, and no other thread writes */
    if (!link->stream->ops->wants_batches) {
        status = link->stream->ops->write(link->stream, parts, ATH_FRAME_PARTS);
        return status ? ath_link_fail(link, status) : 0;
    }
    pthread_mutex_lock(&link->out_lock);
    if (parts[1].iov_len || length >= DIRECT_BYTES ||
        link->pending.length + length > PENDING_BYTES || ath_is_off(ATH_SWITCH_BATCHING)) {
        wait_for_turn(link);
        status = link->failure ? link->failure : write_pending(link, parts);
    } else {
        status = append_pending(&link->pending, parts[0].iov_base, length);
        link->has_pending = !status;
        /* a thread that waits for an answer sends its frame itself */
        if (link->sender_sleeps && !is_asked)
            pthread_cond_signal(&link->to_send);
    }
    pthread_mutex_unlock(&link->out_lock);
    return status;
}

static int link_post_lent(struct ath_cuda_link *base, const uint8_t *frame, size_t length,
                          struct ath_wire_bytes lent, bool is_asked)
{
    static uint8_t padding[ATH_WIRE_WORD];
    struct ath_stream_link *link = (struct ath_stream_link *)base;
    struct iovec parts[ATH_FRAME_PARTS] = { { (void *)(uintptr_t)frame, length },
                                            { (void *)(uintptr_t)lent.data, lent.length },
                                            { padding, ath_wire_lent_padding(lent) } };
    int status = post_parts(link, parts, is_asked);
    for (size_t i = 0; i < ATH_FRAME_PARTS && !status; i++)
        ath_recording_add(&link->calls, parts[i].iov_base, parts[i].iov_len);
    return status;
}

static int link_post(struct ath_cuda_link *base, const uint8_t *frame, size_t length, bool is_asked)
{
    return link_post_lent(base, frame, length, (struct ath_wire_bytes){ 0 }, is_asked);
}

/* A thread that writes also writes the pending frames. */
static int link_flush(struct ath_cuda_link *base)
{
    struct ath_stream_link *link = (struct ath_stream_link *)base;
    int status = 0;
    if (!link->stream->ops->wants_batches)
        return link->failure;
    pthread_mutex_lock(&link->out_lock);
    if (!link->is_writing && link->pending.length)
        status = write_pending(link, NULL);
    pthread_mutex_unlock(&link->out_lock);
    return status ? status : link->failure;
}

/* Polls for more frames until the patience ends. The caller holds out_lock. */
static bool more_comes(struct ath_stream_link *link)
{
    enum { ROUNDS = 32 };
    struct ath_brief_poll poll_state = { 0 };
    pthread_mutex_unlock(&link->out_lock);
    while (!link->has_pending && !link->is_closing &&
           ath_brief_poll_again(&poll_state, ROUNDS, &link->sender_patience_us))
        ;
    pthread_mutex_lock(&link->out_lock);
    return link->pending.length;
}

static void *send_all(void *argument)
{
    struct ath_stream_link *link = argument;
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

int ath_link_start_sender(struct ath_stream_link *link)
{
    int status = ath_thread_start(&link->sender, send_all, link);
    link->has_sender = !status;
    return status;
}

/* ---- answers ---- */

/* Reads the number in an answer's head. The thread that asked checks the rest. */
static int number_of_answer(const struct ath_frame *frame, uint64_t *out)
{
    static const struct ath_wire_shape head = { .pointers = NULL };
    struct ath_cuda_wire_answer answer;
    if (ath_wire_open(ath_frame_message(frame), ath_frame_message_length(frame), &head, &answer.at))
        return -EBADMSG;
    *out = ath_cuda_wire_answer_number(answer);
    return 0;
}

static struct ath_link_waiter **waiter_of(struct ath_stream_link *link, uint64_t number)
{
    struct ath_link_waiter **at = &link->waiters;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

static void finish_waiter(struct ath_link_waiter **at)
{
    struct ath_link_waiter *waiter = *at;
    *at = waiter->next;
    waiter->is_done = true;
}

static void swap_frames(struct ath_frame *a, struct ath_frame *b)
{
    struct ath_frame frame = *a;
    *a = *b;
    *b = frame;
}

/* Stores an early answer. The caller holds in_lock. */
static int keep_early_answer(struct ath_stream_link *link, uint64_t number,
                             struct ath_frame *answer)
{
    struct ath_link_early *early = link->early_count < EARLY_MAX ? calloc(1, sizeof *early) : NULL;
    if (!early)
        return -EBADMSG;
    early->number = number;
    early->next = link->early;
    link->early = early;
    link->early_count++;
    swap_frames(&early->answer, answer);
    return 0;
}

/* Moves an early answer into *answer. Returns false if there is none. The caller holds in_lock. */
static bool take_early_answer(struct ath_stream_link *link, uint64_t number,
                              struct ath_frame *answer)
{
    struct ath_link_early **at = &link->early;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    struct ath_link_early *early = *at;
    if (!early)
        return false;
    *at = early->next;
    link->early_count--;
    swap_frames(&early->answer, answer);
    ath_frame_free(&early->answer);
    free(early);
    return true;
}

/* Handles an unsolicited answer (number 0). */
static int take_aside(const struct ath_stream_link *link, struct ath_frame *answer)
{
    struct ath_cuda_wire_answer opened;
    if (ath_cuda_wire_answer_open(ath_frame_message(answer), ath_frame_message_length(answer),
                                  &opened))
        return -EBADMSG;
    if (ath_cuda_wire_answer_changes(opened).count && link->base.take_changes)
        return link->base.take_changes(answer);
    return ath_kernel_output_write(answer);
}

/* Reads one answer into own's frame and hands it to its waiter. The frames are swapped, so that no
 * bytes are copied. The caller holds in_lock and is the reader. */
static int read_answer(struct ath_stream_link *link, struct ath_link_waiter *own)
{
    uint64_t number;
    pthread_mutex_unlock(&link->in_lock);
    int status = ath_stream_read_frame(link->stream, ANSWER_MAX, own->answer);
    if (!status)
        status = number_of_answer(own->answer, &number);
    if (!status)
        ath_recording_add(&link->answers, own->answer->bytes, own->answer->length);
    if (!status && !number)
        status = take_aside(link, own->answer);
    pthread_mutex_lock(&link->in_lock);
    if (status)
        return ath_link_fail(link, status);
    if (!number)
        return 0;
    struct ath_link_waiter **at = waiter_of(link, number), *waiter = *at;
    if (!waiter) {
        status = keep_early_answer(link, number, own->answer);
        return status ? ath_link_fail(link, status) : 0;
    }
    finish_waiter(at);
    if (waiter != own) {
        swap_frames(waiter->answer, own->answer);
        pthread_cond_signal(&waiter->wake);
    }
    return 0;
}

/* Reads until own answer has arrived, then lets another thread read. */
static void read_for_all(struct ath_stream_link *link, struct ath_link_waiter *own)
{
    link->is_reading = true;
    while (!own->is_done && !link->failure)
        read_answer(link, own);
    link->is_reading = false;
    if (link->failure)
        for (struct ath_link_waiter *one = link->waiters; one; one = one->next)
            pthread_cond_signal(&one->wake);
    else if (link->waiters)
        pthread_cond_signal(&link->waiters->wake);
}

/* Polls until own answer has come or no thread reads, or until the patience ends: the thread that
 * reads would have to wake this one. The caller holds in_lock. Returns whether there is something
 * to do. */
static bool look_briefly(struct ath_stream_link *link, const struct ath_link_waiter *own)
{
    enum { ROUNDS = 32 };
    struct ath_brief_poll poll_state = { 0 };
    if (link->looking < link->looking_max) {
        link->looking++;
        pthread_mutex_unlock(&link->in_lock);
        while (!own->is_done && link->is_reading &&
               ath_brief_poll_again(&poll_state, ROUNDS, &link->waiter_patience_us))
            ;
        pthread_mutex_lock(&link->in_lock);
        link->looking--;
    }
    return own->is_done || !link->is_reading;
}

static int await_answer(struct ath_stream_link *link, struct ath_link_waiter *own)
{
    pthread_mutex_lock(&link->in_lock);
    if (take_early_answer(link, own->number, own->answer)) {
        pthread_mutex_unlock(&link->in_lock);
        return 0;
    }
    own->next = link->waiters;
    link->waiters = own;
    while (!own->is_done && !link->failure) {
        if (!link->is_reading)
            read_for_all(link, own);
        else if (!look_briefly(link, own))
            pthread_cond_wait(&own->wake, &link->in_lock);
    }
    bool is_answered = own->is_done;
    if (!is_answered)
        finish_waiter(waiter_of(link, own->number));
    pthread_mutex_unlock(&link->in_lock);
    return is_answered ? 0 : link->failure;
}

static int link_wait(struct ath_cuda_link *base, uint64_t number, struct ath_frame *answer)
{
    struct ath_stream_link *link = (struct ath_stream_link *)base;
    struct ath_link_waiter own = { .number = number, .answer = answer };

    link->inside++;
    int status = link_flush(base);
    pthread_cond_init(&own.wake, NULL);
    if (!status)
        status = await_answer(link, &own);
    pthread_cond_destroy(&own.wake);
    link->inside--;
    return status;
}

/* ---- memory that both sides see ---- */

static int link_share(struct ath_cuda_link *base, size_t bytes, void *wanted, void **out_address,
                      uint64_t *out_id)
{
    struct ath_stream_link *link = (struct ath_stream_link *)base;
    if (link->failure)
        return link->failure;
    if (!link->stream->ops->share)
        return -ENOTSUP;
    return link->stream->ops->share(link->stream, bytes, wanted, out_address, out_id);
}

static int link_share_file(struct ath_cuda_link *base, int fd, uint64_t offset, size_t bytes,
                           const void *wanted, uint64_t *out_id)
{
    struct ath_stream_link *link = (struct ath_stream_link *)base;
    if (link->failure)
        return link->failure;
    if (!link->stream->ops->share_file)
        return -ENOTSUP;
    return link->stream->ops->share_file(link->stream, fd, offset, bytes, wanted, out_id);
}

static void link_unshare(struct ath_cuda_link *base, uint64_t id)
{
    struct ath_stream_link *link = (struct ath_stream_link *)base;
    if (link->stream->ops->unshare)
        link->stream->ops->unshare(link->stream, id);
}

/* ---- how threads wait for answers ---- */

static void link_sleep_at_once(struct ath_cuda_link *base, bool yes)
{
    struct ath_stream_link *link = (struct ath_stream_link *)base;
    link->stream->patience_us = yes ? 0 : ath_stream_patience_us(ATH_STREAM_BUSY);
    link->waiter_patience_us = yes ? 0 : ath_stream_patience_us(ATH_STREAM_IDLE);
}

const struct ath_cuda_link_ops ath_link_ops = {
    .post = link_post,
    .post_lent = link_post_lent,
    .wait = link_wait,
    .flush = link_flush,
    .share = link_share,
    .share_file = link_share_file,
    .unshare = link_unshare,
    .sleep_at_once = link_sleep_at_once,
    .close = ath_link_close,
};
