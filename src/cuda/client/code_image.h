/* Sends images of code to the server: within the call that uses them, or before it in parts. Any
 * thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"
#include "proto/cuda-wire-types.h"

/* Images up to this size travel in the call that uses them. Larger ones are uploaded before. */
enum { ATH_CUDA_IMAGE_WITHIN_CALL = 4 * 1024 * 1024 };

struct ath_cuda_sent_image {
    const void *bytes;
    size_t length;
    uint64_t uploaded; /* its number at the server; 0: it travels in the call */
};

/* Uploads an image, and sets its number. With is_posted the function does not wait for answers,
 * because an earlier run loaded the same image. Must not be called between ath_cuda_begin() and
 * ath_cuda_end(). Returns the errors of ath_cuda_begin() or of the server; the number stays 0 then.
 */
CUresult ath_cuda_upload_image(struct ath_cuda_sent_image *image, bool is_posted);

/* Writes an image, or its number, into a call. */
void ath_cuda_put_image(struct ath_cuda_wire_image_builder to,
                        const struct ath_cuda_sent_image *image);
