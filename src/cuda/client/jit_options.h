/* Options of the driver's compiler and linker, and files of the program, on the client. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/fingerprint.h"
#include "cuda/api/cuda_api.h"
#include "proto/cuda-wire-types.h"

/* Returns CUDA_SUCCESS if all options can travel. */
CUresult ath_cuda_check_options(const CUjit_option *options, void **values, unsigned int count);

/* list has count JitOptions. */
void ath_cuda_put_options(struct ath_wire_array list, const CUjit_option *options, void **values,
                          unsigned int count);

/* The program's room for the two logs, as its options say before the driver changes them. */
struct ath_cuda_log_rooms {
    uint32_t info, error; /* bytes */
};
struct ath_cuda_log_rooms ath_cuda_log_rooms_of(const CUjit_option *options, void **values,
                                                unsigned int count);

/* Adds what the program asks for: the options without the places of their answers. */
void ath_cuda_fingerprint_options(struct ath_fingerprint *print, const CUjit_option *options,
                                  void **values, unsigned int count);

/* Reads what the driver wrote into the options: logs, their lengths, times. A log that is longer
 * than its room is left out. */
void ath_cuda_take_options(struct ath_wire_list list, const CUjit_option *options, void **values,
                           unsigned int count, const struct ath_cuda_log_rooms *rooms);

/* Reads a whole file and adds NUL bytes, since PTX needs one. The caller frees *out. */
CUresult ath_cuda_read_file(const char *path, void **out, size_t *out_size);
