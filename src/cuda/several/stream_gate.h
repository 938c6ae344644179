/* Gates: places where a stream stops until a thread of the switch opens them (copies.h). Any
 * thread. */
#pragma once
#include "cuda/several/several.h"

struct ath_several_gate {
    struct lane *lane;
    uint32_t slot, value;
};

/* Takes a gate for a stream of an entered server. The gate is open. Closing it is optional, but
 * every gate must be opened at the end. */
CUresult ath_several_gate_take(struct ath_several *to, CUstream stream,
                               struct ath_several_gate *out);
CUresult ath_several_gate_close(struct ath_several *to, CUstream stream,
                                const struct ath_several_gate *gate);
void ath_several_gate_open(const struct ath_several_gate *gate);

/* Lends a stream of the switch in a context. It is ordered with no stream of the program. Only the
 * borrower uses it until it is returned. */
CUresult ath_several_take_stream(struct ath_several *to, CUcontext context, CUstream *out);
void ath_several_return_stream(CUcontext context, CUstream stream);

/* Returns whether a stream captures. */
bool ath_several_captures(const struct ath_several *to, CUstream stream);

/* Makes a stream's capture invalid by a wait, as a call that cannot be captured does. Returns
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. */
CUresult ath_several_spoil_capture(struct ath_several *near, CUstream stream);

/* Notes the error of a job, and prints it if ath_client_logs_calls(). To be called before the
 * stream goes on. */
void ath_several_job_failed(struct ath_several *near, CUresult status);
