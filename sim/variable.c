/* Variables of modules and libraries: device memory or managed memory of zeros. */
#include "config.h"

#include "sim/variable.h"

#include <stdlib.h>
#include <string.h>

#include "sim/context.h"
#include "sim/device_memory.h"
#include "sim/facts.h"
#include "sim/host_memory.h"
#include "sim/image.h"
#include "sim/image_kernels.h"
#include "sim/library.h"
#include "sim/module.h"
#include "sim/range.h"

enum { UNKNOWN_BYTES = 1 << 16 };

void sim_variables_end(struct sim_variable *list)
{
    for (struct sim_variable *at = list, *next; at; at = next) {
        struct sim_range *range = sim_range_at(at->address);
        next = at->next;
        if (range && range->base == at->address)
            sim_range_end(range);
        free(at);
    }
}

static const struct sim_symbol *find_variable(struct sim_image *image, const char *name)
{
    const struct sim_symbol *found = sim_image_symbol(image, name, false);
    if (found || !image->is_opaque || !sim_facts_ignores_unknown() ||
        sim_image_add_variable(image, name, UNKNOWN_BYTES))
        return found;
    return sim_image_symbol(image, name, false);
}

static CUresult make_memory(struct sim_context *context, const struct sim_symbol *symbol,
                            uint64_t *out_address)
{
    struct sim_range *range;
    if (symbol->is_managed) {
        CUresult given = sim_managed_memory(symbol->bytes, out_address);
        if (!given)
            memset((void *)(uintptr_t)*out_address, 0, symbol->bytes);
        return given;
    }
    CUresult status = sim_device_memory(context, context->device, symbol->bytes, NULL, &range);
    if (status)
        return status;
    memset(range->backing, 0, range->bytes);
    *out_address = range->base;
    return CUDA_SUCCESS;
}

/* Managed variables of a library exist once for all contexts, and without any context. */
static CUresult get_variable(struct sim_variable **list, const struct sim_symbol *symbol,
                             struct sim_context *context, CUdeviceptr *out, size_t *out_bytes)
{
    struct sim_variable *at = *list;
    while (at && strcmp(at->name, symbol->name) != 0)
        at = at->next;
    if (!at) {
        uint64_t address;
        at = calloc(1, sizeof *at);
        CUresult status = at ? make_memory(context, symbol, &address) : CUDA_ERROR_OUT_OF_MEMORY;
        if (status) {
            free(at);
            return status;
        }
        *at = (struct sim_variable){ *list, symbol->name, address };
        *list = at;
    }
    if (out)
        *out = at->address;
    if (out_bytes)
        *out_bytes = symbol->bytes;
    return CUDA_SUCCESS;
}

static CUresult get_global(struct sim_module *module, const char *name, CUdeviceptr *out,
                           size_t *out_bytes)
{
    const struct sim_symbol *symbol = find_variable(sim_module_image(module), name);
    if (!symbol)
        return CUDA_ERROR_NOT_FOUND;
    struct sim_variable **list =
        symbol->is_managed && module->library ? &module->library->managed : &module->variables;
    return get_variable(list, symbol, module->object.context, out, out_bytes);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *bytes, CUmodule handle, const char *name)
{
    SIM_LOCKED;
    struct sim_module *module;
    CUresult status = sim_module_find(handle, &module);
    if (!status && !name)
        status = CUDA_ERROR_INVALID_VALUE;
    return status ? status : get_global(module, name, out, bytes);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *out, size_t *bytes, CUlibrary handle, const char *name)
{
    SIM_LOCKED;
    struct sim_library *library;
    struct sim_module *module;
    CUresult status = sim_library_find(handle, &library);
    if (!status && !name)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = sim_library_module(library, &module);
    return status ? status : get_global(module, name, out, bytes);
}

CUresult cuLibraryGetManaged(CUdeviceptr *out, size_t *bytes, CUlibrary handle, const char *name)
{
    SIM_LOCKED;
    struct sim_library *library;
    CUresult status = sim_library_find(handle, &library);
    if (!status && (!name || (!out && !bytes)))
        status = CUDA_ERROR_INVALID_VALUE;
    if (status)
        return status;
    const struct sim_symbol *symbol = find_variable(&library->image, name);
    return symbol && symbol->is_managed ? get_variable(&library->managed, symbol, NULL, out, bytes)
                                        : CUDA_ERROR_NOT_FOUND;
}
