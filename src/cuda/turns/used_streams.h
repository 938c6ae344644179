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

#include "cuda/turns/contexts.h"
#include "proto/cuda-server.h"

/* driver: without the gate. It is copied. */
void ath_used_streams_begin(const struct ath_cuda_driver *driver);

/* Changes before the streams are looked at: what was noted may be forgotten then. */
extern _Atomic uint64_t ath_used_streams_epoch;

/* Notes a stream that gets work now. Returns the epoch in which it is noted. */
uint64_t ath_used_streams_note(CUstream stream, const struct ath_turn_place *place);

/* Marks the work of a stream about which only the caller can ask: the thread's default stream, or
 * that of a green context, which may be current in one thread at a time. Called behind each call
 * that gives it work. owner: tells such streams apart. */
void ath_used_streams_mark(CUstream stream, const struct ath_turn_place *place, const void *owner);

/* Forgets the streams that are empty. Returns whether all are. */
bool ath_used_streams_are_empty(void);

void ath_used_streams_note_primary(CUdevice device, CUcontext context);

/* The end of streams, before it. */
void ath_used_streams_end(CUstream stream);

/* Before and after the end of a context, of a green one, or of the device's primary one with its
 * green ones. is_over: it has ended. */
void ath_used_streams_contexts_end(const struct ath_turn_place *ends);
void ath_used_streams_contexts_ended(const struct ath_turn_place *ends, bool is_over);

/* Captures: see gate.h. */
void ath_used_streams_capture_begins(void);
void ath_used_streams_capture_began(CUresult status);
bool ath_used_streams_capture_ends(CUstream stream); /* Returns whether it captures */
void ath_used_streams_capture_ended(void);
bool ath_used_streams_joins(CUstream stream);
void ath_used_streams_joined(bool is_held);

/* Returns whether a call with this stream is part of a capture, and gives no work. */
bool ath_used_streams_is_captured(CUstream stream);
