/*
 * How busy the simulated devices and NVML itself are.
 *
 *     AITHERION_SIM_BUSY   percent of the time that each device is busy, 0 to 100 (0): as long as a
 *                          process of the server uses it, also that process
 *     AITHERION_SIM_NVML   hangs: no call of NVML returns, as on a driver that hangs
 */
#pragma once
#include <stdbool.h>

enum {
    SIM_FIELD_NVLINK_SENT = 138, /* NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX, in KiB */
    SIM_FIELD_NVLINK_RECEIVED = 139,
    SIM_LINK_SENT_KIB = 4096, /* since the driver was loaded */
    SIM_LINK_RECEIVED_KIB = 2048,
};

/* Returns AITHERION_SIM_BUSY; 0 if it is invalid. */
unsigned int sim_busy_percent(void);

bool sim_nvml_hangs(void);
