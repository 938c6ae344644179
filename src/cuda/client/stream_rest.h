/*
 * The stream that the library knows to have nothing left to do.
 *
 * A stream is at rest behind a call that waited for it, as long as no call follows that may give
 * the GPU work: another wait for it needs no server. Programs often wait after copies that have
 * waited.
 *
 * If a stream has received only copies since it was at rest, and their bytes travelled with the
 * calls, a wait for it is sent without an answer: the program may change its memory, and the server
 * waits before it serves the next call. So a program that brings a model to the GPU and waits after
 * each tensor takes no round trip for each. An error of the copy comes with the next call that is
 * answered. This ends as soon as the program shares GPU memory with other processes, which may use
 * it without a call behind the wait, and while there are mirrors of host memory (mirror.h), whose
 * changes come with answers.
 */
#pragma once
#include "cuda/client/client.h"

enum ath_cuda_rest {
    ATH_CUDA_IS_BUSY,
    ATH_CUDA_HAS_COPIES, /* only such copies since it was at rest */
    ATH_CUDA_AT_REST,
};

/* The state of a stream for the calling thread. Any thread. */
enum ath_cuda_rest ath_cuda_stream_rest(CUstream stream);

/* The exchange's call succeeded and has waited until the stream was empty. */
void ath_cuda_stream_rests(const struct ath_cuda_exchange *exchange, CUstream stream);

/* The exchange's call was sent. All that it gives the stream to do is a copy of bytes that it
 * carried; or, with is_waited_for, nothing, since it waits for the stream. */
void ath_cuda_stream_goes_on(const struct ath_cuda_exchange *exchange, CUstream stream,
                             bool is_waited_for);

/* Notes that a call got the connection's last number. The caller holds the connection's order. */
void ath_cuda_rest_note_sent(enum ath_cuda_method method);
