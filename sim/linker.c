/*
 * The linker. It makes an image of all kernels and variables that its inputs have. The simulated
 * driver alone reads such an image, so this is a text that looks like PTX; no code is in it.
 *
 * Inputs are PTX, cubins and fat binaries. Code of the host's object files and archives is not
 * found, and compressed code has no names to link.
 */
#include "config.h"

#include "sim/sim.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/image.h"
#include "sim/jit_log.h"
#include "sim/work.h"

struct sim_linker {
    struct sim_object object;
    struct sim_jit_logs logs;
    struct sim_image image; /* of all inputs */
    unsigned int inputs;
    int64_t spent_ns;
    const char *twice; /* a kernel that two inputs have; NULL: none */
    char *made;
};

static CUresult find_linker(CUlinkState state, struct sim_linker **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_object_find(SIM_LINKER, state);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values, CUlinkState *out)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (!out || (count && (!options || !values)))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_linker *linker = sim_object_new(SIM_LINKER, NULL, sizeof *linker);
    if (!linker)
        return CUDA_ERROR_OUT_OF_MEMORY;
    linker->logs = sim_jit_logs_of(options, values, count);
    *out = (CUlinkState)linker;
    return CUDA_SUCCESS;
}

/* Checks that an input is what its type says. Returns CUDA's error for the type if it is not. */
static CUresult check_type(CUjitInputType type, const unsigned char *data, size_t size)
{
    static const unsigned char fatbin[] = { 0x50, 0xed, 0x55, 0xba };
    switch ((int)type) {
    case CU_JIT_INPUT_PTX:
        return memchr(data, '\0', size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
    case CU_JIT_INPUT_CUBIN:
        return size >= sizeof(Elf64_Ehdr) && !memcmp(data, ELFMAG, SELFMAG)
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_IMAGE;
    case CU_JIT_INPUT_FATBINARY:
        return size >= 16 && !memcmp(data, fatbin, sizeof fatbin) ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_IMAGE;
    case CU_JIT_INPUT_OBJECT:
    case CU_JIT_INPUT_LIBRARY:
    case CU_JIT_INPUT_NVVM:
        return CUDA_ERROR_INVALID_IMAGE;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult read_input(CUjitInputType type, const void *data, size_t size,
                           struct sim_image *out)
{
    CUresult status = check_type(type, data, size);
    if (!status)
        status = sim_image_read_input(data, out);
    return status == CUDA_ERROR_INVALID_IMAGE && type == CU_JIT_INPUT_PTX ? CUDA_ERROR_INVALID_PTX
                                                                          : status;
}

static const char *find_kernel(const struct sim_image *image, const char *name)
{
    for (size_t i = 0; i < image->count; i++)
        if (image->symbols[i].is_kernel && !strcmp(image->symbols[i].name, name))
            return image->symbols[i].name;
    return NULL;
}

static CUresult merge(struct sim_linker *linker, const struct sim_image *input)
{
    CUresult status = CUDA_SUCCESS;
    for (size_t i = 0; !status && i < input->count; i++) {
        const struct sim_symbol *symbol = &input->symbols[i];
        const char *known = symbol->is_kernel ? find_kernel(&linker->image, symbol->name) : NULL;
        if (known)
            linker->twice = known;
        status = sim_image_add(&linker->image, symbol);
    }
    return status;
}

/* NOLINTBEGIN(readability-non-const-parameter): as CUDA declares them */
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                          const char *name, unsigned int count, CUjit_option *options,
                          void **values)
{
    SIM_LOCKED;
    struct sim_linker *linker;
    struct sim_image input = { 0 };
    int64_t begin_ns = sim_now_ns();
    CUresult status = find_linker(state, &linker);
    if (status)
        return status;
    if (!data || !size || (count && (!options || !values)))
        return CUDA_ERROR_INVALID_VALUE;
    status = read_input(type, data, size, &input);
    if (!status && input.is_opaque)
        status = CUDA_ERROR_INVALID_IMAGE;
    if (!status)
        status = merge(linker, &input);
    sim_image_free(&input);
    if (status)
        sim_jit_say(&linker->logs.error, "%s; fatal   : the input cannot be read (error %d)",
                    name ? name : "input", (int)status);
    else
        linker->inputs++;
    linker->spent_ns += sim_now_ns() - begin_ns;
    return status;
}
/* NOLINTEND(readability-non-const-parameter) */

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                          unsigned int count, CUjit_option *options, void **values)
{
    size_t size;
    char *bytes = sim_read_file(path, &size);
    CUresult status =
        bytes ? cuLinkAddData_v2(state, type, bytes, size + 1, path, count, options, values)
              : CUDA_ERROR_FILE_NOT_FOUND;
    free(bytes);
    return status;
}

/* Returns the length of the image's text, which is written if there is room. */
static size_t write_image(const struct sim_image *image, char *text, size_t room)
{
    size_t length = 0;
#define PUT(...)                                                                                   \
    length += (size_t)snprintf(text ? text + length : NULL, text ? room - length : 0, __VA_ARGS__)
    PUT(".version 7.0\n.target sm_75\n.address_size 64\n");
    for (size_t i = 0; i < image->count; i++) {
        const struct sim_symbol *symbol = &image->symbols[i];
        if (symbol->is_kernel)
            PUT(".visible .entry %s()\n{\n\tret;\n}\n", symbol->name);
        else
            PUT(".visible .global .align 8 %s.b8 %s[%zu];\n",
                symbol->is_managed ? ".attribute(.managed) " : "", symbol->name, symbol->bytes);
    }
#undef PUT
    return length;
}

CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
    SIM_LOCKED;
    struct sim_linker *linker;
    int64_t begin_ns = sim_now_ns();
    CUresult status = find_linker(state, &linker);
    if (status)
        return status;
    if (!cubin)
        return CUDA_ERROR_INVALID_VALUE;
    if (linker->twice) {
        sim_jit_say(&linker->logs.error, "error   : Multiple definition of '%s'", linker->twice);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    size_t bytes = write_image(&linker->image, NULL, 0) + 1;
    char *made = linker->made ? linker->made : malloc(bytes);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    write_image(&linker->image, made, bytes);
    linker->made = made;
    *cubin = made;
    if (size)
        *size = bytes;
    sim_jit_say(&linker->logs.info, "info    : %u inputs, %zu bytes", linker->inputs, bytes);
    sim_jit_took(&linker->logs, (float)(linker->spent_ns + sim_now_ns() - begin_ns) / 1e6f);
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state)
{
    SIM_LOCKED;
    struct sim_linker *linker;
    CUresult status = find_linker(state, &linker);
    if (status)
        return status;
    sim_object_forget(&linker->object);
    sim_image_free(&linker->image);
    free(linker->made);
    free(linker);
    return CUDA_SUCCESS;
}
