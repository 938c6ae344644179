/*
 * All kernels of a small library, asked beside the program's first question for one of them, on a
 * slow line. Their answers become facts (code_facts.h), so the program does not wait for the
 * others. A library that an earlier run has loaded is not asked: its facts are on disk. One thread.
 */
#pragma once
#include "cuda/client/client.h"

struct ath_cuda_library_kernels {
    struct ath_cuda_exchange exchange;
    CUlibrary library;
    bool is_asked;
};

/* Sends the question, if it is worth it. Not between ath_cuda_begin() and ath_cuda_end(). */
void ath_cuda_library_kernels_begin(struct ath_cuda_library_kernels *asked, CUlibrary library);

/* Takes the answer of a question that was sent. The same. */
void ath_cuda_library_kernels_end(struct ath_cuda_library_kernels *asked);

/* Writes the program's question for one kernel into an exchange of cuLibraryGetKernel(). */
void ath_cuda_library_kernels_put(struct ath_cuda_exchange *exchange, CUlibrary library,
                                  const char *name, uint64_t promised);
