/*
 * The tables that a static CUDA runtime gets from a driver library by cuGetExportTable().
 *
 * All that is known about them was observed from outside: which tables the runtime of CUDA 13.0
 * asks for and needs, and which entries it calls. The sources of ZLUDA and Lupine describe them
 * publicly.
 *
 * One entry is the runtime's check of the driver library. It is answered so that programs with a
 * static runtime run unchanged; the user's own, licensed driver does all GPU work. `./configure
 * --disable-runtime-tables` leaves all of this out. Programs that use the driver API, or a
 * dynamically linked runtime that does not ask, still work then.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"

struct ath_table_device {
    unsigned char uuid[16];
    int32_t pci_domain, pci_bus, pci_device;
};

/* The functions that the tables need from the driver library. Each may be called at any time. */
struct ath_tables_driver {
    uint32_t version; /* as cuDriverGetVersion() returns it */
    /* Retains a device's primary context. */
    CUresult (*retain_primary)(CUcontext *out, CUdevice device);
    /* The calling thread's context, or NULL; and a context's number, which no other context has. */
    CUresult (*get_current)(CUcontext *out);
    CUresult (*get_id)(CUcontext context, unsigned long long *out);
    /* The number of a stream in the calling thread's context. No other stream ever has it. */
    CUresult (*get_stream_id)(CUstream stream, unsigned long long *out);
    /* Values that a library stores with a context; NULL means the current context. */
    CUresult (*put_local)(CUcontext context, void *key, void *value,
                          void (*end)(CUcontext, void *key, void *value));
    CUresult (*delete_local)(CUcontext context, void *key);
    CUresult (*get_local)(CUcontext context, void *key, void **out);
    /* A module's first function, as memory that a library may read (export_tables.c). NULL: the
     * library cannot provide it. */
    CUresult (*find_function)(CUmodule module, CUfunction *out);
    /* The devices in their order. Returns their number, and writes `room` of them at most. */
    size_t (*list_devices)(struct ath_table_device *out, size_t room);
};

/*
 * The table of a UUID (16 bytes), or NULL. Its entries are functions; the first word of most tables
 * is the table's size.
 *
 * driver  the same in every call; the caller keeps it, and it must stay valid
 */
const void *ath_table_find(const struct ath_tables_driver *driver, const unsigned char uuid[16]);

/* The answer of the check for a given message; a separate function for tests. */
void ath_table_check(const struct ath_tables_driver *driver, uint32_t version,
                     uint64_t unix_seconds, uint32_t process, uint32_t thread,
                     const uint64_t addresses[3], uint64_t out[2]);
