/* Each copy is a job of a waiting thread. The copies under way are listed for frees of their
 * memory. */
#include "config.h"

#include "cuda/several/stream_copy.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "cuda/several/addresses.h"
#include "cuda/several/copies.h"
#include "cuda/several/stream_gate.h"
#include "cuda/several/waiting_threads.h"

struct copy_job {
    struct ath_several_job job;
    struct ath_several_journey journey;
    struct ath_several_gate gate;
    struct ath_several *near; /* the server whose stream the copy is in */
    struct copy_job *next_pending;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER;
static struct copy_job *pending;

static void end_copy(struct copy_job *job)
{
    pthread_mutex_lock(&lock);
    struct copy_job **at = &pending;
    while (*at != job)
        at = &(*at)->next_pending;
    *at = job->next_pending;
    pthread_cond_broadcast(&is_done);
    pthread_mutex_unlock(&lock);
}

static void run_copy(struct ath_several_job *base)
{
    struct copy_job *job = (struct copy_job *)base;
    const struct ath_several_end *from = &job->journey.from, *to = &job->journey.to;
    CUstream reading = NULL, writing = NULL;
    CUresult status = ath_several_take_stream(from->at, from->context, &reading);
    if (!status)
        status = ath_several_take_stream(to->at, to->context, &writing);
    if (!status)
        status = ath_several_carry(&job->journey, reading, writing);
    if (status)
        ath_several_job_failed(job->near, status);
    if (reading)
        ath_several_return_stream(from->context, reading);
    if (writing)
        ath_several_return_stream(to->context, writing);
    ath_several_gate_open(&job->gate);
    end_copy(job);
    ath_several_job_done(base);
}

static void start_copy_job(void *job)
{
    ath_several_job_start(job);
}

/* The stream is stopped only if something delays the copy already: some drivers cannot copy while
 * their GPU stands still. */
static CUresult queue_copy(struct copy_job *job, struct ath_several *near, CUstream stream)
{
    const struct ath_several_gate gate = job->gate;
    CUresult status = near->calls.cuLaunchHostFunc(stream, start_copy_job, job);
    if (status) {
        ath_several_gate_open(&gate);
        end_copy(job);
        free(job);
        return status;
    }
    if (!ath_several_job_is_done_soon(&job->job))
        return ath_several_gate_close(near, stream, &gate);
    free(job);
    return CUDA_SUCCESS;
}

static CUresult carry_later(const struct ath_several_journey *journey, struct ath_several *near,
                            CUstream stream)
{
    CUresult status = ath_several_threads_start();
    struct copy_job *job = status ? NULL : calloc(1, sizeof *job);
    if (!job)
        return CUDA_ERROR_OUT_OF_MEMORY;
    job->job.run = run_copy;
    job->journey = *journey;
    job->near = near;
    status = ath_several_gate_take(near, stream, &job->gate);
    if (status) {
        free(job);
        return status;
    }
    pthread_mutex_lock(&lock);
    job->next_pending = pending;
    pending = job;
    pthread_mutex_unlock(&lock);
    return queue_copy(job, near, stream);
}

/* If one end is the program's memory, the copy is waited for: the program may change or read the
 * bytes as soon as the call returns. */
CUresult ath_several_carry_in_stream(const struct ath_several_journey *journey,
                                     struct ath_several *near, CUstream stream)
{
    if (ath_several_captures(near, stream)) {
        ath_several_refuse("a captured copy", "its ends are at two servers");
        return ath_several_spoil_capture(near, stream);
    }
    if (journey->from.at && journey->to.at)
        return carry_later(journey, near, stream);
    CUresult status = near->calls.cuStreamSynchronize(stream);
    return status ? status : ath_several_carry_own(journey);
}

static bool touches(const struct copy_job *job, const struct ath_several_range *range)
{
    const struct ath_several_journey *journey = &job->journey;
    return (journey->from.at && journey->from.at->self.index == range->index &&
            journey->box.srcDevice - range->address < range->bytes) ||
           (journey->to.at && journey->to.at->self.index == range->index &&
            journey->box.dstDevice - range->address < range->bytes);
}

static struct copy_job *copy_job_of(const struct ath_several_range *range)
{
    struct copy_job *job = pending;
    while (job && !touches(job, range))
        job = job->next_pending;
    return job;
}

/* Waits a second at most. Returns false if no copy ended. */
static bool something_ends(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    return !pthread_cond_timedwait(&is_done, &lock, &until);
}

/* A copy in a stream of a lost server never ends, so it is not waited for. */
void ath_several_await_copies(CUdeviceptr address)
{
    struct ath_several_range range;
    struct copy_job *job;
    bool is_lost = false;
    pthread_mutex_lock(&lock);
    if (pending && ath_several_find(address, &range)) {
        while (!is_lost && (job = copy_job_of(&range)))
            is_lost =
                !something_ends() && copy_job_of(&range) == job && ath_several_is_lost(job->near);
    }
    pthread_mutex_unlock(&lock);
}
