/*
 * Host memory that a session's client and the server have at the same address: shared by the
 * transport, managed by the driver, or mirrored. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"

struct ath_cuda_session;

/*
 * Returns where all these bytes are in this process, or NULL if they are no such memory. Only an
 * address from here may be given to the driver as host memory that the client named. is_target: the
 * GPU will write them.
 */
void *ath_cuda_region_at(struct ath_cuda_session *session, uint64_t address, uint64_t bytes,
                         bool is_target);

/* Called before the driver gets an address, of the host or the GPU, for any purpose: if the address
 * lies in a mirror, all of the mirror may change from now on. */
void ath_cuda_region_open_at(struct ath_cuda_session *session, uint64_t address);

/* Returns whether all these bytes of this process are such memory. */
bool ath_cuda_region_holds(struct ath_cuda_session *session, uintptr_t here, uint64_t bytes);

/* Returns whether the GPU has such memory at all these addresses, which may differ from the host's
 * on both sides. */
bool ath_cuda_region_is_gpus(struct ath_cuda_session *session, CUdeviceptr address, uint64_t bytes);

/*
 * Puts some of what the GPU changed in the client's mirrors since the last call into an answer to
 * no call. These answers must reach the client in the order in which they were made. Returns 1, 0
 * if there is nothing more, or -ENOMEM. One thread at a time.
 */
struct ath_wire_builder;
int ath_cuda_changes(struct ath_cuda_session *session, struct ath_wire_builder *answer);

/*
 * Takes the managed memory that a call may end out of the list, before the driver is called:
 * another thread may look for changes in it. context: the context that the call may end; NULL: it
 * is the device's primary one. Returns a list for ath_cuda_managed_settle().
 */
struct ath_cuda_region;
struct ath_cuda_region *ath_cuda_managed_hold(struct ath_cuda_session *session, CUcontext context,
                                              CUdevice device);

/* Frees these regions if their context is over, or puts them back. */
void ath_cuda_managed_settle(struct ath_cuda_session *session, struct ath_cuda_region *held,
                             bool is_over);

/* Frees all regions, without calling the driver. */
void ath_cuda_regions_free(struct ath_cuda_session *session);
