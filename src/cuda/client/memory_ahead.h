/*
 * Memory that a program is about to take. PyTorch takes blocks of a few sizes, and waits for each
 * one. On a slow line, more blocks of a size are asked for with one that is waited for: as many as
 * the program has of this size, at most 16. At most a 32nd of the GPU's memory is held so, and only
 * while eight times as much as is asked for is free.
 *
 * All blocks that the program's last start took (start_plan.h) are asked for with the second block
 * that is waited for: the first one's answer says how much memory is free. They are at most a
 * quarter of the GPU's memory and half of what is free. If they are given back, they are asked for
 * again with the next block, at most four times altogether.
 *
 * Memory that was not taken is given back ahead of every call that could tell the difference: a
 * question about free memory, another kind of allocation, the end of a context, an allocation for
 * which there is too little memory. And after 64 waits for the GPU in which the program took none.
 *
 * AITHERION_DISABLE=spares switches it off. Any thread; the lock is a leaf.
 */
#pragma once
#include "proto/cuda-methods.h"

/* Gives unused memory back if a call of this method could tell. The caller holds the connection's
 * `order` and is about to send the call. */
void ath_cuda_memory_ahead_send(enum ath_cuda_method method);

void ath_cuda_memory_ahead_clear(void);
