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

#include "cuda/api/cuda_api.h"

/* A number for the settings of a kernel or function that a question depends on. It stays equal as
 * long as no such setting changes, and is equal again when the same values are set again.
 * attribute: the attribute in question, and 1, which depends on its own setting alone (attributes
 * of clusters on all of clusters; those of the code on none); 0: any other question. */
uint64_t ath_cuda_attributes_state(uint64_t kernel, uint64_t attribute);

/* A number for the settings that is the same in the next run of the program, where
 * ath_cuda_attributes_state() differs. Returns false if settings may have been lost from sight, or
 * differ between contexts. */
bool ath_cuda_attributes_lasting_state(uint64_t kernel, uint64_t attribute, uint64_t *out);

/* The kernel that a function names on the device of the current context; 0: none, or not known. */
uint64_t ath_cuda_attributes_kernel_here(uint64_t function);

/* The same, if the kernel's attribute is the function's; else 0. */
uint64_t ath_cuda_attributes_kernel_with(uint64_t function, CUfunction_attribute attribute);

/* The value of an attribute that was set for a kernel on a device, if it is read as it was set.
 * Returns false if none is known to hold. */
bool ath_cuda_attributes_setting(uint64_t kernel, CUdevice device, CUfunction_attribute attribute,
                                 int *out);

/* The same of a function, or of a kernel that cuFuncSetAttribute() got in the current context. */
bool ath_cuda_attributes_setting_of_function(CUfunction function, CUfunction_attribute attribute,
                                             int *out);

/* Returns whether an attribute is one of the code, which no setting changes. */
static inline bool ath_cuda_is_attribute_of_code(CUfunction_attribute attribute)
{
    return attribute >= CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK &&
           attribute <= CU_FUNC_ATTRIBUTE_CACHE_MODE_CA;
}

/* Notes a function that cuKernelGetFunction() returned: another name of a kernel. kernel 0:
 * cuModuleGetFunction() returned the function from a module that was loaded as one, so it names no
 * kernel. */
void ath_cuda_attributes_name(uint64_t kernel, uint64_t function);

/* The program received a function or module that may name any kernel. From now on each setting
 * counts for all kernels. */
void ath_cuda_attributes_mix(void);

/* Forgets settings that may have changed; with_names: also which handle is what. */
void ath_cuda_attributes_forget(bool with_names);
