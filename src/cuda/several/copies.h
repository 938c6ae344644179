/*
 * Operations between two servers: copies, and streams that wait for another server's event.
 *
 * Threads of the switch wait for both, one thread for each operation, so that no operation waits
 * for another. The program's thread waits for up to a second too. An operation that takes longer is
 * delayed by the program itself or by much work. The stream then stops at a word of its GPU's
 * memory (cuStreamWaitValue32()) until the thread writes the word, and the program's thread goes
 * on.
 *
 * A copy goes through a buffer in the program's process, in parts.
 */
#pragma once
#include "cuda/several/several.h"

/* Waits for copies between servers that use the allocation at an address, since freed memory must
 * not be used. */
void ath_several_await_copies(CUdeviceptr address);

/* Forgets the lane of a context that ended. */
void ath_several_lanes_end(CUcontext context);
