/*
 * Options of the driver's compiler and linker on the server. An option's value is a number, except
 * the two logs: the driver writes these, so they get buffers here, and the client receives what
 * was written.
 */
#pragma once
#include "cuda/common/call_side.h"
#include "proto/cuda-wire-types.h"

struct ath_cuda_jit_options {
    CUjit_option *options;
    void **values;   /* the driver changes some of them: times, and lengths of logs */
    uint64_t *rooms; /* bytes of the buffers of logs; 0 for other options */
    unsigned int count;
};

/* Takes options from the wire. Their memory comes from the side, and lasts as long as the side.
 * Options that are unsafe set side->status: names and addresses, which do not travel, and a log
 * whose size is larger than its buffer. */
struct ath_cuda_jit_options ath_cuda_jit_options_take(struct ath_cuda_side *side,
                                                      struct ath_wire_list list);

/* Writes what the driver has made of the options. list has as many items. */
void ath_cuda_jit_options_answer(struct ath_wire_array list,
                                 const struct ath_cuda_jit_options *options);
