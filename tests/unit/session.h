/* A session of the CUDA server at a driver of the test's own: a test builds a call, and has it
 * served. */
#pragma once
#include "cuda/server/server.h"
#include "proto/cuda-wire.h"
#include "remote/wire/frame.h"

#include "unit.h"

enum { MESSAGE_MAX = 8 << 20 };

static struct ath_cuda_session session;
static struct ath_cuda_worker worker;
static struct ath_wire_builder call_builder, answer_builder;

static void begin_session(const struct ath_cuda_driver *driver)
{
    call_builder = answer_builder = (struct ath_wire_builder){ .max_bytes = MESSAGE_MAX };
    ath_cuda_session_init(&session, driver);
    worker = (struct ath_cuda_worker){ .session = &session };
}

static void end_session(void)
{
    ath_cuda_session_free(&session);
    ath_wire_builder_free(&call_builder);
    ath_wire_builder_free(&answer_builder);
}

/* Begins a call with an answer, of a thread whose context is `context`. */
static struct ath_cuda_wire_call_builder begin(CUcontext context)
{
    struct ath_cuda_wire_call_builder call = ath_cuda_wire_call_start(&call_builder);
    ath_cuda_wire_call_set_is_asked(call, true);
    ath_cuda_wire_call_set_context(call, (uintptr_t)context);
    return call;
}

/* Serves the call that begin() began. The answer is valid until the next call is served. */
static struct ath_cuda_wire_answer serve(void)
{
    struct ath_cuda_wire_answer answer;
    size_t length;
    int status;
    const uint8_t *frame = ath_wire_finish(&call_builder, &length, &status);
    ck_assert_int_eq(
        ath_cuda_serve(&worker, frame + ATH_FRAME_HEAD, length - ATH_FRAME_HEAD, &answer_builder),
        1);
    frame = ath_wire_finish(&answer_builder, &length, &status);
    ck_assert_int_eq(
        ath_cuda_wire_answer_open(frame + ATH_FRAME_HEAD, length - ATH_FRAME_HEAD, &answer), 0);
    return answer;
}

/* Serves the call, and returns CUDA's status for it. */
static CUresult serve_status(void)
{
    return (CUresult)ath_cuda_wire_answer_status(serve());
}
