/*
 * The attributes of kernels that the program has set. Libraries set some before each launch. Any
 * thread.
 *
 * Answers about a kernel (attributes, occupancy) depend on its settings. They are cached with the
 * state of the settings, so that a kernel that alternates between two settings is asked about twice
 * only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* A number for the settings of a kernel or function. It stays equal as long as no setting changes,
 * and is equal again when the same values are set again. */
uint64_t ath_cuda_attributes_state(uint64_t kernel);

/* Notes a function that cuKernelGetFunction() returned: another name of a kernel. kernel 0:
 * cuModuleGetFunction() returned the function from a module that was loaded as one, so it names no
 * kernel. */
void ath_cuda_attributes_name(uint64_t kernel, uint64_t function);

/* The program received a function or module that may name any kernel. From now on each setting
 * counts for all kernels. */
void ath_cuda_attributes_mix(void);

/* Forgets settings that may have changed; with_names: also which handle is what. */
void ath_cuda_attributes_forget(bool with_names);
