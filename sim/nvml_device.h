/* A device of the simulated NVML. The header of NVML's functions comes with it, which the library
 * exports. */
#pragma once
#pragma GCC visibility push(default)
#include "nvml/api/nvml_functions.h"
#pragma GCC visibility pop

#include "sim/facts.h"

struct nvmlDevice_st {
    int number;
};

extern struct nvmlDevice_st sim_nvml_devices[SIM_DEVICES_MAX];

/* Returns -1 if this is no device. */
int sim_nvml_number_of(nvmlDevice_t device);

/* Answers with one number of a device. */
nvmlReturn_t sim_nvml_number(nvmlDevice_t device, unsigned int *out, unsigned int value);

#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return NVML_ERROR_INVALID_ARGUMENT;                                                    \
    } while (0)
