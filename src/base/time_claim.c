/* Reading and bounding claims on the time of GPUs. */
#include "config.h"

#include "base/time_claim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *const ath_time_priorities[] = { "low", "normal", "high", NULL };

/* Reads "25" or "25%". */
static int parse_percent(const char *text, size_t length, int *out)
{
    char number[8];
    if (length >= sizeof number)
        return -EINVAL;
    if (length > 1 && text[length - 1] == '%')
        length--;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    return ath_parse_int(number, 1, ATH_SHARE_PERCENT_MAX, out);
}

int ath_sm_share_parse(const char *text, int *out)
{
    return parse_percent(text, strlen(text), out);
}

int ath_time_share_parse(const char *text, struct ath_time_claim *out)
{
    const char *comma = strchr(text, ',');
    int percent = 0;

    if (comma && strcmp(comma, ",cap") != 0)
        return -EINVAL;
    bool is_none = !strcmp(text, "none");
    size_t length = comma ? (size_t)(comma - text) : strlen(text);
    int status = is_none ? 0 : parse_percent(text, length, &percent);
    if (status)
        return status;
    out->share_percent = percent;
    out->is_capped = comma != NULL;
    return 0;
}

int ath_time_priority_parse(const char *text, enum ath_time_priority *out)
{
    for (int i = 0; ath_time_priorities[i]; i++)
        if (!strcmp(text, ath_time_priorities[i])) {
            *out = (enum ath_time_priority)(ATH_TIME_LOW + i);
            return 0;
        }
    return -EINVAL;
}

const char *ath_time_priority_word(int priority)
{
    return priority >= ATH_TIME_LOW && priority <= ATH_TIME_HIGH
               ? ath_time_priorities[priority - ATH_TIME_LOW]
               : NULL;
}

static enum ath_time_priority known(enum ath_time_priority priority)
{
    return priority == ATH_TIME_UNSET ? ATH_TIME_NORMAL : priority;
}

bool ath_time_claim_bound(struct ath_time_claim *asked, const struct ath_time_claim *most)
{
    const struct ath_time_claim before = *asked;

    if (most->share_percent && asked->share_percent > most->share_percent)
        asked->share_percent = most->share_percent;
    if (most->priority != ATH_TIME_UNSET && known(asked->priority) > most->priority)
        asked->priority = most->priority;
    if (most->sm_percent && (!asked->sm_percent || asked->sm_percent > most->sm_percent))
        asked->sm_percent = most->sm_percent;
    return asked->share_percent != before.share_percent || asked->priority != before.priority ||
           asked->sm_percent != before.sm_percent;
}
