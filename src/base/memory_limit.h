/* A limit of GPU memory, as people write it: "4G" for each GPU, or "25%" of each GPU. */
#pragma once
#include <stdint.h>

#include "base/unknown.h"

/* At most one member is set. A zeroed struct is no limit. */
struct ath_memory_limit {
    int64_t bytes;   /* of each GPU */
    double fraction; /* of each GPU's memory, above 0 and at most 1 */
};

/*
 * Reads a size (ath_parse_size()) above 0, a percentage above 0 and at most 100, or "none". Returns
 * 0, or -EINVAL or -ERANGE with *out unchanged.
 */
int ath_memory_limit_parse(const char *text, struct ath_memory_limit *out);

/* The bytes of a limit for a GPU with this much memory (ATH_UNKNOWN: not known). Returns
 * ATH_UNKNOWN for no limit, and for a part of memory that is not known. */
int64_t ath_memory_limit_bytes(const struct ath_memory_limit *limit, int64_t total_bytes);
