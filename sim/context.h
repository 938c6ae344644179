/* Contexts. A context is never freed, because the program has its handle. */
#pragma once
#include "sim/sim.h"

struct sim_local;
struct sim_stream;

/* CU_CTX_SCHED_MASK, MAP_HOST, LMEM_RESIZE_TO_MAX, COREDUMP_ENABLE, USER_COREDUMP_ENABLE,
 * SYNC_MEMOPS */
enum { SIM_CONTEXT_FLAGS = 0xff & ~0x04 };

struct sim_context {
    struct sim_object object;
    int device;
    size_t charged_bytes;     /* of the device's memory, for the context itself */
    struct sim_context *next; /* of all */
    unsigned long long id;
    unsigned int flags, api_version;
    bool is_primary, is_alive;
    CUresult fault;                      /* the result of all calls from now on; 0: none */
    struct sim_stream *legacy, *streams; /* streams contains legacy */
    size_t limits[16];
    CUfunc_cache cache;
    unsigned int peers; /* a bit for each device that it may access */
    struct sim_local *locals;
    uint64_t processors;       /* of a green context, a bit for each; 0: not a green context */
    struct sim_context *whole; /* of a green context: the primary one, whose code it runs */
    uint64_t holder;           /* thread in which a green context is current; 0: none */
};

/* Returns the memory of a context that has not begun; NULL: out of memory. */
struct sim_context *sim_context_new(void);
/* Begins a context, also again after its end. */
CUresult sim_context_start(struct sim_context *context, int device, unsigned int flags);
/* Makes another context, which is not current in any thread. */
CUresult sim_context_make(int device, struct sim_context **out);
/* Ends everything in a context. */
void sim_context_end(struct sim_context *context);
/* Records the fault of a kernel; an earlier fault stays. */
void sim_context_fail(struct sim_context *context, CUresult fault);

/* The context whose code, events and streams a context can use: a green context's primary one. */
static inline const struct sim_context *sim_family(const struct sim_context *context)
{
    return context->whole ? context->whole : context;
}

/* The multiprocessors on which kernels of a context run, a bit for each. */
uint64_t sim_processors(const struct sim_context *context);

struct sim_context *sim_contexts(void); /* the head of the list */
void sim_drain_all(void);               /* waits for all streams of all contexts */
