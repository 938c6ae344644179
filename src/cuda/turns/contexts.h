/*
 * The process's contexts that the gate must know: how many there are, which stand for
 * green ones, and how often one was attached. Any thread.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda-server.h"

/* driver: without the gate. It is copied. unseen: so many devices' primary contexts may be made
 * past the gate. */
void ath_turn_contexts_begin(const struct ath_cuda_driver *driver, size_t unseen);

/* Two contexts or more have been made so far, so the null stream may be that of any. */
extern atomic_bool ath_turn_contexts_are_several;

/* After a context was made, a primary one retained. */
void ath_turn_contexts_made(void);
void ath_turn_contexts_retained(CUdevice device);

/* After a context was attached, detached. Detached: returns whether it has ended. */
void ath_turn_contexts_attached(CUcontext context);
bool ath_turn_contexts_detached(CUcontext context);
void ath_turn_contexts_ended(CUcontext context);

/* After a green context was made, got a context that stands for it, ended. */
void ath_turn_contexts_made_green(CUgreenCtx green, CUdevice device);
void ath_turn_contexts_named_green(CUgreenCtx green, CUcontext context);
CUdevice ath_turn_contexts_ended_green(CUgreenCtx green); /* Returns its device; -1: unknown */

/* Green contexts end with their device's primary one. */
void ath_turn_contexts_ended_primary(CUdevice device);

/* The place of a stream's work; or a thing that ends, as one of the members. */
struct ath_turn_place {
    CUcontext context; /* NULL: none, or a green one */
    CUgreenCtx green;  /* NULL: none */
    CUdevice device;   /* -1: unknown */
};

/* current: the thread's context, of which the null stream and the thread's own stream are. */
struct ath_turn_place ath_turn_contexts_place(CUstream stream, CUcontext current);
