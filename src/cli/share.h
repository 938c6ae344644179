/* The share of GPU memory that a running runtime serves (vram_fraction of the document). */
#pragma once
#include "cli/nodes.h"

enum ath_share {
    ATH_SHARE_SAME,    /* the runtime has it, or does not answer */
    ATH_SHARE_CHANGED, /* it has another one, which was changed; in a dry run: which can be */
    ATH_SHARE_FIXED,   /* it has another one, and only a restart changes that */
};

/* Returns whether the runtime has this share. */
static inline bool ath_share_is(const struct ath_runtime_health *health, double fraction)
{
    double difference = health->vram_fraction - fraction;
    return difference < 1e-9 && difference > -1e-9;
}

/* Compares the share of a runtime with the wanted one, and changes it unless is_dry_run. Returns an
 * enum ath_share, or a negative errno with err if changing it failed. */
int ath_share_set(const struct ath_nodes *nodes, const struct ath_node_status *status,
                  double fraction, bool is_dry_run, struct ath_err *err);
