/* The server's side of modules, libraries and the linker: options, and code that is large or has
 * parts. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/common/bytes.h"
#include "cuda/common/promise.h"
#include "cuda/server/regions.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-structs.h"

/* ---- options of modules and libraries ---- */

struct options {
    CUjit_option *options;
    void **values;
    unsigned int count;
};

static bool is_log(uint32_t option)
{
    return option == CU_JIT_INFO_LOG_BUFFER || option == CU_JIT_ERROR_LOG_BUFFER;
}

/* Numbers stay as they are. A log gets a buffer of this call's memory, of the size that the client
 * gave; a larger size would have the driver write behind the buffer. */
static struct options options_of(struct ath_cuda_side *side, struct ath_wire_list list)
{
    struct options made = { ath_cuda_room(side, list.count, sizeof(CUjit_option)),
                            ath_cuda_room(side, list.count, sizeof(void *)), list.count };
    for (uint32_t i = 0; made.options && made.values && i < list.count; i++) {
        struct ath_cuda_wire_jit_option from = { ath_wire_list_struct(list, i) };
        uint64_t value = ath_cuda_wire_jit_option_value(from);
        made.options[i] = (CUjit_option)ath_cuda_wire_jit_option_option(from);
        made.values[i] =
            is_log(made.options[i]) ? ath_cuda_room(side, value, 1) : (void *)(uintptr_t)value;
    }
    return made;
}

/* The smallest of all sizes given: which of them the driver uses is its own choice. */
static uint64_t room_of_log(struct ath_wire_list list, CUjit_option log)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_jit_option from = { ath_wire_list_struct(list, i) };
        if (ath_cuda_wire_jit_option_option(from) == log)
            least = ath_cuda_least(least, ath_cuda_wire_jit_option_value(from));
    }
    return least;
}

/* Returns whether the size given for a log is the room there is; lists of names do not travel. */
static bool are_safe(struct ath_wire_list list)
{
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_jit_option from = { ath_wire_list_struct(list, i) };
        uint32_t option = ath_cuda_wire_jit_option_option(from);
        uint64_t value = ath_cuda_wire_jit_option_value(from);
        if ((option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES &&
             value > room_of_log(list, CU_JIT_INFO_LOG_BUFFER)) ||
            (option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES &&
             value > room_of_log(list, CU_JIT_ERROR_LOG_BUFFER)) ||
            option == CU_JIT_GLOBAL_SYMBOL_NAMES || option == CU_JIT_GLOBAL_SYMBOL_ADDRESSES ||
            option == CU_JIT_REFERENCED_KERNEL_NAMES || option == CU_JIT_REFERENCED_VARIABLE_NAMES)
            return false;
    }
    return true;
}

static void answer_options(struct ath_wire_array list, const struct options *options,
                           struct ath_wire_list asked)
{
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_jit_option_builder to = { ath_wire_array_struct(list, i) };
        struct ath_cuda_wire_jit_option from = { ath_wire_list_struct(asked, i) };
        uint64_t value = ath_cuda_wire_jit_option_value(from);
        ath_cuda_wire_jit_option_set_option(to, (uint32_t)options->options[i]);
        if (!is_log(options->options[i])) {
            ath_cuda_wire_jit_option_set_value(to, (uintptr_t)options->values[i]);
            continue;
        }
        ath_cuda_wire_jit_option_set_value(to, value);
        size_t length = strnlen(options->values[i], (size_t)value);
        ath_cuda_wire_jit_option_set_contents(
            to, (struct ath_wire_bytes){ options->values[i], length + (length < value) });
    }
}

static bool prepare(struct ath_cuda_served *served, struct ath_wire_list list, struct options *out)
{
    *out = options_of(&served->side, list);
    if (!are_safe(list))
        served->side.status = CUDA_ERROR_INVALID_VALUE;
    return !ath_cuda_refused(served);
}

/* Checks an image's own size, which the driver believes. */
static bool is_whole(struct ath_cuda_served *served, struct ath_wire_bytes image)
{
    bool is_image = ath_cuda_is_whole_image(image.data, image.length);
    if (!is_image)
        served->status = CUDA_ERROR_INVALID_IMAGE;
    return is_image;
}

/* ---- images ---- */

enum { IMAGE_ALIGNMENT = 64 };

/* Code that came in parts, or that the driver may read as long as the session lives. */
struct ath_cuda_image {
    struct ath_cuda_image *next;
    uint64_t id; /* 0: it is the driver's to read */
    size_t length, filled;
    uint8_t *bytes;
};

static void image_free(struct ath_cuda_image *image)
{
    if (image)
        free(image->bytes);
    free(image);
}

void ath_cuda_images_free(struct ath_cuda_session *session)
{
    for (struct ath_cuda_image *image = session->images, *next; image; image = next) {
        next = image->next;
        image_free(image);
    }
    session->images = NULL;
}

/* Returns the image's place in the list, or the list's end, which is NULL. The caller has the lock.
 *  */
static struct ath_cuda_image **image_of(struct ath_cuda_session *session, uint64_t id)
{
    struct ath_cuda_image **at = &session->images;
    while (*at && (!id || (*at)->id != id))
        at = &(*at)->next;
    return at;
}

/* Counts bytes of images that are not loaded yet, whether they have come or not. The caller has the
 * lock. */
static uint64_t waiting_bytes(const struct ath_cuda_session *session)
{
    uint64_t bytes = 0;
    for (const struct ath_cuda_image *image = session->images; image; image = image->next)
        bytes += image->id ? image->length : 0;
    return bytes;
}

static struct ath_cuda_image *add_image(struct ath_cuda_session *session, uint64_t id,
                                        size_t length)
{
    struct ath_cuda_image *made = calloc(1, sizeof *made);
    size_t whole = (length + IMAGE_ALIGNMENT - 1) / IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
    if (!made || !(made->bytes = aligned_alloc(IMAGE_ALIGNMENT, whole))) {
        free(made);
        return NULL;
    }
    made->id = id;
    made->length = length;
    made->next = session->images;
    session->images = made;
    return made;
}

void ath_cuda_serve_athUploadImage(struct ath_cuda_served *served)
{
    const uint64_t most = UINT64_C(1) << 31, most_waiting = 2 * most;
    struct ath_cuda_session *session = served->session;
    struct ath_cuda_wire_upload_image call = ath_cuda_wire_call_upload_image(served->call);
    uint64_t id = ath_cuda_wire_upload_image_id(call);
    uint64_t total = ath_cuda_wire_upload_image_total(call);
    struct ath_wire_bytes data = ath_cuda_wire_upload_image_data(call);
    served->status = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&session->lock);
    struct ath_cuda_image *image = *image_of(session, id);
    if (!image && id && total && total <= most) {
        if (total <= most_waiting - waiting_bytes(session))
            image = add_image(session, id, total);
        if (!image)
            served->status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (image && image->length == total &&
        image->filled == ath_cuda_wire_upload_image_offset(call) &&
        data.length <= image->length - image->filled) {
        memcpy(image->bytes + image->filled, data.data, data.length);
        image->filled += data.length;
        served->status = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&session->lock);
}

/* Code for the driver to load. */
struct code {
    const void *bytes;            /* NULL: refused */
    struct ath_cuda_image *image; /* what this call alone needs; NULL */
};

static void code_free(struct code *code)
{
    image_free(code->image);
}

/* Takes an image that has come whole out of the list. Returns NULL if there is none. */
static struct ath_cuda_image *take_uploaded(struct ath_cuda_session *session, uint64_t id)
{
    struct ath_cuda_image **at = image_of(session, id), *image = *at;
    if (!image || image->filled != image->length)
        return NULL;
    *at = image->next;
    image->id = 0;
    return image;
}

/* Keeps an image as long as the session. Returns NULL on failure. */
static const void *keep_image(struct ath_cuda_served *served, struct ath_cuda_wire_image from)
{
    struct ath_cuda_session *session = served->session;
    struct ath_wire_bytes data = ath_cuda_wire_image_data(from);
    uint64_t id = ath_cuda_wire_image_uploaded(from);
    struct ath_cuda_image *image = NULL;
    pthread_mutex_lock(&session->lock);
    if (id && (image = take_uploaded(session, id))) {
        image->next = session->images;
        session->images = image;
    } else if (!id && data.length && (image = add_image(session, 0, data.length))) {
        memcpy(image->bytes, data.data, data.length);
    }
    pthread_mutex_unlock(&session->lock);
    bool is_good =
        image && is_whole(served, (struct ath_wire_bytes){ image->bytes, image->length });
    return is_good ? image->bytes : NULL;
}

/* Returns an image that the driver has copied once it is loaded. */
static struct code take_image(struct ath_cuda_served *served, struct ath_cuda_wire_image from)
{
    struct ath_wire_bytes data = ath_cuda_wire_image_data(from);
    uint64_t id = ath_cuda_wire_image_uploaded(from);
    struct code code = { 0 };
    if (id) {
        pthread_mutex_lock(&served->session->lock);
        code.image = take_uploaded(served->session, id);
        pthread_mutex_unlock(&served->session->lock);
        if (!code.image)
            return code;
        data = (struct ath_wire_bytes){ code.image->bytes, code.image->length };
    }
    code.bytes = is_whole(served, data) ? data.data : NULL;
    return code;
}

/* Rebuilds nvcc's wrapper of version 2 around an image and the code linked into it, as the program
 * had it. The driver may read its parts late. */
static const void *wrap_images(struct ath_cuda_served *served, struct ath_wire_list list)
{
    const void **pointers = NULL;
    struct ath_cuda_wire_image first = { ath_wire_list_struct(list, 0) };
    const void *image = keep_image(served, first);
    if (!image)
        return NULL;
    pthread_mutex_lock(&served->session->lock);
    struct ath_cuda_image *wrapper = add_image(
        served->session, 0, ATH_CUDA_WRAPPER_BYTES + (size_t)list.count * sizeof *pointers);
    pthread_mutex_unlock(&served->session->lock);
    if (!wrapper)
        return NULL;
    pointers = (const void **)(void *)(wrapper->bytes + ATH_CUDA_WRAPPER_BYTES);
    for (uint32_t i = 1; i < list.count; i++) {
        struct ath_cuda_wire_image one = { ath_wire_list_struct(list, i) };
        pointers[i - 1] = keep_image(served, one);
        if (!pointers[i - 1])
            return NULL;
    }
    pointers[list.count - 1] = NULL;
    ath_cuda_wrap_images(wrapper->bytes, image, pointers);
    return wrapper->bytes;
}

static struct code code_of(struct ath_cuda_served *served, struct ath_wire_list list)
{
    struct ath_cuda_wire_image first = { ath_wire_list_struct(list, 0) };
    struct code code = { 0 };
    if (list.count > 1)
        code.bytes = wrap_images(served, list);
    else
        code = take_image(served, first);
    if (!code.bytes && !served->status)
        served->status = CUDA_ERROR_INVALID_IMAGE;
    return code;
}

void ath_cuda_serve_cuModuleLoadDataEx(struct ath_cuda_served *served)
{
    NEEDS(served, cuModuleLoadDataEx)
    struct ath_cuda_wire_module_load_data_ex call =
        ath_cuda_wire_call_module_load_data_ex(served->call);
    struct ath_wire_list asked = ath_cuda_wire_module_load_data_ex_options(call);
    struct options options;
    CUmodule module = NULL;
    served->promised = ath_cuda_promise_of(ath_cuda_wire_module_load_data_ex_promised(call));
    ATH_AUTO(code) code = code_of(served, ath_cuda_wire_module_load_data_ex_images(call));
    if (!code.bytes || !prepare(served, asked, &options))
        return;
    served->status = served->driver->cuModuleLoadDataEx(&module, code.bytes, options.count,
                                                        options.options, options.values);
    struct ath_cuda_wire_module_load_data_ex_result_builder answer =
        ath_cuda_wire_answer_init_module_load_data_ex(served->answer);
    ath_cuda_wire_module_load_data_ex_result_set_module(
        answer, ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_MODULE, (uintptr_t)module));
    answer_options(ath_cuda_wire_module_load_data_ex_result_init_results(answer, options.count),
                   &options, asked);
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
    struct options options;
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
    ATH_AUTO(code) code = code_of(served, ath_cuda_wire_library_load_data_images(call));
    if (!code.bytes || !prepare(served, asked, &options))
        return;
    served->status = served->driver->cuLibraryLoadData(&library, code.bytes, options.options,
                                                       options.values, options.count,
                                                       library_options, library_values, more.count);
    struct ath_cuda_wire_library_load_data_result_builder answer =
        ath_cuda_wire_answer_init_library_load_data(served->answer);
    ath_cuda_wire_library_load_data_result_set_library(
        answer, ath_cuda_to_wire(side, ATH_CUDA_KIND_LIBRARY, (uintptr_t)library));
    answer_options(ath_cuda_wire_library_load_data_result_init_results(answer, options.count),
                   &options, asked);
}

/* ---- the linker ---- */

static CUresult add_inputs(struct ath_cuda_served *served, CUlinkState state,
                           struct ath_wire_list inputs)
{
    CUresult status = CUDA_SUCCESS;
    for (uint32_t i = 0; !status && i < inputs.count; i++) {
        struct ath_cuda_wire_link_input from = { ath_wire_list_struct(inputs, i) };
        struct ath_wire_bytes data = ath_cuda_wire_link_input_data(from);
        struct options options;
        if (!prepare(served, ath_cuda_wire_link_input_options(from), &options))
            return served->status;
        status = served->driver->cuLinkAddData_v2(
            state, (CUjitInputType)ath_cuda_wire_link_input_type(from),
            (void *)(uintptr_t)data.data, data.length,
            ath_cuda_wire_link_input_has_name(from) ? ath_cuda_wire_link_input_name(from) : NULL,
            options.count, options.options, options.values);
    }
    return status;
}

/* The logs are buffers of the options. The driver fills them until the state is destroyed. */
void ath_cuda_serve_cuLinkComplete(struct ath_cuda_served *served)
{
    NEEDS(served, cuLinkCreate_v2)
    NEEDS(served, cuLinkAddData_v2)
    NEEDS(served, cuLinkComplete)
    NEEDS(served, cuLinkDestroy)
    struct ath_cuda_wire_link_complete call = ath_cuda_wire_call_link_complete(served->call);
    struct ath_wire_list asked = ath_cuda_wire_link_complete_options(call);
    struct options options;
    CUlinkState state = NULL;
    void *cubin = NULL;
    size_t size = 0;
    if (!prepare(served, asked, &options))
        return;
    served->status =
        served->driver->cuLinkCreate_v2(options.count, options.options, options.values, &state);
    if (served->status)
        return;
    CUresult status = add_inputs(served, state, ath_cuda_wire_link_complete_inputs(call));
    if (!status)
        status = served->driver->cuLinkComplete(state, &cubin, &size);
    struct ath_cuda_wire_link_complete_result_builder answer =
        ath_cuda_wire_answer_init_link_complete(served->answer);
    if (!status)
        ath_cuda_wire_link_complete_result_set_cubin(answer,
                                                     (struct ath_wire_bytes){ cubin, size });
    answer_options(ath_cuda_wire_link_complete_result_init_results(answer, options.count), &options,
                   asked);
    served->driver->cuLinkDestroy(state);
    served->status = status;
}
