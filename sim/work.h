/* Works: what streams run, one after another. */
#pragma once
#include "sim/copy.h"
#include "sim/launch.h"
#include "sim/sim.h"

struct sim_context;
struct sim_event;
struct sim_graph;
struct sim_list;
struct sim_range;
struct sim_stream;
struct sim_user_object;

/* The completion of an asynchronous call: done when that call and all before it are done. */
struct sim_mark {
    unsigned int refs;
    bool is_done;
    int64_t time_ns; /* of completion, by the monotonic clock */
};

struct sim_mark *sim_mark_ref(struct sim_mark *mark); /* takes NULL */
void sim_mark_drop(struct sim_mark *mark);
void sim_mark_wait(struct sim_mark *mark); /* NULL: does not wait; releases the lock meanwhile */

struct sim_host_call {
    CUhostFn function;         /* of cuLaunchHostFunc */
    CUstreamCallback callback; /* of cuStreamAddCallback; only one of the two is set */
    CUstream stream;
    void *data;
};

struct sim_value_op { /* cuStreamWaitValue, cuStreamWriteValue */
    uint64_t address, value;
    unsigned int bytes, flags;
    bool is_wait;
};

/* One work of a stream, shared by a graph, its executables and their launches. */
struct sim_work {
    unsigned int refs;
    CUgraphNodeType type;
    bool runs_after_fault;
    /* Runs without the lock. Returns 0, or the fault of the context. */
    CUresult (*run)(struct sim_work *work, struct sim_context *context);
    /* Frees what the work holds; called with the lock. NULL: nothing to free. */
    void (*end)(struct sim_work *work);
    union {
        struct sim_copy copy;
        struct sim_fill fill;
        struct sim_launch launch;
        struct sim_host_call host;
        struct sim_value_op value;
        struct sim_event *event;
        struct sim_range *range;             /* to free, or allocated in a graph */
        struct sim_list *list;               /* of a graph's launch */
        struct sim_graph *graph;             /* of a child graph */
        struct sim_user_object *user_object; /* of a graph's hold */
    };
};

/* Returns work of zeros with these members and one reference; NULL: out of memory. */
struct sim_work *sim_work_new(CUgraphNodeType type,
                              CUresult (*run)(struct sim_work *, struct sim_context *),
                              void (*end)(struct sim_work *));
struct sim_work *sim_work_ref(struct sim_work *work);
void sim_work_drop(struct sim_work *work); /* takes NULL */
CUresult sim_run_nothing(struct sim_work *work, struct sim_context *context);

/* Takes over the reference to work, also on failure. work NULL returns CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sim_submit(struct sim_stream *stream, struct sim_work *work, struct sim_mark **out_mark);

int64_t sim_now_ns(void); /* by the monotonic clock */
