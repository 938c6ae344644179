/* Images of code: takes them from calls and from the parts that came before. */
#include "config.h"

#include "cuda/server/code_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/common/bytes.h"
#include "proto/cuda-wire.h"

/* Checks an image's own size, which the driver believes. */
static bool is_whole(struct ath_cuda_served *served, struct ath_wire_bytes image)
{
    bool is_image = ath_cuda_is_whole_image(image.data, image.length);
    if (!is_image)
        served->status = CUDA_ERROR_INVALID_IMAGE;
    return is_image;
}

enum { IMAGE_ALIGNMENT = 64 };

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

/* Makes room for an image, with a NUL byte behind it. The caller has the lock. */
static struct ath_cuda_image *add_image(struct ath_cuda_session *session, uint64_t id,
                                        size_t length)
{
    struct ath_cuda_image *made = calloc(1, sizeof *made);
    size_t whole = (length + IMAGE_ALIGNMENT) / IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
    if (!made || !(made->bytes = aligned_alloc(IMAGE_ALIGNMENT, whole))) {
        free(made);
        return NULL;
    }
    made->bytes[length] = '\0';
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

void ath_cuda_code_free(struct ath_cuda_code *code)
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

/* Takes an image out of the call, or what came before it. Returns code without bytes if there is
 * none. */
static struct ath_cuda_code receive(struct ath_cuda_served *served, struct ath_cuda_wire_image from)
{
    struct ath_wire_bytes data = ath_cuda_wire_image_data(from);
    uint64_t id = ath_cuda_wire_image_uploaded(from);
    struct ath_cuda_code code = { data.data, data.length, NULL };
    if (!id)
        return code;
    pthread_mutex_lock(&served->session->lock);
    code.image = take_uploaded(served->session, id);
    pthread_mutex_unlock(&served->session->lock);
    code.bytes = code.image ? code.image->bytes : NULL;
    code.length = code.image ? code.image->length : 0;
    return code;
}

/* Returns an image that the driver has copied once it is loaded. */
static struct ath_cuda_code take_image(struct ath_cuda_served *served,
                                       struct ath_cuda_wire_image from)
{
    struct ath_cuda_code code = receive(served, from);
    if (!is_whole(served, (struct ath_wire_bytes){ code.bytes, code.length }))
        code.bytes = NULL;
    return code;
}

/* The linker gets the length. But it may believe the head of a binary, and look for the end of a
 * text. */
struct ath_cuda_code ath_cuda_code_take_input(struct ath_cuda_served *served,
                                              struct ath_cuda_wire_image from)
{
    struct ath_cuda_code code = receive(served, from);
    uint8_t *copy = code.bytes && !code.image
                        ? ath_cuda_room(&served->side, (uint64_t)code.length + 1, 1)
                        : NULL;
    if (copy)
        memcpy(copy, code.bytes, code.length);
    if (!code.image)
        code.bytes = copy;
    if (!is_whole(served, (struct ath_wire_bytes){ code.bytes, code.length + 1 }))
        code.bytes = NULL;
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

struct ath_cuda_code ath_cuda_code_take(struct ath_cuda_served *served, struct ath_wire_list list)
{
    struct ath_cuda_wire_image first = { ath_wire_list_struct(list, 0) };
    struct ath_cuda_code code = { 0 };
    if (list.count > 1)
        code.bytes = wrap_images(served, list);
    else
        code = take_image(served, first);
    if (!code.bytes && !served->status)
        served->status = CUDA_ERROR_INVALID_IMAGE;
    return code;
}
