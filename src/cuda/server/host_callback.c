/*
 * The server's side of the program's functions. The driver calls a function of this file, which
 * tells the client and waits until the program's function has returned there. So a stream waits as
 * it does natively.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cuda/server/served_call.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"
#include "remote/transport/poll_briefly.h"
#include "remote/transport/stream.h"

/* One call of a program's function, from the moment it is due until it has returned. */
struct event {
    struct event *next;
    uint64_t ticket, id, stream;
    CUresult status;
    bool is_last;
    atomic_bool is_done;
    bool is_waited_for; /* else the thread that takes it frees it */
};

struct ath_cuda_callbacks {
    pthread_mutex_t lock;
    pthread_cond_t is_due, is_done;
    struct event *due; /* in their order */
    atomic_bool has_due;
    struct event *given; /* to the client, and waited for */
    uint64_t last_ticket;
    _Atomic uint32_t patience_us; /* of a thread that waits */
};

/* The user data for the driver. A function that can be called again stays as long as the process.
 *  */
struct record {
    struct ath_cuda_callbacks *callbacks;
    uint64_t id;
    bool is_once;
};

static atomic_long record_count;

bool ath_cuda_functions_due(void)
{
    return atomic_load_explicit(&record_count, memory_order_relaxed) > 0;
}

static void record_free(struct record *record)
{
    atomic_fetch_sub(&record_count, 1);
    free(record);
}

static struct ath_cuda_callbacks *callbacks_of(struct ath_cuda_session *session)
{
    pthread_mutex_lock(&session->lock);
    if (!session->callbacks && (session->callbacks = calloc(1, sizeof *session->callbacks))) {
        pthread_mutex_init(&session->callbacks->lock, NULL);
        pthread_cond_init(&session->callbacks->is_due, NULL);
        pthread_cond_init(&session->callbacks->is_done, NULL);
        session->callbacks->patience_us = ath_stream_patience_us(ATH_STREAM_IDLE);
    }
    struct ath_cuda_callbacks *callbacks = session->callbacks;
    pthread_mutex_unlock(&session->lock);
    return callbacks;
}

static struct record *make_record(struct ath_cuda_served *served, uint64_t id, bool is_once)
{
    struct ath_cuda_callbacks *callbacks = callbacks_of(served->session);
    struct record *record = callbacks ? malloc(sizeof *record) : NULL;
    if (record) {
        *record = (struct record){ callbacks, id, is_once };
        atomic_fetch_add(&record_count, 1);
    } else {
        served->status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return record;
}

/* ---- what the driver calls ---- */

/* Polls for a while: a thread that the kernel wakes runs late. */
static void look_briefly(const struct ath_cuda_callbacks *callbacks, const atomic_bool *is_there)
{
    enum { ROUNDS = 32 };
    struct ath_brief_poll poll_state = { 0 };
    while (!*is_there && ath_brief_poll_again(&poll_state, ROUNDS, &callbacks->patience_us))
        ;
}

/* The caller has the lock. */
static void append(struct ath_cuda_callbacks *callbacks, struct event *event)
{
    struct event **last = &callbacks->due;
    while (*last)
        last = &(*last)->next;
    event->ticket = ++callbacks->last_ticket;
    *last = event;
    callbacks->has_due = true;
    pthread_cond_signal(&callbacks->is_due);
}

static void run_on_client(struct record *record, CUstream stream, CUresult status)
{
    struct ath_cuda_callbacks *callbacks = record->callbacks;
    struct event event = { .id = record->id,
                           .stream = (uintptr_t)stream,
                           .status = status,
                           .is_last = record->is_once,
                           .is_waited_for = true };
    pthread_mutex_lock(&callbacks->lock);
    append(callbacks, &event);
    pthread_mutex_unlock(&callbacks->lock);
    look_briefly(callbacks, &event.is_done);
    pthread_mutex_lock(&callbacks->lock);
    while (!event.is_done)
        pthread_cond_wait(&callbacks->is_done, &callbacks->lock);
    pthread_mutex_unlock(&callbacks->lock);
    if (record->is_once)
        record_free(record);
}

static void run_host(void *user_data)
{
    run_on_client(user_data, NULL, CUDA_SUCCESS);
}

static void run_callback(CUstream stream, CUresult status, void *user_data)
{
    run_on_client(user_data, stream, status);
}

/* Runs where waiting is forbidden: tells the client and returns. */
static void run_destroy(void *user_data)
{
    struct record *record = user_data;
    struct event *event = calloc(1, sizeof *event);
    if (event) {
        *event = (struct event){ .id = record->id, .is_last = true };
        pthread_mutex_lock(&record->callbacks->lock);
        append(record->callbacks, event);
        pthread_mutex_unlock(&record->callbacks->lock);
    }
    record_free(record);
}

/* ---- the client's question ---- */

static void mark_done(struct ath_cuda_callbacks *callbacks, uint64_t ticket)
{
    struct event **at = &callbacks->given;
    while (*at && (*at)->ticket != ticket)
        at = &(*at)->next;
    struct event *found = *at;
    if (!found)
        return;
    *at = found->next;
    found->is_done = true; /* another thread frees it once the lock is open */
    pthread_cond_broadcast(&callbacks->is_done);
}

void ath_cuda_serve_athNextCallback(struct ath_cuda_served *served)
{
    struct ath_cuda_callbacks *callbacks = callbacks_of(served->session);
    uint64_t done =
        ath_cuda_wire_next_callback_done(ath_cuda_wire_call_next_callback(served->call));
    if (!callbacks) {
        served->status = CUDA_ERROR_OUT_OF_MEMORY;
        return;
    }
    pthread_mutex_lock(&callbacks->lock);
    if (done)
        mark_done(callbacks, done);
    pthread_mutex_unlock(&callbacks->lock);
    look_briefly(callbacks, &callbacks->has_due);
    pthread_mutex_lock(&callbacks->lock);
    while (!callbacks->due)
        pthread_cond_wait(&callbacks->is_due, &callbacks->lock);
    struct event *event = callbacks->due, taken = *event;
    callbacks->due = event->next;
    callbacks->has_due = callbacks->due;
    if (event->is_waited_for) {
        event->next = callbacks->given;
        callbacks->given = event;
    } else {
        free(event);
    }
    pthread_mutex_unlock(&callbacks->lock);
    struct ath_cuda_wire_next_callback_result_builder answer =
        ath_cuda_wire_answer_init_next_callback(served->answer);
    ath_cuda_wire_next_callback_result_set_ticket(answer, taken.ticket);
    ath_cuda_wire_next_callback_result_set_callback(answer, taken.id);
    ath_cuda_wire_next_callback_result_set_stream(
        answer, ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_STREAM, taken.stream));
    ath_cuda_wire_next_callback_result_set_status(answer, (uint32_t)taken.status);
    ath_cuda_wire_next_callback_result_set_is_last(answer, taken.is_last);
    served->status = CUDA_SUCCESS;
}

/* ---- on streams ---- */

/* A captured function is called at each launch of the graph. */
static bool is_capturing(const struct ath_cuda_driver *driver, CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver->cuStreamIsCapturing && !driver->cuStreamIsCapturing(stream, &status) &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void ath_cuda_serve_cuLaunchHostFunc(struct ath_cuda_served *served)
{
    NEEDS(served, cuLaunchHostFunc)
    struct ath_cuda_wire_launch_host_func call = ath_cuda_wire_call_launch_host_func(served->call);
    CUstream stream =
        ath_cuda_stream_of(&served->side, ath_cuda_wire_launch_host_func_stream(call));
    if (ath_cuda_refused(served))
        return;
    struct record *record = make_record(served, ath_cuda_wire_launch_host_func_callback(call),
                                        !is_capturing(served->driver, stream));
    if (!record)
        return;
    served->status = served->driver->cuLaunchHostFunc(stream, run_host, record);
    if (served->status)
        record_free(record);
}

void ath_cuda_serve_cuStreamAddCallback(struct ath_cuda_served *served)
{
    NEEDS(served, cuStreamAddCallback)
    struct ath_cuda_wire_stream_add_callback call =
        ath_cuda_wire_call_stream_add_callback(served->call);
    CUstream stream =
        ath_cuda_stream_of(&served->side, ath_cuda_wire_stream_add_callback_stream(call));
    if (ath_cuda_refused(served))
        return;
    struct record *record =
        make_record(served, ath_cuda_wire_stream_add_callback_callback(call), true);
    if (!record)
        return;
    served->status = served->driver->cuStreamAddCallback(
        stream, run_callback, record, ath_cuda_wire_stream_add_callback_flags(call));
    if (served->status)
        record_free(record);
}

/* ---- user objects ---- */

void ath_cuda_serve_cuUserObjectCreate(struct ath_cuda_served *served)
{
    NEEDS(served, cuUserObjectCreate)
    struct ath_cuda_wire_user_object_create call =
        ath_cuda_wire_call_user_object_create(served->call);
    CUuserObject object = NULL;
    struct record *record =
        make_record(served, ath_cuda_wire_user_object_create_callback(call), true);
    if (!record)
        return;
    served->status = served->driver->cuUserObjectCreate(
        &object, record, run_destroy, ath_cuda_wire_user_object_create_initial_refcount(call),
        ath_cuda_wire_user_object_create_flags(call));
    if (served->status)
        record_free(record);
    else
        ath_cuda_wire_user_object_create_result_set_object(
            ath_cuda_wire_answer_init_user_object_create(served->answer),
            ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_USER_OBJECT, (uintptr_t)object));
}

/* ---- host nodes ---- */

static CUgraphNode node_of(struct ath_cuda_side *side, uint64_t wire)
{
    return (CUgraphNode)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_GRAPH_NODE, wire);
}

void ath_cuda_serve_cuGraphAddHostNode(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphAddHostNode)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_graph_add_host_node call =
        ath_cuda_wire_call_graph_add_host_node(served->call);
    CUgraph graph = (CUgraph)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_GRAPH, ath_cuda_wire_graph_add_host_node_graph(call));
    struct ath_wire_list list = ath_cuda_wire_graph_add_host_node_dependencies(call);
    CUgraphNode *dependencies = ath_cuda_room(side, list.count, sizeof *dependencies);
    for (uint32_t i = 0; dependencies && i < list.count; i++)
        dependencies[i] = node_of(side, ath_wire_u64(ath_wire_item(list, i), 0, 0));
    CUgraphNode node = NULL;
    if (ath_cuda_refused(served))
        return;
    struct record *record =
        make_record(served, ath_cuda_wire_graph_add_host_node_callback(call), false);
    if (!record)
        return;
    const CUDA_HOST_NODE_PARAMS params = { .fn = run_host, .userData = record };
    served->status =
        served->driver->cuGraphAddHostNode(&node, graph, dependencies, list.count, &params);
    if (served->status)
        record_free(record);
    else
        ath_cuda_wire_graph_add_host_node_result_set_node(
            ath_cuda_wire_answer_init_graph_add_host_node(served->answer),
            ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
}

void ath_cuda_serve_cuGraphHostNodeGetParams(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphHostNodeGetParams)
    CUgraphNode node =
        node_of(&served->side, ath_cuda_wire_graph_host_node_get_params_node(
                                   ath_cuda_wire_call_graph_host_node_get_params(served->call)));
    CUDA_HOST_NODE_PARAMS params = { 0 };
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuGraphHostNodeGetParams(node, &params);
    if (!served->status && params.fn == run_host)
        ath_cuda_wire_graph_host_node_get_params_result_set_callback(
            ath_cuda_wire_answer_init_graph_host_node_get_params(served->answer),
            ((const struct record *)params.userData)->id);
}

void ath_cuda_serve_cuGraphHostNodeSetParams(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphHostNodeSetParams)
    struct ath_cuda_wire_graph_host_node_set_params call =
        ath_cuda_wire_call_graph_host_node_set_params(served->call);
    CUgraphNode node = node_of(&served->side, ath_cuda_wire_graph_host_node_set_params_node(call));
    struct record *record =
        ath_cuda_refused(served)
            ? NULL
            : make_record(served, ath_cuda_wire_graph_host_node_set_params_callback(call), false);
    if (!record)
        return;
    const CUDA_HOST_NODE_PARAMS params = { .fn = run_host, .userData = record };
    served->status = served->driver->cuGraphHostNodeSetParams(node, &params);
    if (served->status)
        record_free(record);
}

void ath_cuda_serve_cuGraphExecHostNodeSetParams(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphExecHostNodeSetParams)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_graph_exec_host_node_set_params call =
        ath_cuda_wire_call_graph_exec_host_node_set_params(served->call);
    CUgraphExec exec = (CUgraphExec)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_GRAPH_EXEC,
        ath_cuda_wire_graph_exec_host_node_set_params_graph_exec(call));
    CUgraphNode node = node_of(side, ath_cuda_wire_graph_exec_host_node_set_params_node(call));
    struct record *record =
        ath_cuda_refused(served)
            ? NULL
            : make_record(served, ath_cuda_wire_graph_exec_host_node_set_params_callback(call),
                          false);
    if (!record)
        return;
    const CUDA_HOST_NODE_PARAMS params = { .fn = run_host, .userData = record };
    served->status = served->driver->cuGraphExecHostNodeSetParams(exec, node, &params);
    if (served->status)
        record_free(record);
}
