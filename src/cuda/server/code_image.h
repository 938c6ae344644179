/*
 * Images of code from a client: in the call that uses them, or sent before in parts
 * (athUploadImage). Any thread.
 */
#pragma once
#include "cuda/server/served_call.h"
#include "proto/cuda-wire-types.h"

/* An image that came in parts, or that the driver may read as long as the session lives. */
struct ath_cuda_image;

/* Code for the driver. */
struct ath_cuda_code {
    const void *bytes; /* NULL: refused; served->status says why */
    size_t length;
    struct ath_cuda_image *image; /* what this call alone needs; NULL */
};
void ath_cuda_code_free(struct ath_cuda_code *code);

/* Returns the code of a list of images: the one to load, and those that nvcc linked into it. Its
 * own head says where it ends. The driver has copied it once it is loaded. */
struct ath_cuda_code ath_cuda_code_take(struct ath_cuda_served *served, struct ath_wire_list list);

/* Returns an input of the linker, with a NUL byte behind its length bytes. */
struct ath_cuda_code ath_cuda_code_take_input(struct ath_cuda_served *served,
                                              struct ath_cuda_wire_image from);

/* Frees all images of a session, also those that were kept for the driver. */
void ath_cuda_images_free(struct ath_cuda_session *session);
