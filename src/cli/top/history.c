/* A ring of values. */
#include "config.h"

#include "cli/top/history.h"

#include "base/unknown.h"

void ath_history_add(struct ath_history *history, int64_t value)
{
    history->values[history->count++ % ATH_HISTORY] = value;
}

int64_t ath_history_at(const struct ath_history *history, size_t age)
{
    if (age >= history->count || age >= ATH_HISTORY)
        return ATH_UNKNOWN;
    return history->values[(history->count - 1 - age) % ATH_HISTORY];
}

int64_t ath_history_greatest(const struct ath_history *history, size_t count)
{
    int64_t greatest = ATH_UNKNOWN;
    for (size_t age = 0; age < count; age++) {
        int64_t value = ath_history_at(history, age);
        greatest = value > greatest ? value : greatest;
    }
    return greatest;
}
