/*
 * The GPU memory that a program may have, as NVML shows it to the program. NVML's session is a
 * control session beside the program's session, or comes before it: nvidia-smi and PyTorch ask NVML
 * first. The answer is that of cuMemGetInfo() (quota/info.c).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_limit.h"

/*
 * Finds the bytes of a device that the program of this process's session may have, and how many of
 * them are left. data: the struct ath_server. asked: the limit that the program has asked for; once
 * the program has a session, the limit of that session counts. Returns false if the program may
 * have the whole device.
 */
bool ath_memory_room_find(const void *data, size_t device, const struct ath_memory_limit *asked,
                          int64_t *out_limit_bytes, int64_t *out_left_bytes);
