/*
 * How much GPU memory a module's image declares: its variables, and its code if that is an ELF
 * file. The image comes from a client. It must end where its own head says
 * (ath_cuda_is_whole_image()); no other number in it is trusted. Compressed parts, and code that
 * the driver has still to compile, are not read: what they take is measured when they are loaded
 * (modules.c).
 *
 * No state, any thread.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Returns the bytes that an image declares; of a fat binary the most that one of its parts does.
 * UINT64_MAX if they are too many to count. */
uint64_t ath_image_memory(const void *image);
