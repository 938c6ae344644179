/* The context that is current in a worker's thread; contexts that have ended, and green ones. Any
 * thread. */
#pragma once
#include "cuda/server/server.h"

/* Gives this thread the context and the capture mode of the client's thread. If the context cannot
 * be current, served->context_status says why; a call that needs none is served all the same. */
CUresult ath_cuda_become(struct ath_cuda_served *served);

/* Lets other workers have the worker's green context after a call. */
void ath_cuda_let_go_of_green(struct ath_cuda_worker *worker);

/* Returns whether a status says that the thread's context has ended. Calls that need no context
 * work all the same, as with CUDA, and the others say so. */
static inline bool ath_cuda_has_no_context(CUresult status)
{
    return status == CUDA_ERROR_CONTEXT_IS_DESTROYED || status == CUDA_ERROR_INVALID_CONTEXT;
}

/* Notes that cuCtxDestroy() has ended a context, or that a new one has its handle (is: false). */
void ath_cuda_note_ended(struct ath_cuda_session *session, CUcontext context, bool is);

/* Notes that a context is a green one: it is current to one worker at most. */
CUresult ath_cuda_note_green(struct ath_cuda_session *session, CUcontext context);

/* Frees the lists of ended and of green contexts. */
void ath_cuda_noted_free(struct ath_cuda_session *session);
