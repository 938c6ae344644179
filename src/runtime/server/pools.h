/*
 * What the memory pools of a session take of the GPU's memory.
 *
 * A pool keeps memory that its program has freed: all of it until the program waits for the GPU,
 * and of that as much as its threshold says for as long as nobody else in the process needs it
 * (CUDA driver API, "Stream Ordered Memory Allocator"). So what counts is what the driver has
 * reserved for it, which is asked for whenever it may have changed.
 *
 * Any thread; one set of pools for the process, which has one session.
 */
#pragma once
#include "proto/cuda-server.h"

struct ath_pool;

/* Takes (or, negative, gives back) memory of a device, by the server's number: false where it is
 * too much. is_there: it is taken already, whatever the limit. */
typedef bool (*ath_pools_charge)(size_t device, int64_t bytes, bool is_there);

/* The driver's own functions, of which a copy is kept. */
void ath_pools_begin(const struct ath_cuda_driver *driver, ath_pools_charge charge);

/* The program made a pool, of a device (SIZE_MAX: of none, it is not counted). */
void ath_pools_made(CUmemoryPool handle, size_t device);

/* The pool of a handle; device_of is asked whose one is that is not known yet. NULL without memory.
 */
struct ath_pool *ath_pools_find(CUmemoryPool handle, size_t (*device_of)(CUmemoryPool handle));
size_t ath_pool_device(const struct ath_pool *pool);

/* A pool is about to give so much for a stream: false where that is too much, even after what pools
 * only keep is given up. */
bool ath_pool_take(struct ath_pool *pool, size_t bytes, CUstream stream);

/* An allocation was freed, or not made after all. */
void ath_pool_give(struct ath_pool *pool, size_t bytes);

/* Whether they have more than they have given, as far as is known. */
bool ath_pools_keep(void);

/* Gives up what pools only keep, as the driver does when the GPU's memory is at its end. Whether
 * there was anything. */
bool ath_pools_trim(void);

/* The program destroyed it: it is there until its last allocation is freed. */
void ath_pools_destroyed(CUmemoryPool handle);

/* Looks how much they have now. */
void ath_pools_count(void);

/* The same after the program has waited for the GPU, where that can have changed anything. */
void ath_pools_settle(void);
