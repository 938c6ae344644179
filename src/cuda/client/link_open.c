/* Opening and closing the link; a forked child abandons its parent's. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cuda/client/link.h"
#include "cuda/client/link_internal.h"
#include "cuda/client/recording.h"

static _Atomic(struct ath_stream_link *) link_now;

/* The child closes its copy of the parent's connection, which would otherwise keep it open. */
static void abandon_in_child(void)
{
    struct ath_stream_link *link = atomic_exchange(&link_now, NULL);
    if (!link)
        return;
    link->failure = -EOWNERDEAD;
    link->stream->ops->abandon(link->stream);
}

static void watch_link_forks(void)
{
    pthread_atfork(NULL, NULL, abandon_in_child);
}

static void link_free(struct ath_stream_link *link)
{
    pthread_mutex_destroy(&link->out_lock);
    pthread_mutex_destroy(&link->in_lock);
    pthread_cond_destroy(&link->to_send);
    pthread_cond_destroy(&link->sent);
    for (struct ath_link_early *one = link->early, *next; one; one = next) {
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

void ath_link_close(struct ath_cuda_link *base)
{
    struct ath_stream_link *link = (struct ath_stream_link *)base;
    struct ath_stream_link *is_now = link;
    atomic_compare_exchange_strong(&link_now, &is_now, NULL);
    pthread_mutex_lock(&link->out_lock);
    link->is_closing = true;
    pthread_cond_broadcast(&link->to_send);
    pthread_cond_broadcast(&link->sent);
    pthread_mutex_unlock(&link->out_lock);
    ath_link_fail(link, -ESHUTDOWN);
    if (link->has_sender)
        pthread_join(link->sender, NULL);
    while (link->inside) /* they have failed and are leaving */
        sched_yield();
    link->stream->ops->close(link->stream);
    link_free(link);
}

struct ath_cuda_link *ath_link_open(struct ath_stream *stream)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct ath_stream_link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->base.ops = &ath_link_ops;
    link->base.stream = stream;
    link->stream = stream;
    link->sender_patience_us = ath_stream_patience_us(ATH_STREAM_IDLE);
    link->waiter_patience_us = ath_stream_patience_us(ATH_STREAM_IDLE);
    link->looking_max = ath_stream_more_pollers();
    stream->patience_us = ath_stream_patience_us(ATH_STREAM_BUSY); /* for the thread that reads */
    link->calls = ath_recording_of("AITHERION_RECORD");
    link->answers = ath_recording_of("AITHERION_RECORD_ANSWERS");
    pthread_mutex_init(&link->out_lock, NULL);
    pthread_mutex_init(&link->in_lock, NULL);
    pthread_cond_init(&link->to_send, NULL);
    pthread_cond_init(&link->sent, NULL);
    if (stream->ops->wants_batches && ath_link_start_sender(link)) {
        link_free(link);
        return NULL;
    }
    pthread_once(&once, watch_link_forks);
    link_now = link;
    return &link->base;
}
