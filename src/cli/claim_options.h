/* Options that claim GPUs: --share, --cap and --priority, and --sm-share. */
#pragma once
#include "base/err.h"
#include "base/time_claim.h"

/*
 * Reads the value of --share for a session that has begun: 1 to 100, or none (0). NULL is
 * ATH_UNKNOWN. Returns 0, or -EINVAL "usage" with err.
 */
int ath_claim_options_new_share(const char *share, int *out, struct ath_err *err);

/*
 * Reads the value of --share (NULL: not given) and of --cap into the members for the share, and
 * refuses --cap without a share. Returns 0, or -EINVAL "usage" with err.
 */
int ath_claim_options_share(const char *share, bool is_capped, struct ath_time_claim *out,
                            struct ath_err *err);

/* Reads the value of --sm-share. Returns 0, or -EINVAL "usage" with err. */
int ath_claim_options_part(const char *text, int *out, struct ath_err *err);
