/* Buckets of attempts in rows of a hash table. */
#include "config.h"

#include "runtime/attempts.h"

#include <stddef.h>

enum { ONE = 1000, FULL = ATH_ATTEMPTS_MOST * ONE }; /* thousandths of an attempt */

/* The finalizer of MurmurHash3, which spreads each bit over all others. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 33) * 0xff51afd7ed558ccdu;
    value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53u;
    return value ^ value >> 33;
}

static struct ath_attempts_of_source *row_of(struct ath_attempts *attempts,
                                             struct ath_source source)
{
    uint64_t hash = mix(mix(source.number ^ attempts->seed) + (uint64_t)source.kind);
    return attempts->rows[hash % ATH_ATTEMPTS_ROWS];
}

/* Brings a bucket up to date. */
static void fill(struct ath_attempts_of_source *one, uint64_t now_ms)
{
    uint64_t passed_ms = now_ms > one->at_ms ? now_ms - one->at_ms : 0;
    uint64_t filled = one->thousandths + (passed_ms < FULL ? passed_ms : FULL) *
                                             ATH_ATTEMPTS_EACH_SECOND; /* thousandths in 1 ms */
    one->thousandths = filled < FULL ? (uint32_t)filled : FULL;
    one->at_ms = now_ms;
}

static struct ath_attempts_of_source *find(struct ath_attempts *attempts, struct ath_source source)
{
    struct ath_attempts_of_source *row = row_of(attempts, source);
    for (size_t i = 0; i < ATH_ATTEMPTS_WAYS; i++)
        if (row[i].is_used && ath_source_is(row[i].source, source))
            return &row[i];
    return NULL;
}

/* Gives a source a bucket in place of an unused one, or of the fullest one. */
static struct ath_attempts_of_source *add(struct ath_attempts *attempts, struct ath_source source,
                                          uint64_t now_ms)
{
    struct ath_attempts_of_source *row = row_of(attempts, source), *best = row;
    for (size_t i = 0; i < ATH_ATTEMPTS_WAYS; i++) {
        if (!row[i].is_used) {
            best = &row[i];
            break;
        }
        fill(&row[i], now_ms);
        if (row[i].thousandths > best->thousandths)
            best = &row[i];
    }
    *best = (struct ath_attempts_of_source){
        .source = source, .at_ms = now_ms, .thousandths = FULL, .is_used = true
    };
    return best;
}

bool ath_attempts_take(struct ath_attempts *attempts, struct ath_source source, uint64_t now_ms)
{
    struct ath_attempts_of_source *one = find(attempts, source);
    if (!one)
        one = add(attempts, source, now_ms);
    fill(one, now_ms);
    if (one->thousandths < ONE)
        return false;
    one->thousandths -= ONE;
    return true;
}

void ath_attempts_give(struct ath_attempts *attempts, struct ath_source source, uint64_t now_ms)
{
    struct ath_attempts_of_source *one = find(attempts, source);
    if (!one)
        return; /* forgotten: it has a full bucket */
    fill(one, now_ms);
    one->thousandths = one->thousandths + ONE < FULL ? one->thousandths + ONE : FULL;
}
