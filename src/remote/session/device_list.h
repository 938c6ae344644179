/* The devices of a server, in its order, and the problems that it found. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pci.h"

enum { ATH_DEVICES_MAX = 64 };

struct ath_device {
    char pci[ATH_PCI_TEXT]; /* empty for a simulated device */
    char uuid[48];          /* "GPU-..."; empty if unknown */
    char name[128];
    bool is_simulated;
    int64_t memory_total_bytes; /* ATH_UNKNOWN if unknown */
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
