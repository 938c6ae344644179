/* The driver's linker. The inputs are collected here and sent together, so cuLinkComplete() reports
 * errors of an input, with the logs. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/client/client.h"
#include "cuda/client/jit_options.h"
#include "proto/cuda-client.h"

struct input {
    struct input *next;
    CUjitInputType type;
    void *data;
    size_t size;
    char *name;
    CUjit_option *options;
    void **values;
    unsigned int count;
};

/* The object behind a CUlinkState. */
struct linker {
    struct linker *next;
    CUjit_option *options; /* copies; the values point to the program's memory */
    void **values;
    void *
        *results; /* the program's own values, which live as long as the linker if it has results */
    unsigned int count;
    struct input *first, **last;
    uint8_t *cubin;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct linker *linkers; /* all of them: a handle may be wrong */

/* Returns the place of a linker in the list, or the list's end. The caller holds the lock. */
static struct linker **place_of(CUlinkState state)
{
    struct linker **at = &linkers;
    while (*at && *at != (struct linker *)(void *)state)
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

static void input_free(struct input *input)
{
    free(input->data);
    free(input->name);
    free(input->options);
    free(input->values);
    free(input);
}

static void linker_free(struct linker *linker)
{
    for (struct input *input = linker->first, *next; input; input = next) {
        next = input->next;
        input_free(input);
    }
    free(linker->options);
    free(linker->values);
    free(linker->cubin);
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

CUresult ath_cuda_by_hand_cuLinkCreate_v2(unsigned int option_count, CUjit_option *options,
                                          void **option_values, CUlinkState *state)
{
    CUresult status = ath_cuda_check_options(options, option_values, option_count);
    if (status || !state)
        return status ? status : CUDA_ERROR_INVALID_VALUE;
    struct linker *linker = calloc(1, sizeof *linker);
    if (!linker)
        return CUDA_ERROR_OUT_OF_MEMORY;
    linker->count = option_count;
    linker->options = copy_bytes(options, option_count * sizeof *options);
    linker->values = copy_bytes(option_values, option_count * sizeof *option_values);
    linker->results = option_values;
    linker->last = &linker->first;
    if (!linker->options || !linker->values) {
        linker_free(linker);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    linker->next = linkers;
    linkers = linker;
    pthread_mutex_unlock(&lock);
    *state = (CUlinkState)(void *)linker;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data,
                                           size_t size, const char *name, unsigned int option_count,
                                           CUjit_option *options, void **option_values)
{
    struct linker *linker = linker_of(state);
    CUresult status = ath_cuda_check_options(options, option_values, option_count);
    if (status)
        return status;
    if (!linker || !data || !size)
        return linker ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    struct input *input = calloc(1, sizeof *input);
    if (!input)
        return CUDA_ERROR_OUT_OF_MEMORY;
    input->type = type;
    input->size = size;
    input->count = option_count;
    input->data = copy_bytes(data, size);
    input->name = name ? strdup(name) : NULL;
    input->options = copy_bytes(options, option_count * sizeof *options);
    input->values = copy_bytes(option_values, option_count * sizeof *option_values);
    if (!input->data || !input->options || !input->values || (name && !input->name)) {
        input_free(input);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *linker->last = input;
    linker->last = &input->next;
    return CUDA_SUCCESS;
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

static void put_inputs(struct ath_wire_array list, const struct linker *linker)
{
    uint32_t i = 0;
    for (const struct input *input = linker->first; input; input = input->next, i++) {
        struct ath_cuda_wire_link_input_builder to = { ath_wire_array_struct(list, i) };
        ath_cuda_wire_link_input_set_type(to, (uint32_t)input->type);
        ath_cuda_wire_link_input_set_data(to, (struct ath_wire_bytes){ input->data, input->size });
        ath_cuda_wire_link_input_set_name(to, input->name);
        ath_cuda_put_options(ath_cuda_wire_link_input_init_options(to, input->count),
                             input->options, input->values, input->count);
    }
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
    ath_cuda_take_options(results, linker->options, linker->values, linker->count);
    for (unsigned int i = 0; i < linker->count; i++)
        if (is_result(linker->options[i]))
            linker->results[i] = linker->values[i];
}

CUresult ath_cuda_by_hand_cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
    struct linker *linker = linker_of(state);
    struct ath_cuda_exchange exchange;
    uint32_t count = 0;
    if (!linker || !cubin)
        return linker ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    for (const struct input *input = linker->first; input; input = input->next)
        count++;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLinkComplete);
    if (status)
        return status;
    struct ath_cuda_wire_link_complete_builder call =
        ath_cuda_wire_call_init_link_complete(exchange.call);
    ath_cuda_put_options(ath_cuda_wire_link_complete_init_options(call, linker->count),
                         linker->options, linker->values, linker->count);
    put_inputs(ath_cuda_wire_link_complete_init_inputs(call, count), linker);
    status = ath_cuda_ask(&exchange);
    if (exchange.is_answered) {
        struct ath_cuda_wire_link_complete_result answer =
            ath_cuda_wire_answer_link_complete(exchange.answer);
        struct ath_wire_bytes made = ath_cuda_wire_link_complete_result_cubin(answer);
        take_results(linker, ath_cuda_wire_link_complete_result_results(answer));
        if (!status) {
            free(linker->cubin);
            linker->cubin = copy_bytes(made.data, made.length);
            *cubin = linker->cubin;
            if (size)
                *size = made.length;
            status = linker->cubin ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuLinkDestroy(CUlinkState state)
{
    pthread_mutex_lock(&lock);
    struct linker **at = place_of(state), *linker = *at;
    if (linker)
        *at = linker->next;
    pthread_mutex_unlock(&lock);
    if (!linker)
        return CUDA_ERROR_INVALID_HANDLE;
    linker_free(linker);
    return CUDA_SUCCESS;
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
