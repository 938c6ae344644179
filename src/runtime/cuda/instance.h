/*
 * This library as one of several in a program, each with a server of its own (runtime/several).
 *
 * Handles: those of instance n bear n in bits 56 to 60, which no address of a process has on x86-64
 * and AArch64 with four levels of pages; a program may hold them side by side, and the instance of
 * each is seen. The first instance's are the driver's own, and so are those of a program that has
 * one server. Devices are counted through all servers; the switch knows which is whose.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda-methods.h"
#include "runtime/cuda/cuda_api.h"

enum { ATH_INSTANCE_SHIFT = 56, ATH_INSTANCE_MASK = 0x1f };

struct ath_instance {
    const char *server; /* as ath_client_open() takes it */
    unsigned int index;
    /* The program's number of one of the server's devices and back; -1: there is none. NULL: they
     * are the same. */
    int (*device_to_own)(unsigned int index, int device);
    int (*device_to_wire)(unsigned int index, int device);
};

/* Exported for the switch, which calls it before anything else; what it is given stays its own and
 * must stay. */
__attribute__((visibility("default"))) void aitherion_instance(const struct ath_instance *instance);

/* NULL: the program has one server, which AITHERION_SERVER names. */
const char *ath_instance_server(void);

/* From 0 on. */
unsigned int ath_instance_index(void);

/* A handle or a device as the program has it, and as the server has it. false: it is another
 * server's. */
uint64_t ath_instance_to_own(enum ath_cuda_kind kind, uint64_t wire);
bool ath_instance_to_wire(enum ath_cuda_kind kind, uint64_t own, uint64_t *out);

static inline unsigned int ath_instance_of(uint64_t handle)
{
    return handle >> ATH_INSTANCE_SHIFT & ATH_INSTANCE_MASK;
}
