/* Reads the variables of a program, and writes them into its first question. */
#include "config.h"

#include "remote/session/wishes.h"

#include <stdlib.h>

#include "remote/session/open.h"

static int put_memory_limit(struct ath_control_open_channel_builder to, struct ath_err *err)
{
    struct ath_memory_limit limit;
    int status = ath_client_memory_limit(&limit, err);
    if (status)
        return status;
    ath_control_open_channel_set_memory_limit_bytes(to, limit.bytes);
    ath_control_open_channel_set_memory_limit_fraction(to, limit.fraction);
    return 0;
}

static int put_time_claim(struct ath_control_open_channel_builder to, struct ath_err *err)
{
    /* enum ath_gpu_priority has the numbers of enum ath_time_priority. */
    _Static_assert((int)ATH_TIME_LOW == ATH_GPU_PRIORITY_LOW &&
                       (int)ATH_TIME_NORMAL == ATH_GPU_PRIORITY_NORMAL &&
                       (int)ATH_TIME_HIGH == ATH_GPU_PRIORITY_HIGH,
                   "priorities");
    struct ath_time_claim claim;
    int status = ath_client_time_claim(&claim, err);
    if (status)
        return status;
    struct ath_gpu_claim_builder wire = ath_control_open_channel_init_claim(to);
    ath_gpu_claim_set_share_percent(wire, (uint32_t)claim.share_percent);
    ath_gpu_claim_set_is_capped(wire, claim.is_capped);
    ath_gpu_claim_set_priority(wire, (enum ath_gpu_priority)claim.priority);
    ath_gpu_claim_set_sm_percent(wire, (uint32_t)claim.sm_percent);
    return 0;
}

int ath_wishes_put(struct ath_control_open_channel_builder to, struct ath_err *err)
{
    int status = put_memory_limit(to, err);
    return status ? status : put_time_claim(to, err);
}

void ath_wishes_put_environment(struct ath_control_open_channel_builder to,
                                const char *const *names, size_t count)
{
    uint32_t set_count = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        set_count += getenv(names[i]) != NULL;
    struct ath_wire_array list = ath_control_open_channel_init_environment(to, set_count);
    for (size_t i = 0; i < count && at < set_count; i++) {
        const char *value = getenv(names[i]);
        if (!value)
            continue;
        struct ath_control_variable_builder one = ath_control_variable_place(list, at++);
        ath_control_variable_set_name(one, names[i]);
        ath_control_variable_set_value(one, value);
    }
}
