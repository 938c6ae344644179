/*
 * A call's way to the transport and back.
 *
 * The lock around post is what makes one order of all threads' calls: a number is given and the
 * frame handed over under it.
 */
#include "config.h"

#include "runtime/cuda/client.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "runtime/client/open.h"
#include "runtime/cuda/by_hand/attribute.h"
#include "runtime/cuda/by_hand/capture.h"
#include "runtime/cuda/by_hand/host.h"
#include "runtime/cuda/by_hand/kernel_facts.h"
#include "runtime/cuda/by_hand/share.h"
#include "runtime/cuda/by_hand/staging.h"
#include "runtime/cuda/by_hand/standin.h"
#include "runtime/cuda/cache.h"
#include "runtime/cuda/handles.h"
#include "runtime/cuda/instance.h"
#include "runtime/cuda/kept.h"
#include "runtime/cuda/spares.h"
#include "runtime/cuda/summary.h"
#include "runtime/switches.h"

enum { MESSAGE_MAX = 64 * 1024 * 1024 + 65536 }; /* a chunk of a copy and what goes with it */

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t numbers_lock = PTHREAD_MUTEX_INITIALIZER; /* within order, if with it */
static struct ath_cuda_link *link_now;                /* under order, as are the next two */
static struct ath_cuda_link *volatile link_of_parent; /* in a child; kept, so that it is no leak */
static uint64_t last_number;
static ath_cuda_opener opener_now;

enum {
    LINK_NONE,
    LINK_OPEN, /* without cuInit() */
    LINK_GOOD,
    LINK_LOST,
    LINK_FORKED, /* a child's, whose parent had done cuInit(): CUDA does not work in it */
};
static atomic_int link_state;
static atomic_ullong forgotten;
static atomic_uint number_count; /* of threads, at one time */
static _Thread_local struct ath_cuda_thread *this_thread;
static atomic_int fault; /* a CUresult: see is_sticky() */
static _Atomic(CUcontext) faulty_context;

/* ---- the link ---- */

void ath_cuda_set_opener(ath_cuda_opener opener)
{
    pthread_mutex_lock(&order);
    opener_now = opener;
    pthread_mutex_unlock(&order);
}

static const CUresult says[] = { [LINK_NONE] = CUDA_ERROR_NOT_INITIALIZED,
                                 [LINK_OPEN] = CUDA_ERROR_NOT_INITIALIZED,
                                 [LINK_GOOD] = CUDA_SUCCESS,
                                 [LINK_LOST] = CUDA_ERROR_DEVICE_UNAVAILABLE,
                                 [LINK_FORKED] = CUDA_ERROR_NOT_INITIALIZED };

/* A fork in the midst of a call would leave the child a lock that nobody opens. */
static void before_fork(void)
{
    pthread_mutex_lock(&order);
    pthread_mutex_lock(&numbers_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&numbers_lock);
    pthread_mutex_unlock(&order);
}

/* The link is the parent's: the child opens one of its own, unless CUDA forbids that. */
static void in_child(void)
{
    link_of_parent = link_now;
    link_now = NULL;
    last_number = 0;
    link_state = link_state == LINK_GOOD || link_state == LINK_FORKED ? LINK_FORKED : LINK_NONE;
    ath_cuda_memo_forget();
    after_fork();
}

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

CUresult ath_cuda_connect(void)
{
    CUresult status = CUDA_SUCCESS;
    pthread_mutex_lock(&order);
    pthread_once(&fork_once, watch_forks);
    if (link_state == LINK_LOST || link_state == LINK_FORKED)
        status = says[link_state];
    else if (!link_now)
        status = opener_now ? opener_now(&link_now) : CUDA_ERROR_SYSTEM_NOT_READY;
    if (status == CUDA_SUCCESS)
        link_now->take_changes = ath_cuda_host_take_changes;
    if (status == CUDA_SUCCESS && link_state == LINK_NONE)
        link_state = LINK_OPEN;
    pthread_mutex_unlock(&order);
    return status;
}

/*
 * The program's exit has begun. A static CUDA runtime then frees its own state, and ends what it
 * has in the driver in the midst of that: while it waited for the server, other threads that still
 * call it would crash; and a kernel that never ends would have it wait for ever.
 */
static atomic_bool is_exiting;
static atomic_int waiting; /* threads of the program's that wait for an answer */
static pthread_t exiting_thread;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* Threads that are in a call are let out of it before the runtime's state goes, and those beside a
 * call come into one, unless they stay too long. */
static void note_exit(void)
{
    enum { STEP_US = 1000, LEAST = 10, MOST = 250 };
    exiting_thread = pthread_self();
    is_exiting = true;
    ath_cuda_memo_forget(); /* other threads' are refused from here on */
    for (int i = 0; i < MOST && number_count > 1 && (i < LEAST || waiting); i++)
        usleep(STEP_US);
}

/* What the driver says then ("in the process of shutting down"): to the other threads, since what
 * runs at exit may still want its results. */
static bool is_shutting_down(void)
{
    return is_exiting && !pthread_equal(exiting_thread, pthread_self()) &&
           !(this_thread && this_thread->is_ours);
}

/* Those that are registered last run first: before the runtime's, which was there before main(). */
static void watch_exit(void)
{
    atexit(note_exit);
}

int ath_cuda_driver_version(void)
{
    pthread_mutex_lock(&order);
    int version = link_now ? link_now->driver_version : 0;
    pthread_mutex_unlock(&order);
    return version;
}

bool ath_cuda_is_exiting(void)
{
    return is_exiting;
}

void ath_cuda_set_ready(void)
{
    int expected = LINK_OPEN;
    pthread_once(&exit_once, watch_exit);
    atomic_compare_exchange_strong(&link_state, &expected, LINK_GOOD);
}

/* The link goes only when no call is under way. */
static struct ath_cuda_link *sharing_link(void)
{
    return link_state == LINK_GOOD && !ath_is_off(ATH_SWITCH_SHARED_MEMORY) ? link_now : NULL;
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
    if (link_now && link_now->ops->sleep_at_once)
        link_now->ops->sleep_at_once(link_now, yes);
}

void ath_cuda_link_unshare(uint64_t id)
{
    if (link_now && link_now->ops->unshare)
        link_now->ops->unshare(link_now, id);
}

void ath_cuda_disconnect(void)
{
    pthread_mutex_lock(&order);
    if (link_now)
        link_now->ops->close(link_now);
    link_now = NULL;
    last_number = 0;
    link_state = LINK_NONE;
    pthread_mutex_unlock(&order);
    ath_cuda_cache_clear();
    ath_cuda_kept_clear();
    ath_cuda_spares_clear();
    ath_cuda_host_clear();
    ath_cuda_staging_clear();
    ath_cuda_shares_clear();
    ath_cuda_handles_clear();
    ath_cuda_captures_end_in(NULL);
    fault = CUDA_SUCCESS;
    forgotten++;
}

/* What was the server's ends with it, so that ending it again has succeeded: a program whose
 * destructors fail is aborted before it can say what happened. */
static bool ends_something(enum ath_cuda_method method)
{
    static const char *const words[] = { "Destroy",    "Unload",     "cuMemFree", "Release",
                                         "Unregister", "cuMemUnmap", "CloseMem",  "AddressFree" };
    const char *name = ath_cuda_methods[method].name;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

/* Whether a call may begin without a server: it is answered from what is known here. */
static bool is_answered_alone(enum ath_cuda_method method)
{
    return ath_cuda_methods[method].is_cached || method == ATH_CUDA_METHOD_cuCtxGetCurrent ||
           method == ATH_CUDA_METHOD_cuStreamIsCapturing || ends_something(method);
}

bool ath_cuda_is_lost(void)
{
    return link_state == LINK_LOST;
}

/* Before cuInit() only it itself is sent, and what may be asked without. */
static CUresult state_of_link(enum ath_cuda_method method)
{
    int state = link_state;
    if (state == LINK_LOST && is_answered_alone(method))
        return CUDA_SUCCESS;
    bool is_early =
        method == ATH_CUDA_METHOD_cuInit || method == ATH_CUDA_METHOD_cuDriverGetVersion;
    if (state == LINK_OPEN && (is_early || (this_thread && this_thread->asks_early)))
        return CUDA_SUCCESS;
    return says[state];
}

/* Programs say CUDA's error only, "busy or unavailable", which sounds as if the GPU were at fault.
 */
static CUresult lose_link(void)
{
    const char *server = ath_instance_server();
    if (!server)
        server = ath_client_variable("AITHERION_SERVER");
    if (atomic_exchange(&link_state, LINK_LOST) != LINK_LOST && !is_exiting)
        ath_log(ATH_LOG_NORMAL,
                _("the server '%s' is gone or has ended this session: what the program had on its "
                  "GPUs is lost, and its CUDA calls fail from here on"),
                server ? server : "?");
    return CUDA_ERROR_DEVICE_UNAVAILABLE;
}

/* ---- threads ---- */

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

/* The server has a stream for each number that CU_STREAM_PER_THREAD was used with, so that a thread
 * takes the lowest that no other has. */
static uint8_t *taken_numbers; /* number_count of them, under numbers_lock */

static bool take_number(uint32_t *out)
{
    pthread_mutex_lock(&numbers_lock);
    uint32_t count = number_count;
    uint8_t *place = count ? memchr(taken_numbers, 0, count) : NULL;
    uint32_t number = place ? (uint32_t)(place - taken_numbers) : count;
    uint8_t *grown = place ? taken_numbers : realloc(taken_numbers, (size_t)count + 1);
    if (grown) {
        taken_numbers = grown;
        taken_numbers[number] = true;
        number_count = number == count ? count + 1 : count;
    }
    pthread_mutex_unlock(&numbers_lock);
    *out = number;
    return grown;
}

/* One that ended amid a capture keeps its number: another would go on with the capture. */
static void give_number(uint32_t number)
{
    if (ath_cuda_captures_of(number))
        return;
    pthread_mutex_lock(&numbers_lock);
    taken_numbers[number] = false;
    pthread_mutex_unlock(&numbers_lock);
}

static void thread_free(void *memory)
{
    struct ath_cuda_thread *thread = memory;
    give_number(thread->id);
    ath_wire_builder_free(&thread->builder);
    ath_frame_free(&thread->answer);
    free(thread->contexts);
    free(thread);
    this_thread = NULL;
}

static void make_key(void)
{
    pthread_key_create(&thread_key, thread_free);
}

struct ath_cuda_thread *ath_cuda_this_thread(void)
{
    if (this_thread)
        return this_thread;
    pthread_once(&thread_once, make_key);
    struct ath_cuda_thread *thread = calloc(1, sizeof *thread);
    if (!thread || !take_number(&thread->id)) {
        free(thread);
        return NULL;
    }
    thread->builder.max_bytes = MESSAGE_MAX;
    pthread_setspecific(thread_key, thread);
    return this_thread = thread;
}

void ath_cuda_ask_early(bool yes)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (thread)
        thread->asks_early = yes;
}

CUcontext ath_cuda_current_context(void)
{
    const struct ath_cuda_thread *thread = ath_cuda_this_thread();
    return thread ? ath_cuda_thread_context(thread) : NULL;
}

/* ---- handles: the server's numbers, with the server's own among several (instance.h) ---- */

/* The context of a stream or an event. false: there is no such one. */
static bool find_handle(struct ath_cuda_thread *thread, uint64_t handle, CUcontext *out_context)
{
    uint64_t now = ath_cuda_handles_age();
    if (!handle)
        return false;
    if (thread->known_handle != handle || thread->known_age != now) {
        if (!ath_cuda_handle_find(handle, &thread->known_context, &thread->known_is_shared))
            return false;
        thread->known_handle = handle;
        thread->known_age = now;
    }
    *out_context = thread->known_context;
    return true;
}

/* Kernels run in streams of the current context, and events are recorded in streams of their own
 * (docs.nvidia.com/cuda/cuda-driver-api, "cuEventRecord"); copies and waits may be in any. */
static bool is_in_place(struct ath_cuda_exchange *exchange, CUcontext context)
{
    CUcontext wanted = ath_cuda_current_context();
    switch (exchange->method) {
    case ATH_CUDA_METHOD_cuEventRecord:
    case ATH_CUDA_METHOD_cuEventRecordWithFlags:
        wanted = exchange->event_context;
        exchange->event_context = context;
        exchange->is_told_on = exchange->is_told_on || exchange->thread->known_is_shared;
        break;
    case ATH_CUDA_METHOD_cuLaunchKernel:
    case ATH_CUDA_METHOD_cuLaunchKernelEx:
        break;
    default:
        return true;
    }
    return !wanted || !context || wanted == context;
}

static bool ends_handle(enum ath_cuda_method method)
{
    return method == ATH_CUDA_METHOD_cuStreamDestroy ||
           method == ATH_CUDA_METHOD_cuStreamDestroy_v2 ||
           method == ATH_CUDA_METHOD_cuEventDestroy ||
           method == ATH_CUDA_METHOD_cuEventDestroy_v2 ||
           method == ATH_CUDA_METHOD_cuGraphExecDestroy;
}

/* Of a call that has no answer; one that has is told by the server what is wrong. */
static void check_handle(struct ath_cuda_exchange *exchange, enum ath_cuda_kind kind,
                         uint64_t handle)
{
    enum ath_cuda_class class = ath_cuda_methods[exchange->method].class;
    bool is_default = kind == ATH_CUDA_KIND_STREAM && handle <= (uintptr_t)CU_STREAM_PER_THREAD;
    CUcontext context = is_default ? ath_cuda_current_context() : NULL;
    bool is_known = is_default ? context != NULL : find_handle(exchange->thread, handle, &context);
    if (context)
        exchange->place = context;
    if (ath_cuda_is_lost())
        return;
    /* The server has streams of its own for a default one, and what ended with its context may have
     * left its number to another, which the program has not got yet (spares.h). */
    if (ends_handle(exchange->method) && (is_default || !is_known))
        exchange->side.status =
            kind == ATH_CUDA_KIND_GRAPH_EXEC ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    if (class != ATH_CUDA_ASYNC && class != ATH_CUDA_CUSTOM)
        return;
    if (is_default && handle != (uintptr_t)CU_STREAM_PER_THREAD && ath_cuda_is_capturing())
        exchange->is_told_on = true; /* it may break a capture, which ends before the next wait */
    if (!handle && class == ATH_CUDA_CUSTOM) /* a launch's attribute without one */
        return;
    if (is_default && !is_known)
        exchange->side.status = CUDA_ERROR_INVALID_CONTEXT;
    else if (!is_known || !is_in_place(exchange, context))
        exchange->side.status =
            kind == ATH_CUDA_KIND_GRAPH_EXEC ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
}

/* What a call made. */
static void note_handle(enum ath_cuda_method method, uint64_t handle)
{
    if (!handle)
        return;
    switch (method) {
    case ATH_CUDA_METHOD_cuGraphInstantiate:
    case ATH_CUDA_METHOD_cuGraphInstantiate_v2:
    case ATH_CUDA_METHOD_cuGraphInstantiateWithFlags:
    case ATH_CUDA_METHOD_cuGraphInstantiateWithParams:
    case ATH_CUDA_METHOD_cuGreenCtxStreamCreate:
        ath_cuda_handle_add(handle, NULL);
        return;
    case ATH_CUDA_METHOD_cuStreamCreate:
    case ATH_CUDA_METHOD_cuStreamCreateWithPriority:
    case ATH_CUDA_METHOD_cuEventCreate:
        ath_cuda_handle_add(handle, ath_cuda_current_context());
        return;
    case ATH_CUDA_METHOD_cuIpcOpenEventHandle:
        ath_cuda_handle_add(handle, ath_cuda_current_context());
        ath_cuda_handle_share(handle);
        return;
    default:
        return;
    }
}

/* A function or a module that the program gets: of what it loaded, or a kernel's by another name.
 */
static void note_name(const struct ath_cuda_exchange *exchange, uint64_t handle)
{
    switch (exchange->method) {
    case ATH_CUDA_METHOD_cuModuleLoad:
    case ATH_CUDA_METHOD_cuModuleLoadData:
    case ATH_CUDA_METHOD_cuModuleLoadDataEx:
    case ATH_CUDA_METHOD_cuModuleLoadFatBinary:
        return;
    case ATH_CUDA_METHOD_cuModuleGetFunction:
    case ATH_CUDA_METHOD_cuModuleEnumerateFunctions:
    case ATH_CUDA_METHOD_cuKernelGetFunction:
        ath_cuda_kernel_remove(handle);
        ath_cuda_attributes_name(exchange->kernel, handle);
        return;
    default:
        ath_cuda_attributes_mix();
    }
}

/* What a call says that has something of another server's. */
static CUresult says_stranger(enum ath_cuda_kind kind)
{
    switch (kind) {
    case ATH_CUDA_KIND_DEVICE:
        return CUDA_ERROR_INVALID_DEVICE;
    case ATH_CUDA_KIND_CONTEXT:
        return CUDA_ERROR_INVALID_CONTEXT;
    case ATH_CUDA_KIND_GRAPH:
    case ATH_CUDA_KIND_GRAPH_EXEC:
    case ATH_CUDA_KIND_GRAPH_NODE:
        return CUDA_ERROR_INVALID_VALUE;
    default:
        return CUDA_ERROR_INVALID_HANDLE;
    }
}

static uint64_t as_server_has_it(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own)
{
    uint64_t wire;
    if (!ath_instance_to_wire(kind, own, &wire) && !side->status)
        side->status = says_stranger(kind);
    return wire;
}

static uint64_t to_wire(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own)
{
    struct ath_cuda_exchange *exchange = (struct ath_cuda_exchange *)side;
    switch (kind) {
    case ATH_CUDA_KIND_STREAM:
    case ATH_CUDA_KIND_EVENT:
    case ATH_CUDA_KIND_GRAPH_EXEC:
        check_handle(exchange, kind, own);
        if (ends_handle(exchange->method))
            exchange->ending = own;
        if (exchange->method == ATH_CUDA_METHOD_cuIpcGetEventHandle)
            ath_cuda_handle_share(own);
        break;
    case ATH_CUDA_KIND_FUNCTION:
        exchange->kernel = own;
        own = ath_cuda_stood_for(own);
        break;
    case ATH_CUDA_KIND_KERNEL:
        exchange->kernel = own;
        break;
    case ATH_CUDA_KIND_ADDRESS:
        return ath_cuda_host_device_address(own);
    default:
        break;
    }
    return as_server_has_it(side, kind, own);
}

static uint64_t to_own(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t wire)
{
    uint64_t own = ath_instance_to_own(kind, wire);
    if (kind == ATH_CUDA_KIND_STREAM || kind == ATH_CUDA_KIND_EVENT ||
        kind == ATH_CUDA_KIND_GRAPH_EXEC)
        note_handle(((const struct ath_cuda_exchange *)side)->method, own);
    if (kind == ATH_CUDA_KIND_KERNEL && wire)
        ath_cuda_kernel_add(own);
    if ((kind == ATH_CUDA_KIND_FUNCTION || kind == ATH_CUDA_KIND_MODULE) && wire)
        note_name((const struct ath_cuda_exchange *)side, own);
    return own;
}

/* ---- a call ---- */

/* A device's facts are the same in every context, and asked for once. */
static CUcontext context_for(enum ath_cuda_method method)
{
    return ath_cuda_methods[method].is_of_device ? NULL : ath_cuda_current_context();
}

CUresult ath_cuda_may(enum ath_cuda_method method)
{
    CUresult status = is_shutting_down() ? CUDA_ERROR_DEINITIALIZED : state_of_link(method);
    const struct ath_cuda_thread *thread = status ? NULL : ath_cuda_this_thread();
    if (status)
        return status;
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return thread->is_in_callback ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult ath_cuda_begin(struct ath_cuda_exchange *exchange, enum ath_cuda_method method)
{
    CUresult status = ath_cuda_may(method);
    if (!status)
        status = ath_cuda_host_push(method);
    if (status)
        return status;
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    *exchange = (struct ath_cuda_exchange){ .side = { .to_wire = to_wire, .to_own = to_own },
                                            .thread = thread,
                                            .method = method,
                                            .call = ath_cuda_wire_call_start(&thread->builder) };
    ath_cuda_wire_call_set_context(
        exchange->call,
        as_server_has_it(&exchange->side, ATH_CUDA_KIND_CONTEXT, (uintptr_t)context_for(method)));
    return CUDA_SUCCESS;
}

/* What the thread is to the server; not part of what a cached answer hangs on. */
static void set_thread(const struct ath_cuda_exchange *exchange)
{
    ath_cuda_wire_call_set_thread(exchange->call, exchange->thread->id);
    ath_cuda_wire_call_set_capture_mode(exchange->call, (uint32_t)exchange->thread->mode);
}

static CUresult built_status(int status)
{
    return status == -EMSGSIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
}

void ath_cuda_lend(struct ath_cuda_exchange *exchange)
{
    enum { LEAST = 32 * 1024 };
    pthread_mutex_lock(&order);
    if (link_now && link_now->ops->post_lent && !ath_is_off(ATH_SWITCH_LENDING))
        ath_wire_lend(&exchange->thread->builder, LEAST);
    pthread_mutex_unlock(&order);
}

static int post(const struct ath_wire_builder *builder, const uint8_t *frame, size_t length,
                bool is_asked)
{
    return builder->lent.length
               ? link_now->ops->post_lent(link_now, frame, length, builder->lent, is_asked)
               : link_now->ops->post(link_now, frame, length, is_asked);
}

static CUresult hand_over(struct ath_cuda_exchange *exchange, bool is_asked, uint64_t *out_number)
{
    size_t length;
    int status;
    set_thread(exchange);
    ath_cuda_wire_call_set_is_asked(exchange->call, is_asked);
    pthread_mutex_lock(&order);
    ath_cuda_wire_call_set_number(exchange->call, last_number + 1);
    const uint8_t *frame = ath_wire_finish(&exchange->thread->builder, &length, &status);
    CUresult result = frame ? state_of_link(exchange->method) : built_status(status);
    if (result == CUDA_SUCCESS &&
        (ath_cuda_is_lost() || post(&exchange->thread->builder, frame, length, is_asked)))
        result = lose_link();
    if (result == CUDA_SUCCESS)
        *out_number = ++last_number;
    pthread_mutex_unlock(&order);
    if (result == CUDA_SUCCESS && ath_cuda_summary_is_wanted())
        ath_cuda_summary_sent(exchange->method, length + exchange->thread->builder.lent.length);
    return result;
}

/* Errors after which a context is of no use: CUDA gives them back from every call until it ends. */
static bool is_sticky(CUresult status)
{
    switch (status) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
        return true;
    default:
        return false;
    }
}

/* What a call without an answer says at once: such an error, since the server said it. */
static CUresult known_fault(CUcontext context)
{
    return atomic_load(&fault) && faulty_context == context ? (CUresult)atomic_load(&fault)
                                                            : CUDA_SUCCESS;
}

/* The context whose work a call is. */
static CUcontext place_of(const struct ath_cuda_exchange *exchange)
{
    return exchange->place ? exchange->place : ath_cuda_current_context();
}

static void note_fault(const struct ath_cuda_exchange *exchange, CUresult status)
{
    if (status == CUDA_SUCCESS && ath_cuda_methods[exchange->method].forgets_all) {
        fault = CUDA_SUCCESS; /* a context may have ended */
    } else if (is_sticky(status)) {
        faulty_context = place_of(exchange);
        fault = (int)status;
    }
}

/* What a call says whose server is gone. */
static CUresult without_server(const struct ath_cuda_exchange *exchange, CUresult status)
{
    return ath_cuda_is_lost() && ends_something(exchange->method) ? CUDA_SUCCESS : status;
}

/* Reads the answer in the thread's frame. */
static CUresult take_answer(struct ath_cuda_exchange *exchange)
{
    struct ath_frame *answer = &exchange->thread->answer;
    if (ath_cuda_wire_answer_open(ath_frame_message(answer), ath_frame_message_length(answer),
                                  &exchange->answer))
        return lose_link();
    exchange->is_answered = true;
    return (CUresult)ath_cuda_wire_answer_status(exchange->answer);
}

/* Waits for the answer to a call. */
static int await(const struct ath_cuda_exchange *exchange, uint64_t number)
{
    struct ath_frame *answer = &exchange->thread->answer;
    uint64_t begin_ns = ath_cuda_summary_is_wanted() ? ath_now_ns() : 0;
    waiting += !exchange->thread->is_ours;
    int status = link_now->ops->wait(link_now, number, answer);
    waiting -= !exchange->thread->is_ours;
    if (begin_ns)
        ath_cuda_summary_answered(exchange->method, answer->length, ath_now_ns() - begin_ns);
    return status;
}

CUresult ath_cuda_ask_begin(struct ath_cuda_exchange *exchange)
{
    return exchange->side.status ? exchange->side.status
                                 : hand_over(exchange, true, &exchange->number);
}

/* What the call has made stale. */
static void forget(const struct ath_cuda_exchange *exchange)
{
    ath_cuda_spares_forget(exchange->method);
    if (ath_cuda_cache_forget(exchange->method))
        forgotten++;
}

CUresult ath_cuda_ask_end(struct ath_cuda_exchange *exchange)
{
    if (await(exchange, exchange->number))
        return without_server(exchange, lose_link());
    CUresult status = take_answer(exchange);
    note_fault(exchange, status);
    forget(exchange);
    return status;
}

static CUresult ask(struct ath_cuda_exchange *exchange)
{
    if (exchange->side.status)
        return exchange->side.status;
    CUresult status = ath_cuda_ask_begin(exchange);
    return status ? without_server(exchange, status) : ath_cuda_ask_end(exchange);
}

/* Asks for some at once; the first is the program's own. */
static CUresult ask_for_some(struct ath_cuda_exchange *exchange)
{
    struct ath_frame *answer = &exchange->thread->answer;
    uint64_t numbers[ATH_CUDA_SPARES_MOST], age = ath_cuda_spares_age();
    ATH_AUTO(ath_frame) message = { 0 };
    size_t length, count, sent = 0;
    int built;
    const uint8_t *frame = ath_wire_finish(&exchange->thread->builder, &length, &built);
    if (!frame)
        return built_status(built);
    if (ath_cuda_spares_take(frame, length, ath_cuda_current_context(), answer, &count))
        return take_answer(exchange);
    if (count == 1 || ath_frame_copy(&message, frame, length))
        return ask(exchange);
    CUresult status = CUDA_SUCCESS;
    while (sent < count && !(status = ath_cuda_ask_begin(exchange)))
        numbers[sent++] = exchange->number;
    while (sent) {
        exchange->number = numbers[--sent];
        status = ath_cuda_ask_end(exchange);
        if (sent && !status)
            ath_cuda_spares_keep(message.bytes, message.length, answer, age);
    }
    return status;
}

static void end_handle(uint64_t handle)
{
    ath_cuda_handle_remove(handle);
    ath_cuda_captures_end_with((CUstream)(uintptr_t)handle);
}

CUresult ath_cuda_ask(struct ath_cuda_exchange *exchange)
{
    CUcontext context = NULL;
    bool is_shared = false;
    if (is_exiting && !exchange->is_told_on && ends_something(exchange->method))
        return ath_cuda_post(exchange);
    if (ath_cuda_spares_may(exchange->method) && !exchange->side.status &&
        !known_fault(ath_cuda_current_context()) && !ath_is_off(ATH_SWITCH_SPARES))
        return ask_for_some(exchange);
    bool is_ending =
        exchange->ending && ath_cuda_handle_find(exchange->ending, &context, &is_shared);
    if (is_ending)
        end_handle(exchange->ending);
    CUresult status = ask(exchange);
    if (status && is_ending)
        ath_cuda_handle_add(exchange->ending, context);
    return status;
}

static bool is_launch(enum ath_cuda_method method)
{
    return method == ATH_CUDA_METHOD_cuLaunchKernel || method == ATH_CUDA_METHOD_cuLaunchKernelEx ||
           method == ATH_CUDA_METHOD_cuGraphLaunch;
}

static atomic_bool are_launches_blocking;
static pthread_once_t launches_once = PTHREAD_ONCE_INIT;

static void ask_environment(void)
{
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");
    are_launches_blocking = value && *value && strcmp(value, "0") != 0;
}

/* With CUDA_LAUNCH_BLOCKING the driver waits for each launch, and the launch says what went wrong.
 */
static bool launches_block(void)
{
    pthread_once(&launches_once, ask_environment);
    return are_launches_blocking;
}

CUresult ath_cuda_post(struct ath_cuda_exchange *exchange)
{
    uint64_t number;
    if (exchange->side.status)
        return exchange->side.status;
    if (exchange->is_told_on || (is_launch(exchange->method) && launches_block()))
        return ath_cuda_ask(exchange);
    CUresult known = known_fault(place_of(exchange));
    if (known)
        return known;
    if (exchange->ending)
        end_handle(exchange->ending);
    CUresult status = hand_over(exchange, false, &number);
    if (status)
        return without_server(exchange, status);
    forget(exchange);
    return CUDA_SUCCESS;
}

uint64_t ath_cuda_settings_of(const struct ath_cuda_exchange *exchange)
{
    return exchange->kernel && ath_cuda_cache_has_of_settings(exchange->method)
               ? ath_cuda_attributes_state(exchange->kernel)
               : 0;
}

CUresult ath_cuda_ask_cached(struct ath_cuda_exchange *exchange)
{
    size_t length;
    int built;
    uint64_t settings = ath_cuda_settings_of(exchange);
    ath_cuda_wire_call_set_number(exchange->call, settings); /* until it is sent; it is part of what
                                                              * is looked for */
    const uint8_t *frame = ath_wire_finish(&exchange->thread->builder, &length, &built);
    if (!frame)
        return built_status(built);
    if (ath_cuda_cache_find(frame, length, &exchange->thread->answer))
        return take_answer(exchange);
    struct ath_frame asked = { 0 };
    uint64_t age = ath_cuda_cache_age();
    bool is_copied = !ath_frame_copy(&asked, frame, length);
    bool is_of_many = exchange->thread->asks_facts && is_copied && !exchange->side.status &&
                      !ath_is_off(ATH_SWITCH_CACHES);
    CUresult status =
        is_of_many ? ath_cuda_ask_kernel_facts(exchange, &asked) : ath_cuda_ask(exchange);
    bool is_answer = !status || (exchange->method == ATH_CUDA_METHOD_cuKernelGetAttribute &&
                                 status == CUDA_ERROR_INVALID_VALUE); /* there is no such one */
    if (is_answer && is_copied && settings == ath_cuda_settings_of(exchange))
        ath_cuda_cache_add(exchange->method, asked.bytes, asked.length, &exchange->thread->answer,
                           age);
    ath_frame_free(&asked);
    return status;
}

void ath_cuda_keep(struct ath_cuda_exchange *exchange, uint64_t value)
{
    exchange->is_kept = true;
    exchange->kept_for = value;
}

/* AITHERION_CUDA_LOG=errors has every call that fails say so, but for questions whose answer is
 * "not ready". */
static void log_failure(enum ath_cuda_method method, CUresult status)
{
    const char *wanted = getenv("AITHERION_CUDA_LOG");
    if (status != CUDA_ERROR_NOT_READY && wanted && !strcmp(wanted, "errors"))
        fprintf(stderr, "aitherion: %s: error %d\n", ath_cuda_methods[method].name, (int)status);
}

CUresult ath_cuda_end(struct ath_cuda_exchange *exchange, CUresult status)
{
    if (exchange->is_kept)
        ath_cuda_kept_replace(exchange->method, exchange->kept_for,
                              ath_steal(&exchange->side.blocks));
    ath_cuda_side_free(&exchange->side);
    if (!status)
        status = exchange->side.status;
    if (status)
        log_failure(exchange->method, status);
    return status || !exchange->is_answered ? status : ath_cuda_host_pull(exchange->method);
}

/* ---- streams at rest ---- */

/* Under order: what the last call of all was waited for with. */
static struct {
    CUstream stream;
    CUcontext context;
    uint32_t thread;
    uint64_t number; /* 0: none */
} rest;

void ath_cuda_stream_rests(const struct ath_cuda_exchange *exchange, CUstream stream)
{
    pthread_mutex_lock(&order);
    if (exchange->is_answered && exchange->number == last_number) {
        rest.stream = stream;
        rest.context = ath_cuda_current_context();
        rest.thread = exchange->thread->id;
        rest.number = last_number;
    }
    pthread_mutex_unlock(&order);
}

bool ath_cuda_stream_is_at_rest(CUstream stream)
{
    const struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread || ath_is_off(ATH_SWITCH_RESTS))
        return false;
    pthread_mutex_lock(&order);
    bool is_at_rest = link_state == LINK_GOOD && rest.number && rest.number == last_number &&
                      rest.stream == stream && rest.context == ath_cuda_current_context() &&
                      rest.thread == thread->id;
    if (is_at_rest && ath_cuda_host_has_mirrors())
        rest.number = 0; /* once: a loop may wait for what another stream writes in a mirror */
    pthread_mutex_unlock(&order);
    return is_at_rest && !known_fault(ath_cuda_current_context());
}

uint64_t ath_cuda_forgotten(void)
{
    return forgotten;
}
