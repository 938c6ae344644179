/*
 * Host functions: functions of the program that a driver calls in a stream's order. They run in the
 * program, in one thread that asks the server for the next due function. The server's stream waits
 * until the thread reports that the function returned. Mirrored memory is synchronized before each
 * function, by the answer that names it, and after it.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/thread.h"
#include "cuda/client/client.h"
#include "cuda/client/host_callback.h"
#include "cuda/client/mirror.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

struct callback {
    struct ath_map_entry entry; /* by the number in messages */
    CUhostFn function;          /* NULL if on_stream is set */
    CUstreamCallback on_stream; /* of cuStreamAddCallback(); NULL if function is set */
    void *user_data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ath_map callbacks = ATH_MAP(8);
static uint64_t last_id;
static bool is_running;
static atomic_long due_count; /* callbacks of graph nodes are never subtracted */

bool ath_cuda_callbacks_due(void)
{
    return due_count > 0;
}

/* Returns the number that stands for a function in messages; 0 if memory runs out. */
static uint64_t register_callback(CUhostFn function, CUstreamCallback on_stream, void *user_data)
{
    struct callback *made = calloc(1, sizeof *made);
    if (!made)
        return 0;
    pthread_mutex_lock(&lock);
    uint64_t id = ++last_id;
    *made =
        (struct callback){ .function = function, .on_stream = on_stream, .user_data = user_data };
    ath_map_add(&callbacks, &made->entry, id);
    due_count++;
    pthread_mutex_unlock(&lock);
    return id;
}

/* Copies the callback of a number, and removes it after its last use. Returns false if there is
 * none. */
static bool find_callback(uint64_t id, bool is_last, struct callback *out)
{
    pthread_mutex_lock(&lock);
    struct ath_map_entry **at = ath_map_at(&callbacks, id);
    struct callback *found = (struct callback *)*at;
    if (found)
        *out = *found;
    if (is_last)
        ath_map_take(at);
    pthread_mutex_unlock(&lock);
    if (is_last)
        free(found);
    return found;
}

/* ---- the thread that runs the functions ---- */

struct due {
    uint64_t ticket, id;
    CUstream stream;
    CUresult status;
    bool is_last;
};

static CUresult next_due(uint64_t done, struct due *out)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athNextCallback);
    if (status)
        return status;
    ath_cuda_wire_next_callback_set_done(ath_cuda_wire_call_init_next_callback(exchange.call),
                                         done);
    status = ath_cuda_ask(&exchange);
    if (!status) {
        struct ath_cuda_wire_next_callback_result answer =
            ath_cuda_wire_answer_next_callback(exchange.answer);
        out->ticket = ath_cuda_wire_next_callback_result_ticket(answer);
        out->id = ath_cuda_wire_next_callback_result_callback(answer);
        out->stream =
            (CUstream)(uintptr_t)ath_cuda_to_own(&exchange.side, ATH_CUDA_KIND_STREAM,
                                                 ath_cuda_wire_next_callback_result_stream(answer));
        out->status = (CUresult)ath_cuda_wire_next_callback_result_status(answer);
        out->is_last = ath_cuda_wire_next_callback_result_is_last(answer);
    }
    return ath_cuda_end(&exchange, status);
}

static void run_callback(const struct due *due)
{
    struct callback callback;
    if (!find_callback(due->id, due->is_last, &callback))
        return;
    ath_cuda_this_thread()->is_in_callback = true;
    if (callback.on_stream)
        callback.on_stream(due->stream, due->status, callback.user_data);
    else
        callback.function(callback.user_data);
    ath_cuda_this_thread()->is_in_callback = false;
    ath_cuda_mirror_push_all(true);
    due_count -= due->is_last;
}

static void *run_callbacks(void *unused)
{
    struct due due = { 0 };
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (thread)
        thread->is_ours = true;
    while (thread && !next_due(due.ticket, &due))
        run_callback(&due);
    pthread_mutex_lock(&lock);
    is_running = false;
    pthread_mutex_unlock(&lock);
    return unused;
}

static CUresult start_thread(void)
{
    pthread_mutex_lock(&lock);
    if (!is_running)
        is_running = !ath_thread_start(NULL, run_callbacks, NULL);
    bool is_there = is_running;
    pthread_mutex_unlock(&lock);
    return is_there ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Registers a function and starts the thread that runs it. */
static CUresult prepare_callback(CUhostFn function, CUstreamCallback on_stream, void *user_data,
                                 uint64_t *out_id)
{
    if (!function && !on_stream)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = start_thread();
    if (!status && !(*out_id = register_callback(function, on_stream, user_data)))
        status = CUDA_ERROR_OUT_OF_MEMORY;
    return status;
}

/* Removes the function of a call that failed. */
static CUresult unless_failed(CUresult status, uint64_t id)
{
    struct callback unused;
    if (status && find_callback(id, true, &unused))
        due_count--;
    return status;
}

/* ---- on streams ---- */

CUresult ath_cuda_by_hand_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user_data)
{
    struct ath_cuda_exchange exchange;
    uint64_t id = 0;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLaunchHostFunc);
    if (status)
        return status;
    status = prepare_callback(function, NULL, user_data, &id);
    if (status)
        return ath_cuda_end(&exchange, status);
    struct ath_cuda_wire_launch_host_func_builder call =
        ath_cuda_wire_call_init_launch_host_func(exchange.call);
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
    ath_cuda_wire_launch_host_func_set_stream(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    ath_cuda_wire_launch_host_func_set_callback(call, id);
    return unless_failed(ath_cuda_end(&exchange, ath_cuda_post(&exchange)), id);
}

CUresult ath_cuda_by_hand_cuStreamAddCallback(CUstream stream, CUstreamCallback callback,
                                              void *user_data, unsigned int flags)
{
    struct ath_cuda_exchange exchange;
    uint64_t id = 0;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuStreamAddCallback);
    if (status)
        return status;
    status = flags ? CUDA_ERROR_INVALID_VALUE : prepare_callback(NULL, callback, user_data, &id);
    if (status)
        return ath_cuda_end(&exchange, status);
    struct ath_cuda_wire_stream_add_callback_builder call =
        ath_cuda_wire_call_init_stream_add_callback(exchange.call);
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
    ath_cuda_wire_stream_add_callback_set_stream(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    ath_cuda_wire_stream_add_callback_set_callback(call, id);
    return unless_failed(ath_cuda_end(&exchange, ath_cuda_ask(&exchange)), id);
}

/* ---- user objects ---- */

CUresult ath_cuda_by_hand_cuUserObjectCreate(CUuserObject *object, void *address, CUhostFn destroy,
                                             unsigned int initial_refcount, unsigned int flags)
{
    struct ath_cuda_exchange exchange;
    uint64_t id = 0;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuUserObjectCreate);
    if (status)
        return status;
    status = object ? prepare_callback(destroy, NULL, address, &id) : CUDA_ERROR_INVALID_VALUE;
    if (status)
        return ath_cuda_end(&exchange, status);
    struct ath_cuda_wire_user_object_create_builder call =
        ath_cuda_wire_call_init_user_object_create(exchange.call);
    ath_cuda_wire_user_object_create_set_callback(call, id);
    ath_cuda_wire_user_object_create_set_initial_refcount(call, initial_refcount);
    ath_cuda_wire_user_object_create_set_flags(call, flags);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *object = (CUuserObject)(uintptr_t)ath_cuda_to_own(
            &exchange.side, ATH_CUDA_KIND_USER_OBJECT,
            ath_cuda_wire_user_object_create_result_object(
                ath_cuda_wire_answer_user_object_create(exchange.answer)));
    return unless_failed(ath_cuda_end(&exchange, status), id);
}

/* ---- host nodes ---- */

CUresult ath_cuda_by_hand_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph,
                                             const CUgraphNode *dependencies,
                                             size_t dependency_count,
                                             const CUDA_HOST_NODE_PARAMS *params)
{
    struct ath_cuda_exchange exchange;
    uint64_t id = 0;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphAddHostNode);
    if (status)
        return status;
    if (!node || !params || (!dependencies && dependency_count))
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    status = prepare_callback(params->fn, NULL, params->userData, &id);
    if (status)
        return ath_cuda_end(&exchange, status);
    struct ath_cuda_side *side = &exchange.side;
    struct ath_cuda_wire_graph_add_host_node_builder call =
        ath_cuda_wire_call_init_graph_add_host_node(exchange.call);
    ath_cuda_wire_graph_add_host_node_set_graph(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH, (uintptr_t)graph));
    struct ath_wire_array list =
        ath_cuda_wire_graph_add_host_node_init_dependencies(call, ath_cuda_items(dependency_count));
    for (uint32_t i = 0; dependencies && i < list.count; i++)
        ath_wire_array_set_bits(
            list, i, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)dependencies[i]));
    ath_cuda_wire_graph_add_host_node_set_callback(call, id);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *node = (CUgraphNode)(uintptr_t)ath_cuda_to_own(
            side, ATH_CUDA_KIND_GRAPH_NODE,
            ath_cuda_wire_graph_add_host_node_result_node(
                ath_cuda_wire_answer_graph_add_host_node(exchange.answer)));
    return unless_failed(ath_cuda_end(&exchange, status), id);
}

CUresult ath_cuda_by_hand_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphHostNodeGetParams);
    if (status)
        return status;
    if (!params)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    ath_cuda_wire_graph_host_node_get_params_set_node(
        ath_cuda_wire_call_init_graph_host_node_get_params(exchange.call),
        ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
    status = ath_cuda_ask(&exchange);
    if (!status) {
        struct callback callback = { 0 };
        find_callback(ath_cuda_wire_graph_host_node_get_params_result_callback(
                          ath_cuda_wire_answer_graph_host_node_get_params(exchange.answer)),
                      false, &callback);
        *params =
            (CUDA_HOST_NODE_PARAMS){ .fn = callback.function, .userData = callback.user_data };
    }
    return ath_cuda_end(&exchange, status);
}

/* The node's old function stays registered: an executable graph made of the node may still run
 * it. */
CUresult ath_cuda_by_hand_cuGraphHostNodeSetParams(CUgraphNode node,
                                                   const CUDA_HOST_NODE_PARAMS *params)
{
    struct ath_cuda_exchange exchange;
    uint64_t id = 0;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphHostNodeSetParams);
    if (status)
        return status;
    status = params ? prepare_callback(params->fn, NULL, params->userData, &id)
                    : CUDA_ERROR_INVALID_VALUE;
    if (status)
        return ath_cuda_end(&exchange, status);
    struct ath_cuda_wire_graph_host_node_set_params_builder call =
        ath_cuda_wire_call_init_graph_host_node_set_params(exchange.call);
    ath_cuda_wire_graph_host_node_set_params_set_node(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
    ath_cuda_wire_graph_host_node_set_params_set_callback(call, id);
    return unless_failed(ath_cuda_end(&exchange, ath_cuda_ask(&exchange)), id);
}

CUresult ath_cuda_by_hand_cuGraphExecHostNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                                       const CUDA_HOST_NODE_PARAMS *params)
{
    struct ath_cuda_exchange exchange;
    uint64_t id = 0;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphExecHostNodeSetParams);
    if (status)
        return status;
    status = params ? prepare_callback(params->fn, NULL, params->userData, &id)
                    : CUDA_ERROR_INVALID_VALUE;
    if (status)
        return ath_cuda_end(&exchange, status);
    struct ath_cuda_wire_graph_exec_host_node_set_params_builder call =
        ath_cuda_wire_call_init_graph_exec_host_node_set_params(exchange.call);
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_GRAPH_EXEC, (uintptr_t)graph_exec);
    ath_cuda_wire_graph_exec_host_node_set_params_set_graph_exec(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_GRAPH_EXEC, (uintptr_t)graph_exec));
    ath_cuda_wire_graph_exec_host_node_set_params_set_node(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
    ath_cuda_wire_graph_exec_host_node_set_params_set_callback(call, id);
    return unless_failed(ath_cuda_end(&exchange, ath_cuda_ask(&exchange)), id);
}
