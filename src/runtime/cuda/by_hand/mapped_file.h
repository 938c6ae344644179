/* Whether other processes may have a piece of the program's memory too, and the file that it then
 * is (proc_pid_maps(5)). Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether one of these bytes lies in a file that is mapped MAP_SHARED: on a disk or in memory
 * (/dev/shm), or what a fork shares. false also where the kernel does not say.
 *
 * *out_fd is the file, open for reading and writing and the caller's, and *out_offset where in it
 * the page of the first byte lies. It is -1 where the file cannot be had: the bytes are in several
 * mappings, or it is a device, or it has no name any more and the program has closed it.
 */
bool ath_cuda_mapped_file(const void *address, size_t bytes, int *out_fd, uint64_t *out_offset);
