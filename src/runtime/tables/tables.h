/*
 * The tables that a static CUDA runtime asks a driver library for, by cuGetExportTable().
 *
 * What is known of them was seen from outside: which of them the runtime of CUDA 13.0 asks for and
 * stops without, and which entries it calls (design notes in docs/). Public descriptions are in
 * ZLUDA's and Lupine's sources.
 *
 * One of the entries is the runtime's check of the driver library. It is answered so that programs
 * which carry a static runtime run unchanged; the user's own, licensed driver does all the work of
 * the GPU. `./configure --disable-runtime-tables` leaves all of this out; programs that use the
 * driver API, or a runtime linked dynamically that does not ask, then still work.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "runtime/cuda/cuda_api.h"

struct ath_table_device {
    unsigned char uuid[16];
    int32_t pci_domain, pci_bus, pci_device;
};

/* What the tables need of the driver library that hands them out. All may be called at any time. */
struct ath_tables_driver {
    uint32_t version; /* as cuDriverGetVersion() says it */
    /* The primary context of a device, retained. */
    CUresult (*retain_primary)(CUcontext *out, CUdevice device);
    /* The calling thread's context, NULL where it has none; and a number that no other has. */
    CUresult (*get_current)(CUcontext *out);
    CUresult (*get_id)(CUcontext context, unsigned long long *out);
    /* The number of a stream of the calling thread's context, which no other stream ever has. */
    CUresult (*get_stream_id)(CUstream stream, unsigned long long *out);
    /* Values that a library keeps with a context, NULL being the current one. */
    CUresult (*put_local)(CUcontext context, void *key, void *value,
                          void (*end)(CUcontext, void *key, void *value));
    CUresult (*delete_local)(CUcontext context, void *key);
    CUresult (*get_local)(CUcontext context, void *key, void **out);
    /* A module's first function, as memory that a library may look into: see tables.c. NULL where
     * the library has no such thing to give. */
    CUresult (*find_function)(CUmodule module, CUfunction *out);
    /* The devices in their order; as many as there are, at most `room` are written. */
    size_t (*list_devices)(struct ath_table_device *out, size_t room);
};

/*
 * The table of a UUID (16 bytes), NULL where there is none: its entries are functions, the first
 * word in most of them the size of the table.
 *
 * driver  the same at every call; stays the caller's and must stay valid
 */
const void *ath_table_find(const struct ath_tables_driver *driver, const unsigned char uuid[16]);

/*
 * The answer of the check, for a message that is given in full; apart from ath_table_find() for
 * tests.
 */
void ath_table_check(const struct ath_tables_driver *driver, uint32_t version,
                     uint64_t unix_seconds, uint32_t process, uint32_t thread,
                     const uint64_t addresses[3], uint64_t out[2]);
