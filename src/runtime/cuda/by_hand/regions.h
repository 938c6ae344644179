/*
 * Host memory that a session's client and the server have at the same address: shared by the
 * transport, managed by the driver, or mirrored. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "runtime/cuda/cuda_api.h"

struct ath_cuda_session;

/*
 * Where all these bytes are in this process; NULL: they are no such memory. Only what comes from
 * here may be given to the driver as host memory that the client named.
 */
void *ath_cuda_region_at(struct ath_cuda_session *session, uint64_t address, uint64_t bytes);

/* Whether all these bytes of this process are such memory. */
bool ath_cuda_region_holds(struct ath_cuda_session *session, uintptr_t here, uint64_t bytes);

/* Whether the GPU has such memory at all these addresses, which may be others than both of it. */
bool ath_cuda_region_is_gpus(struct ath_cuda_session *session, CUdeviceptr address, uint64_t bytes);

/*
 * Some of what the GPU changed in the client's mirrors since this was asked for last, as an answer
 * to no call. Answers that bring changes must reach the client in the order in which they were made
 * here. Returns 1, 0 where there is nothing more, or -ENOMEM. One thread at a time.
 */
struct ath_wire_builder;
int ath_cuda_changes(struct ath_cuda_session *session, struct ath_wire_builder *answer);

/* Frees what is kept of all regions, without the driver. */
void ath_cuda_regions_free(struct ath_cuda_session *session);

/* Frees code that was kept for the driver. */
void ath_cuda_images_free(struct ath_cuda_session *session);
