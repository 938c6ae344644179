/*
 * The objects behind the handles of programs, and their registry.
 *
 * A handle is the address of an object. A handle that is not in the registry returns an error and
 * is never dereferenced. Objects belong to a context and end with it. All functions need the lock.
 */
#pragma once
#include <stddef.h>

enum sim_kind {
    SIM_ALLOCATION = 1,
    SIM_ARRAY,
    SIM_CONTEXT,
    SIM_EVENT,
    SIM_EXEC,
    SIM_FUNCTION,
    SIM_GRAPH,
    SIM_KERNEL,
    SIM_LIBRARY,
    SIM_LINKER,
    SIM_MIPMAP,
    SIM_MODULE,
    SIM_NODE,
    SIM_POOL,
    SIM_STREAM,
    SIM_USER_OBJECT,
};

struct sim_context;

/* The first member of every object with a handle. */
struct sim_object {
    enum sim_kind kind;
    struct sim_context *context; /* NULL: of no context */
    struct sim_object *next;     /* of the registry */
};

/* Returns a registered object of zeroed memory; NULL: out of memory. */
void *sim_object_new(enum sim_kind kind, struct sim_context *context, size_t bytes);
void *sim_object_find(enum sim_kind kind, const void *handle); /* or NULL */
void sim_object_forget(struct sim_object *object);             /* unregisters; does not free */
/* Returns an object of a kind and a context, or NULL. Searches from the beginning at each call. */
struct sim_object *sim_object_of(const struct sim_context *context, enum sim_kind kind);
