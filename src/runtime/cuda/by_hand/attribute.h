/*
 * What the program set of its kernels' attributes, which libraries do before each launch. Any
 * thread.
 *
 * What is asked about a kernel (attributes, occupancy) hangs on what is set. Answers are cached
 * with the state that they belong to, so that a kernel that goes to and fro between two settings is
 * asked about twice, not each time.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Equal for a kernel (or function) as long as nothing that could change it is set, and again when
 * the same is set again. */
uint64_t ath_cuda_attributes_state(uint64_t kernel);

/* cuKernelGetFunction() gave it: a kernel by another name. kernel 0: cuModuleGetFunction() did, of
 * a module that was loaded as one: it is no kernel's. */
void ath_cuda_attributes_name(uint64_t kernel, uint64_t function);

/* The program has a function or module in a way that could make it any kernel's by another name:
 * from now on whatever is set counts for all. */
void ath_cuda_attributes_mix(void);

/* What was set may be otherwise now; with_names: handles may be of something else. */
void ath_cuda_attributes_forget(bool with_names);
