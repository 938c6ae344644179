/*
 * The properties of the simulated devices, for both libraries that show them: libcuda.so.1 and
 * libnvidia-ml.so.1.
 *
 *     AITHERION_SIM_COPIES   late: a copy of pageable memory reads it when the copy runs, as on
 *                            GPUs that walk the host's page tables (a POWER9's behind NVLink)
 *     AITHERION_SIM_DEVICES  number of devices, 1 to 8 (1)
 *     AITHERION_SIM_FIRST    number of the first device, 0 to 200 (0): gives the devices of two
 *                            servers different UUIDs and addresses
 *     AITHERION_SIM_MEMORY   bytes of each device, with K, M, G or T for powers of 1024 (16G); less
 *                            than 1M leaves no room for a context
 *     AITHERION_SIM_CONTEXT  device memory that each context takes (0), with the same units
 *     AITHERION_SIM_MODULE   and each module, also a library's in a context (0)
 *     AITHERION_SIM_LOCAL    local memory of each thread that each kernel says it needs (0)
 *     AITHERION_SIM_LINKS    NVLinks that NVML tells (none): "0-3:2,1-2:1" are two between devices
 *                            0 and 3, and one between 1 and 2
 *     AITHERION_SIM_DISTANCE nvmlGpuTopologyLevel_t of any two devices, as NVML tells it (50)
 *     AITHERION_SIM_BUSY     percent of the time that devices are busy (0): nvml_figures.h
 *     AITHERION_SIM_NVML     hangs: nvml_figures.h
 *     AITHERION_SIM_FAULTS   what is wrong with devices, as NVML tells it (nothing): nvml_faults.h
 *     AITHERION_SIM_HANDLES  trusted: a call with a wrong handle ends the process, as NVIDIA's
 *                            driver does, which reads through each handle without a check
 *     AITHERION_SIM_GPU      a file: GPUs whose time all processes share (none): gpu_time.h
 *     AITHERION_SIM_PARTS    none: a driver that cannot divide a device's multiprocessors
 *     AITHERION_SIM_COMPILER deep: compiling PTX takes 7 MiB of the caller's stack, nearly as much
 * as a program's first thread has AITHERION_SIM_UNKNOWN  ignore: accept kernels that are not
 * simulated, and variables of compressed images; the kernels do nothing, the variables are zero.
 *                            Shows what libraries ask of a driver.
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
    SIM_PCI_DOMAIN = 0xfffe, /* not used by any machine */
};

extern const char sim_device_name[];

int sim_facts_count(void); /* 0: AITHERION_SIM_DEVICES is invalid */
bool sim_facts_ignores_unknown(void);
bool sim_facts_has_parts(void);
bool sim_facts_trusts_handles(void);
bool sim_facts_copies_late(void);
bool sim_facts_compiler_is_deep(void);
size_t sim_facts_memory_bytes(void); /* 0: AITHERION_SIM_MEMORY is invalid */
size_t sim_facts_context_bytes(void);
size_t sim_facts_module_bytes(void);
size_t sim_facts_local_bytes(void);
/*
 * Lists the devices that CUDA_VISIBLE_DEVICES leaves to a CUDA program, in its order, up to the
 * first invalid word; all devices if it is not set. Follows NVIDIA's rules: numbers, or "GPU-" and
 * the beginning of a UUID. Returns their number.
 */
int sim_facts_visible(int out[SIM_DEVICES_MAX]);
/* NVML's level of the distance of two devices. */
unsigned int sim_facts_distance(void);
/* Finds the peer at the end of a device's NVLink by the number of the link; -1: no such link. */
int sim_facts_link_peer(int device, unsigned int link);
/* Writes the UUID of a device. */
void sim_device_uuid(int number, char out[16]);
/* Return the bus number of a device, and write its address "fffe:01:00.0" like snprintf(). */
int sim_device_bus(int number);
int sim_device_address(int number, char *out, size_t room);
