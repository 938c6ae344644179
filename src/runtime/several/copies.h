/*
 * What crosses from one server to another: copies, and streams that wait for another's event.
 *
 * Both are waited for by threads of the switch, each with one at a time, so that none waits behind
 * another. The program's thread waits with them for up to a second. What takes longer is held up by
 * the program itself, or by much work: the stream then stops at a word of its GPU's memory
 * (cuStreamWaitValue32()) until this side writes it, and the program's thread goes on.
 *
 * A copy goes through a buffer of the program's process, in parts.
 */
#pragma once
#include "runtime/several/several.h"

/* Waits for copies between servers that read or write the allocation at an address: memory that is
 * freed is no longer used, as CUDA has it. */
void ath_several_await_copies(CUdeviceptr address);

/* Forgets what was made in a context that ended. */
void ath_several_lanes_end(CUcontext context);
