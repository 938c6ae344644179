/*
 * A share is a percentage of each GPU, so what is asked for on different GPUs is not added. The
 * largest sum on a GPU counts for all GPUs that belong together, because a session that uses
 * several of them has one weight.
 */
#include "config.h"

#include "turns/shares.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "turns/bits.h"

enum {
    PERCENT = ATH_TURNS_WEIGHT_MAX / 100, /* weight of a share of 1 % */
    WHOLE = ATH_TURNS_WEIGHT_MAX
};

/* The sessions of one identity. */
struct identity {
    const struct ath_share_row *row;
    uint64_t devices;
    uint32_t asked[ATH_TURNS_DEVICES];   /* sum of the shares of the sessions on a GPU, as weight */
    uint32_t without[ATH_TURNS_DEVICES]; /* number of its sessions there without a share */
};

/* An identity on GPUs that belong together. */
struct part {
    uint32_t asked, without;
    uint32_t sure; /* weight that does not depend on others */
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t largest(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void count_wish(struct identity *identity, const struct ath_share_wish *wish)
{
    identity->devices |= wish->devices;
    ATH_EACH_DEVICE(device, wish->devices)
    {
        identity->asked[device] += wish->share_percent * PERCENT;
        identity->without[device] += wish->share_percent == 0;
    }
}

static struct part part_of(const struct identity *identity, uint64_t devices)
{
    struct part part = { 0 };
    ATH_EACH_DEVICE(device, devices)
    {
        part.asked = largest(part.asked, identity->asked[device]);
        part.without = largest(part.without, identity->without[device]);
    }
    part.sure = identity->row->share_percent ? identity->row->share_percent * PERCENT
                                             : least(part.asked, WHOLE);
    return part;
}

static bool gets_rest(const struct identity *identity, const struct part *part)
{
    return !identity->row->share_percent && part->without;
}

/* The part of the time that no share has, for each identity that gets one. */
static uint32_t rest_of(const struct identity *identities, size_t count, uint64_t devices)
{
    uint32_t sure[ATH_TURNS_DEVICES] = { 0 }, takers[ATH_TURNS_DEVICES] = { 0 };
    uint32_t most_sure = 0, most_takers = 1;
    for (size_t i = 0; i < count; i++) {
        const struct part part = part_of(&identities[i], devices);
        ATH_EACH_DEVICE(device, identities[i].devices & devices)
        {
            sure[device] += part.sure;
            takers[device] += gets_rest(&identities[i], &part);
            most_sure = largest(most_sure, sure[device]);
            most_takers = largest(most_takers, takers[device]);
        }
    }
    return (WHOLE - least(most_sure, WHOLE)) / most_takers;
}

static uint32_t weight_of_identity(const struct identity *identity, const struct part *part,
                                   uint32_t rest)
{
    if (!gets_rest(identity, part))
        return part->sure;
    return least(part->sure + largest(rest, part->without * PERCENT), WHOLE);
}

static uint32_t weight_of_session(const struct ath_share_wish *wish, const struct part *part,
                                  uint32_t of_identity)
{
    if (wish->share_percent)
        return wish->share_percent * PERCENT;
    uint32_t left = of_identity - least(part->asked, of_identity);
    return largest(left / largest(part->without, 1), PERCENT);
}

static int priority_of(const struct ath_share_wish *wish, const struct ath_share_row *row)
{
    return wish->priority < row->highest_priority ? wish->priority : row->highest_priority;
}

static struct ath_turns_claim claim_of(const struct ath_share_wish *wish,
                                       const struct ath_share_row *row)
{
    struct ath_turns_claim claim = {
        .devices = wish->devices,
        .group = wish->identity,
        .weight = WHOLE,
        .group_weight = WHOLE,
        .priority = priority_of(wish, row),
        .most_percent = 100,
        .group_most_percent = 100,
    };
    if (wish->is_capped && (wish->share_percent || row->share_percent))
        claim.most_percent = wish->share_percent ? wish->share_percent : row->share_percent;
    if (row->is_capped && row->share_percent)
        claim.group_most_percent = row->share_percent;
    return claim;
}

static bool has_claim(const struct ath_share_wish *wish, const struct ath_share_row *row)
{
    return wish->share_percent || row->share_percent || priority_of(wish, row) != ATH_TURNS_NORMAL;
}

/* The GPUs that belong together with each GPU: a session uses both, or a chain of sessions joins
 * them. */
static void find_sets(const struct ath_share_wish *wishes, size_t count, uint64_t *sets)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t set = wishes[i].devices;
        ATH_EACH_DEVICE(device, wishes[i].devices)
        set |= sets[device];
        ATH_EACH_DEVICE(device, set)
        sets[device] = set;
    }
}

static void set_weights(const struct identity *identities, size_t identity_count, uint64_t set,
                        const struct ath_share_wish *wishes, size_t count,
                        struct ath_turns_claim *claims)
{
    const uint32_t rest = rest_of(identities, identity_count, set);
    for (size_t i = 0; i < count; i++) {
        if (!(wishes[i].devices & set))
            continue;
        const struct identity *identity = &identities[wishes[i].identity];
        const struct part part = part_of(identity, set);
        claims[i].group_weight = weight_of_identity(identity, &part, rest);
        claims[i].weight = weight_of_session(&wishes[i], &part, claims[i].group_weight);
    }
}

/* Returns whether sessions on these GPUs need no turns. */
static bool is_free(enum ath_sharing sharing, uint64_t set, const struct ath_share_wish *wishes,
                    size_t count, const struct ath_share_row *rows)
{
    if (sharing == ATH_SHARING_TURNS)
        return false;
    for (size_t i = 0; i < count; i++)
        if (wishes[i].devices & set && has_claim(&wishes[i], &rows[wishes[i].identity]))
            return false;
    return true;
}

/* Parties without turns have neither cap nor priority. */
static void set_free(uint64_t set, struct ath_turns_claim *claims, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (claims[i].devices & set) {
            claims[i].is_free = true;
            claims[i].priority = ATH_TURNS_NORMAL;
            claims[i].most_percent = claims[i].group_most_percent = 100;
        }
}

int ath_shares_claims(enum ath_sharing sharing, const struct ath_share_wish *wishes, size_t count,
                      const struct ath_share_row *rows, size_t row_count,
                      struct ath_turns_claim *out_claims)
{
    uint64_t sets[ATH_TURNS_DEVICES] = { 0 }, done = 0;
    ath_auto_free struct identity *identities = calloc(row_count + 1, sizeof *identities);
    if (!identities)
        return -ENOMEM;
    for (size_t i = 0; i < row_count; i++)
        identities[i].row = &rows[i];
    for (size_t i = 0; i < count; i++) {
        count_wish(&identities[wishes[i].identity], &wishes[i]);
        out_claims[i] = claim_of(&wishes[i], &rows[wishes[i].identity]);
        out_claims[i].is_free = !wishes[i].devices && sharing != ATH_SHARING_TURNS;
    }
    find_sets(wishes, count, sets);
    for (uint64_t device = 0; device < ATH_TURNS_DEVICES; device++) {
        if (!sets[device] || done & ath_device_bit(device))
            continue;
        done |= sets[device];
        set_weights(identities, row_count, sets[device], wishes, count, out_claims);
        if (is_free(sharing, sets[device], wishes, count, rows))
            set_free(sets[device], out_claims, count);
    }
    return 0;
}
