/*
 * The client's connection: the link, and what becomes of it by fork() and exit().
 */
#include "config.h"

#include "cuda/client/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/log.h"
#include "cuda/client/answer_cache.h"
#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/code_facts.h"
#include "cuda/client/fact_file.h"
#include "cuda/client/handles.h"
#include "cuda/client/instance.h"
#include "cuda/client/lasting_results.h"
#include "cuda/client/memory_ahead.h"
#include "cuda/client/memory_reuse.h"
#include "cuda/client/mirror.h"
#include "cuda/client/path_words.h"
#include "cuda/client/staging.h"
#include "cuda/client/start_plan.h"
#include "cuda/client/start_stock.h"
#include "cuda/client/stream_pool.h"
#include "cuda/common/memory_token.h"
#include "remote/session/open.h"
#include "remote/switches.h"

struct ath_cuda_connection ath_cuda_connection = { .order = PTHREAD_MUTEX_INITIALIZER };

static ath_cuda_opener opener_now; /* guarded by order, as is the next one */
/* the parent's link, in a child; kept so that no leak is reported */
static struct ath_cuda_link *volatile link_of_parent;

void ath_cuda_set_opener(ath_cuda_opener opener)
{
    pthread_mutex_lock(&ath_cuda_connection.order);
    opener_now = opener;
    pthread_mutex_unlock(&ath_cuda_connection.order);
}

static const CUresult says[] = { [ATH_CUDA_LINK_NONE] = CUDA_ERROR_NOT_INITIALIZED,
                                 [ATH_CUDA_LINK_OPEN] = CUDA_ERROR_NOT_INITIALIZED,
                                 [ATH_CUDA_LINK_GOOD] = CUDA_SUCCESS,
                                 [ATH_CUDA_LINK_LOST] = CUDA_ERROR_DEVICE_UNAVAILABLE,
                                 [ATH_CUDA_LINK_FORKED] = CUDA_ERROR_NOT_INITIALIZED };

/* Without this a fork during a call would leave the child with a locked mutex. */
static void before_fork(void)
{
    pthread_mutex_lock(&ath_cuda_connection.order);
    ath_cuda_thread_numbers_lock();
}

static void after_fork(void)
{
    ath_cuda_thread_numbers_unlock();
    pthread_mutex_unlock(&ath_cuda_connection.order);
}

/* The link belongs to the parent. The child opens its own, unless CUDA forbids that. */
static void in_child(void)
{
    link_of_parent = ath_cuda_connection.link;
    ath_cuda_connection.link = NULL;
    ath_cuda_connection.last_number = 0;
    ath_cuda_connection.state = ath_cuda_connection.state == ATH_CUDA_LINK_GOOD ||
                                        ath_cuda_connection.state == ATH_CUDA_LINK_FORKED
                                    ? ATH_CUDA_LINK_FORKED
                                    : ATH_CUDA_LINK_NONE;
    ath_cuda_thread_cache_forget();
    after_fork();
}

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void watch_connection_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

CUresult ath_cuda_connect(void)
{
    CUresult status = CUDA_SUCCESS;
    pthread_mutex_lock(&ath_cuda_connection.order);
    pthread_once(&fork_once, watch_connection_forks);
    if (ath_cuda_connection.state == ATH_CUDA_LINK_LOST ||
        ath_cuda_connection.state == ATH_CUDA_LINK_FORKED)
        status = says[ath_cuda_connection.state];
    else if (!ath_cuda_connection.link)
        status = opener_now ? opener_now(&ath_cuda_connection.link) : CUDA_ERROR_SYSTEM_NOT_READY;
    if (status == CUDA_SUCCESS)
        ath_cuda_connection.link->take_changes = ath_cuda_mirror_take_changes;
    if (status == CUDA_SUCCESS && ath_cuda_connection.state == ATH_CUDA_LINK_NONE)
        ath_cuda_connection.state = ATH_CUDA_LINK_OPEN;
    pthread_mutex_unlock(&ath_cuda_connection.order);
    return status;
}

/* A static CUDA runtime frees its own state during exit, and ends its objects in the driver at the
 * same time. If it waited for the server, other threads that still call the runtime would crash,
 * and a kernel that never ends would block the exit forever. */
static pthread_t exiting_thread;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* Gives other threads up to MOST steps to leave their call, or to enter the next one and be
 * refused, before the runtime frees its state. */
static void note_program_exit(void)
{
    enum { STEP_US = 1000, LEAST = 10, MOST = 250 };
    exiting_thread = pthread_self();
    ath_cuda_connection.is_exiting = true;
    ath_cuda_start_plan_save();
    ath_cuda_fact_file_save();
    if (!pthread_mutex_trylock(&ath_cuda_connection.order)) { /* a writer may wait forever */
        ath_path_say_cost(ath_cuda_connection.link);
        pthread_mutex_unlock(&ath_cuda_connection.order);
    }
    ath_cuda_thread_cache_forget(); /* calls of other threads are refused from here on */
    for (int i = 0;
         i < MOST && ath_cuda_thread_count() > 1 && (i < LEAST || ath_cuda_connection.waiting); i++)
        usleep(STEP_US);
}

/* The exiting thread's calls go on: exit handlers may still want results. */
bool ath_cuda_is_refused_at_exit(void)
{
    return !pthread_equal(exiting_thread, pthread_self()) &&
           !(ath_cuda_known_thread && ath_cuda_known_thread->is_ours);
}

/* atexit() handlers run in reverse order, so ours runs before the CUDA runtime's, which was
 * registered before main(). */
static void watch_exit(void)
{
    atexit(note_program_exit);
}

int ath_cuda_driver_version(void)
{
    pthread_mutex_lock(&ath_cuda_connection.order);
    int version = ath_cuda_connection.link ? ath_cuda_connection.link->driver_version : 0;
    pthread_mutex_unlock(&ath_cuda_connection.order);
    return version;
}

int ath_cuda_device_count(void)
{
    pthread_mutex_lock(&ath_cuda_connection.order);
    int count = ath_cuda_connection.link ? ath_cuda_connection.link->device_count : 0;
    pthread_mutex_unlock(&ath_cuda_connection.order);
    return count;
}

bool ath_cuda_is_line_slow(void)
{
    const uint64_t least_ns = 5000000;
    pthread_mutex_lock(&ath_cuda_connection.order);
    const struct ath_stream *stream =
        ath_cuda_connection.link ? ath_cuda_connection.link->stream : NULL;
    bool yes = stream && stream->cost.latency_ns >= least_ns;
    pthread_mutex_unlock(&ath_cuda_connection.order);
    return yes;
}

void ath_cuda_driver_fingerprint(struct ath_fingerprint_value *out)
{
    pthread_mutex_lock(&ath_cuda_connection.order);
    *out = ath_cuda_connection.link ? ath_cuda_connection.link->driver_fingerprint
                                    : (struct ath_fingerprint_value){ 0 };
    pthread_mutex_unlock(&ath_cuda_connection.order);
}

bool ath_cuda_is_exiting(void)
{
    return ath_cuda_connection.is_exiting;
}

void ath_cuda_set_ready(void)
{
    int expected = ATH_CUDA_LINK_OPEN;
    pthread_once(&exit_once, watch_exit);
    atomic_compare_exchange_strong(&ath_cuda_connection.state, &expected, ATH_CUDA_LINK_GOOD);
}

/* The link is closed only when no call is under way. */
static struct ath_cuda_link *sharing_link(void)
{
    return ath_cuda_connection.state == ATH_CUDA_LINK_GOOD && !ath_is_off(ATH_SWITCH_SHARED_MEMORY)
               ? ath_cuda_connection.link
               : NULL;
}

int ath_cuda_link_share(size_t bytes, void **out_address, uint64_t *out_id)
{
    struct ath_cuda_link *link = sharing_link();
    return link && link->ops->share ? link->ops->share(link, bytes, NULL, out_address, out_id)
                                    : -ENOTSUP;
}

int ath_cuda_link_share_file(int fd, uint64_t offset, size_t bytes, const void *wanted,
                             uint64_t *out_id)
{
    struct ath_cuda_link *link = sharing_link();
    return link && link->ops->share_file
               ? link->ops->share_file(link, fd, offset, bytes, wanted, out_id)
               : -ENOTSUP;
}

void ath_cuda_link_sleeps_at_once(bool yes)
{
    if (ath_cuda_connection.link && ath_cuda_connection.link->ops->sleep_at_once)
        ath_cuda_connection.link->ops->sleep_at_once(ath_cuda_connection.link, yes);
}

void ath_cuda_link_unshare(uint64_t id)
{
    if (ath_cuda_connection.link && ath_cuda_connection.link->ops->unshare)
        ath_cuda_connection.link->ops->unshare(ath_cuda_connection.link, id);
}

void ath_cuda_disconnect(void)
{
    pthread_mutex_lock(&ath_cuda_connection.order);
    if (ath_cuda_connection.link)
        ath_cuda_connection.link->ops->close(ath_cuda_connection.link);
    ath_cuda_connection.link = NULL;
    ath_cuda_connection.last_number = 0;
    ath_cuda_connection.state = ATH_CUDA_LINK_NONE;
    pthread_mutex_unlock(&ath_cuda_connection.order);
    ath_cuda_answer_cache_clear();
    ath_cuda_promises_clear();
    ath_cuda_lasting_results_clear();
    ath_cuda_stream_pool_clear();
    ath_cuda_memory_reuse_clear();
    ath_cuda_memory_ahead_clear();
    ath_cuda_start_stock_clear();
    ath_cuda_start_plan_clear();
    ath_cuda_host_clear();
    ath_cuda_staging_clear();
    ath_cuda_shares_clear();
    ath_cuda_handles_clear();
    ath_cuda_capture_state_end_context(NULL);
    ath_cuda_calls_clear();
}

/* Returns whether a call may begin after the server was lost: the client answers it alone. */
static bool is_answered_alone(enum ath_cuda_method method)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    /* Everything on a lost server has ended with it, so ending it again succeeds. A program whose
     * destructors fail is aborted before it can report the lost server. */
    return facts->is_cached || facts->offline || facts->ends;
}

bool ath_cuda_is_lost(void)
{
    return ath_cuda_connection.state == ATH_CUDA_LINK_LOST;
}

/* Before cuInit() succeeds only cuInit() itself and calls that need no cuInit() are sent. */
CUresult ath_cuda_link_status_if_not_good(enum ath_cuda_method method)
{
    int state = ath_cuda_connection.state;
    if (state == ATH_CUDA_LINK_LOST && is_answered_alone(method))
        return CUDA_SUCCESS;
    if (state == ATH_CUDA_LINK_OPEN &&
        (ath_cuda_methods[method].early ||
         (ath_cuda_known_thread && ath_cuda_known_thread->asks_early)))
        return CUDA_SUCCESS;
    return says[state];
}

/* Programs print only CUDA's error, "busy or unavailable", which sounds like a fault of the GPU. */
CUresult ath_cuda_lose_link(void)
{
    const char *server = ath_instance_server();
    if (!server)
        server = ath_client_variable("AITHERION_SERVER");
    if (atomic_exchange(&ath_cuda_connection.state, ATH_CUDA_LINK_LOST) != ATH_CUDA_LINK_LOST &&
        !ath_cuda_connection.is_exiting) {
        ath_log(ATH_LOG_NORMAL,
                _("the server '%s' is gone or has ended this session: what the program had on its "
                  "GPUs is lost, and its CUDA calls fail from here on"),
                server ? server : "?");
        ath_client_explain_loss(ath_instance_server());
    }
    return CUDA_ERROR_DEVICE_UNAVAILABLE;
}
