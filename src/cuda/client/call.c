/*
 * A call's way to the transport and back.
 *
 * A call gets its number and is posted under the connection's lock `order`, which makes one order
 * of all threads' calls.
 */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cuda/client/answer_cache.h"
#include "cuda/client/call_summary.h"
#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/code_facts.h"
#include "cuda/client/connection.h"
#include "cuda/client/handles.h"
#include "cuda/client/kernel_attribute.h"
#include "cuda/client/kernel_facts.h"
#include "cuda/client/lasting_results.h"
#include "cuda/client/memory_ahead.h"
#include "cuda/client/memory_reuse.h"
#include "cuda/client/mirror.h"
#include "cuda/client/start_stock.h"
#include "cuda/client/stream_pool.h"
#include "cuda/client/stream_rest.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"

static atomic_ullong forgotten;
static atomic_int fault; /* a CUresult: see is_sticky() */
static _Atomic(CUcontext) faulty_context;

/* A device's facts are the same in every context, so they are asked once. */
static CUcontext context_for(enum ath_cuda_method method)
{
    return ath_cuda_methods[method].any_context ? NULL : ath_cuda_own_context();
}

CUresult ath_cuda_may(enum ath_cuda_method method)
{
    CUresult status =
        ath_cuda_is_shutting_down() ? CUDA_ERROR_DEINITIALIZED : ath_cuda_link_status(method);
    const struct ath_cuda_thread *thread = status ? NULL : ath_cuda_own_thread();
    if (status)
        return status;
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return thread->is_in_callback ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

void ath_cuda_put_context(struct ath_cuda_exchange *exchange)
{
    CUcontext context = context_for(exchange->method);
    ath_cuda_wire_call_set_context(
        exchange->call,
        ath_cuda_as_server_has_it(&exchange->side, ATH_CUDA_KIND_CONTEXT, (uintptr_t)context));
}

CUresult ath_cuda_begin(struct ath_cuda_exchange *exchange, enum ath_cuda_method method)
{
    CUresult status = ath_cuda_may(method);
    if (!status)
        status = ath_cuda_mirror_push(method);
    if (status)
        return status;
    struct ath_cuda_thread *thread = ath_cuda_own_thread();
    *exchange = (struct ath_cuda_exchange){ .side = { .to_wire = ath_cuda_methods[method].of_code
                                                                     ? ath_cuda_code_facts_to_wire
                                                                     : ath_cuda_client_to_wire,
                                                      .to_own = ath_cuda_client_to_own },
                                            .thread = thread,
                                            .method = method,
                                            .call = ath_cuda_wire_call_start(&thread->builder) };
    ath_cuda_put_context(exchange);
    return CUDA_SUCCESS;
}

/* The fields about the calling thread. They are no part of a cached answer's key. A program may set
 * a number that is no mode: see capture_state.c. */
static void set_thread(const struct ath_cuda_exchange *exchange)
{
    uint32_t mode = (uint32_t)exchange->thread->mode;
    ath_cuda_wire_call_set_thread(exchange->call, exchange->thread->id);
    ath_cuda_wire_call_set_capture_mode(exchange->call, mode <= CU_STREAM_CAPTURE_MODE_RELAXED
                                                            ? mode
                                                            : CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static CUresult built_status(int status)
{
    return status == -EMSGSIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
}

void ath_cuda_lend(struct ath_cuda_exchange *exchange)
{
    enum { LEAST = 32 * 1024 };
    pthread_mutex_lock(&ath_cuda_connection.order);
    if (ath_cuda_connection.link && ath_cuda_connection.link->ops->post_lent &&
        !ath_is_off(ATH_SWITCH_LENDING))
        ath_wire_lend(&exchange->thread->builder, LEAST);
    pthread_mutex_unlock(&ath_cuda_connection.order);
}

static int post_frame(const struct ath_wire_builder *builder, const uint8_t *frame, size_t length,
                      bool is_asked)
{
    return builder->lent.length
               ? ath_cuda_connection.link->ops->post_lent(ath_cuda_connection.link, frame, length,
                                                          builder->lent, is_asked)
               : ath_cuda_connection.link->ops->post(ath_cuda_connection.link, frame, length,
                                                     is_asked);
}

static CUresult send_call(struct ath_cuda_exchange *exchange, bool is_asked)
{
    size_t length;
    int status;
    set_thread(exchange);
    ath_cuda_wire_call_set_is_asked(exchange->call, is_asked);
    pthread_mutex_lock(&ath_cuda_connection.order);
    ath_cuda_memory_reuse_send(exchange->method, is_asked);
    ath_cuda_memory_ahead_send(exchange->method);
    ath_cuda_wire_call_set_number(exchange->call, ath_cuda_connection.last_number + 1);
    const uint8_t *frame = ath_wire_finish(&exchange->thread->builder, &length, &status);
    CUresult result = frame ? ath_cuda_link_status(exchange->method) : built_status(status);
    if (result == CUDA_SUCCESS && (ath_cuda_link_is_lost() ||
                                   post_frame(&exchange->thread->builder, frame, length, is_asked)))
        result = ath_cuda_lose_link();
    if (result == CUDA_SUCCESS) {
        exchange->number = ++ath_cuda_connection.last_number;
        ath_cuda_rest_note_sent(exchange->method);
    }
    pthread_mutex_unlock(&ath_cuda_connection.order);
    if (result == CUDA_SUCCESS && ath_cuda_call_summary_is_wanted())
        ath_cuda_call_summary_sent(exchange->method,
                                   length + exchange->thread->builder.lent.length);
    return result;
}

struct ath_cuda_wire_call_builder ath_cuda_own_call_start(struct ath_wire_builder *builder,
                                                          CUcontext context)
{
    struct ath_cuda_side side = { .to_wire = ath_cuda_client_to_wire };
    struct ath_cuda_wire_call_builder call = ath_cuda_wire_call_start(builder);
    ath_cuda_wire_call_set_context(
        call, ath_cuda_to_wire(&side, ATH_CUDA_KIND_CONTEXT, (uintptr_t)context));
    ath_cuda_wire_call_set_number(call, ath_cuda_connection.last_number + 1);
    return call;
}

void ath_cuda_own_call_post(struct ath_wire_builder *builder, enum ath_cuda_method method)
{
    size_t length;
    int status;
    const uint8_t *frame = ath_wire_finish(builder, &length, &status);
    if (!frame || ath_cuda_connection.state != ATH_CUDA_LINK_GOOD)
        return;
    if (post_frame(builder, frame, length, false)) {
        ath_cuda_lose_link();
        return;
    }
    ath_cuda_connection.last_number++;
    if (ath_cuda_call_summary_is_wanted())
        ath_cuda_call_summary_sent(method, length);
}

/* Errors that make a context unusable: CUDA returns them from every call until the context ends. */
static bool is_sticky(CUresult status)
{
    switch (status) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
        return true;
    default:
        return false;
    }
}

CUresult ath_cuda_known_fault(CUcontext context)
{
    return atomic_load(&fault) && faulty_context == context ? (CUresult)atomic_load(&fault)
                                                            : CUDA_SUCCESS;
}

/* The context that a call works in. */
static CUcontext context_of(const struct ath_cuda_exchange *exchange)
{
    return exchange->place ? exchange->place : ath_cuda_own_context();
}

static void note_fault(const struct ath_cuda_exchange *exchange, CUresult status)
{
    if (status == CUDA_SUCCESS && ath_cuda_methods[exchange->method].forgets_all) {
        fault = CUDA_SUCCESS; /* a context may have ended */
    } else if (is_sticky(status)) {
        faulty_context = context_of(exchange);
        fault = (int)status;
    }
}

/* The result of a call whose server is lost. */
static CUresult without_server(const struct ath_cuda_exchange *exchange, CUresult status)
{
    return ath_cuda_link_is_lost() && ath_cuda_methods[exchange->method].ends ? CUDA_SUCCESS
                                                                              : status;
}

/* Opens the answer in the thread's frame. */
static CUresult open_answer(struct ath_cuda_exchange *exchange)
{
    struct ath_frame *answer = &exchange->thread->answer;
    if (ath_cuda_wire_answer_open(ath_frame_message(answer), ath_frame_message_length(answer),
                                  &exchange->answer))
        return ath_cuda_lose_link();
    exchange->is_answered = true;
    return (CUresult)ath_cuda_wire_answer_status(exchange->answer);
}

/* Waits for the answer to a call. */
static int await(const struct ath_cuda_exchange *exchange, uint64_t number)
{
    struct ath_frame *answer = &exchange->thread->answer;
    uint64_t begin_ns = ath_cuda_call_summary_is_wanted() ? ath_now_ns() : 0;
    bool is_round_trip = begin_ns && ath_cuda_call_summary_waits(number);
    ath_cuda_connection.waiting += !exchange->thread->is_ours;
    int status = ath_cuda_connection.link->ops->wait(ath_cuda_connection.link, number, answer);
    ath_cuda_connection.waiting -= !exchange->thread->is_ours;
    if (begin_ns)
        ath_cuda_call_summary_answered(exchange->method, answer->length, ath_now_ns() - begin_ns,
                                       is_round_trip);
    return status;
}

CUresult ath_cuda_ask_begin(struct ath_cuda_exchange *exchange)
{
    return exchange->side.status ? exchange->side.status : send_call(exchange, true);
}

/* Forgets the answers that the call made stale. */
static void forget_stale(const struct ath_cuda_exchange *exchange)
{
    if (ath_cuda_methods[exchange->method].drops_stock)
        ath_cuda_stream_pool_clear();
    ath_cuda_code_facts_stop(ath_cuda_methods[exchange->method].forgets);
    if (ath_cuda_answer_cache_forget(exchange->method))
        forgotten++;
}

CUresult ath_cuda_ask_end(struct ath_cuda_exchange *exchange)
{
    if (await(exchange, exchange->number))
        return without_server(exchange, ath_cuda_lose_link());
    CUresult status = open_answer(exchange);
    note_fault(exchange, status);
    forget_stale(exchange);
    return status;
}

static CUresult ask_one(struct ath_cuda_exchange *exchange)
{
    if (exchange->side.status)
        return exchange->side.status;
    CUresult status = ath_cuda_ask_begin(exchange);
    return status ? without_server(exchange, status) : ath_cuda_ask_end(exchange);
}

static void end_handle(uint64_t handle)
{
    ath_cuda_handle_remove(handle);
    ath_cuda_capture_state_end_stream((CUstream)(uintptr_t)handle);
}

CUresult ath_cuda_ask(struct ath_cuda_exchange *exchange)
{
    struct ath_cuda_handle_facts facts;
    if (ath_cuda_connection.is_exiting && !exchange->is_told_on &&
        ath_cuda_methods[exchange->method].ends)
        return ath_cuda_post(exchange);
    if (ath_cuda_methods[exchange->method].stocked && !exchange->side.status &&
        !ath_cuda_known_fault(ath_cuda_own_context()) && !ath_is_off(ATH_SWITCH_SPARES))
        return ath_cuda_ask_stocked(exchange);
    bool is_ending = exchange->ending && ath_cuda_handle_find(exchange->ending, &facts);
    if (is_ending)
        end_handle(exchange->ending);
    CUresult status = ask_one(exchange);
    if (status && is_ending)
        ath_cuda_handle_add(exchange->ending, facts.kind, facts.context);
    return status;
}

static atomic_bool are_launches_blocking;
static pthread_once_t launches_once = PTHREAD_ONCE_INIT;

static void ask_environment(void)
{
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");
    are_launches_blocking = value && *value && strcmp(value, "0") != 0;
}

/* With CUDA_LAUNCH_BLOCKING the driver waits for each launch, and the launch returns the kernel's
 * error. */
static bool launches_block(void)
{
    pthread_once(&launches_once, ask_environment);
    return are_launches_blocking;
}

CUresult ath_cuda_post(struct ath_cuda_exchange *exchange)
{
    if (exchange->side.status)
        return exchange->side.status;
    if (exchange->is_told_on || (ath_cuda_methods[exchange->method].launches && launches_block()))
        return ath_cuda_ask(exchange);
    CUresult known = ath_cuda_known_fault(context_of(exchange));
    if (known)
        return known;
    if (exchange->ending)
        end_handle(exchange->ending);
    CUresult status = send_call(exchange, false);
    if (status)
        return without_server(exchange, status);
    forget_stale(exchange);
    return CUDA_SUCCESS;
}

uint64_t ath_cuda_settings_of(const struct ath_cuda_exchange *exchange)
{
    return exchange->kernel && ath_cuda_methods[exchange->method].of_settings
               ? ath_cuda_attributes_state(exchange->kernel, exchange->attribute)
               : 0;
}

static bool lasts_always(const struct ath_cuda_exchange *exchange, const void *unused)
{
    (void)exchange;
    (void)unused;
    return true;
}

CUresult ath_cuda_ask_cached(struct ath_cuda_exchange *exchange)
{
    return ath_cuda_ask_cached_if(exchange, lasts_always, NULL);
}

CUresult ath_cuda_take_fact(struct ath_cuda_exchange *exchange, const struct ath_frame *fact)
{
    CUresult status = exchange->promised ? ath_cuda_post(exchange) : CUDA_SUCCESS;
    if (!status && ath_frame_copy(&exchange->thread->answer, fact->bytes, fact->length))
        status = CUDA_ERROR_OUT_OF_MEMORY;
    return status ? status : open_answer(exchange);
}

CUresult ath_cuda_ask_cached_if(struct ath_cuda_exchange *exchange,
                                bool (*lasts)(const struct ath_cuda_exchange *exchange,
                                              const void *context),
                                const void *context)
{
    size_t length;
    int built;
    uint64_t settings = ath_cuda_settings_of(exchange);
    /* a part of the key, until the frame is sent */
    ath_cuda_wire_call_set_number(exchange->call, settings);
    const uint8_t *frame = ath_wire_finish(&exchange->thread->builder, &length, &built);
    if (!frame)
        return built_status(built);
    if (ath_cuda_answer_cache_find(frame, length, &exchange->thread->answer))
        return open_answer(exchange);
    struct ath_frame asked = { 0 }, key = { 0 }, fact = { 0 };
    uint64_t age = ath_cuda_answer_cache_age();
    bool is_copied = !ath_frame_copy(&asked, frame, length);
    bool may_keep = is_copied && ath_cuda_code_facts_key(exchange, &key);
    bool is_fact = may_keep && ath_cuda_code_facts_find(exchange, &key, &fact);
    bool is_of_many = exchange->thread->ask_more && is_copied && !exchange->side.status &&
                      !ath_is_off(ATH_SWITCH_CACHES);
    CUresult status = is_fact      ? ath_cuda_take_fact(exchange, &fact)
                      : is_of_many ? exchange->thread->ask_more(exchange, &asked)
                                   : ath_cuda_ask(exchange);
    bool is_answer = !status || (ath_cuda_methods[exchange->method].refusal_is_answer &&
                                 ath_cuda_is_refusal(status));
    if (is_answer && is_copied && settings == ath_cuda_settings_of(exchange) &&
        lasts(exchange, context))
        ath_cuda_answer_cache_add(exchange->method, asked.bytes, asked.length,
                                  &exchange->thread->answer, age);
    if (is_answer && may_keep && !is_fact && settings == ath_cuda_settings_of(exchange))
        ath_cuda_code_facts_add(exchange, &key, true);
    else if (!is_answer && may_keep)
        ath_cuda_call_summary_not_kept(exchange->method, ATH_CUDA_NOT_KEPT_FAILED);
    ath_frame_free(&asked);
    ath_frame_free(&key);
    ath_frame_free(&fact);
    return status;
}

void ath_cuda_keep_results(struct ath_cuda_exchange *exchange, uint64_t value)
{
    exchange->is_kept = true;
    exchange->kept_for = value;
}

/* At level debug, or with AITHERION_CUDA_LOG=errors, prints every call that fails, except queries
 * that return "not ready". */
static void log_failure(enum ath_cuda_method method, CUresult status)
{
    const char *wanted = getenv("AITHERION_CUDA_LOG");
    if (status != CUDA_ERROR_NOT_READY &&
        (ath_log_has(ATH_LOG_DEBUG) || (wanted && !strcmp(wanted, "errors"))))
        fprintf(stderr, "aitherion: %s: error %d\n", ath_cuda_methods[method].name, (int)status);
}

CUresult ath_cuda_end(struct ath_cuda_exchange *exchange, CUresult status)
{
    if (exchange->is_kept)
        ath_cuda_lasting_results_replace(exchange->method, exchange->kept_for,
                                         ath_steal(&exchange->side.blocks));
    ath_cuda_side_free(&exchange->side);
    if (!status)
        status = exchange->side.status;
    if (status)
        log_failure(exchange->method, status);
    return status || !exchange->is_answered ? status : ath_cuda_mirror_pull(exchange->method);
}

uint64_t ath_cuda_forgotten(void)
{
    return forgotten;
}

void ath_cuda_calls_clear(void)
{
    fault = CUDA_SUCCESS;
    forgotten++;
}
