/* Handles of a call: checks those of the client, and notes those that the driver returns. */
#include "config.h"

#include "cuda/server/handle_conversion.h"

#include "cuda/common/promise.h"
#include "cuda/server/region.h"
#include "cuda/server/regions.h"
#include "cuda/server/thread_stream.h"

/* Checks that a handle names an object that the client has received: the driver reads through any
 * handle. Notes the objects that a result may belong to. Returns the driver's handle. */
static uint64_t check_object(struct ath_cuda_served *served, struct ath_cuda_object_name name)
{
    bool is_default_stream =
        name.kind == ATH_CUDA_KIND_STREAM && name.handle <= (uintptr_t)CU_STREAM_PER_THREAD;
    uint64_t own = name.handle;
    if (!name.handle || is_default_stream)
        return own;
    if (!ath_cuda_object_serial(&served->session->objects, name, &own))
        served->side.status = ath_cuda_wrong_handle(name.kind);
    name.handle = own;
    if (!served->first.handle)
        served->first = name;
    if (name.kind == ATH_CUDA_KIND_GRAPH)
        served->graph = name;
    return own;
}

/* A program cannot destroy the default stream of its thread, which would be used again. */
static uint64_t own_stream_of_thread(struct ath_cuda_served *served)
{
    if (ath_cuda_methods[served->method].ends_subject != ATH_CUDA_KIND_STREAM)
        return (uintptr_t)ath_cuda_stream_of_thread(served);
    served->side.status = CUDA_ERROR_INVALID_HANDLE;
    return 0;
}

uint64_t ath_cuda_served_to_own(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t wire)
{
    struct ath_cuda_served *served = (struct ath_cuda_served *)side;
    if (kind == ATH_CUDA_KIND_STREAM && wire == (uintptr_t)CU_STREAM_PER_THREAD)
        return own_stream_of_thread(served);
    if (kind == ATH_CUDA_KIND_HOST || kind == ATH_CUDA_KIND_ADDRESS)
        ath_cuda_region_open_at(served->session, wire);
    if (kind == ATH_CUDA_KIND_HOST && wire) {
        void *here = ath_cuda_region_at(served->session, wire, 1, false);
        if (!here)
            side->status = CUDA_ERROR_INVALID_VALUE; /* it would be this process's own */
        return (uintptr_t)here;
    }
    if (ath_cuda_is_object(kind))
        return check_object(served, (struct ath_cuda_object_name){ kind, wire });
    return wire;
}

/* Returns whether objects of a kind end with the context in which they were made. */
static bool is_of_context(enum ath_cuda_kind kind, const struct ath_cuda_method_facts *facts)
{
    switch (kind) {
    case ATH_CUDA_KIND_ARRAY:
    case ATH_CUDA_KIND_EVENT:
    case ATH_CUDA_KIND_MIPMAPPED_ARRAY:
    case ATH_CUDA_KIND_MODULE:
    case ATH_CUDA_KIND_STREAM:
        return facts->makes && !facts->in_green;
    default:
        return false;
    }
}

/* Returns the object that a result ends with. */
static struct ath_cuda_object_name parent_of(const struct ath_cuda_served *served,
                                             enum ath_cuda_kind kind)
{
    if (ath_cuda_object_ends_with(kind, served->first.kind))
        return served->first;
    if (ath_cuda_object_ends_with(kind, served->graph.kind))
        return served->graph;
    return (struct ath_cuda_object_name){ ATH_CUDA_KIND_CONTEXT,
                                          is_of_context(kind, &ath_cuda_methods[served->method])
                                              ? (uintptr_t)served->worker->context
                                              : 0 };
}

/* Returns the handle by which the client has a library, module, kernel or function: what the call
 * promises, or an earlier call promised. */
static uint64_t promised_of(const struct ath_cuda_served *served, struct ath_cuda_object_name name)
{
    switch (name.kind) {
    case ATH_CUDA_KIND_FUNCTION:
        return ath_cuda_object_promise(&served->session->objects, name,
                                       ath_cuda_promise_function(served->promised));
    case ATH_CUDA_KIND_KERNEL:
    case ATH_CUDA_KIND_LIBRARY:
    case ATH_CUDA_KIND_MODULE:
        return ath_cuda_object_promise(&served->session->objects, name, served->promised);
    default:
        return name.handle;
    }
}

uint64_t ath_cuda_served_to_wire(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own)
{
    const struct ath_cuda_served *served = (const struct ath_cuda_served *)side;
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[served->method];
    struct ath_cuda_object_table *objects = &served->session->objects;
    const struct ath_cuda_object_name name = { kind, own };
    if (!ath_cuda_is_object(kind))
        return own;
    ath_cuda_object_note(objects, name, parent_of(served, kind), facts->makes);
    if (facts->retains_device)
        ath_cuda_object_note_primary(objects, own,
                                     (int)ath_cuda_subject(served->call, served->method));
    return own ? promised_of(served, name) : own;
}
