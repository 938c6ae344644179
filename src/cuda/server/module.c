/* The server's side of loading modules and libraries. */
#include "config.h"

#include "base/cleanup.h"
#include "cuda/common/promise.h"
#include "cuda/server/code_image.h"
#include "cuda/server/jit_options.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-wire.h"

static bool prepare(struct ath_cuda_served *served, struct ath_wire_list list,
                    struct ath_cuda_jit_options *out)
{
    *out = ath_cuda_jit_options_take(&served->side, list);
    return !ath_cuda_refused(served);
}

void ath_cuda_serve_cuModuleLoadDataEx(struct ath_cuda_served *served)
{
    NEEDS(served, cuModuleLoadDataEx)
    struct ath_cuda_wire_module_load_data_ex call =
        ath_cuda_wire_call_module_load_data_ex(served->call);
    struct ath_wire_list asked = ath_cuda_wire_module_load_data_ex_options(call);
    struct ath_cuda_jit_options options;
    CUmodule module = NULL;
    served->promised = ath_cuda_promise_of(ath_cuda_wire_module_load_data_ex_promised(call));
    ATH_AUTO(ath_cuda_code)
    code = ath_cuda_code_take(served, ath_cuda_wire_module_load_data_ex_images(call));
    if (!code.bytes || !prepare(served, asked, &options))
        return;
    served->status = served->driver->cuModuleLoadDataEx(&module, code.bytes, options.count,
                                                        options.options, options.values);
    struct ath_cuda_wire_module_load_data_ex_result_builder answer =
        ath_cuda_wire_answer_init_module_load_data_ex(served->answer);
    ath_cuda_wire_module_load_data_ex_result_set_module(
        answer, ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_MODULE, (uintptr_t)module));
    ath_cuda_jit_options_answer(
        ath_cuda_wire_module_load_data_ex_result_init_results(answer, options.count), &options);
}

void ath_cuda_serve_cuLibraryLoadData(struct ath_cuda_served *served)
{
    NEEDS(served, cuLibraryLoadData)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_library_load_data call =
        ath_cuda_wire_call_library_load_data(served->call);
    struct ath_wire_list asked = ath_cuda_wire_library_load_data_jit_options(call);
    struct ath_wire_list more = ath_cuda_wire_library_load_data_library_options(call);
    CUlibraryOption *library_options = ath_cuda_room(side, more.count, sizeof *library_options);
    void **library_values = ath_cuda_room(side, more.count, sizeof *library_values);
    struct ath_cuda_jit_options options;
    CUlibrary library = NULL;
    served->promised = ath_cuda_promise_of(ath_cuda_wire_library_load_data_promised(call));
    for (uint32_t i = 0; library_options && library_values && i < more.count; i++) {
        struct ath_cuda_wire_jit_option from = { ath_wire_list_struct(more, i) };
        library_options[i] = (CUlibraryOption)ath_cuda_wire_jit_option_option(from);
        library_values[i] = (void *)(uintptr_t)ath_cuda_wire_jit_option_value(from);
        if (library_options[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE ||
            library_options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
            library_values[i] =
                NULL; /* it points into the program's process; the code is freed with the call, so
                         the driver, which may load it late, must copy it */
    }
    ATH_AUTO(ath_cuda_code)
    code = ath_cuda_code_take(served, ath_cuda_wire_library_load_data_images(call));
    if (!code.bytes || !prepare(served, asked, &options))
        return;
    served->status = served->driver->cuLibraryLoadData(&library, code.bytes, options.options,
                                                       options.values, options.count,
                                                       library_options, library_values, more.count);
    struct ath_cuda_wire_library_load_data_result_builder answer =
        ath_cuda_wire_answer_init_library_load_data(served->answer);
    ath_cuda_wire_library_load_data_result_set_library(
        answer, ath_cuda_to_wire(side, ATH_CUDA_KIND_LIBRARY, (uintptr_t)library));
    ath_cuda_jit_options_answer(
        ath_cuda_wire_library_load_data_result_init_results(answer, options.count), &options);
}
