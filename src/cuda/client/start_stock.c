/* A message without its context names a kind of objects in start_plan.h. */
#include "config.h"

#include "cuda/client/start_stock.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/client/capture_state.h"
#include "cuda/client/connection.h"
#include "cuda/client/start_plan.h"
#include "cuda/client/stream_pool.h"
#include "proto/cuda-wire.h"

enum { MOST = 256 /* objects of one start */ };

struct asked {
    struct ath_cuda_exchange exchange;
    struct ath_frame message; /* as the pool knows it */
};

struct ath_cuda_start_stock {
    uint64_t age; /* of the pool */
    CUcontext context;
    size_t count;
    struct asked asked[MOST];
};

static atomic_bool is_asked; /* once */

/* ---- what the last start made ---- */

/* Begins a call with the message of a row in the current context. */
static bool begin_row(const struct ath_cuda_plan_row *row, struct asked *out)
{
    size_t length;
    int status;
    if (ath_cuda_begin(&out->exchange, row->method))
        return false;
    ath_wire_replace(&out->exchange.thread->builder, row->what, row->length);
    ath_cuda_put_context(&out->exchange);
    const uint8_t *frame = ath_wire_finish(&out->exchange.thread->builder, &length, &status);
    out->message = (struct ath_frame){ 0 };
    if (frame && !ath_frame_copy(&out->message, frame, length) &&
        !ath_cuda_ask_begin(&out->exchange))
        return true;
    ath_frame_free(&out->message);
    (void)ath_cuda_end(&out->exchange, CUDA_ERROR_UNKNOWN);
    return false;
}

struct ath_cuda_start_stock *ath_cuda_start_stock_begin(void)
{
    struct ath_cuda_plan_row row;
    if (!ath_cuda_start_plan_row(0, &row) || ath_cuda_is_any_capturing() ||
        atomic_exchange(&is_asked, true))
        return NULL;
    struct ath_cuda_start_stock *stock = ath_cuda_allocate(sizeof *stock);
    if (!stock)
        return NULL;
    stock->count = 0;
    stock->age = ath_cuda_stream_pool_age();
    stock->context = ath_cuda_current_context();
    for (size_t i = 0; ath_cuda_start_plan_row(i, &row); i++)
        while (ath_cuda_methods[row.method].stocked && row.left-- && stock->count < MOST &&
               begin_row(&row, &stock->asked[stock->count]))
            stock->count++;
    return stock;
}

void ath_cuda_start_stock_end(struct ath_cuda_start_stock *stock)
{
    for (size_t i = 0; stock && i < stock->count; i++) {
        struct asked *asked = &stock->asked[i];
        CUresult status = ath_cuda_ask_end(&asked->exchange);
        if (!status)
            ath_cuda_stream_pool_keep(asked->message.bytes, asked->message.length, stock->context,
                                      &asked->exchange.thread->answer, stock->age);
        (void)ath_cuda_end(&asked->exchange, status);
        ath_frame_free(&asked->message);
    }
    free(stock);
}

void ath_cuda_start_stock_clear(void)
{
    is_asked = false;
}

/* ---- a call ---- */

/* Notes the object in the plan. The exchange's message is in its builder before and after. */
static CUresult note_in_plan(struct ath_cuda_exchange *exchange, const uint8_t *message,
                             size_t length)
{
    struct ath_wire_builder *builder = &exchange->thread->builder;
    ATH_AUTO(ath_frame) copy = { 0 };
    int status;
    if (ath_frame_copy(&copy, message, length))
        return CUDA_ERROR_OUT_OF_MEMORY;
    ath_cuda_start_plan_begin(); /* it may ask questions of its own */
    (void)ath_cuda_wire_call_start(builder);
    ath_wire_replace(builder, copy.bytes, copy.length);
    ath_cuda_wire_call_set_context(exchange->call, 0);
    const uint8_t *frame = ath_wire_finish(builder, &length, &status);
    if (frame)
        ath_cuda_start_plan_take(exchange->method, frame, length);
    ath_cuda_put_context(exchange);
    return exchange->side.status;
}

/* Sends a question so often. The answers go to the pool, except the first. */
static CUresult ask_for(struct ath_cuda_exchange *exchange, const struct ath_frame *message,
                        size_t count)
{
    CUcontext context = ath_cuda_current_context();
    uint64_t numbers[ATH_CUDA_STREAM_POOL_MOST], age = ath_cuda_stream_pool_age();
    CUresult status = CUDA_SUCCESS;
    size_t sent = 0;
    while (sent < count && !(status = ath_cuda_ask_begin(exchange)))
        numbers[sent++] = exchange->number;
    ath_cuda_start_stock_end(sent ? ath_cuda_start_stock_begin() : NULL);
    while (sent) {
        exchange->number = numbers[--sent];
        status = ath_cuda_ask_end(exchange);
        if (sent && !status)
            ath_cuda_stream_pool_keep(message->bytes, message->length, context,
                                      &exchange->thread->answer, age);
    }
    return status;
}

CUresult ath_cuda_ask_stocked(struct ath_cuda_exchange *exchange)
{
    struct ath_wire_builder *builder = &exchange->thread->builder;
    ATH_AUTO(ath_frame) message = { 0 }, made = { 0 };
    size_t length, count;
    int built;
    const uint8_t *frame = ath_wire_finish(builder, &length, &built);
    if (frame && ath_cuda_is_line_slow()) {
        CUresult status = note_in_plan(exchange, frame, length);
        if (status)
            return status;
        frame = ath_wire_finish(builder, &length, &built);
    }
    if (!frame)
        return ath_cuda_ask_begin(exchange); /* which says why */
    if (ath_cuda_stream_pool_take(frame, length, ath_cuda_current_context(), &made, &count))
        return ath_cuda_take_fact(exchange, &made);
    return ath_frame_copy(&message, frame, length) ? CUDA_ERROR_OUT_OF_MEMORY
                                                   : ask_for(exchange, &message, count);
}
