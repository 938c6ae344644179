/*
 * A claim on GPUs, as people write it: a share of their time in percent, whether the share is a
 * cap, a priority, and a part of their multiprocessors. In the environment, AITHERION_SHARE is "25"
 * or "25,cap", and AITHERION_PRIORITY is "high", "normal" or "low", and AITHERION_SM_SHARE is "25".
 */
#pragma once
#include <stdbool.h>

/* The numbers of enum ath_gpu_priority. A higher one goes first; unset is normal. */
enum ath_time_priority { ATH_TIME_UNSET, ATH_TIME_LOW, ATH_TIME_NORMAL, ATH_TIME_HIGH };

enum { ATH_SHARE_PERCENT_MAX = 100 };

/* A zeroed struct is no claim. */
struct ath_time_claim {
    int share_percent; /* 1 to ATH_SHARE_PERCENT_MAX; 0: none */
    bool is_capped;    /* never more than the share, even if no other program wants the GPU */
    enum ath_time_priority priority;
    int sm_percent; /* of each GPU's multiprocessors, 1 to ATH_SHARE_PERCENT_MAX; 0: all */
};

/* The words of enum ath_time_priority from ATH_TIME_LOW on, up to a NULL. */
extern const char *const ath_time_priorities[];

/* Reads "25", "25,cap" or "none" into the members for the share. Returns 0, or -EINVAL or -ERANGE
 * with *out unchanged. */
int ath_time_share_parse(const char *text, struct ath_time_claim *out);

/* Reads a word of ath_time_priorities. Returns 0, or -EINVAL with *out unchanged. */
int ath_time_priority_parse(const char *text, enum ath_time_priority *out);

/* Reads "25" or "25%", of the multiprocessors. Returns 0, or -EINVAL or -ERANGE with *out
 * unchanged. */
int ath_sm_share_parse(const char *text, int *out);

/* Returns "low", "normal" or "high"; NULL for unset and for a number that is no priority. */
const char *ath_time_priority_word(int priority);

/*
 * Bounds what a session asks for by what its identity may claim: the smaller share, the lower
 * priority and the smaller part. most->share_percent 0 is any share, and an unset priority any
 * priority; a session that asks for no part gets most->sm_percent. The identity's cap holds for all
 * its sessions together, so it changes no claim of a session. Returns whether *asked has become
 * less.
 */
bool ath_time_claim_bound(struct ath_time_claim *asked, const struct ath_time_claim *most);
