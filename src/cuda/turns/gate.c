/* The way of a call through the gate. */
#include "config.h"

#include "cuda/turns/gate.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/uncancelled.h"
#include "cuda/turns/callers.h"
#include "cuda/turns/gate_state.h"
#include "cuda/turns/used_streams.h"

struct ath_turn_gate ath_turn_gate = { .begin_lock = PTHREAD_MUTEX_INITIALIZER,
                                       .wish_lock = PTHREAD_MUTEX_INITIALIZER,
                                       .drain_lock = PTHREAD_MUTEX_INITIALIZER,
                                       .burst_lock = PTHREAD_MUTEX_INITIALIZER };
#define gate ath_turn_gate

static const _Atomic uint32_t no_word = 0;                /* the arbiter was not looked for yet */
static const _Atomic uint32_t free_word = ATH_TURN_GIVEN; /* there is none */

enum { NO_EPOCH = 0 };

/* ---- begin ---- */

void ath_turn_gate_begin(const struct ath_turn_gate_setup *setup, struct ath_cuda_driver *driver)
{
    gate.setup = *setup;
    gate.raw = *driver;
    gate.begun_ms = ath_now_ms();
    gate.burst = ATH_GATE_BURST_FIRST;
    gate.budget = gate.burst;
    gate.closed = ATH_GATE_NO_TURN;
    gate.has_said = false;
    gate.awaits = false;
    gate.reached = 0;
    gate.word = &no_word;
    ath_turn_callers_begin();
    ath_used_streams_begin(driver);
    ath_turn_contexts_begin(driver, setup->has_unseen_contexts ? setup->device_count : 0);
    ath_turn_gate_wrap(driver);
}

/* ---- the arbiter ---- */

void ath_turn_gate_sleep(const _Atomic uint32_t *word, uint32_t value, int64_t timeout_us)
{
    const struct timespec timeout = { .tv_sec = timeout_us / 1000000,
                                      .tv_nsec = timeout_us % 1000000 * 1000 };
    syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

void ath_turn_gate_rest(int64_t us)
{
    const struct timespec pause = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };
    nanosleep(&pause, NULL);
}

void ath_turn_gate_call_arbiter(void)
{
    (void)!write(gate.setup.pipe_fd, "", 1); /* a full pipe wakes it as well */
}

bool ath_turn_gate_has_arbiter(void)
{
    return atomic_load(&gate.setup.grant->session) == gate.setup.session &&
           ath_now_ms() < atomic_load(gate.setup.beat_ms) + ATH_GATE_BEAT_MS;
}

void ath_turn_gate_pass_freely(void)
{
    atomic_store(&gate.word, &free_word);
    /* the gate's thread, which looks for an arbiter from now on */
    syscall(SYS_futex, &gate.setup.grant->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    if (gate.setup.passes_freely && !atomic_exchange(&gate.has_said, true))
        gate.setup.passes_freely(gate.setup.context);
}

/* The process's first call looks for the arbiter, which learns of a session a moment after it has
 * begun. */
static void find_arbiter(void)
{
    enum { LOOK_US = 500 };
    ath_uncancelled int cancel = ath_uncancel();
    pthread_mutex_lock(&gate.begin_lock);
    if (atomic_load(&gate.word) == &no_word) {
        ath_turn_gate_call_arbiter();
        while (!ath_turn_gate_has_arbiter() && ath_now_ms() < gate.begun_ms + ATH_GATE_SESSION_MS)
            ath_turn_gate_rest(LOOK_US);
        bool has_arbiter = ath_turn_gate_has_arbiter();
        if (has_arbiter) /* before the thread begins, which would look for an arbiter first */
            atomic_store(&gate.word, &gate.setup.grant->word);
        if (!has_arbiter || !ath_turn_thread_start())
            ath_turn_gate_pass_freely();
    }
    pthread_mutex_unlock(&gate.begin_lock);
}

/* ---- waiting for a turn ---- */

static void count_waiting(int change)
{
    pthread_mutex_lock(&gate.wish_lock);
    if (!gate.waiting)
        atomic_store(&gate.wanted_ns, ath_now_ns());
    gate.waiting += (uint32_t)change;
    atomic_store(&gate.setup.wish->wants, gate.waiting > 0);
    pthread_mutex_unlock(&gate.wish_lock);
}

/* Sleeps for a while, at most until the word changes. */
static void sleep_for_turn(uint32_t word)
{
    enum { CLOSED_US = 50 };
    uint32_t number = ath_turn_number(word);
    bool is_closing = !(word & ATH_TURN_BACK) && word & ATH_TURN_GIVEN &&
                      atomic_load(&gate.setup.wish->returned) != number;
    const _Atomic uint32_t *at = atomic_load(&gate.word);
    if (is_closing) { /* a thread of ours decides whether the turn goes back */
        ath_turn_gate_rest(CLOSED_US);
        return;
    }
    ath_turn_gate_call_arbiter();
    ath_turn_gate_sleep(at, word, (int64_t)ATH_GATE_WAIT_MS * 1000);
    if (at == &gate.setup.grant->word && !ath_turn_gate_has_arbiter())
        ath_turn_gate_pass_freely();
}

/* Waits for the turn. The thread is inside, before and after. */
static void wait_for_turn(struct ath_turn_caller *own)
{
    uint32_t word;
    if (atomic_load(&gate.word) == &no_word)
        find_arbiter();
    if (ath_turn_gate_is_open(ath_turn_gate_word()))
        return;
    count_waiting(1);
    do {
        ath_turn_caller_leave(own);
        word = ath_turn_gate_word();
        if (!ath_turn_gate_is_open(word))
            sleep_for_turn(word);
        ath_turn_caller_enter(own);
    } while (!ath_turn_gate_is_open(ath_turn_gate_word()));
    count_waiting(-1);
}

/* Passes the gate, with the turn or after a burst. The thread is inside, before and after. */
__attribute__((noinline)) static void pass_slowly(struct ath_turn_caller *own, CUstream stream)
{
    ath_uncancelled int cancel = ath_uncancel();
    for (;;) {
        if (!ath_turn_gate_is_open(ath_turn_gate_word())) {
            if (ath_used_streams_is_captured(stream))
                return;
            wait_for_turn(own);
        }
        if (!(ath_turn_gate_word() & ATH_TURN_OTHERS) || atomic_fetch_sub(&gate.budget, 1) > 0)
            return;
        ath_turn_caller_leave(own);
        ath_turn_end_burst();
        ath_turn_caller_enter(own);
    }
}

/* Passes the gate: the thread is inside then. */
static inline void pass(struct ath_turn_caller *own, CUstream stream)
{
    ath_turn_caller_enter(own);
    uint32_t word = ath_turn_gate_word();
    if (!ath_turn_gate_is_open(word) || word & ATH_TURN_OTHERS)
        pass_slowly(own, stream);
}

/* ---- streams and devices ---- */

/* A device that the turn does not include needs another turn: the arbiter gives all devices of a
 * session together. */
static void use_device(uint64_t bits)
{
    bits &= ~atomic_load_explicit(&gate.setup.wish->devices, memory_order_relaxed);
    if (!bits)
        return;
    ath_uncancelled int cancel = ath_uncancel();
    atomic_fetch_or(&gate.setup.wish->devices, bits);
    uint32_t word = ath_turn_gate_word();
    if (ath_turn_gate_is_open(word) && atomic_load(&gate.word) == &gate.setup.grant->word)
        ath_turn_give_back(ath_turn_number(word), false);
    ath_turn_gate_call_arbiter();
}

/* The server's bit of a device; 0: it is none of the session's. */
static uint64_t bit_of(CUdevice device)
{
    bool is_known =
        device >= 0 && (size_t)device < gate.setup.device_count && gate.setup.devices[device] < 64;
    return is_known ? UINT64_C(1) << gate.setup.devices[device] : 0;
}

static bool is_legacy(CUstream stream)
{
    return !stream || stream == CU_STREAM_LEGACY;
}

static CUcontext current_context(void)
{
    CUcontext context = NULL;
    return gate.raw.cuCtxGetCurrent && !gate.raw.cuCtxGetCurrent(&context) ? context : NULL;
}

static inline struct ath_turn_noted *noted_of(struct ath_turn_caller *own, CUstream stream)
{
    return &own->noted[((uintptr_t)stream >> 4) % ATH_TURN_NOTED];
}

/* Notes a stream; before the call, or with is_again behind it. context: the current one. */
__attribute__((noinline)) static void note(struct ath_turn_caller *own, CUstream stream,
                                           CUcontext context, bool is_again)
{
    struct ath_turn_place place = ath_turn_contexts_place(stream, context);
    const void *owner = stream == CU_STREAM_PER_THREAD     ? (const void *)(uintptr_t)own->thread
                        : place.green && is_legacy(stream) ? (const void *)context
                                                           : NULL;
    struct ath_turn_noted *noted = noted_of(own, stream);
    ath_uncancelled int cancel = ath_uncancel();
    if (!is_again)
        use_device(bit_of(place.device));
    own->inside = owner ? NULL : noted;
    if (owner) {
        own->marked.stream = stream;
        own->marked.place = place;
        own->marked.owner = owner;
    } else {
        uint64_t epoch = ath_used_streams_note(stream, &place);
        /* without a context the call fails, and the next one may have one */
        *noted = (struct ath_turn_noted){ stream, context, context ? epoch : NO_EPOCH };
    }
}

static inline uint64_t epoch_now(void)
{
    return atomic_load_explicit(&ath_used_streams_epoch, memory_order_acquire);
}

/* Returns whether the stream's work is noted. The null stream is the same while there is one
 * context. */
static inline bool is_noted(const struct ath_turn_noted *one, CUstream stream)
{
    return one->epoch == epoch_now() && one->stream == stream &&
           (stream > CU_STREAM_PER_THREAD ||
            !atomic_load_explicit(&ath_turn_contexts_are_several, memory_order_acquire) ||
            one->context == current_context());
}

struct ath_turn_caller *ath_turn_gate_enter(CUstream stream)
{
    struct ath_turn_caller *own = ath_turn_caller();
    const struct ath_turn_noted *one = noted_of(own, stream);
    if (is_noted(one, stream))
        own->inside = one;
    else
        note(own, stream, current_context(), false);
    pass(own, stream);
    return own;
}

/* Behind a call whose stream must be marked, or during which the streams were looked at. */
__attribute__((noinline)) static void note_again(struct ath_turn_caller *own)
{
    if (own->inside)
        note(own, own->inside->stream, current_context(), true);
    else
        ath_used_streams_mark(own->marked.stream, &own->marked.place, own->marked.owner);
}

void ath_turn_gate_leave(struct ath_turn_caller *own)
{
    if (!own->inside || own->inside->epoch != epoch_now())
        note_again(own);
    ath_turn_caller_leave(own);
}

struct ath_turn_caller *ath_turn_gate_enter_graph(CUstream stream)
{
    use_device(atomic_load(&gate.reached));
    return ath_turn_gate_enter(stream);
}

/* Notes the launches' streams, each of which may belong to another context. */
static void note_launches(const CUDA_LAUNCH_PARAMS *launches, unsigned int count)
{
    for (unsigned int i = 0; launches && i < count; i++) {
        struct ath_turn_place place =
            ath_turn_contexts_place(launches[i].hStream, current_context());
        ath_used_streams_note(launches[i].hStream, &place);
    }
}

struct ath_turn_caller *ath_turn_gate_enter_launches(const CUDA_LAUNCH_PARAMS *launches,
                                                     unsigned int count)
{
    return ath_turn_gate_enter_graph(launches && count ? launches[0].hStream : NULL);
}

void ath_turn_gate_leave_launches(struct ath_turn_caller *own, const CUDA_LAUNCH_PARAMS *launches,
                                  unsigned int count)
{
    note_launches(launches, count);
    ath_turn_gate_leave(own);
}

void ath_turn_gate_awaits(void)
{
    atomic_store(&gate.awaits, true);
}

/* ---- what the list of streams must know ---- */

void ath_turn_gate_capture_begins(void)
{
    ath_used_streams_capture_begins();
}

void ath_turn_gate_capture_began(CUresult status)
{
    ath_used_streams_capture_began(status);
}

bool ath_turn_gate_capture_ends(CUstream stream)
{
    return ath_used_streams_capture_ends(stream);
}

void ath_turn_gate_capture_ended(CUstream stream, bool is_one)
{
    if (is_one && !ath_used_streams_capture_ends(stream)) /* a wrong end leaves it */
        ath_used_streams_capture_ended();
}

bool ath_turn_gate_joins(CUstream stream)
{
    return ath_used_streams_joins(stream);
}

void ath_turn_gate_joined(bool is_held)
{
    ath_used_streams_joined(is_held);
}

void ath_turn_gate_stream_ends(CUstream stream)
{
    ath_used_streams_end(stream);
}

/* ---- contexts ---- */

static void reach(CUdevice device)
{
    atomic_fetch_or(&gate.reached, bit_of(device));
}

void ath_turn_gate_made(CUdevice device)
{
    reach(device);
    ath_turn_contexts_made();
}

void ath_turn_gate_retained(CUdevice device, CUcontext primary)
{
    reach(device);
    ath_turn_contexts_retained(device);
    ath_used_streams_note_primary(device, primary);
}

/* Learns the device's primary context, which the green one keeps. */
void ath_turn_gate_made_green(CUdevice device, CUgreenCtx green)
{
    CUcontext primary;
    reach(device);
    ath_turn_contexts_made_green(green, device);
    if (!gate.raw.cuDevicePrimaryCtxRetain || !gate.raw.cuDevicePrimaryCtxRelease_v2 ||
        gate.raw.cuDevicePrimaryCtxRetain(&primary, device))
        return;
    ath_used_streams_note_primary(device, primary);
    gate.raw.cuDevicePrimaryCtxRelease_v2(device);
}

void ath_turn_gate_named_green(CUgreenCtx green, CUcontext context)
{
    ath_turn_contexts_named_green(green, context);
}

void ath_turn_gate_attached(CUcontext context)
{
    ath_turn_contexts_attached(context);
}

void ath_turn_gate_contexts_end(struct ath_turn_place ends)
{
    ath_used_streams_contexts_end(&ends);
}

static bool has_primary(CUdevice device)
{
    unsigned int flags;
    int is_active = 0;
    return gate.raw.cuDevicePrimaryCtxGetState &&
           !gate.raw.cuDevicePrimaryCtxGetState(device, &flags, &is_active) && is_active;
}

static void primary_ended(CUdevice device)
{
    const struct ath_turn_place ends = { .device = device };
    ath_used_streams_contexts_end(&ends);
    ath_used_streams_contexts_ended(&ends, true);
    ath_turn_contexts_ended_primary(device);
}

/* With the last green context, the primary one may end that only these kept. */
static void green_ended(CUgreenCtx green)
{
    CUdevice device = ath_turn_contexts_ended_green(green);
    if (device >= 0 && !has_primary(device))
        primary_ended(device);
}

void ath_turn_gate_contexts_ended(struct ath_turn_place ends, CUresult status)
{
    ath_used_streams_contexts_ended(&ends, !status);
    if (status)
        return;
    if (ends.green)
        green_ended(ends.green);
    else if (ends.context)
        ath_turn_contexts_ended(ends.context);
    else
        ath_turn_contexts_ended_primary(ends.device);
}

void ath_turn_gate_detached(struct ath_turn_place ends, CUresult status)
{
    bool is_over = !status && ath_turn_contexts_detached(ends.context);
    ath_used_streams_contexts_ended(&ends, is_over);
}

void ath_turn_gate_released(struct ath_turn_place ends, CUresult status)
{
    bool is_over = !status && !has_primary(ends.device);
    ath_turn_gate_contexts_ended(ends, is_over ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}
