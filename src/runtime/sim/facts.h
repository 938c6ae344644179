/*
 * What the simulated devices are like, for both libraries that show them: libcuda.so.1 and
 * libnvidia-ml.so.1.
 *
 *     AITHERION_SIM_COPIES   late: one of pageable memory reads it when its turn comes, as on GPUs
 *                            that walk the host's page tables (a POWER9's behind NVLink)
 *     AITHERION_SIM_DEVICES  how many, 1 to 8 (1)
 *     AITHERION_SIM_FIRST    which of a row of such devices the first of them is, 0 to 200 (0): two
 *                            servers' are told from each other by UUID and address
 *     AITHERION_SIM_MEMORY   bytes of each, with K, M, G or T for powers of 1024 (16G);
 *                            with less than 1M there is no room for a context
 *     AITHERION_SIM_UNKNOWN  ignore: kernels that are not simulated, and variables of images that
 *                            are compressed, are found; the kernels do nothing, the variables are
 *                            zero. To see what libraries ask of a driver.
 *
 * Takes no lock; reads the environment at each call.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum {
    SIM_DRIVER_VERSION = 13000,
    SIM_DEVICES_MAX = 8,
    SIM_COMPUTE_MAJOR = 9,
    SIM_COMPUTE_MINOR = 0,
    SIM_PCI_DOMAIN = 0xfffe, /* which no machine has */
};

extern const char sim_device_name[];

int sim_facts_count(void); /* 0: AITHERION_SIM_DEVICES is no such number */
bool sim_facts_ignores_unknown(void);
bool sim_facts_copies_late(void);
size_t sim_facts_memory_bytes(void); /* 0: AITHERION_SIM_MEMORY is no size */
/*
 * Which of them CUDA_VISIBLE_DEVICES leaves to a program of CUDA, in its order, up to what is none;
 * all where it is not set. NVIDIA's rules: numbers, or "GPU-" and the beginning of a UUID.
 */
int sim_facts_visible(int out[SIM_DEVICES_MAX]);
/* The number of a device to its UUID. */
void sim_device_uuid(int number, char out[16]);
/* And to its address, "fffe:01:00.0" (the bus alone; its length, as snprintf()). */
int sim_device_bus(int number);
int sim_device_address(int number, char *out, size_t room);
