/* A device's facts in one round trip, to the cache, unless they are there. Any thread. */
#pragma once

/* After cuInit() succeeded, of a device by the server's number. Failing makes no difference but
 * that facts are asked for one by one. */
void ath_cuda_snapshot(int device);

/* Asks, and leaves it to the caller to wait; cuInit() may still be on its way. undo: it failed, so
 * that nothing was answered. */
struct ath_cuda_ahead;
void ath_cuda_snapshot_begin(int device, struct ath_cuda_ahead *ahead);
void ath_cuda_snapshot_undo(int device);
