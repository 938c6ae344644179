/* Starts as many threads as jobs run at the same time. Threads stay. */
#include "config.h"

#include "cuda/several/waiting_threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/thread.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_due = PTHREAD_COND_INITIALIZER, is_done = PTHREAD_COND_INITIALIZER;
static struct ath_several_job *first, **last = &first;
static size_t due, idle, threads, left;

/* Relaxed mode: waits of this thread do not break other threads' captures. */
static void relax_captures(void)
{
    for (size_t i = 0; i < ath_several_count(); i++) {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        ath_several_all[i].calls.cuThreadExchangeStreamCaptureMode(&mode);
    }
}

static struct ath_several_job *next_job(void)
{
    pthread_mutex_lock(&lock);
    idle++;
    while (!first)
        pthread_cond_wait(&is_due, &lock);
    idle--;
    due--;
    struct ath_several_job *job = first;
    first = job->next;
    if (!first)
        last = &first;
    pthread_mutex_unlock(&lock);
    return job;
}

static void *run_jobs(void *unused)
{
    relax_captures();
    for (;;) {
        struct ath_several_job *job = next_job();
        job->run(job);
    }
    return unused;
}

/* The caller holds the lock. */
static bool start_thread(void)
{
    bool is_started = !ath_thread_start(NULL, run_jobs, NULL);
    threads += is_started;
    return is_started;
}

CUresult ath_several_threads_start(void)
{
    pthread_mutex_lock(&lock);
    bool is_there = threads || start_thread();
    pthread_mutex_unlock(&lock);
    return is_there ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void ath_several_job_start(struct ath_several_job *job)
{
    pthread_mutex_lock(&lock);
    job->next = NULL;
    *last = job;
    last = &job->next;
    due++;
    if (due > idle)
        start_thread();
    pthread_cond_signal(&is_due);
    pthread_mutex_unlock(&lock);
}

bool ath_several_job_is_done_soon(struct ath_several_job *job)
{
    struct timespec until;
    int status = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    pthread_mutex_lock(&lock);
    until.tv_sec += !left; /* one delayed job probably delays the next */
    while (!job->is_done && !status)
        status = pthread_cond_timedwait(&is_done, &lock, &until);
    bool is_soon = job->is_done;
    job->is_left = !is_soon;
    left += !is_soon;
    pthread_mutex_unlock(&lock);
    return is_soon;
}

void ath_several_job_done(struct ath_several_job *job)
{
    pthread_mutex_lock(&lock);
    job->is_done = true;
    bool is_left = job->is_left;
    left -= is_left;
    pthread_cond_broadcast(&is_done);
    pthread_mutex_unlock(&lock);
    if (is_left)
        free(job);
}
