/* Finds memory of the program that other processes may share, and the file behind it
 * (proc_pid_maps(5)). Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns whether one of these bytes lies in a file that is mapped MAP_SHARED, on a disk or in
 * memory (/dev/shm), or in memory that a fork shares. Also false if the kernel does not tell.
 *
 * *out_fd is the file, open for reading and writing, and belongs to the caller. *out_offset is the
 * offset in the file of the first byte's page. *out_fd is -1 if the file cannot be opened: the
 * bytes lie in several mappings, it is a device, or it has no name and the program has closed it.
 */
bool ath_cuda_mapped_file(const void *address, size_t bytes, int *out_fd, uint64_t *out_offset);
