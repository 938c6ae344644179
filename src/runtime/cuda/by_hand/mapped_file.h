/* Whether other processes may have a piece of the program's memory too (proc_pid_maps(5)). Any
 * thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Whether one of these bytes lies in a file that is mapped MAP_SHARED: on a disk or in memory
 * (/dev/shm), or what a fork shares. false also where the kernel does not say. */
bool ath_cuda_is_mapped_file(const void *address, size_t bytes);
