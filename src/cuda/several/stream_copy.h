/* Copies between two servers in the order of a stream. Any thread. */
#pragma once
#include "cuda/several/journey.h"

/* Makes a copy in the order of a stream of an entered server. */
CUresult ath_several_carry_in_stream(const struct ath_several_journey *journey,
                                     struct ath_several *near, CUstream stream);
