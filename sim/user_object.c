/*
 * User objects: a program's function that is called once no graph uses the object any more. A
 * thread of its own calls it, because the thread that drops the last reference holds the lock.
 */
#include "config.h"

#include "sim/sim.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "sim/device.h"
#include "sim/graph.h"
#include "sim/thread.h"
#include "sim/work.h"

struct sim_user_object {
    struct sim_object object;
    unsigned int refs;
    CUhostFn destroy;
    void *data;
};

static void *tell(void *argument)
{
    struct sim_user_object *ended = argument;
    sim_thread()->is_in_callback = true;
    ended->destroy(ended->data);
    free(ended);
    return NULL;
}

static void release(struct sim_user_object *object, unsigned int count)
{
    pthread_t thread;
    sigset_t all, before;
    object->refs -= count;
    if (object->refs)
        return;
    sim_object_forget(&object->object);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, tell, object))
        pthread_detach(thread);
    else
        free(object);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static CUresult find(CUuserObject handle, unsigned int count, struct sim_user_object **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_object_find(SIM_USER_OBJECT, handle);
    return *out && count && count <= INT32_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuUserObjectCreate(CUuserObject *out, void *data, CUhostFn destroy, unsigned int count,
                            unsigned int flags)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!out || !destroy || !count || count > INT32_MAX ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_user_object *made = sim_object_new(SIM_USER_OBJECT, NULL, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->refs = count;
    made->destroy = destroy;
    made->data = data;
    *out = (CUuserObject)made;
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count)
{
    SIM_LOCKED;
    struct sim_user_object *object;
    CUresult status = find(handle, count, &object);
    if (!status)
        object->refs += count;
    return status;
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count)
{
    SIM_LOCKED;
    struct sim_user_object *object;
    CUresult status = find(handle, count, &object);
    if (!status && count > object->refs)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        release(object, count);
    return status;
}

static void end_hold(struct sim_work *work)
{
    release(work->user_object, 1);
}

CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count,
                                 unsigned int flags)
{
    SIM_LOCKED;
    struct sim_graph *graph = NULL;
    struct sim_user_object *object;
    CUresult status = find(handle, count, &object);
    if (!status)
        status = sim_graph_find(graph_handle, &graph);
    if (!status && (flags & ~(unsigned int)CU_GRAPH_USER_OBJECT_MOVE ||
                    (flags & CU_GRAPH_USER_OBJECT_MOVE && count > object->refs)))
        status = CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; !status && i < count; i++) {
        struct sim_work *work = sim_work_new(CU_GRAPH_NODE_TYPE_EMPTY, sim_run_nothing, end_hold);
        if (work) {
            work->user_object = object;
            object->refs++;
        }
        status = sim_graph_hold(graph, work);
    }
    if (!status && flags & CU_GRAPH_USER_OBJECT_MOVE)
        release(object, count);
    return status;
}

CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count)
{
    SIM_LOCKED;
    struct sim_graph *graph = NULL;
    struct sim_user_object *object;
    CUresult status = find(handle, count, &object);
    if (!status)
        status = sim_graph_find(graph_handle, &graph);
    if (!status && sim_graph_count_holds(graph, object) < count)
        status = CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; !status && i < count; i++)
        sim_graph_drop_hold(graph, object);
    return status;
}
