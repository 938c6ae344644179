/*
 * One of several instances of this library in a program, each with its own server (cuda/several).
 *
 * Handles: the handles of instance n have n in bits 56 to 60. No address of a process has these
 * bits on x86-64 and AArch64 with four levels of pages. The program may mix handles, and each one
 * shows its instance. The handles of the first instance, and of a program with one server, equal
 * the driver's. Devices are numbered over all servers; src/cuda/several knows which server has
 * which device.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"
#include "proto/cuda-methods.h"

enum { ATH_INSTANCE_SHIFT = 56, ATH_INSTANCE_MASK = 0x1f };

struct ath_instance {
    const char *server; /* as ath_client_open() takes it */
    unsigned int index;
    /* Converts one of the server's devices to the program's number and back; -1: there is none.
     * NULL: the numbers are the same. */
    int (*device_to_own)(unsigned int index, int device);
    int (*device_to_wire)(unsigned int index, int device);
};

/* Exported for src/cuda/several, which calls it before any other function. The caller keeps
 * *instance, which must stay valid. */
__attribute__((visibility("default"))) void aitherion_instance(const struct ath_instance *instance);

/* NULL: the program has one server, named by AITHERION_SERVER. */
const char *ath_instance_server(void);

/* From 0 on. */
unsigned int ath_instance_index(void);

/* Converts a handle or a device between the program's value and the server's. Returns false for
 * another server's handle. */
uint64_t ath_instance_to_own(enum ath_cuda_kind kind, uint64_t wire);
bool ath_instance_to_wire(enum ath_cuda_kind kind, uint64_t own, uint64_t *out);

static inline unsigned int ath_instance_of(uint64_t handle)
{
    return handle >> ATH_INSTANCE_SHIFT & ATH_INSTANCE_MASK;
}
