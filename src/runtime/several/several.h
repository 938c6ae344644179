/*
 * Several servers for one program: the libcuda.so.1 that `aitherion run` puts before it then.
 *
 * It is a switch. For each server that AITHERION_SERVER names it loads a copy of the library for
 * one server (src/runtime/cuda), which has a link, an order of calls, caches and mirrors of its
 * own; each of CUDA's functions finds out whose it is and calls that copy's (proto/cuda_several.py
 * writes them). So nothing here knows the wire, and a server that is lost takes with it what was
 * its own.
 *
 * Devices are one list: the first server's, then the second's. Handles bear their server's number
 * (runtime/cuda/instance.h), addresses are known by range (addresses.h), a library and its kernels
 * are loaded where they are used (libraries.h), and what crosses from one server to another goes
 * through the program (copies.h).
 *
 * Threads: everything here may be called by any.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-several.h"
#include "runtime/client/servers.h"
#include "runtime/cuda/instance.h"

/* One server. */
struct ath_several {
    struct ath_several_calls calls;
    struct ath_instance self;
    _Atomic(CUcontext) context; /* one of its contexts that is there; NULL: none is known */
    atomic_int failure;         /* a CUresult: see ath_several_failed() */
};

extern struct ath_several ath_several_all[ATH_SERVERS_MAX];

/* How many there are; 0 before the first call. */
size_t ath_several_count(void);

/*
 * Loads the libraries, when that has not been done yet. What goes wrong is said once on standard
 * error: CUDA_ERROR_NO_DEVICE where AITHERION_SERVER does not say anything of use,
 * CUDA_ERROR_SYSTEM_NOT_READY.
 */
CUresult ath_several_load(void);

/* Whether the program's exit has begun. */
bool ath_several_is_exiting(void);

/* AITHERION_CUDA_LOG has it say why something was refused. Gives CUDA_ERROR_NOT_SUPPORTED. */
CUresult ath_several_refuse(const char *function, const char *reason);

/* ---- whose something is: a server's number ---- */

unsigned int ath_several_here(void); /* the current context's; without one the first */
unsigned int ath_several_of_handle(uint64_t handle);
unsigned int ath_several_of_stream(CUstream stream);
unsigned int ath_several_of_device(CUdevice device);
unsigned int ath_several_of_place(const CUmemLocation *location);
unsigned int ath_several_of_function(CUfunction function);
unsigned int ath_several_of_address(CUdeviceptr address);

/*
 * Makes ready for calls of one server's functions by this thread: its current context is the
 * thread's, or one of the server's where the thread's is another server's.
 */
CUresult ath_several_enter(unsigned int index, struct ath_several **out);

/* What the switch could not do in the order of a stream of the server's: the next call that waits
 * for its work says so. */
void ath_several_failed(struct ath_several *at, CUresult status);

/* What a call says that has waited for work of a server. */
CUresult ath_several_waited(struct ath_several *at, CUresult status);

/* Whether a server's library has found that it is lost: then it says so before it looks at what a
 * call is given. */
static inline bool ath_several_is_lost(const struct ath_several *one)
{
    return one->calls.cuMemGetInfo_v2(NULL, NULL) == CUDA_ERROR_DEVICE_UNAVAILABLE;
}

/* ---- devices ---- */

/* After cuInit(): asks each server for its devices, and takes CUDA_VISIBLE_DEVICES into account. */
CUresult ath_several_find_devices(void);

/* For struct ath_instance. */
int ath_several_device_to_own(unsigned int index, int device);
int ath_several_device_to_wire(unsigned int index, int device);

/* ---- contexts ---- */

/* Enters a server with one of its contexts, whatever the thread's is. */
CUresult ath_several_enter_in(CUcontext context, struct ath_several **out);

/* Forgets what was known of a context that ended. */
void ath_several_context_ended(CUcontext context);
