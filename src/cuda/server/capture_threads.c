/* Starts, wakes and ends the threads for captures, one for each capturing thread of the client. */
#include "config.h"

#include "cuda/server/capture_threads.h"

#include <stdlib.h>

#include "base/host_budget.h"
#include "base/unknown.h"
#include "cuda/server/driver_thread.h"
#include "proto/cuda-methods.h"

/* A client's thread that captures: its calls are served by a thread of its own. */
struct ath_capturer {
    struct ath_capturer *next;
    struct ath_capture_threads *threads;
    uint32_t client_thread;
    pthread_t thread;
    pthread_cond_t changed;       /* with threads->lock */
    const struct ath_frame *call; /* to be served; NULL: none, or it is */
    bool has_answer;              /* own.builder has one */
    bool is_over;
    struct ath_call_thread own;
};

static void *serve_captures(void *argument)
{
    struct ath_capturer *capturer = argument;
    struct ath_capture_threads *threads = capturer->threads;

    pthread_mutex_lock(threads->lock);
    while (!capturer->is_over) {
        if (!capturer->call) {
            pthread_cond_wait(&capturer->changed, threads->lock);
            continue;
        }
        pthread_mutex_unlock(threads->lock);
        bool has_answer = ath_answer_make(threads->writer, &capturer->own, capturer->call);
        pthread_mutex_lock(threads->lock);
        capturer->has_answer = has_answer;
        capturer->call = NULL;
        pthread_cond_broadcast(&capturer->changed);
    }
    pthread_mutex_unlock(threads->lock);
    return NULL;
}

static struct ath_capturer **capturer_of(struct ath_capture_threads *threads,
                                         uint32_t client_thread)
{
    struct ath_capturer **at = &threads->first;
    while (*at && (*at)->client_thread != client_thread)
        at = &(*at)->next;
    return at;
}

static void capturer_free(struct ath_capturer *capturer)
{
    pthread_cond_destroy(&capturer->changed);
    ath_call_thread_free(&capturer->own);
    free(capturer);
}

static struct ath_capturer *capturer_make(struct ath_capture_threads *threads,
                                          uint32_t client_thread)
{
    struct ath_capturer *capturer =
        threads->count < ATH_CAPTURE_THREADS_MOST ? calloc(1, sizeof *capturer) : NULL;
    if (!capturer)
        return NULL;
    *capturer = (struct ath_capturer){ .next = threads->first,
                                       .threads = threads,
                                       .client_thread = client_thread,
                                       .own = ath_call_thread_make(threads->writer) };
    pthread_cond_init(&capturer->changed, NULL);
    if (!ath_host_take(ATH_HOST_THREADS, 1)) {
        capturer_free(capturer);
        return NULL;
    }
    if (ath_driver_thread_make(&capturer->thread, serve_captures, capturer)) {
        ath_host_give(ATH_HOST_THREADS, 1);
        capturer_free(capturer);
        return NULL;
    }
    pthread_mutex_lock(threads->lock);
    threads->first = capturer;
    threads->count++;
    pthread_mutex_unlock(threads->lock);
    return capturer;
}

static void capturer_end(struct ath_capture_threads *threads, struct ath_capturer **at)
{
    struct ath_capturer *capturer = *at;
    pthread_mutex_lock(threads->lock);
    *at = capturer->next;
    threads->count--;
    capturer->is_over = true;
    pthread_cond_broadcast(&capturer->changed);
    pthread_mutex_unlock(threads->lock);
    pthread_join(capturer->thread, NULL);
    ath_host_give(ATH_HOST_THREADS, 1);
    capturer_free(capturer);
}

/* Moves an answer, with the memory that it may end in. */
static void move_answer(struct ath_call_thread *to, struct ath_call_thread *from)
{
    struct ath_call_thread old = *to;
    to->builder = from->builder;
    to->worker.room = from->worker.room;
    to->worker.room_bytes = from->worker.room_bytes;
    to->worker.pinned = from->worker.pinned;
    from->builder = old.builder;
    from->worker.room = old.worker.room;
    from->worker.room_bytes = old.worker.room_bytes;
    from->worker.pinned = old.worker.pinned;
}

/* Has the thread that captures serve a call, and waits for it: the call has its place in the order
 * of all calls. Returns as ath_answer_make() does. */
static bool make_answer_by(struct ath_capture_threads *threads, struct ath_capturer *capturer,
                           struct ath_call_thread *thread, const struct ath_frame *call)
{
    pthread_mutex_lock(threads->lock);
    capturer->call = call;
    pthread_cond_broadcast(&capturer->changed);
    while (capturer->call)
        pthread_cond_wait(&capturer->changed, threads->lock);
    pthread_mutex_unlock(threads->lock);
    move_answer(thread, &capturer->own);
    return capturer->has_answer;
}

/* Answers a call that would begin a capture. */
static void refuse_capture(struct ath_capture_threads *threads, struct ath_call_thread *thread,
                           const struct ath_call_head *head, const struct ath_frame *call)
{
    thread->worker.refuses = CUDA_ERROR_OUT_OF_MEMORY;
    ath_answer_serve(threads->writer, thread, head, call);
    thread->worker.refuses = CUDA_SUCCESS;
}

bool ath_capture_threads_serve(struct ath_capture_threads *threads, struct ath_call_thread *thread,
                               const struct ath_call_head *head, const struct ath_frame *call)
{
    struct ath_capturer **at = capturer_of(threads, head->thread);
    if (!*at) {
        bool begins = head->method >= 0 && ath_cuda_methods[head->method].begins_capture;
        if (!begins)
            return false;
        if (!capturer_make(threads, head->thread)) {
            refuse_capture(threads, thread, head, call);
            return true;
        }
        at = capturer_of(threads, head->thread);
    }
    bool has_answer = make_answer_by(threads, *at, thread, call);
    if (!ath_cuda_capture_list_has_thread(&threads->writer->calls->session->captures, head->thread))
        capturer_end(threads, at);
    if (has_answer)
        ath_answer_send(threads->writer, thread, call, ATH_UNKNOWN);
    return true;
}

bool ath_capture_threads_has(struct ath_capture_threads *threads, uint32_t client_thread)
{
    return *capturer_of(threads, client_thread);
}
