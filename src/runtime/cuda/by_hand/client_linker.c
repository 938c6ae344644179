/*
 * The driver's linker: what is to be linked is gathered here and sent when all of it is there, so
 * what is wrong with an input is said by cuLinkComplete(), with the logs.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proto/cuda-client.h"
#include "runtime/cuda/by_hand/options.h"
#include "runtime/cuda/client.h"

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

/* What a CUlinkState is here. */
struct linker {
    CUjit_option *options; /* copies; what the values point to is the program's */
    void **values;
    unsigned int count;
    struct input *first, **last;
    uint8_t *cubin;
};

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

/* Never NULL for nothing. */
static void *copy_of(const void *bytes, size_t size)
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
    linker->options = copy_of(options, option_count * sizeof *options);
    linker->values = copy_of(option_values, option_count * sizeof *option_values);
    linker->last = &linker->first;
    if (!linker->options || !linker->values) {
        linker_free(linker);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *state = (CUlinkState)(void *)linker;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data,
                                           size_t size, const char *name, unsigned int option_count,
                                           CUjit_option *options, void **option_values)
{
    struct linker *linker = (struct linker *)(void *)state;
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
    input->data = copy_of(data, size);
    input->name = name ? strdup(name) : NULL;
    input->options = copy_of(options, option_count * sizeof *options);
    input->values = copy_of(option_values, option_count * sizeof *option_values);
    if (!input->data || !input->options || !input->values || (name && !input->name)) {
        input_free(input);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *linker->last = input;
    linker->last = &input->next;
    return CUDA_SUCCESS;
}

/* PTX is taken with the NUL byte behind it. */
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

CUresult ath_cuda_by_hand_cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
    struct linker *linker = (struct linker *)(void *)state;
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
        ath_cuda_take_options(ath_cuda_wire_link_complete_result_results(answer), linker->options,
                              linker->values, linker->count);
        if (!status) {
            free(linker->cubin);
            linker->cubin = copy_of(made.data, made.length);
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
    if (!state)
        return CUDA_ERROR_INVALID_HANDLE;
    linker_free((struct linker *)(void *)state);
    return CUDA_SUCCESS;
}

/* ---- their first forms, which take the same ---- */

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
