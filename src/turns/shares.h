/*
 * Makes the claims of turns.h of what sessions ask for and of what their identities may have.
 *
 * A share is a percentage of each GPU that the session uses. The weight of a session with a share
 * is its share, in hundredths of a percent. The sessions without a share get what is left:
 *
 * - An identity with a share has it for all its sessions together. The sessions without a
 *   share of their own divide what the shares of the others leave of it equally.
 * - The shares of an identity without one are those that its sessions ask for. If it has sessions
 *   without a share, it gets a part of what the shares of all leave of 100 % beside that. All such
 *   identities get equal parts, and divide them among these sessions equally.
 * - Each session without a share gets at least 1 %, so the sum may be more than 100 %: the time is
 *   divided in proportion.
 *
 * GPUs are free, so all sessions there have turns at the same time, as long as no session there has
 * a share, a cap or another priority than normal. GPUs that one session uses at once belong
 * together.
 *
 * Pure functions, without a state.
 */
#pragma once
#include "turns/turns.h"

enum ath_sharing {
    ATH_SHARING_AUTO, /* turns where a session has a claim */
    ATH_SHARING_TURNS /* always */
};

/* A session's wish. */
struct ath_share_wish {
    uint64_t devices;       /* a bit for each GPU that it uses */
    uint32_t identity;      /* index of its row; the group of its claim */
    uint32_t share_percent; /* 1 to 100; 0: none */
    bool is_capped; /* it gets no more than its share, or than its identity's if it has none */
    int priority;   /* ATH_TURNS_LOW to ATH_TURNS_HIGH; one above its identity's highest counts
                     * as that one */
};

/* The row of an identity, for all its sessions together. */
struct ath_share_row {
    uint32_t share_percent; /* 1 to 100; 0: none */
    bool is_capped; /* its sessions get no more than its share; means nothing without a share */
    int highest_priority;
};

/* Writes the claim of each wish. Sessions with one identity have one row; there are at most
 * ATH_TURNS_PARTIES_MAX rows and wishes. Returns 0, or -ENOMEM. */
int ath_shares_claims(enum ath_sharing sharing, const struct ath_share_wish *wishes, size_t count,
                      const struct ath_share_row *rows, size_t row_count,
                      struct ath_turns_claim *out_claims);
