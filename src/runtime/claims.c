/* Joins what a program asks for, what was set since, and the bounds of its identity. */
#include "config.h"

#include "runtime/claims.h"

static uint32_t percent_of(const atomic_int *value)
{
    int percent = atomic_load(value);
    return percent >= 1 && percent <= 100 ? (uint32_t)percent : 0;
}

static enum ath_gpu_priority priority_of(const atomic_int *value)
{
    int priority = atomic_load(value);
    return priority >= ATH_GPU_PRIORITY_LOW && priority <= ATH_GPU_PRIORITY_HIGH
               ? (enum ath_gpu_priority)priority
               : ATH_GPU_PRIORITY_UNSET;
}

static void read_share(const struct ath_session_board_known *known,
                       const struct ath_session_board_entry *entry, struct ath_session_claim *out)
{
    bool is_share_set = atomic_load(&known->set_share) >= 0;
    bool is_cap_set = atomic_load(&known->set_cap) >= 0;
    out->share_percent = percent_of(is_share_set ? &known->set_share : &entry->asked_share);
    out->is_capped = atomic_load(is_cap_set ? &known->set_cap : &entry->asked_cap) != 0;
    out->identity_share_percent = percent_of(&known->identity_share);
    out->is_identity_capped = atomic_load(&known->identity_cap) != 0;
    if (!out->share_percent && out->identity_share_percent)
        out->share_source = ATH_GPU_LIMIT_SOURCE_IDENTITY;
    else if (is_share_set || is_cap_set)
        out->share_source = ATH_GPU_LIMIT_SOURCE_SET;
    else if (out->share_percent || out->is_capped)
        out->share_source = ATH_GPU_LIMIT_SOURCE_ASKED;
}

static void read_priority(const struct ath_session_board_known *known,
                          const struct ath_session_board_entry *entry,
                          struct ath_session_claim *out)
{
    enum ath_gpu_priority set = priority_of(&known->set_priority);
    enum ath_gpu_priority asked = priority_of(&entry->asked_priority);
    enum ath_gpu_priority highest = priority_of(&known->identity_priority);
    out->highest = highest ? highest : ATH_GPU_PRIORITY_HIGH;
    out->priority = set ? set : asked ? asked : ATH_GPU_PRIORITY_NORMAL;
    if (out->priority > out->highest) {
        out->priority = out->highest;
        out->priority_source = ATH_GPU_LIMIT_SOURCE_IDENTITY;
    } else if (set || asked) {
        out->priority_source = set ? ATH_GPU_LIMIT_SOURCE_SET : ATH_GPU_LIMIT_SOURCE_ASKED;
    }
}

void ath_session_claim_read(const struct ath_session_board *board, size_t slot,
                            struct ath_session_claim *out)
{
    *out = (struct ath_session_claim){ .share_source = ATH_GPU_LIMIT_SOURCE_NONE };
    read_share(&board->known[slot], &board->slots[slot].entry, out);
    read_priority(&board->known[slot], &board->slots[slot].entry, out);
}
