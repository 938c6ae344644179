/* The table of wishes, with the check of each value. */
#include "config.h"

#include "slurm/wishes.h"

#include <errno.h>
#include <stddef.h>

#include "base/memory_limit.h"
#include "base/text.h"
#include "base/time_claim.h"
#include "remote/session/device_list.h"

static bool is_gpu_count(const char *value)
{
    int unused;
    return !ath_parse_int(value, 1, ATH_DEVICES_MAX, &unused);
}

static bool is_memory(const char *value)
{
    struct ath_memory_limit unused;
    return !ath_memory_limit_parse(value, &unused);
}

static bool is_share(const char *value)
{
    struct ath_time_claim unused = { 0 };
    return !ath_time_share_parse(value, &unused);
}

static bool is_priority(const char *value)
{
    enum ath_time_priority unused;
    return !ath_time_priority_parse(value, &unused);
}

static bool is_sm_share(const char *value)
{
    int unused;
    return !ath_sm_share_parse(value, &unused);
}

const struct ath_slurm_wish_row ath_slurm_wishes[ATH_SLURM_WISHES] = {
    [ATH_SLURM_REMOTE] = { .option = "aitherion-remote",
                           .metavar = "[N]",
                           .help =
                               "use the GPUs of the cluster's servers; N: the best N of them for "
                               "each node",
                           .hint = "give a number of GPUs from 1 to 64, or no number for all",
                           .is_optional = true,
                           .is_valid = is_gpu_count },
    [ATH_SLURM_MEMORY] = { .option = "aitherion-memory",
                           .metavar = "SIZE|P%",
                           .help = "the most memory of each GPU for each process",
                           .variable = "AITHERION_MEMORY",
                           .hint = "give a size like 512M or 4G, or a part like 25%",
                           .is_valid = is_memory },
    [ATH_SLURM_SHARE] = { .option = "aitherion-share",
                          .metavar = "P[,cap]",
                          .help =
                              "share of the GPUs' time for each process, in percent; cap: never "
                              "more",
                          .variable = "AITHERION_SHARE",
                          .hint = "give 1 to 100, such as 25, or 25,cap",
                          .is_valid = is_share },
    [ATH_SLURM_PRIORITY] = { .option = "aitherion-priority",
                             .metavar = "high|normal|low",
                             .help = "which programs go first when several want a GPU",
                             .variable = "AITHERION_PRIORITY",
                             .hint = "give high, normal or low",
                             .is_valid = is_priority },
    [ATH_SLURM_SM_SHARE] = { .option = "aitherion-sm-share",
                             .metavar = "P",
                             .help = "part of each GPU's multiprocessors for each process, in "
                                     "percent",
                             .variable = "AITHERION_SM_SHARE",
                             .hint = "give a percentage from 1 to 100",
                             .is_valid = is_sm_share },
};

int ath_slurm_wish_check(enum ath_slurm_wish wish, const char *value, struct ath_err *err)
{
    const struct ath_slurm_wish_row *row = &ath_slurm_wishes[wish];
    if (value ? row->is_valid(value) : row->is_optional)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, "'%s' is no value for --%s", value ? value : "",
                row->option);
    return ath_err_hint(err, -EINVAL, "%s", row->hint);
}
