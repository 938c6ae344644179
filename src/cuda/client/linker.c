/*
 * The driver's linker. Its work is done at the server, call by call. Here are the cubins that the
 * program gets, and where it wants logs and times: the linker may change these in each call.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/client/client.h"
#include "cuda/client/code_image.h"
#include "cuda/client/jit_options.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

/* A linked image, which the program may read until the linker ends. */
struct cubin {
    struct cubin *next;
    uint8_t bytes[];
};

struct linker {
    struct linker *next;
    CUlinkState state;
    CUjit_option *options; /* copies; the values point to the program's memory */
    void **values;
    void *
        *results; /* the program's own values, which live as long as the linker if it has results */
    unsigned int count;
    struct ath_cuda_log_rooms rooms;
    struct cubin *cubins;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct linker *linkers;

/* Returns the place of a linker in the list, or the list's end. The caller holds the lock. */
static struct linker **place_of(CUlinkState state)
{
    struct linker **at = &linkers;
    while (*at && (*at)->state != state)
        at = &(*at)->next;
    return at;
}

/* Returns NULL for a handle that is not a linker's. */
static struct linker *linker_of(CUlinkState state)
{
    pthread_mutex_lock(&lock);
    struct linker *found = *place_of(state);
    pthread_mutex_unlock(&lock);
    return found;
}

static void add_linker(struct linker *linker)
{
    pthread_mutex_lock(&lock);
    linker->next = linkers;
    linkers = linker;
    pthread_mutex_unlock(&lock);
}

static struct linker *take_linker(CUlinkState state)
{
    pthread_mutex_lock(&lock);
    struct linker **at = place_of(state), *linker = *at;
    if (linker)
        *at = linker->next;
    pthread_mutex_unlock(&lock);
    return linker;
}

static void linker_free(struct linker *linker)
{
    for (struct cubin *cubin = linker->cubins, *next; cubin; cubin = next) {
        next = cubin->next;
        free(cubin);
    }
    free(linker->options);
    free(linker->values);
    free(linker);
}

/* A copy; not NULL for size 0. */
static void *copy_bytes(const void *bytes, size_t size)
{
    void *copy = calloc(1, size + 1);
    if (copy && size)
        memcpy(copy, bytes, size);
    return copy;
}

static struct linker *make_linker(const CUjit_option *options, void **values, unsigned int count)
{
    struct linker *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->count = count;
    made->options = copy_bytes(options, count * sizeof *options);
    made->values = copy_bytes(values, count * sizeof *values);
    made->results = values;
    made->rooms = ath_cuda_log_rooms_of(options, values, count);
    if (made->options && made->values)
        return made;
    linker_free(made);
    return NULL;
}

static bool is_result(CUjit_option option)
{
    return option == CU_JIT_THREADS_PER_BLOCK || option == CU_JIT_WALL_TIME ||
           option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
           option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
}

/* "optionValues must remain valid for the life of the CUlinkState if output options are used"
 * (cuda.h). */
static void take_results(struct linker *linker, struct ath_wire_list results)
{
    ath_cuda_take_options(results, linker->options, linker->values, linker->count, &linker->rooms);
    for (unsigned int i = 0; i < linker->count; i++)
        if (is_result(linker->options[i]))
            linker->results[i] = linker->values[i];
}

CUresult ath_cuda_by_hand_cuLinkCreate_v2(unsigned int option_count, CUjit_option *options,
                                          void **option_values, CUlinkState *state)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_check_options(options, option_values, option_count);
    if (!status && !state)
        status = CUDA_ERROR_INVALID_VALUE;
    struct linker *linker = status ? NULL : make_linker(options, option_values, option_count);
    if (!status && !linker)
        status = CUDA_ERROR_OUT_OF_MEMORY;
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLinkCreate_v2);
    if (status) {
        if (linker)
            linker_free(linker);
        return status;
    }
    ath_cuda_put_options(ath_cuda_wire_link_create_v2_init_options(
                             ath_cuda_wire_call_init_link_create_v2(exchange.call), option_count),
                         options, option_values, option_count);
    status = ath_cuda_ask(&exchange);
    if (status) {
        linker_free(linker);
        return ath_cuda_end(&exchange, status);
    }
    struct ath_cuda_wire_link_create_v2_result answer =
        ath_cuda_wire_answer_link_create_v2(exchange.answer);
    linker->state =
        (CUlinkState)(uintptr_t)ath_cuda_to_own(&exchange.side, ATH_CUDA_KIND_LINK_STATE,
                                                ath_cuda_wire_link_create_v2_result_state(answer));
    take_results(linker, ath_cuda_wire_link_create_v2_result_state_results(answer));
    add_linker(linker);
    *state = linker->state;
    return ath_cuda_end(&exchange, CUDA_SUCCESS);
}

/* Sends an input, of which the large ones are uploaded before. */
static CUresult send_input(struct ath_cuda_exchange *exchange, CUlinkState state,
                           CUjitInputType type, struct ath_cuda_sent_image image, const char *name,
                           unsigned int option_count, const CUjit_option *options, void **values)
{
    struct ath_cuda_wire_link_add_data_v2_builder call =
        ath_cuda_wire_call_init_link_add_data_v2(exchange->call);
    ath_cuda_wire_link_add_data_v2_set_state(
        call, ath_cuda_to_wire(&exchange->side, ATH_CUDA_KIND_LINK_STATE, (uintptr_t)state));
    ath_cuda_wire_link_add_data_v2_set_type(call, (uint32_t)type);
    ath_cuda_put_image(ath_cuda_wire_link_add_data_v2_init_data(call), &image);
    ath_cuda_wire_link_add_data_v2_set_name(call, name);
    ath_cuda_put_options(ath_cuda_wire_link_add_data_v2_init_options(call, option_count), options,
                         values, option_count);
    return ath_cuda_ask(exchange);
}

CUresult ath_cuda_by_hand_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data,
                                           size_t size, const char *name, unsigned int option_count,
                                           CUjit_option *options, void **option_values)
{
    struct linker *linker = linker_of(state);
    struct ath_cuda_sent_image image = { data, size, 0 };
    struct ath_cuda_log_rooms rooms = ath_cuda_log_rooms_of(options, option_values, option_count);
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_check_options(options, option_values, option_count);
    if (!status && (!data || !size))
        status = linker ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    if (!status && size > ATH_CUDA_IMAGE_WITHIN_CALL)
        status = ath_cuda_upload_image(&image, false);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLinkAddData_v2);
    if (status)
        return status;
    status = send_input(&exchange, state, type, image, name, option_count, options, option_values);
    if (exchange.is_answered && linker) {
        struct ath_cuda_wire_link_add_data_v2_result answer =
            ath_cuda_wire_answer_link_add_data_v2(exchange.answer);
        ath_cuda_take_options(ath_cuda_wire_link_add_data_v2_result_results(answer), options,
                              option_values, option_count, &rooms);
        take_results(linker, ath_cuda_wire_link_add_data_v2_result_state_results(answer));
    }
    return ath_cuda_end(&exchange, status);
}

/* PTX includes the NUL byte behind it. */
CUresult ath_cuda_by_hand_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                                           unsigned int option_count, CUjit_option *options,
                                           void **option_values)
{
    ath_auto_free void *bytes = NULL;
    size_t size = 0;
    CUresult status = ath_cuda_read_file(path, &bytes, &size);
    return status ? status
                  : ath_cuda_by_hand_cuLinkAddData_v2(state, type, bytes,
                                                      size + (type == CU_JIT_INPUT_PTX), path,
                                                      option_count, options, option_values);
}

/* Returns the program's copy of a linked image, or NULL if memory runs out. */
static void *keep_cubin(struct linker *linker, struct ath_wire_bytes made)
{
    struct cubin *cubin = malloc(sizeof *cubin + made.length);
    if (!cubin)
        return NULL;
    ath_cuda_copy_bytes(cubin->bytes, made.length, made);
    cubin->next = linker->cubins;
    linker->cubins = cubin;
    return cubin->bytes;
}

CUresult ath_cuda_by_hand_cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
    struct linker *linker = linker_of(state);
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLinkComplete);
    if (status)
        return status;
    if (!linker || !cubin)
        return ath_cuda_end(&exchange,
                            linker ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    ath_cuda_wire_link_complete_set_state(
        ath_cuda_wire_call_init_link_complete(exchange.call),
        ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_LINK_STATE, (uintptr_t)state));
    status = ath_cuda_ask(&exchange);
    if (exchange.is_answered) {
        struct ath_cuda_wire_link_complete_result answer =
            ath_cuda_wire_answer_link_complete(exchange.answer);
        struct ath_wire_bytes made = ath_cuda_wire_link_complete_result_cubin(answer);
        take_results(linker, ath_cuda_wire_link_complete_result_state_results(answer));
        void *kept = status ? NULL : keep_cubin(linker, made);
        if (!status && !kept)
            status = CUDA_ERROR_OUT_OF_MEMORY;
        if (!status)
            *cubin = kept;
        if (!status && size)
            *size = made.length;
    }
    return ath_cuda_end(&exchange, status);
}

/* The linker leaves the list first: its handle may be another one's as soon as the server has ended
 * it. */
CUresult ath_cuda_by_hand_cuLinkDestroy(CUlinkState state)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLinkDestroy);
    if (status)
        return status;
    struct linker *linker = take_linker(state);
    if (!linker)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_HANDLE);
    ath_cuda_wire_link_destroy_set_state(
        ath_cuda_wire_call_init_link_destroy(exchange.call),
        ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_LINK_STATE, (uintptr_t)state));
    status = ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
    if (status)
        add_linker(linker);
    else
        linker_free(linker);
    return status;
}

/* ---- first versions with the same parameters ---- */

CUresult ath_cuda_by_hand_cuLinkCreate(unsigned int option_count, CUjit_option *options,
                                       void **option_values, CUlinkState *state)
{
    return ath_cuda_by_hand_cuLinkCreate_v2(option_count, options, option_values, state);
}

CUresult ath_cuda_by_hand_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data,
                                        size_t size, const char *name, unsigned int option_count,
                                        CUjit_option *options, void **option_values)
{
    return ath_cuda_by_hand_cuLinkAddData_v2(state, type, data, size, name, option_count, options,
                                             option_values);
}

CUresult ath_cuda_by_hand_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                                        unsigned int option_count, CUjit_option *options,
                                        void **option_values)
{
    return ath_cuda_by_hand_cuLinkAddFile_v2(state, type, path, option_count, options,
                                             option_values);
}
