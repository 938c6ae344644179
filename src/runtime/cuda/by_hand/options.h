/* Options of the compiler and linker in the driver, and files of the program's, on the client. */
#pragma once
#include <stddef.h>

#include "proto/cuda-wire.h"
#include "runtime/cuda/cuda_api.h"

/* CUDA_SUCCESS where all of them can travel. */
CUresult ath_cuda_check_options(const CUjit_option *options, void **values, unsigned int count);

/* list is of as many JitOptions. */
void ath_cuda_put_options(struct ath_wire_array list, const CUjit_option *options, void **values,
                          unsigned int count);

/* What the driver put into the options: logs, their lengths, times. */
void ath_cuda_take_options(struct ath_wire_list list, const CUjit_option *options, void **values,
                           unsigned int count);

/* The whole file with NUL bytes behind it (PTX needs one); the caller frees *out. */
CUresult ath_cuda_read_file(const char *path, void **out, size_t *out_size);
