/*
 * Counts the GPU memory that the session's memory pools take.
 *
 * A pool keeps memory that its program has freed: all of it until the program waits for the GPU,
 * and after that as much as the pool's threshold allows, until the process needs it elsewhere (CUDA
 * driver API, "Stream Ordered Memory Allocator"). So the driver's reserved bytes count for a pool;
 * the driver is asked again whenever they may have changed.
 *
 * Any thread. One set of pools for the process, which has one session.
 */
#pragma once
#include "proto/cuda-server.h"

struct ath_pool;

/* Takes (or, negative, gives back) bytes of a device, by the server's number. is_there: the
 * driver has the memory already, so it is taken beyond the limit, too. Returns false if there is no
 * room. */
typedef bool (*ath_pool_usage_charge)(size_t device, int64_t bytes, bool is_there);

/* Keeps a copy of the driver's own functions. */
void ath_pool_usage_begin(const struct ath_cuda_driver *driver, ath_pool_usage_charge charge);

/* Enters a pool that the program made. device SIZE_MAX: the pool is on no device and does not
 * count. */
void ath_pool_usage_made(CUmemoryPool handle, size_t device);

/* The pool of a handle. device_of tells the device of a pool that is not known yet. Returns NULL
 * if memory runs out. */
struct ath_pool *ath_pool_usage_find(CUmemoryPool handle, size_t (*device_of)(CUmemoryPool handle));
size_t ath_pool_device(const struct ath_pool *pool);

/* Takes bytes from a pool for an allocation on a stream. Returns false if there is no room, even
 * after pools have given up the memory that they only keep. */
bool ath_pool_take(struct ath_pool *pool, size_t bytes, CUstream stream);

/* Gives the bytes of an allocation that was freed or failed back to its pool. */
void ath_pool_give(struct ath_pool *pool, size_t bytes);

/* Returns whether a pool may have reserved more than it has given. */
bool ath_pool_usage_keep(void);

/* Trims all pools to the memory in use, as the driver does when the GPU's memory runs out.
 * Returns whether there was anything to trim. */
bool ath_pool_usage_trim(void);

/* Notes that the program destroyed a pool, which exists until its last allocation is freed. */
void ath_pool_usage_destroyed(CUmemoryPool handle);

/* Asks the driver how much each pool has now. */
void ath_pool_usage_count(void);

/* The same after the program has waited for the GPU, if that can have changed anything. */
void ath_pool_usage_settle(void);
