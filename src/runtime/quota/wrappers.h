/*
 * The functions that stand in the driver's table in place of the driver's own. proto/cuda-quota.h
 * declares them, one for each function that takes, gives or counts GPU memory (proto/cuda.capnp).
 */
#pragma once
#include "cuda/server/server.h"
#include "proto/cuda-quota.h"

/* Takes (or, negative, gives back) memory of a pool's device. is_there: the driver has it already,
 * so it is taken beyond the limit, too. Returns false if the share has no room. */
bool ath_quota_charge_pool(size_t device, int64_t bytes, bool is_there);

/* Counts memory that goes to other sessions and comes from them. */
extern const struct ath_cuda_books ath_quota_books;
