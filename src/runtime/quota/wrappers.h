/*
 * The functions that stand in the driver's table in place of the driver's own. proto/cuda-quota.h
 * declares them, one for each function that takes, gives or counts GPU memory (proto/cuda.capnp).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-quota.h"

/* Takes (or, negative, gives back) memory of a pool's device. is_there: the driver has it already,
 * so it is taken beyond the limit, too. Returns false if the share has no room. */
bool ath_quota_charge_pool(size_t device, int64_t bytes, bool is_there);
