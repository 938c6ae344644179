/* The reasons for a choice of GPUs, in words. */
#pragma once
#include "cli/output/place.h"
#include "config/schema.h"
#include "place/gpu_pair.h"

/* Returns the reasons, a line each. The caller frees them with ath_texts_free(). */
struct ath_texts ath_place_reasons(const struct ath_place_report *report);

/* Returns the slowest link of a group's ring. */
struct ath_gpu_pair ath_place_slowest_link(const struct ath_place_group *group);
