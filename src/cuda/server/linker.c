/* The server's side of the linker: cuLinkCreate(), cuLinkAddData(), cuLinkComplete(),
 * cuLinkDestroy(). */
#include "config.h"

#include "cuda/server/linker.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "cuda/server/code_image.h"
#include "cuda/server/jit_options.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-wire.h"

struct ath_cuda_linker {
    struct ath_cuda_linker *next;
    CUlinkState state;
    struct ath_cuda_side side; /* the memory of all options, also of inputs */
    struct ath_cuda_jit_options options;
};

static void linker_free(struct ath_cuda_linker *linker)
{
    ath_cuda_side_free(&linker->side);
    free(linker);
}

void ath_cuda_linkers_free(struct ath_cuda_session *session)
{
    for (struct ath_cuda_linker *one = session->linkers, *next; one; one = next) {
        next = one->next;
        linker_free(one);
    }
    session->linkers = NULL;
}

static void put_linker(struct ath_cuda_session *session, struct ath_cuda_linker *linker)
{
    pthread_mutex_lock(&session->lock);
    linker->next = session->linkers;
    session->linkers = linker;
    pthread_mutex_unlock(&session->lock);
}

/* Takes the linker of a call out of the list: no other call may use it meanwhile. Returns NULL if
 * the handle is not a linker's. */
static struct ath_cuda_linker *take_linker(struct ath_cuda_served *served, uint64_t wire)
{
    uint64_t state = ath_cuda_to_own(&served->side, ATH_CUDA_KIND_LINK_STATE, wire);
    if (ath_cuda_refused(served))
        return NULL;
    pthread_mutex_lock(&served->session->lock);
    struct ath_cuda_linker **at = &served->session->linkers;
    while (*at && (uintptr_t)(*at)->state != state)
        at = &(*at)->next;
    struct ath_cuda_linker *linker = *at;
    if (linker)
        *at = linker->next;
    pthread_mutex_unlock(&served->session->lock);
    if (!linker)
        served->status = CUDA_ERROR_INVALID_HANDLE;
    return linker;
}

void ath_cuda_serve_cuLinkCreate_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuLinkCreate_v2)
    struct ath_cuda_linker *linker = calloc(1, sizeof *linker);
    if (!linker) {
        served->status = CUDA_ERROR_OUT_OF_MEMORY;
        return;
    }
    struct ath_cuda_jit_options *options = &linker->options;
    *options = ath_cuda_jit_options_take(
        &linker->side,
        ath_cuda_wire_link_create_v2_options(ath_cuda_wire_call_link_create_v2(served->call)));
    served->status = linker->side.status;
    if (!served->status)
        served->status = served->driver->cuLinkCreate_v2(options->count, options->options,
                                                         options->values, &linker->state);
    if (served->status) {
        linker_free(linker);
        return;
    }
    struct ath_cuda_wire_link_create_v2_result_builder answer =
        ath_cuda_wire_answer_init_link_create_v2(served->answer);
    ath_cuda_wire_link_create_v2_result_set_state(
        answer,
        ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_LINK_STATE, (uintptr_t)linker->state));
    ath_cuda_jit_options_answer(
        ath_cuda_wire_link_create_v2_result_init_state_results(answer, options->count), options);
    put_linker(served->session, linker);
}

static void add_data(struct ath_cuda_served *served, struct ath_cuda_linker *linker,
                     struct ath_cuda_wire_link_add_data_v2 call)
{
    ATH_AUTO(ath_cuda_code)
    code = ath_cuda_code_take_input(served, ath_cuda_wire_link_add_data_v2_data(call));
    struct ath_cuda_jit_options options =
        ath_cuda_jit_options_take(&linker->side, ath_cuda_wire_link_add_data_v2_options(call));
    if (!code.bytes && !served->status)
        served->status = CUDA_ERROR_INVALID_IMAGE;
    if (!served->status)
        served->status = served->side.status ? served->side.status : linker->side.status;
    linker->side.status = CUDA_SUCCESS;
    if (served->status)
        return;
    served->status = served->driver->cuLinkAddData_v2(
        linker->state, (CUjitInputType)ath_cuda_wire_link_add_data_v2_type(call),
        (void *)(uintptr_t)code.bytes, code.length,
        ath_cuda_wire_link_add_data_v2_has_name(call) ? ath_cuda_wire_link_add_data_v2_name(call)
                                                      : NULL,
        options.count, options.options, options.values);
    struct ath_cuda_wire_link_add_data_v2_result_builder answer =
        ath_cuda_wire_answer_init_link_add_data_v2(served->answer);
    ath_cuda_jit_options_answer(
        ath_cuda_wire_link_add_data_v2_result_init_results(answer, options.count), &options);
    ath_cuda_jit_options_answer(
        ath_cuda_wire_link_add_data_v2_result_init_state_results(answer, linker->options.count),
        &linker->options);
}

void ath_cuda_serve_cuLinkAddData_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuLinkAddData_v2)
    struct ath_cuda_wire_link_add_data_v2 call = ath_cuda_wire_call_link_add_data_v2(served->call);
    struct ath_cuda_linker *linker =
        take_linker(served, ath_cuda_wire_link_add_data_v2_state(call));
    if (!linker)
        return;
    add_data(served, linker, call);
    put_linker(served->session, linker);
}

void ath_cuda_serve_cuLinkComplete(struct ath_cuda_served *served)
{
    NEEDS(served, cuLinkComplete)
    void *cubin = NULL;
    size_t size = 0;
    struct ath_cuda_linker *linker = take_linker(
        served, ath_cuda_wire_link_complete_state(ath_cuda_wire_call_link_complete(served->call)));
    if (!linker)
        return;
    served->status = served->driver->cuLinkComplete(linker->state, &cubin, &size);
    struct ath_cuda_wire_link_complete_result_builder answer =
        ath_cuda_wire_answer_init_link_complete(served->answer);
    if (!served->status)
        ath_cuda_wire_link_complete_result_set_cubin(answer,
                                                     (struct ath_wire_bytes){ cubin, size });
    ath_cuda_jit_options_answer(
        ath_cuda_wire_link_complete_result_init_state_results(answer, linker->options.count),
        &linker->options);
    put_linker(served->session, linker);
}

void ath_cuda_serve_cuLinkDestroy(struct ath_cuda_served *served)
{
    NEEDS(served, cuLinkDestroy)
    struct ath_cuda_linker *linker = take_linker(
        served, ath_cuda_wire_link_destroy_state(ath_cuda_wire_call_link_destroy(served->call)));
    if (!linker)
        return;
    served->status = served->driver->cuLinkDestroy(linker->state);
    if (served->status)
        put_linker(served->session, linker);
    else
        linker_free(linker);
}
