/* NVML's functions that the client answers itself or asks for in its own way. */
#include "config.h"

#include <stddef.h>
#include <time.h>

#include "base/clock.h"
#include "nvml/client/client.h"
#include "proto/nvml-client.h"

enum { SLICE_MS = 100 };

nvmlReturn_t ath_nvml_by_hand_nvmlInit(void)
{
    return ath_nvml_by_hand_nvmlInit_v2();
}

/* The flags allow a machine without GPUs, or leave GPUs unattached. */
nvmlReturn_t ath_nvml_by_hand_nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return ath_nvml_by_hand_nvmlInit_v2();
}

nvmlReturn_t ath_nvml_by_hand_nvmlUnitGetCount(unsigned int *count)
{
    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}

/* Asks the server for short waits, so that other threads' questions are answered between them. */
static nvmlReturn_t wait_for_event(enum ath_nvml_function function, nvmlEventSet_t set,
                                   nvmlEventData_t *data, unsigned int timeout_ms)
{
    uint64_t end_ms = ath_now_ms() + timeout_ms;
    for (;;) {
        uint64_t now_ms = ath_now_ms();
        uint64_t left_ms = now_ms < end_ms ? end_ms - now_ms : 0;
        union ath_nvml_argument arguments[] = {
            { .pointer = set },
            { .pointer = data },
            { .number = left_ms < SLICE_MS ? left_ms : SLICE_MS },
        };
        nvmlReturn_t status = ath_nvml_ask(function, arguments);
        if (status != NVML_ERROR_TIMEOUT || left_ms <= SLICE_MS)
            return status;
        /* a mutex is not fair: gives another thread the chance to lock it */
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

nvmlReturn_t ath_nvml_by_hand_nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data,
                                               unsigned int timeoutms)
{
    return wait_for_event(ATH_NVML_nvmlEventSetWait, set, data, timeoutms);
}

nvmlReturn_t ath_nvml_by_hand_nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data,
                                                  unsigned int timeoutms)
{
    return wait_for_event(ATH_NVML_nvmlEventSetWait_v2, set, data, timeoutms);
}
