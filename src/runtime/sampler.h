/* The sampler (gpu_sampler.h) as a helper of the listening process. */
#pragma once
#include "runtime/helper.h"

extern const struct ath_helper_kind ath_sampler_kind;
