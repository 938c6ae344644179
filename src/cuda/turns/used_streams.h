/*
 * The streams that have got work, until they are seen empty. Any thread.
 *
 * A stream is looked at by cuStreamQuery(), which leaves it as it is: an event in the legacy stream
 * would hold up other streams. If a stream cannot be asked later (it ends, it is captured, it
 * belongs to one thread), an event is recorded behind its work.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda-server.h"

/* driver: without the gate. It is copied. */
void ath_used_streams_begin(const struct ath_cuda_driver *driver);

/* Changes before the streams are looked at: what was noted may be forgotten then. */
extern _Atomic uint64_t ath_used_streams_epoch;

/* Notes a stream that gets work now. The null stream is that of `context`, which is current; NULL
 * for a green one. Returns the epoch in which it is noted. */
uint64_t ath_used_streams_note(CUstream stream, CUcontext context, CUdevice device);

/* Marks the work of a stream about which only the caller can ask: the thread's default stream, or
 * that of a green context, which may be current in one thread at a time. Called behind each call
 * that gives it work. owner: tells such streams apart. */
void ath_used_streams_mark(CUstream stream, CUcontext context, CUdevice device, const void *owner);

/* Forgets the streams that are empty. Returns whether all are. */
bool ath_used_streams_are_empty(void);

/* Contexts that stand for green ones, and the primary contexts of devices. */
void ath_used_streams_note_green(CUcontext context);
bool ath_used_streams_is_green(CUcontext context);
void ath_used_streams_note_primary(CUdevice device, CUcontext context);

/* The end of streams and contexts, and captures: see gate.h. are_over: the contexts have ended. */
void ath_used_streams_end(CUstream stream);
void ath_used_streams_contexts_end(CUcontext context, CUdevice device);
void ath_used_streams_contexts_ended(CUcontext context, CUdevice device, bool are_over);
void ath_used_streams_capture_begins(void);
void ath_used_streams_capture_began(CUresult status);
bool ath_used_streams_capture_ends(CUstream stream); /* Returns whether it captures */
void ath_used_streams_capture_ended(void);
bool ath_used_streams_joins(CUstream stream);
void ath_used_streams_joined(bool is_held);

/* Whether a call with this stream is part of a capture, and gives no work. */
bool ath_used_streams_is_captured(CUstream stream);
