/* Sets of GPUs: a bit for each. */
#pragma once
#include <stdint.h>

enum { ATH_TURNS_DEVICES = 64 };

/* Runs the statement after it for each device of a set, from the lowest. */
#define ATH_EACH_DEVICE(device, set)                                                               \
    for (uint64_t left_of_##device = (set), device;                                                \
         left_of_##device != 0 && (device = (uint64_t)__builtin_ctzll(left_of_##device), 1);       \
         left_of_##device &= left_of_##device - 1)

static inline uint64_t ath_device_bit(uint64_t device)
{
    return UINT64_C(1) << device;
}
