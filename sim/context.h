/* Contexts: their life, and finding the context of a call. */
#pragma once
#include "sim/sim.h"

struct sim_local;
struct sim_stream;

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
    unsigned int processors; /* of a green context; 0: not a green context */
    uint64_t holder;         /* thread in which a green context is current; 0: none */
};

/* Finds the thread's current context for a call. Returns an error if there is none, or if it has
 * ended or has a fault. */
CUresult sim_enter(struct sim_context **out);
/* The same for a context by its handle; NULL: the current one. */
CUresult sim_enter_context(CUcontext handle, struct sim_context **out);
struct sim_context *sim_current(void); /* or NULL */

CUresult sim_primary_retain(int device, struct sim_context **out);
/* Makes another context, which is not current in any thread. */
CUresult sim_context_make(int device, struct sim_context **out);
/* Ends everything in a context. The context itself stays, because the program has its handle. */
void sim_context_end(struct sim_context *context);
/* Records the fault of a kernel; an earlier fault stays. */
void sim_context_fail(struct sim_context *context, CUresult fault);

struct sim_context *sim_contexts(void); /* the head of the list */
void sim_drain_all(void);               /* waits for all streams of all contexts */
