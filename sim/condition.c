/*
 * Conditional nodes of graphs: a graph that runs if, or as often as, or at the place that a value
 * says. A handle names the value. On a GPU kernels set it by cudaGraphSetConditional(), in the
 * simulator the kernel set_conditional does.
 */
#include "config.h"

#include "sim/condition.h"

#include <stdlib.h>

#include "sim/context.h"
#include "sim/graph.h"
#include "sim/graph_list.h"
#include "sim/work.h"

enum { BODIES_MAX = 64 };

static struct condition {
    struct condition *next;
    CUgraphConditionalHandle handle;
    unsigned int initial, value;
    bool is_assigned; /* each launch sets the initial value */
    bool is_used;     /* by a node; only one node may use it */
} * conditions;

struct condition_work {
    struct sim_work work;
    struct condition *condition;
    CUgraphConditionalNodeType type;
    size_t count;
    struct sim_graph *bodies[];
};

static struct condition *find(CUgraphConditionalHandle handle)
{
    struct condition *one = conditions;
    while (one && one->handle != handle)
        one = one->next;
    return one;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph_handle,
                                        CUcontext context, unsigned int initial, unsigned int flags)
{
    SIM_LOCKED;
    static CUgraphConditionalHandle last;
    struct sim_graph *graph;
    CUresult status = sim_graph_find(graph_handle, &graph);
    (void)context;
    if (status)
        return status;
    if (!out || flags & ~(unsigned int)CU_GRAPH_COND_ASSIGN_DEFAULT)
        return CUDA_ERROR_INVALID_VALUE;
    struct condition *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *made = (struct condition){ .next = conditions,
                                .handle = ++last,
                                .initial = initial,
                                .is_assigned = flags & CU_GRAPH_COND_ASSIGN_DEFAULT };
    conditions = made;
    *out = made->handle;
    return CUDA_SUCCESS;
}

bool sim_condition_set(CUgraphConditionalHandle handle, unsigned int value)
{
    SIM_LOCKED;
    struct condition *condition = find(handle);
    if (condition)
        condition->value = value;
    return condition;
}

void sim_condition_launch(struct sim_work *work)
{
    if (work->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return;
    SIM_LOCKED;
    struct condition *condition = ((struct condition_work *)work)->condition;
    if (condition->is_assigned)
        condition->value = condition->initial;
}

static unsigned int value_of(const struct condition *condition)
{
    SIM_LOCKED;
    return condition->value;
}

/* Returns the index of the body to run now; count: none. */
static size_t choose(const struct condition_work *node)
{
    unsigned int value = value_of(node->condition);
    switch (node->type) {
    case CU_GRAPH_COND_TYPE_IF:
        return value ? 0 : 1; /* the second body is the else branch */
    case CU_GRAPH_COND_TYPE_WHILE:
        return value ? 0 : 1;
    default:
        return value < node->count ? value : node->count;
    }
}

static CUresult run(struct sim_work *work, struct sim_context *context)
{
    const struct condition_work *node = (struct condition_work *)work;
    CUresult status = CUDA_SUCCESS;
    for (size_t body; !status && (body = choose(node)) < node->count;) {
        status = sim_graph_run(node->bodies[body], context);
        if (node->type != CU_GRAPH_COND_TYPE_WHILE)
            break;
    }
    return status;
}

static void end(struct sim_work *work)
{
    struct condition_work *node = (struct condition_work *)work;
    for (size_t i = 0; i < node->count; i++)
        sim_graph_end(node->bodies[i]);
    node->condition->is_used = false;
}

static bool is_sane(const CUDA_CONDITIONAL_NODE_PARAMS *params, const struct condition *condition)
{
    const unsigned int most = params->type == CU_GRAPH_COND_TYPE_IF       ? 2
                              : params->type == CU_GRAPH_COND_TYPE_WHILE  ? 1
                              : params->type == CU_GRAPH_COND_TYPE_SWITCH ? BODIES_MAX
                                                                          : 0;
    return condition && !condition->is_used && params->size && params->size <= most;
}

CUresult sim_condition_work(const void *asked, struct sim_work **out)
{
    const CUDA_CONDITIONAL_NODE_PARAMS *params = asked;
    struct condition *condition = find(params->handle);
    if (!is_sane(params, condition))
        return CUDA_ERROR_INVALID_VALUE;
    struct condition_work *made = calloc(1, sizeof *made + params->size * sizeof *made->bodies);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->work = (struct sim_work){
        .refs = 1, .type = CU_GRAPH_NODE_TYPE_CONDITIONAL, .run = run, .end = end
    };
    made->condition = condition;
    made->type = params->type;
    condition->is_used = true;
    for (CUresult status = CUDA_SUCCESS; made->count < params->size; made->count++) {
        status = sim_graph_new(&made->bodies[made->count]);
        if (status) {
            sim_work_drop(&made->work);
            return status;
        }
        made->bodies[made->count]->is_body = true;
    }
    *out = &made->work;
    return CUDA_SUCCESS;
}

CUgraph *sim_condition_bodies(struct sim_work *work)
{
    return (CUgraph *)(void *)((struct condition_work *)work)->bodies;
}
