/* A table of shares, each with the set of its holders. */
#include "config.h"

#include "runtime/share_table.h"

#include <stdio.h>
#include <string.h>

static struct ath_share *find_share(struct ath_share_table *table, uint64_t id)
{
    size_t slot = (size_t)(id & 0xffff);
    bool is_known = slot && slot <= table->used && table->items[slot - 1].id == id;
    return is_known ? &table->items[slot - 1] : NULL;
}

static void hold(struct ath_share *share, size_t slot)
{
    share->holders[slot / 64] |= UINT64_C(1) << slot % 64;
}

static bool is_holder(const struct ath_share *share, size_t slot)
{
    return share->holders[slot / 64] >> slot % 64 & 1;
}

/* Makes a session pay for a share, or (with a negative amount) not any more. */
static void charge(struct ath_share_table *table, size_t slot, size_t device, int64_t bytes)
{
    atomic_fetch_add(&table->board->known[slot].shared_bytes[device], bytes);
}

static void pass_to_next_payer(struct ath_share_table *table, struct ath_share *share)
{
    size_t slot = 0;
    charge(table, share->payer, share->device, -share->bytes);
    table->paid[share->payer]--;
    while (slot < ATH_SESSION_BOARD_MAX && !is_holder(share, slot))
        slot++;
    if (slot == ATH_SESSION_BOARD_MAX) {
        size_t at = (size_t)(share - table->items);
        share->id = 0;
        table->first_free = at < table->first_free ? at : table->first_free;
        return;
    }
    share->payer = slot;
    table->paid[slot]++;
    charge(table, slot, share->device, share->bytes);
}

static void drop_holder(struct ath_share_table *table, struct ath_share *share, size_t slot)
{
    if (!is_holder(share, slot))
        return;
    share->holders[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    if (share->payer == slot)
        pass_to_next_payer(table, share);
}

/* Finds a free slot for a share that the session at `payer` makes; SIZE_MAX: there is none, or the
 * session has as many as it may. */
static size_t find_free(const struct ath_share_table *table, size_t payer)
{
    size_t at = table->first_free;
    while (at < table->used && table->items[at].id)
        at++;
    return at < ATH_SHARES_MAX && table->paid[payer] < ATH_SHARES_OF_SESSION ? at : SIZE_MAX;
}

uint64_t ath_share_table_make(struct ath_share_table *table, size_t slot, const char *identity,
                              size_t device, int64_t bytes)
{
    static const int64_t most = (int64_t)1 << 50;
    size_t at = find_free(table, slot);
    if (at == SIZE_MAX || device >= ATH_DEVICES_MAX || bytes < 0 || bytes > most)
        return 0;
    struct ath_share *share = &table->items[at];
    *share = (struct ath_share){
        .id = ++table->last << 16 | (at + 1), .device = device, .bytes = bytes, .payer = slot
    };
    snprintf(share->identity, sizeof share->identity, "%s", identity);
    hold(share, slot);
    charge(table, slot, device, bytes);
    table->paid[slot]++;
    table->first_free = at + 1;
    if (at == table->used)
        table->used++;
    return share->id;
}

void ath_share_table_name(struct ath_share_table *table, size_t slot, uint64_t id, uint64_t name)
{
    struct ath_share *share = find_share(table, id);
    if (share && is_holder(share, slot))
        share->name = name;
}

uint64_t ath_share_table_find(const struct ath_share_table *table, const char *identity,
                              uint64_t name)
{
    for (size_t i = 0; name && i < table->used; i++) {
        const struct ath_share *share = &table->items[i];
        if (share->id && share->name == name && !strcmp(share->identity, identity))
            return share->id;
    }
    return 0;
}

bool ath_share_table_hold(struct ath_share_table *table, size_t slot, const char *identity,
                          uint64_t id)
{
    struct ath_share *share = find_share(table, id);
    if (!share || strcmp(share->identity, identity) != 0)
        return false;
    hold(share, slot);
    return true;
}

void ath_share_table_drop(struct ath_share_table *table, size_t slot, uint64_t id)
{
    struct ath_share *share = find_share(table, id);
    if (share)
        drop_holder(table, share, slot);
}

void ath_share_table_drop_all(struct ath_share_table *table, size_t slot)
{
    for (size_t i = 0; i < table->used; i++)
        if (table->items[i].id)
            drop_holder(table, &table->items[i], slot);
}
