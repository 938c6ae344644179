/* Lists of a graph's works: making them from the graph, and running them. */
#include "config.h"

#include "sim/graph_list.h"

#include <stdlib.h>
#include <string.h>

#include "sim/condition.h"
#include "sim/context.h"
#include "sim/graph.h"
#include "sim/work.h"

void sim_list_drop(struct sim_list *list)
{
    if (!list || --list->refs)
        return;
    for (size_t i = 0; i < list->count + list->hold_count; i++)
        sim_work_drop(list->items[i].work);
    if (!--list->shape->refs)
        free(list->shape);
    free(list);
}

struct sim_list *sim_list_copy(const struct sim_list *list, size_t more)
{
    size_t bytes = sizeof *list + (list->count + list->hold_count) * sizeof *list->items;
    struct sim_list *copy = malloc(bytes + more * sizeof *list->items);
    if (!copy)
        return NULL;
    memcpy(copy, list, bytes);
    copy->refs = 1;
    copy->shape->refs++;
    return copy;
}

/* Returns the number of works and holds of a graph and its children. */
static size_t count_works(const struct sim_graph *graph)
{
    size_t count = sim_graph_count_holds(graph, NULL);
    for (size_t i = 0; i < graph->count; i++) {
        const struct sim_work *work = graph->nodes[i]->work;
        count += 1 + (sim_work_is_child(work) ? count_works(work->graph) : 0);
    }
    return count;
}

static size_t count_needs(const struct sim_graph *graph)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->count; i++) {
        const struct sim_work *work = graph->nodes[i]->work;
        count += graph->nodes[i]->need_count;
        count += sim_work_is_child(work) ? count_needs(work->graph) : 0;
    }
    return count;
}

/* Notes the dependencies of a work. numbers: the items of the graph's nodes, by their order. */
static void add_needs(const struct sim_node *node, const size_t *numbers, struct sim_list *list,
                      struct sim_list_item *item)
{
    item->first_need = list->shape->count;
    item->need_count = node->need_count;
    for (size_t i = 0; i < node->need_count; i++)
        list->shape->needs[list->shape->count++] = numbers[node->needs[i]->order - 1];
}

/* Adds the graph's works, and in place of a child node the works of the child. Returns false if
 * there is a cycle. */
static bool flatten(struct sim_graph *graph, struct sim_list *list)
{
    if (!sim_graph_sort(graph))
        return false;
    struct sim_node **sorted = calloc(graph->count + 1, sizeof *sorted);
    size_t *numbers = calloc(graph->count + 1, sizeof *numbers);
    bool is_fine = sorted && numbers;
    for (size_t i = 0; is_fine && i < graph->count; i++)
        sorted[graph->nodes[i]->order - 1] = graph->nodes[i];
    for (size_t i = 0; is_fine && i < graph->count; i++) {
        struct sim_work *work = sorted[i]->work;
        numbers[i] = list->count;
        struct sim_list_item *item = &list->items[list->count++];
        *item = (struct sim_list_item){ .work = sim_work_ref(work), .node = sorted[i] };
        add_needs(sorted[i], numbers, list, item);
        if (sim_work_is_child(work))
            is_fine = flatten(work->graph, list);
        item->inside = (size_t)(&list->items[list->count] - item) - 1;
    }
    free(sorted);
    free(numbers);
    return is_fine;
}

static void add_holds(const struct sim_graph *graph, struct sim_list *list)
{
    for (const struct sim_hold *hold = graph->holds; hold; hold = hold->next)
        list->items[list->count + list->hold_count++].work = sim_work_ref(hold->work);
    for (size_t i = 0; i < graph->count; i++)
        if (sim_work_is_child(graph->nodes[i]->work))
            add_holds(graph->nodes[i]->work->graph, list);
}

CUresult sim_list_make(struct sim_graph *graph, struct sim_list **out)
{
    struct sim_list *list = calloc(1, sizeof *list + count_works(graph) * sizeof *list->items);
    struct sim_list_shape *shape =
        calloc(1, sizeof *shape + count_needs(graph) * sizeof *shape->needs);
    if (!list || !shape) {
        free(list);
        free(shape);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    list->refs = shape->refs = 1;
    list->shape = shape;
    if (!flatten(graph, list)) {
        sim_list_drop(list);
        return CUDA_ERROR_INVALID_VALUE;
    }
    add_holds(graph, list);
    *out = list;
    return CUDA_SUCCESS;
}

CUresult sim_list_run(const struct sim_list *list, struct sim_context *context)
{
    CUresult status = CUDA_SUCCESS;
    for (size_t i = 0; i < list->count; i++)
        sim_condition_launch(list->items[i].work);
    for (size_t i = 0; i < list->count && !status; i++)
        if (!list->items[i].is_disabled)
            status = list->items[i].work->run(list->items[i].work, context);
    return status;
}

CUresult sim_graph_run(struct sim_graph *graph, struct sim_context *context)
{
    struct sim_list *list = NULL;
    sim_lock();
    CUresult status = sim_list_make(graph, &list);
    sim_unlock();
    if (!status)
        status = sim_list_run(list, context);
    sim_lock();
    sim_list_drop(list);
    sim_unlock();
    return status;
}
