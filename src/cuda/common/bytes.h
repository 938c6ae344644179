/* Sizes of what CUDA takes by an untyped pointer: facts of its documented interface. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cuda/api/cuda_api.h"

/* Returns the size of an attribute's value, or 0 for an unknown attribute. */
size_t ath_cuda_bytes_of_pool_attribute(CUmemPool_attribute attribute);
size_t ath_cuda_bytes_of_pointer_attribute(CUpointer_attribute attribute);

/* Returns the size of one channel of an array's element, or 0 if the texels are compressed or have
 * planes. */
size_t ath_cuda_bytes_of_format(CUarray_format format);

/*
 * Returns the size of a module's image: a fat binary (with or without nvcc's wrapper), an ELF file
 * for a GPU, or PTX, which ends with its NUL byte. Returns 0 for anything else.
 */
size_t ath_cuda_bytes_of_image(const void *image);

/*
 * Returns whether an image is a fat binary with machine code for exactly this compute capability
 * (90: 9.0), as its heads say. Such code runs there, and needs no compiler.
 */
bool ath_cuda_has_code_for(const void *image, unsigned int capability);

/*
 * Returns whether an image from a client ends where its own head says. The driver believes the
 * head, so it would read beyond a shorter image. An image with a wrapper, which points elsewhere,
 * is not whole.
 */
bool ath_cuda_is_whole_image(const void *image, size_t length);

/*
 * Returns the fat binaries that nvcc linked from relocatable code (-rdc) beforehand: a wrapper of
 * version 2 has a list of them, which ends with NULL. Returns NULL if there is no list.
 */
const void *const *ath_cuda_prelinked_images(const void *image);

/* Builds the same list in the caller's memory, for images that end with NULL. room holds as many
 * pointers as there are images and ATH_CUDA_WRAPPER_BYTES, where the wrapper is put. */
enum { ATH_CUDA_WRAPPER_BYTES = 24 };
void ath_cuda_wrap_images(void *wrapper, const void *image, const void *const *prelinked);

/* Returns the fat binary that a wrapper points to, or the image itself if it has no wrapper. */
const void *ath_cuda_unwrapped_image(const void *image);
