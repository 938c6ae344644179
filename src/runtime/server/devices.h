/* The devices that a server has, and what is wrong with them: found once, when it starts. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pci.h"

enum { ATH_DEVICES_MAX = 64 };

struct ath_device {
    char pci[ATH_PCI_TEXT]; /* empty for a simulated one */
    char uuid[48];          /* "GPU-..."; empty where unknown */
    char name[128];
    bool is_simulated;
    int64_t memory_total_bytes; /* ATH_UNKNOWN */
};

struct ath_problem {
    bool is_fault;
    const char *code; /* a stable word */
    char object[ATH_PCI_TEXT];
    char message[256];
};

struct ath_devices {
    uint32_t driver_version; /* the newest CUDA that the driver knows, 13000 for 13.0; 0: unknown */
    struct ath_device items[ATH_DEVICES_MAX];
    size_t count;
    struct ath_problem problems[ATH_DEVICES_MAX + 8];
    size_t problem_count;
};

/*
 * The GPUs that the CUDA driver of this machine (or container) has, by libcuda.so.1, which is asked
 * in a child process: a broken driver may hang, and a process that has used CUDA cannot fork.
 *
 * is_simulated  the simulator in the driver's place
 * wanted        addresses to serve, of which those that are missing are problems; count 0: all
 * Never fails: without a driver or a GPU there are none, and a problem says why.
 */
void ath_devices_find(bool is_simulated, const struct ath_pci *wanted, size_t wanted_count,
                      struct ath_devices *out);

__attribute__((format(printf, 5, 6))) void ath_devices_add_problem(struct ath_devices *devices,
                                                                   bool is_fault, const char *code,
                                                                   const char *object,
                                                                   const char *format, ...);
