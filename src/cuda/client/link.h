/* The client's link (cuda/client/client.h) over a stream of any transport. It sends the calls of
 * many threads and hands each answer to the thread that waits for it. */
#pragma once
#include "cuda/client/client.h"
#include "remote/transport/stream.h"

/* Opens a link, which then owns the stream. Returns NULL if memory or threads run out. A process
 * has one link at a time; a forked child abandons its parent's. */
struct ath_cuda_link *ath_link_open(struct ath_stream *stream);
