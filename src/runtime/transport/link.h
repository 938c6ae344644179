/*
 * The client's link (runtime/cuda/client.h) over a stream of any transport: many threads' calls on
 * it, each answer to who waits for it.
 */
#pragma once
#include "runtime/cuda/client.h"
#include "runtime/transport/stream.h"

/* The stream is the link's on success; NULL without memory or threads. One at a time in a process:
 * a forked child lets go of it. */
struct ath_cuda_link *ath_link_open(struct ath_stream *stream);
