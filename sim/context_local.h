/* Values that libraries keep with a context (cuGetExportTable()). */
#pragma once
#include "sim/sim.h"

struct sim_context;

/* These functions take the lock themselves. */
CUresult sim_local_put(CUcontext context, void *key, void *value,
                       void (*end)(CUcontext, void *, void *));
CUresult sim_local_delete(CUcontext context, void *key);
CUresult sim_local_get(CUcontext context, void *key, void **out);

/* Ends all values of a context. Call without the lock: the libraries' functions may call the
 * driver. */
void sim_context_end_locals(struct sim_context *context);
