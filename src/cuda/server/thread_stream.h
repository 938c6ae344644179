/* The default streams of the client's threads, in the list session->streams under session->lock.
 * Any thread. */
#pragma once
#include "cuda/server/server.h"

/* Returns the stream of the calling thread of the client in the worker's context, and makes it if
 * it does not exist. On failure it returns NULL and sets served->side.status. */
CUstream ath_cuda_stream_of_thread(struct ath_cuda_served *served);

bool ath_cuda_has_thread_streams(struct ath_cuda_session *session);

/* Forgets the streams of a context that ended, as they ended with it. If context is NULL, it is the
 * primary context of the device. */
void ath_cuda_thread_streams_drop(struct ath_cuda_session *session, CUcontext context,
                                  CUdevice device);

/* Frees the list at the end of the session. The driver's streams end with the process. */
void ath_cuda_thread_streams_free(struct ath_cuda_session *session);
