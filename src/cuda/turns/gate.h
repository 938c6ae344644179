/*
 * The gate: calls that give a GPU work (the fact `occupies` of proto/cuda.capnp) reach the driver
 * only while the process has a turn on its GPUs (turns/slot.h). A turn goes back when the arbiter
 * asks for it or when the process is idle, and not before its work on the GPUs is over.
 *
 * The wrappers in proto/cuda-turns.c stand in the driver's table and call the functions below. They
 * have CUDA's signatures, which leave no room for a pointer. So the gate's state is global: a
 * process has one.
 *
 * Without turns of others a call costs some loads and two stores of its thread's own (callers.h).
 * docs/runtime.md has the threads, the locks and what is bounded.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/turns/callers.h"
#include "cuda/turns/contexts.h"
#include "proto/cuda-server.h"
#include "turns/slot.h"

struct ath_turn_gate_setup {
    struct ath_turn_wish *wish;
    const struct ath_turn_grant *grant; /* may be mapped read-only */
    const _Atomic uint64_t *beat_ms;    /* of the arbiter's last sign of life, by ath_now_ms() */
    int pipe_fd;                        /* wakes the arbiter; non-blocking */
    uint64_t session;                   /* the grant is valid while it names this session */
    const size_t *devices; /* the server's number (below 64) of each device of the driver */
    size_t device_count;
    bool has_unseen_contexts; /* primary contexts may be made past the gate */
    /* Called once, by any thread, when calls pass without turns since no arbiter answers. */
    void (*passes_freely)(void *context);
    void *context;
};

/*
 * Puts the gate into the driver's table. Call it once, before anything else is put there and before
 * the first call. The memory that `setup` names must stay.
 *
 * A thread of the gate's own is started with the first call that must wait. If it cannot be
 * started, the calls pass without turns.
 */
void ath_turn_gate_begin(const struct ath_turn_gate_setup *setup, struct ath_cuda_driver *driver);

/* ---- for proto/cuda-turns.c; any thread ---- */

void ath_turn_gate_wrap(struct ath_cuda_driver *driver);

/* Before and after a call that gives a stream work. Waits for the turn, without a lock. Returns
 * the place of the calling thread. */
struct ath_turn_caller *ath_turn_gate_enter(CUstream stream);
void ath_turn_gate_leave(struct ath_turn_caller *own);

/* The same for a graph, which may have work for each device on which the process has a context, and
 * for launches on several devices. */
struct ath_turn_caller *ath_turn_gate_enter_graph(CUstream stream);
struct ath_turn_caller *ath_turn_gate_enter_launches(const CUDA_LAUNCH_PARAMS *launches,
                                                     unsigned int count);
void ath_turn_gate_leave_launches(struct ath_turn_caller *own, const CUDA_LAUNCH_PARAMS *launches,
                                  unsigned int count);

/* The process has used something that may wait for the program or for other processes. From now on
 * a turn goes back soon, though work is left: others may have to run before it can end. */
void ath_turn_gate_awaits(void);

/* After a context was made, a device's primary one retained, a green one made, a context for it
 * given, the current one attached. */
void ath_turn_gate_made(CUdevice device);
void ath_turn_gate_retained(CUdevice device, CUcontext primary);
void ath_turn_gate_made_green(CUdevice device, CUgreenCtx green);
void ath_turn_gate_named_green(CUgreenCtx green, CUcontext context);
void ath_turn_gate_attached(CUcontext context);

/* Before and after the call that begins a capture, with a lock held between, and the one that ends
 * it. */
void ath_turn_gate_capture_begins(void);
void ath_turn_gate_capture_began(CUresult status);
bool ath_turn_gate_capture_ends(CUstream stream);
void ath_turn_gate_capture_ended(CUstream stream, bool is_one);

/* Before and after a stream waits for an event, which may be a capture's. */
bool ath_turn_gate_joins(CUstream stream);
void ath_turn_gate_joined(bool is_held);

void ath_turn_gate_stream_ends(CUstream stream);

/* Before and after contexts end: the one given, the green one, or the device's primary one with its
 * green ones. Members that are not used are NULL and -1. */
void ath_turn_gate_contexts_end(struct ath_turn_place ends);
void ath_turn_gate_contexts_ended(struct ath_turn_place ends, CUresult status);

/* After a context or a device's primary one has lost a reference, which may have been the last. */
void ath_turn_gate_detached(struct ath_turn_place ends, CUresult status);
void ath_turn_gate_released(struct ath_turn_place ends, CUresult status);
