/* The process's budget. */
#include "config.h"

#include "base/host_budget.h"

#include <stddef.h>

static const struct ath_host_budget *the_budget;

void ath_host_budget_set(const struct ath_host_budget *budget)
{
    the_budget = budget;
}

bool ath_host_take(enum ath_host_kind kind, uint64_t amount)
{
    if (!the_budget)
        return true;
    return amount <= INT64_MAX && the_budget->take(the_budget->context, kind, (int64_t)amount);
}

void ath_host_give(enum ath_host_kind kind, uint64_t amount)
{
    if (the_budget)
        the_budget->give(the_budget->context, kind, (int64_t)amount);
}
