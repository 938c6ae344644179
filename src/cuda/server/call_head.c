/* Reads the head of a call, and decides by the generated facts how the call may be served. */
#include "config.h"

#include "cuda/server/call_head.h"

#include "cuda/server/server.h"
#include "proto/cuda-methods.h"
#include "proto/cuda-wire.h"

/* Reads the root alone; ath_cuda_serve() reads the rest. */
bool ath_call_head_read(const struct ath_frame *frame, struct ath_call_head *out)
{
    static const struct ath_wire_shape root = { .pointers = NULL };
    struct ath_cuda_wire_call call;
    if (ath_wire_open(ath_frame_message(frame), ath_frame_message_length(frame), &root, &call.at))
        return false;
    out->method = (int)ath_cuda_wire_call_which(call) - 1;
    if (out->method >= ATH_CUDA_METHOD_COUNT)
        out->method = -1;
    out->thread = ath_cuda_wire_call_thread(call);
    out->is_asked = ath_cuda_wire_call_is_asked(call);
    return true;
}

bool ath_call_overtakes(const struct ath_call_head *head)
{
    return head->is_asked && head->method >= 0 && ath_cuda_methods[head->method].overtakes;
}

bool ath_call_brings_changes(const struct ath_frame *frame)
{
    struct ath_call_head head;
    return ath_call_head_read(frame, &head) && head.method >= 0 &&
           ath_cuda_methods[head.method].synchronizes;
}

bool ath_call_leaves_order(const struct ath_call_head *head)
{
    if (!head->is_asked || head->method < 0)
        return false;
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[head->method];
    return !facts->begins_capture && !facts->ends_capture &&
           (facts->waits || ath_cuda_functions_due());
}

bool ath_call_may_last(const struct ath_call_head *head)
{
    return head->is_asked && head->method >= 0 &&
           (ath_cuda_methods[head->method].may_wait || ath_cuda_methods[head->method].waits);
}
