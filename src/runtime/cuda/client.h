/*
 * The client of CUDA's calls: what stands between the functions that proto/cuda_generate.py writes
 * (and those written by hand) and a transport.
 *
 *     struct ath_cuda_exchange exchange;
 *     CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuEventQuery);
 *     if (status)
 *         return status;
 *     ...set the parameters in exchange.call...
 *     status = ath_cuda_ask(&exchange);
 *     ...on success read the results from exchange.answer...
 *     return ath_cuda_end(&exchange, status);
 *
 * Order: a call has its place when ath_cuda_post() or ath_cuda_ask() was entered; one that was made
 * after another returned, on whatever thread, lies behind it on the wire. A thread that waits for
 * its answer holds up no other.
 *
 * Threads: everything here may be called by any thread. An exchange belongs to one thread, and a
 * thread has one at a time: the message lies in the thread's own memory, until ath_cuda_end().
 */
#pragma once
#include <pthread.h>

#include "proto/cuda-wire.h"
#include "runtime/cuda/memo.h"
#include "runtime/cuda/side.h"
#include "runtime/wire/frame.h"

/* Whether there was a server, and is none any more. Calls that work with the GPU then fail with
 * CUDA_ERROR_DEVICE_UNAVAILABLE; what can be answered here still is, and whatever ends something
 * succeeds. */
bool ath_cuda_is_lost(void);

/* Whether the program's exit() has begun. Calls that end something are then sent without waiting
 * for their answer. */
bool ath_cuda_is_exiting(void);

/* ---- the transport ---- */

struct ath_cuda_link;

/*
 * What a transport does. A failure (negative errno) is for good: the link is not used again but for
 * close. A frame is a Call, an answer an Answer, each with its head (runtime/wire/frame.h).
 */
struct ath_cuda_link_ops {
    /* Takes a frame behind those of earlier calls and returns as soon as its memory may be used
     * again; it may keep frames back until the next wait or flush. is_asked: wait follows at once.
     * One thread at a time. */
    int (*post)(struct ath_cuda_link *link, const uint8_t *frame, size_t length, bool is_asked);

    /* The same for a frame that ends in what is lent (ath_wire_lend()). NULL: nothing is. */
    int (*post_lent)(struct ath_cuda_link *link, const uint8_t *frame, size_t length,
                     struct ath_wire_bytes lent, bool is_asked);

    /* Sends what was kept back, and waits for the answer to call number. Any number of threads at
     * once, each with its own number and its own frame to read into. */
    int (*wait)(struct ath_cuda_link *link, uint64_t number, struct ath_frame *answer);

    /* Sends what was kept back. One thread at a time, not beside post. */
    int (*flush)(struct ath_cuda_link *link);

    /* Makes memory that the client and the server have at the same address, zeroed: at wanted, or
     * (NULL) somewhere. It goes with unshare, or with the link. Returns 0, -ENOTSUP where the
     * transport cannot, or a negative errno, which is not for good. NULL: it cannot. Any thread. */
    int (*share)(struct ath_cuda_link *link, size_t bytes, void *wanted, void **out_address,
                 uint64_t *out_id);

    /* Has the server map whole pages of a file in memory that the program has mapped, shared: at
     * wanted or, where it has something there, elsewhere. As share() else; -EINVAL: the file is too
     * short. fd stays the caller's, and unshare() leaves the program's mapping alone. */
    int (*share_file)(struct ath_cuda_link *link, int fd, uint64_t offset, size_t bytes,
                      const void *wanted, uint64_t *out_id);
    void (*unshare)(struct ath_cuda_link *link, uint64_t id);

    /* Whether who waits for an answer sleeps at once, or looks for a while before, as it does from
     * the beginning. NULL: it makes no difference. Any thread. */
    void (*sleep_at_once)(struct ath_cuda_link *link, bool yes);

    void (*close)(struct ath_cuda_link *link);
};

struct ath_cuda_link {
    const struct ath_cuda_link_ops *ops;
    int driver_version; /* as cuDriverGetVersion() says it; 0: not known. Set by the opener */

    /* The client's, set before the first call: told of answers to no call that bring changes of
     * memory, one after the other as they came, and may take the frame's bytes. Waits for nobody
     * who waits for an answer. Returns 0 or a negative errno, which ends the link. */
    int (*take_changes)(struct ath_frame *answer);
};

/*
 * How cuInit() gets its link: registered once, before the program's first call, by whatever knows
 * where the server is. Returns CUDA_SUCCESS with *out_link, which is the client's from then on, or
 * what cuInit() shall say.
 */
typedef CUresult (*ath_cuda_opener)(struct ath_cuda_link **out_link);
void ath_cuda_set_opener(ath_cuda_opener opener);

/* Opens the link if there is none yet. In a child of fork() whose parent had done cuInit():
 * CUDA_ERROR_NOT_INITIALIZED for ever, as with CUDA. */
CUresult ath_cuda_connect(void);

/* What the driver of the link says cuDriverGetVersion() is; 0: not known, or there is no link. */
int ath_cuda_driver_version(void);

/*
 * From the one to the other what a thread asks is sent although cuInit() has not succeeded yet: it
 * follows cuInit() itself on the wire, so that both take one round trip.
 */
void ath_cuda_ask_early(bool yes);

/* cuInit() succeeded: every call may be made. */
void ath_cuda_set_ready(void);

/* The transport's share, share_file and unshare; -ENOTSUP without a link or where it cannot. */
int ath_cuda_link_share(size_t bytes, void **out_address, uint64_t *out_id);
int ath_cuda_link_share_file(int fd, uint64_t offset, size_t bytes, const void *wanted,
                             uint64_t *out_id);
void ath_cuda_link_unshare(uint64_t id);

/* What the program says by CU_CTX_SCHED_BLOCKING_SYNC; of several contexts the last word holds. */
void ath_cuda_link_sleeps_at_once(bool yes);

/* Closes the link and forgets everything: for tests, and at the end. No call may be under way. */
void ath_cuda_disconnect(void);

/* ---- a thread ---- */

struct ath_cuda_thread {
    uint32_t id; /* of the client's threads, from 0 on */
    CUstreamCaptureMode mode;
    bool is_in_callback; /* a function of the program's runs: it may not call CUDA */
    bool asks_early;     /* see ath_cuda_ask_early() */
    bool asks_facts;     /* all of a kernel with the first (by_hand/kernel_facts.h) */
    bool is_ours;        /* the program did not start it: it works on while the program exits */
    CUcontext *contexts; /* cuCtxPushCurrent()'s stack; the last is current */
    size_t context_count, context_capacity;
    struct ath_wire_builder builder;
    struct ath_frame answer;
    uint64_t known_handle, known_age; /* the stream or event that was asked for last (handles.h) */
    CUcontext known_context;
    bool known_is_shared;
    struct ath_cuda_memo memos[ATH_CUDA_MEMOS];
};

/* The calling thread's; NULL where there is no memory. It goes with the thread. */
struct ath_cuda_thread *ath_cuda_this_thread(void);

/* The calling thread's current context; NULL: none. */
CUcontext ath_cuda_current_context(void);

static inline CUcontext ath_cuda_thread_context(const struct ath_cuda_thread *thread)
{
    return thread->context_count ? thread->contexts[thread->context_count - 1] : NULL;
}

/* ---- a call ---- */

struct ath_cuda_exchange {
    struct ath_cuda_side side;
    struct ath_cuda_thread *thread;
    enum ath_cuda_method method;
    struct ath_cuda_wire_call_builder call;
    struct ath_cuda_wire_answer answer; /* since ath_cuda_ask() returned */
    uint64_t number;                    /* of a call that was asked */
    bool is_answered;                   /* by the server, whatever it said */
    uint64_t ending;                    /* what is in handles.h and the call destroys; 0 */
    uint64_t kernel;                    /* or the function that it is about, the program's; 0 */
    CUcontext event_context;            /* of the event that is recorded */
    CUcontext place;                    /* of its stream or event; NULL: the current one */
    bool is_told_on;                    /* what it does, or why not, must be known at once */
    bool is_kept;                       /* side's memory outlives the call */
    uint64_t kept_for;
};

/* Whether a call may be made now, as ath_cuda_begin() says it: for those that are answered here. */
CUresult ath_cuda_may(enum ath_cuda_method method);

/* Begins a message. CUDA_ERROR_NOT_INITIALIZED before cuInit(), CUDA_ERROR_DEVICE_UNAVAILABLE once
 * the link is lost, CUDA_ERROR_OUT_OF_MEMORY; without CUDA_SUCCESS there is nothing to end. */
CUresult ath_cuda_begin(struct ath_cuda_exchange *exchange, enum ath_cuda_method method);

/* Large data that is set from here on is sent from where it lies, where the transport can: it stays
 * until the call was sent. */
void ath_cuda_lend(struct ath_cuda_exchange *exchange);

/* Sends without an answer. CUDA_SUCCESS says only that it has its place in the order. */
CUresult ath_cuda_post(struct ath_cuda_exchange *exchange);

/* Sends and waits; the driver's status, or the link's. */
CUresult ath_cuda_ask(struct ath_cuda_exchange *exchange);

/* The two halves of it: between them the thread may send other calls. What was sent must be waited
 * for. */
CUresult ath_cuda_ask_begin(struct ath_cuda_exchange *exchange);
CUresult ath_cuda_ask_end(struct ath_cuda_exchange *exchange);

/* The same, but what was answered with success to the same call before is answered again. */
CUresult ath_cuda_ask_cached(struct ath_cuda_exchange *exchange);

/* What is set of the kernel that a call is about (by_hand/attribute.h), where the answer hangs on
 * it; else 0. */
uint64_t ath_cuda_settings_of(const struct ath_cuda_exchange *exchange);

/*
 * A call that succeeded has waited until a stream had nothing left to do. As long as no other call
 * is sent, waiting for it once more needs no server: programs wait after copies that have waited.
 */
void ath_cuda_stream_rests(const struct ath_cuda_exchange *exchange, CUstream stream);
bool ath_cuda_stream_is_at_rest(CUstream stream);

/* Ends it, and gives back the status (or what went wrong while results were read). */
CUresult ath_cuda_end(struct ath_cuda_exchange *exchange, CUresult status);

/* What ath_cuda_room() gives from here on stays until the same method keeps something for the same
 * value again. */
void ath_cuda_keep(struct ath_cuda_exchange *exchange, uint64_t value);

/* A text that stays for ever; the same for the same letters. NULL without memory. */
const char *ath_cuda_intern(const char *text);

/* CUDA_ERROR_NOT_SUPPORTED; AITHERION_CUDA_LOG in the environment has it say why, once a method. */
CUresult ath_cuda_refuse(enum ath_cuda_method method);

/* Counts how often every cached answer was forgotten: who keeps facts of his own about modules and
 * contexts looks here whether they still hold. */
uint64_t ath_cuda_forgotten(void);

/* Whether a handle came as a CUkernel: a launch takes one in place of a CUfunction. */
bool ath_cuda_is_kernel(const void *handle);
