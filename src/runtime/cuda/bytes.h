/* How large things are that CUDA takes by an untyped pointer: facts of its documented interface. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "runtime/cuda/cuda_api.h"

/* The value of an attribute; 0 for one that is not known. */
size_t ath_cuda_bytes_of_pool_attribute(CUmemPool_attribute attribute);
size_t ath_cuda_bytes_of_pointer_attribute(CUpointer_attribute attribute);

/* Of a channel of an array's elements; 0: its texels are compressed, or have planes. */
size_t ath_cuda_bytes_of_format(CUarray_format format);

/*
 * A module's image: a fat binary (with nvcc's wrapper around it or without), an ELF file for a GPU,
 * or PTX, which ends with its NUL byte. 0 where it is none of these.
 */
size_t ath_cuda_bytes_of_image(const void *image);

/*
 * Whether an image that came from a stranger ends where it says itself, so that a driver, which
 * believes it, does not read beyond. One with a wrapper, which leads elsewhere, does not.
 */
bool ath_cuda_is_whole_image(const void *image, size_t length);

/*
 * What nvcc links of relocatable code (-rdc) beforehand: a wrapper of version 2 has a list of such
 * fat binaries, which ends with NULL. NULL: there is no list.
 */
const void *const *ath_cuda_prelinked_images(const void *image);

/* The same in memory of the caller's, for images that end with NULL: room is for as many pointers
 * as they are and for ATH_CUDA_WRAPPER_BYTES, where the wrapper is put. */
enum { ATH_CUDA_WRAPPER_BYTES = 24 };
void ath_cuda_wrap_images(void *wrapper, const void *image, const void *const *prelinked);

/* Where a fat binary's wrapper leads to; the image itself where there is none. */
const void *ath_cuda_unwrapped_image(const void *image);
