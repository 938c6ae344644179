/*
 * Kernels that the program will ask for by name, asked behind its question for another one of the
 * library, on a slow line: with the first question all kernels of a small library (at most 64),
 * with each further one of a larger library 64 whose names are most like the program's. cuBLAS and
 * cuDNN take up to 30 variants of a kernel from one library in PyTorch's first two training steps.
 * The answers become facts (code_facts.h), so the program does not wait for these kernels. A
 * library that an earlier run has loaded is not asked: its facts are on disk. One thread.
 */
#pragma once
#include "cuda/client/client.h"
#include "remote/wire/frame.h"

/* The kernel that the program asks for. */
struct ath_cuda_library_kernel {
    CUlibrary library;
    const char *name;
};

/* Asks cuLibraryGetKernel() as ath_cuda_ask() does, and behind it for more kernels, if that is
 * worth it. The thread's `more` is a struct ath_cuda_library_kernel. */
CUresult ath_cuda_ask_library_kernels(struct ath_cuda_exchange *exchange,
                                      const struct ath_frame *message);

/* Writes the program's question for one kernel into an exchange of cuLibraryGetKernel(). */
void ath_cuda_library_kernels_put(struct ath_cuda_exchange *exchange, CUlibrary library,
                                  const char *name, uint64_t promised);
