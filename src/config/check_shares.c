/* Compares the shares of identities with the time that a GPU has. */
#include "config.h"

#include <string.h>

#include "base/i18n.h"
#include "base/time_claim.h"
#include "config/check_internal.h"

/* gpu NULL: any GPU, also a simulated one. */
static bool may_use(const struct ath_document_identity *identity, const char *gpu)
{
    return !identity->gpus.count ||
           (gpu && ath_check_has_name(identity->gpus.items, identity->gpus.count, gpu));
}

/* Indexes of ath_time_priorities. */
enum { LOW, NORMAL, HIGH };

/* Returns whether an identity's programs take time from those of a priority. Programs have the
 * priority `normal` until they ask for another, also those of an identity that may have `high`. A
 * lower priority has only the time that higher ones leave, so there only a cap counts. */
static bool competes(const struct ath_document_identity *identity, int priority)
{
    int own = identity->priority == ATH_UNSET ? NORMAL : identity->priority;
    return own == priority || (own > priority && (priority == NORMAL || identity->is_capped));
}

/* Adds up the shares of identities that may use a GPU and compete at a priority. Returns false if
 * they are too much, and then adds the fault. */
static bool check_priority(const struct ath_check *check, const char *gpu, int priority)
{
    const struct ath_document_identity *first_beyond = NULL;
    int sum = 0;

    for (size_t i = 0; i < check->document->identities.count; i++) {
        const struct ath_document_identity *identity = &check->document->identities.items[i];
        if (identity->share == ATH_UNSET || !may_use(identity, gpu) ||
            !competes(identity, priority))
            continue;
        sum += identity->share;
        if (sum > ATH_SHARE_PERCENT_MAX && !first_beyond)
            first_beyond = identity;
    }
    if (first_beyond)
        ath_faults_add(check->faults, ATH_FAULT_SHARES_SUM,
                       ath_check_place(&first_beyond->item, "share"),
                       _("the shares of identities that may use the same GPU add up to %d percent: "
                         "while all of them want it, each gets only its part of that sum"),
                       sum);
    return !first_beyond;
}

/* One fault for a GPU is enough. */
static bool check_gpu(const struct ath_check *check, const char *gpu)
{
    return check_priority(check, gpu, HIGH) && check_priority(check, gpu, NORMAL) &&
           check_priority(check, gpu, LOW);
}

/* Identities without 'gpus' share every GPU, also those of entries that name none. */
void ath_check_shares(const struct ath_check *check)
{
    bool is_right = check_gpu(check, NULL);

    for (size_t i = 0; i < check->document->numa.count; i++) {
        const struct ath_texts *gpus = &check->document->numa.items[i].gpus;
        for (size_t k = 0; k < gpus->count && is_right; k++)
            is_right = check_gpu(check, gpus->items[k]);
    }
}
