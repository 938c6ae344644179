/* The gate (cuda/turns/gate.h) before the simulated driver; the test is the arbiter. */
#include "config.h"

#include "cuda/turns/gate.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cuda/server/server.h"
#include "cuda/turns/callers.h"
#include "cuda/turns/contexts.h"
#include "cuda/turns/gate_state.h"
#include "cuda/turns/used_streams.h"
#include "patience.h"
#include "unit.h"

SECONDS(PATIENCE_MS / 1000);

enum { SESSION = 77, BYTES = 4096, BACK_MS = 100 };
static const size_t devices[] = { 5, 3 };

/* The driver itself, and behind the gate. */
static struct ath_cuda_driver raw, driver;
static struct ath_turn_wish wish;
static struct ath_turn_grant grant;
static _Atomic uint64_t beat_ms;
static int pipe_fds[2];
static atomic_int said; /* how often passes_freely() was called */
static uint32_t number;
static CUcontext context;
static CUdeviceptr memory;
static CUstream stream;

#define OK(call) ck_assert_int_eq(call, CUDA_SUCCESS)

static void rest_ms(int ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

/* Waits until a condition holds, or longer than any machine needs. */
#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        uint64_t until = ath_now_ms() + PATIENCE_MS;                                               \
        while (!(condition) && ath_now_ms() < until)                                               \
            rest_ms(1);                                                                            \
        ck_assert_msg(condition, "never: " #condition);                                            \
    } while (0)

/* ---- the arbiter ---- */

static void say(uint32_t word)
{
    atomic_store(&grant.word, word);
    syscall(SYS_futex, &grant.word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void give(uint32_t flags)
{
    say(++number << ATH_TURN_NUMBER_SHIFT | ATH_TURN_GIVEN | flags);
}

static void ask_back(void)
{
    say(atomic_load(&grant.word) | ATH_TURN_BACK);
}

static bool is_returned(void)
{
    return atomic_load(&wish.returned) == number;
}

static void take_back(void)
{
    ask_back();
    WAIT_FOR(is_returned());
    say(number << ATH_TURN_NUMBER_SHIFT);
}

static pthread_t giver;
static atomic_bool is_giving;

static void *give_again(void *flags)
{
    while (is_giving) {
        if (is_returned())
            give((uint32_t)(uintptr_t)flags);
        rest_ms(1);
    }
    return NULL;
}

/* Gives a turn, and the next one when it goes back: a busy machine may make a program that never
 * rests look idle. */
static void begin_giving(uint32_t flags)
{
    give(flags);
    is_giving = true;
    ck_assert_int_eq(pthread_create(&giver, NULL, give_again, (void *)(uintptr_t)flags), 0);
}

static void end_giving(void)
{
    is_giving = false;
    pthread_join(giver, NULL);
}

static void count_said(void *counter)
{
    atomic_fetch_add((atomic_int *)counter, 1);
}

/* ---- work ---- */

static sem_t may_end; /* a stream's work */

static void wait_for_end(void *nothing)
{
    (void)nothing;
    while (sem_wait(&may_end))
        ;
}

static void take_ms(void *ms)
{
    rest_ms((int)(intptr_t)ms);
}

/* Work of the stream that lasts until may_end is posted. The gate does not see it, but the set that
 * stands behind it in the stream. */
static void give_long_work(CUstream to)
{
    OK(raw.cuLaunchHostFunc(to, wait_for_end, NULL));
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, to));
}

static atomic_int works_done;

static void count_work(void *ms)
{
    take_ms(ms);
    works_done++;
}

struct caller {
    pthread_t thread;
    CUstream stream;
    atomic_bool is_done;
};

static void *call(void *argument)
{
    struct caller *caller = argument;
    OK(raw.cuCtxSetCurrent(context));
    OK(driver.cuMemsetD8Async(memory, 2, BYTES, caller->stream));
    caller->is_done = true;
    return NULL;
}

static void start_call(struct caller *caller)
{
    caller->is_done = false;
    caller->stream = stream;
    ck_assert_int_eq(pthread_create(&caller->thread, NULL, call, caller), 0);
}

static void end_call(struct caller *caller)
{
    WAIT_FOR(caller->is_done);
    pthread_join(caller->thread, NULL);
}

/* The caller's call waits until it gets a turn. */
static void expect_wait_for_turn(struct caller *caller)
{
    WAIT_FOR(atomic_load(&wish.wants));
    rest_ms(BACK_MS);
    ck_assert(!caller->is_done);
    give(0);
    end_call(caller);
}

/* Asks for the turn, which the gate keeps as long as the long work lasts. */
static void expect_return_after_the_work(void)
{
    ask_back();
    rest_ms(BACK_MS);
    ck_assert(!is_returned());
    sem_post(&may_end);
    WAIT_FOR(is_returned());
}

static void begin_gate(uint64_t session)
{
    const struct ath_turn_gate_setup setup = { .wish = &wish,
                                               .grant = &grant,
                                               .beat_ms = &beat_ms,
                                               .pipe_fd = pipe_fds[1],
                                               .session = session,
                                               .devices = devices,
                                               .device_count = 2,
                                               .passes_freely = count_said,
                                               .context = &said };
    atomic_store(&grant.session, SESSION);
    atomic_store(&beat_ms, UINT64_MAX / 2); /* alive as long as the test lasts */
    ath_turn_gate_begin(&setup, &driver);
}

static void begin(void)
{
    setenv("AITHERION_SIM_DEVICES", "2", true);
    setenv("AITHERION_SIM_HANDLES", "trusted", true); /* a handle that has ended ends the test */
    void *library = dlopen("lib/aitherion/sim/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library, "%s", dlerror());
    ath_cuda_driver_load(library, &raw);
    driver = raw;
    ck_assert_int_eq(pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC), 0);
    begin_gate(SESSION);
    sem_init(&may_end, 0, 0);
    OK(driver.cuInit(0));
    OK(driver.cuCtxCreate_v2(&context, 0, 0));
    OK(driver.cuMemAlloc_v2(&memory, BYTES));
    OK(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

FIXTURE(begin, NULL);

/* ---- turns ---- */

TEST(a_call_waits_for_the_turn)
{
    struct caller caller;
    struct pollfd byte = { .fd = pipe_fds[0], .events = POLLIN };
    start_call(&caller);
    WAIT_FOR(atomic_load(&wish.wants));
    ck_assert_int_eq(poll(&byte, 1, PATIENCE_MS), 1);
    rest_ms(BACK_MS);
    ck_assert(!caller.is_done);
    ck_assert_uint_eq(atomic_load(&wish.devices), 1 << 5);
    give(0);
    end_call(&caller);
}
END_TEST

TEST(no_call_passes_a_turn_that_is_asked_back)
{
    struct caller caller;
    give(0);
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    take_back();
    start_call(&caller);
    expect_wait_for_turn(&caller);
}
END_TEST

TEST(calls_that_give_no_work_need_no_turn)
{
    CUevent event;
    CUdeviceptr more;
    OK(driver.cuEventCreate(&event, 0));
    OK(driver.cuEventRecord(event, stream));
    OK(driver.cuStreamWaitEvent(stream, event, 0));
    OK(driver.cuStreamSynchronize(stream));
    OK(driver.cuMemAlloc_v2(&more, BYTES));
    OK(driver.cuMemFree_v2(more));
    ck_assert_uint_eq(atomic_load(&wish.wants), 0);
    ck_assert_uint_eq(atomic_load(&wish.devices), 0);
}
END_TEST

/* ---- the end of a turn ---- */

static void end_of_named(CUstream *out)
{
    OK(driver.cuStreamCreate(out, CU_STREAM_DEFAULT));
    give_long_work(*out);
}

static void end_of_null(CUstream *out)
{
    *out = NULL;
    give_long_work(NULL);
}

static void end_of_threads_own(CUstream *out)
{
    *out = CU_STREAM_PER_THREAD;
    OK(raw.cuLaunchHostFunc(*out, wait_for_end, NULL));
    OK(driver.cuMemsetD8Async_ptsz(memory, 1, BYTES, NULL));
}

static void end_of_destroyed(CUstream *out)
{
    end_of_named(out);
    OK(driver.cuStreamDestroy_v2(*out));
}

static void end_of_captured(CUstream *out)
{
    end_of_named(out);
    OK(driver.cuStreamBeginCapture_v2(*out, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void end_of_null_before_a_capture(CUstream *out)
{
    OK(driver.cuStreamCreate(out, CU_STREAM_DEFAULT));
    give_long_work(NULL);
    OK(driver.cuStreamBeginCapture_v2(*out, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void end_of_joined(CUstream *out)
{
    CUevent event;
    OK(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(driver.cuEventRecord(event, stream));
    end_of_named(out);
    OK(driver.cuStreamWaitEvent(*out, event, 0));
}

static void end_with_released_context(CUstream *out)
{
    CUcontext primary;
    OK(driver.cuDevicePrimaryCtxRetain(&primary, 0));
    OK(driver.cuDevicePrimaryCtxRetain(&primary, 0));
    OK(driver.cuCtxSetCurrent(primary));
    OK(driver.cuMemAlloc_v2(&memory, BYTES));
    end_of_named(out);
    OK(driver.cuDevicePrimaryCtxRelease_v2(0));
}

static void end_of_graph(CUstream *out)
{
    CUgraph graph;
    CUgraphExec exec;
    OK(driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    OK(driver.cuStreamEndCapture(stream, &graph));
    OK(driver.cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(driver.cuStreamCreate(out, CU_STREAM_DEFAULT));
    OK(raw.cuLaunchHostFunc(*out, wait_for_end, NULL));
    OK(driver.cuGraphLaunch(exec, *out));
}

static int references;

static CUresult attach(CUcontext *out, unsigned int flags)
{
    (void)flags;
    references++;
    return raw.cuCtxGetCurrent(out);
}

static CUresult detach(CUcontext from)
{
    return references-- ? CUDA_SUCCESS : raw.cuCtxDestroy_v2(from);
}

/* A driver whose contexts are attached and detached. */
static void begin_counting(void)
{
    driver = raw;
    driver.cuCtxAttach = attach;
    driver.cuCtxDetach = detach;
    references = 0;
    begin_gate(SESSION);
}

static void end_with_detached_context(CUstream *out)
{
    CUcontext same;
    begin_counting();
    OK(driver.cuCtxAttach(&same, 0));
    ck_assert_ptr_eq(same, context);
    end_of_named(out);
    OK(driver.cuCtxDetach(context));
}

static CUgreenCtx make_green(void)
{
    CUdevResource all, part;
    CUdevResourceDesc descriptor;
    CUgreenCtx green;
    unsigned int count = 1;
    OK(raw.cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    OK(raw.cuDevSmResourceSplitByCount(&part, &count, &all, NULL, 0, 8));
    OK(raw.cuDevResourceGenerateDesc(&descriptor, &part, 1));
    OK(driver.cuGreenCtxCreate(&green, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return green;
}

/* Ends another green context than that whose default stream has work. */
static void end_with_spare_green(CUstream *out)
{
    CUgreenCtx spare = make_green();
    CUcontext busy;
    OK(driver.cuCtxFromGreenCtx(&busy, make_green()));
    OK(driver.cuCtxSetCurrent(busy));
    *out = NULL;
    give_long_work(NULL);
    OK(driver.cuGreenCtxDestroy(spare));
}

static void end_of_greens_stream(CUstream *out)
{
    CUgreenCtx spare = make_green();
    OK(driver.cuGreenCtxStreamCreate(out, make_green(), CU_STREAM_NON_BLOCKING, 0));
    give_long_work(*out);
    OK(driver.cuGreenCtxDestroy(spare));
}

static CUresult end_green(CUgreenCtx green)
{
    (void)green;
    return CUDA_SUCCESS;
}

/* As a GPU's driver does: work goes on when its green context has ended. */
static void begin_with_lasting_work(CUgreenCtx *out)
{
    driver = raw;
    driver.cuGreenCtxDestroy = end_green;
    begin_gate(SESSION);
    *out = make_green();
}

static void end_with_greens_stream(CUstream *out)
{
    CUgreenCtx green;
    begin_with_lasting_work(&green);
    OK(driver.cuGreenCtxStreamCreate(out, green, CU_STREAM_NON_BLOCKING, 0));
    give_long_work(*out);
    OK(driver.cuGreenCtxDestroy(green));
}

static void end_with_greens_default(CUstream *out)
{
    CUgreenCtx green;
    CUcontext primary, busy;
    begin_with_lasting_work(&green);
    OK(driver.cuDevicePrimaryCtxRetain(&primary, 0));
    OK(driver.cuCtxFromGreenCtx(&busy, green));
    OK(driver.cuCtxSetCurrent(busy));
    *out = NULL;
    give_long_work(NULL);
    OK(driver.cuCtxSetCurrent(context));
    OK(driver.cuGreenCtxDestroy(green));
}

/* The context that ends was current while another one's stream got work. */
static void end_with_other_context(CUstream *out)
{
    CUcontext other;
    OK(driver.cuStreamCreate(out, CU_STREAM_NON_BLOCKING));
    OK(driver.cuCtxCreate_v2(&other, 0, 0));
    give_long_work(*out);
    OK(driver.cuCtxDestroy_v2(other));
}

static void (*const ends[])(CUstream *out) = {
    end_of_named,
    end_of_null,
    end_of_threads_own,
    end_of_destroyed,
    end_of_captured,
    end_of_joined,
    end_with_released_context,
    end_of_null_before_a_capture,
    end_of_graph,
    end_with_detached_context,
    end_with_spare_green,
    end_of_greens_stream,
    end_with_other_context,
    end_with_greens_stream,
    end_with_greens_default,
};

LOOP_TEST(a_turn_ends_with_its_work, 0, sizeof ends / sizeof *ends)
{
    CUstream busy;
    give(0);
    ends[_i](&busy);
    expect_return_after_the_work();
    ck_assert_uint_eq(atomic_load(&wish.wants), 0);
}
END_TEST

TEST(a_turn_of_an_ended_context_ends)
{
    CUstream busy;
    give(0);
    end_of_named(&busy);
    sem_post(&may_end);
    OK(driver.cuCtxDestroy_v2(context));
    take_back();
}
END_TEST

TEST(a_turn_of_a_context_detached_for_the_last_time_ends)
{
    CUcontext same;
    CUstream busy;
    begin_counting();
    give(0);
    OK(driver.cuCtxAttach(&same, 0));
    end_of_named(&busy);
    sem_post(&may_end);
    OK(driver.cuCtxDetach(context));
    OK(driver.cuCtxDetach(context));
    take_back();
}
END_TEST

/* The null stream of a context is noted apart from that of another one. */
TEST(a_turn_ends_with_the_work_of_all_null_streams)
{
    CUcontext second;
    give(0);
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, NULL));
    OK(driver.cuCtxCreate_v2(&second, 0, 0));
    give_long_work(NULL);
    expect_return_after_the_work();
}
END_TEST

/* A call without a context fails. The next one of the thread has one. */
TEST(a_call_that_fails_notes_nothing)
{
    give(0);
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    OK(raw.cuCtxSetCurrent(NULL));
    ck_assert_int_ne(driver.cuMemsetD8Async(memory, 1, BYTES, NULL), CUDA_SUCCESS);
    OK(raw.cuCtxSetCurrent(context));
    give_long_work(NULL);
    expect_return_after_the_work();
}
END_TEST

TEST(a_turn_that_ends_says_that_calls_wait)
{
    struct caller caller;
    give(0);
    give_long_work(stream);
    ask_back();
    start_call(&caller);
    WAIT_FOR(atomic_load(&wish.wants));
    rest_ms(BACK_MS);
    ck_assert(!caller.is_done && !is_returned());
    sem_post(&may_end);
    WAIT_FOR(is_returned());
    ck_assert_uint_eq(atomic_load(&wish.wants), 1);
    give(0);
    end_call(&caller);
}
END_TEST

static void *copy_back(void *is_done)
{
    char bytes[BYTES];
    OK(raw.cuCtxSetCurrent(context));
    OK(driver.cuMemcpyDtoH_v2(bytes, memory, BYTES));
    *(atomic_bool *)is_done = true;
    return NULL;
}

/* A copy waits in its call for the work before it. */
TEST(a_turn_ends_after_a_call_that_lasts)
{
    static atomic_bool is_done;
    pthread_t thread;
    give(0);
    OK(raw.cuLaunchHostFunc(NULL, wait_for_end, NULL));
    ck_assert_int_eq(pthread_create(&thread, NULL, copy_back, &is_done), 0);
    rest_ms(BACK_MS);
    ask_back();
    rest_ms(BACK_MS);
    ck_assert(!is_returned() && !is_done);
    sem_post(&may_end);
    WAIT_FOR(is_returned());
    pthread_join(thread, NULL);
}
END_TEST

static CUresult (*real_set)(CUdeviceptr, unsigned char, size_t, CUstream);

static CUresult set_after_a_look(CUdeviceptr to, unsigned char value, size_t count, CUstream at)
{
    ck_assert(ath_used_streams_are_empty());
    CUresult status = raw.cuLaunchHostFunc(at, wait_for_end, NULL);
    return status ? status : real_set(to, value, count, at);
}

/* The streams are looked at while a call is inside that has not given its work yet. */
TEST(a_call_during_a_look_is_not_lost)
{
    real_set = raw.cuMemsetD8Async;
    driver = raw;
    driver.cuMemsetD8Async = set_after_a_look;
    begin_gate(SESSION);
    give(0);
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    expect_return_after_the_work();
}
END_TEST

/* The arbiter gave up waiting: the work may still run when the next turn comes. */
TEST(a_new_turn_ends_the_wait_for_the_last_one)
{
    struct caller caller;
    give(0);
    give_long_work(stream);
    ask_back();
    start_call(&caller);
    rest_ms(BACK_MS);
    ck_assert(!is_returned() && !caller.is_done);
    give(0);
    end_call(&caller);
    ck_assert_uint_eq(atomic_load(&wish.returned), 0);
    sem_post(&may_end);
    take_back();
}
END_TEST

/* Work that may wait for a function of the program, which may need other programs. Others go on
 * soon, and the turn goes back when the work is over. */
TEST(work_that_may_wait_does_not_hold_up_others)
{
    give(0);
    OK(driver.cuLaunchHostFunc(stream, wait_for_end, NULL));
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    ask_back();
    WAIT_FOR(atomic_load(&wish.left) == number);
    rest_ms(BACK_MS);
    ck_assert(!is_returned());
    sem_post(&may_end);
    WAIT_FOR(is_returned());
}
END_TEST

/* That work may wait for a later call, which passes with the next turn. */
TEST(a_next_turn_comes_before_work_that_may_wait_is_over)
{
    struct caller caller;
    give(0);
    OK(driver.cuLaunchHostFunc(stream, wait_for_end, NULL));
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    ask_back();
    WAIT_FOR(atomic_load(&wish.left) == number);
    start_call(&caller);
    WAIT_FOR(atomic_load(&wish.wants));
    give(0);
    end_call(&caller);
    ck_assert_int_eq(raw.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    sem_post(&may_end);
    take_back();
}
END_TEST

static atomic_int events_alive, most_events;

static CUresult count_create(CUevent *event, unsigned int flags)
{
    int alive = ++events_alive;
    if (alive > most_events)
        most_events = alive;
    return raw.cuEventCreate(event, flags);
}

static CUresult count_destroy(CUevent event)
{
    events_alive--;
    return raw.cuEventDestroy_v2(event);
}

/* A program that never rests, and destroys streams that have work. */
TEST(events_of_destroyed_streams_do_not_pile_up)
{
    enum { STREAMS = 1000, AT_ONCE = 50, MOST = 300 };
    driver = raw;
    driver.cuEventCreate = count_create;
    driver.cuEventDestroy_v2 = count_destroy;
    begin_gate(SESSION);
    begin_giving(0);
    for (int i = 0; i < STREAMS; i++) {
        CUstream busy;
        if (i % AT_ONCE == 0)
            WAIT_FOR(works_done == i);
        OK(driver.cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
        OK(raw.cuLaunchHostFunc(busy, count_work, (void *)(intptr_t)1));
        OK(driver.cuMemsetD8Async(memory, 1, BYTES, busy));
        OK(driver.cuStreamDestroy_v2(busy));
    }
    end_giving();
    ck_assert_int_gt(most_events, 0);
    ck_assert_int_lt(most_events, MOST);
    take_back();
    ck_assert_int_eq(events_alive, 0);
}
END_TEST

/* ---- idle ---- */

LOOP_TEST(an_idle_session_gives_its_turn_back, 0, 2)
{
    struct caller caller;
    give(_i ? ATH_TURN_WAITED : 0);
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    WAIT_FOR(is_returned());
    ck_assert_uint_eq(atomic_load(&wish.wants), 0);
    start_call(&caller); /* the arbiter has not seen it yet */
    expect_wait_for_turn(&caller);
}
END_TEST

/* Works, and returns after how many nanoseconds the turn is back. */
static uint64_t work_and_pause(uint32_t flags)
{
    give(ATH_TURN_WAITED | flags);
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    uint64_t begin_ns = ath_now_ns();
    WAIT_FOR(is_returned());
    return ath_now_ns() - begin_ns;
}

/* It pays for the pause. After a pause that was long the next turn goes back at once. */
TEST(an_owed_session_keeps_its_turn_in_a_short_pause)
{
    enum { PAUSE_NS = ATH_GATE_PAUSE_US * 1000, TRIES = 200 };
    int tries = 0;
    ck_assert_uint_ge(work_and_pause(ATH_TURN_OWED), PAUSE_NS);
    do
        rest_ms(3 * ATH_GATE_PAUSE_US / 1000);
    while (work_and_pause(ATH_TURN_OWED) >= PAUSE_NS && tries++ < TRIES);
    ck_assert_int_lt(tries, TRIES);
}
END_TEST

TEST(a_session_whose_work_runs_is_not_idle)
{
    give(ATH_TURN_WAITED);
    give_long_work(stream);
    rest_ms(BACK_MS);
    ck_assert(!is_returned());
    sem_post(&may_end);
    WAIT_FOR(is_returned());
}
END_TEST

/* ---- bursts ---- */

/* Works of 4 ms: once the length is known, a burst has few. */
LOOP_TEST(a_burst_is_bounded, 0, 2)
{
    enum { WORKS = 60, KNOWN = 40, MS = 4, MOST = 6 };
    int most = 0;
    begin_giving(_i ? 0 : ATH_TURN_OTHERS);
    for (int i = 0; i < WORKS; i++) {
        OK(raw.cuLaunchHostFunc(stream, count_work, (void *)(intptr_t)MS));
        OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
        if (i >= KNOWN && i + 1 - works_done > most)
            most = i + 1 - works_done;
    }
    end_giving();
    if (_i)
        ck_assert_int_gt(most, MOST); /* without others there are no bursts */
    else
        ck_assert_int_le(most, MOST);
    take_back();
    ck_assert_int_eq(works_done, WORKS);
}
END_TEST

/* The work of a burst may wait for a later call of the program. It passes after a while, and at
 * once when there are no others any more. */
LOOP_TEST(a_burst_without_an_end_ends, 0, 2)
{
    struct caller caller;
    give(ATH_TURN_OTHERS);
    give_long_work(stream);
    for (int i = 1; i < ATH_GATE_BURST_FIRST; i++)
        OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    start_call(&caller);
    rest_ms(BACK_MS);
    ck_assert(!caller.is_done);
    if (_i)
        say(number << ATH_TURN_NUMBER_SHIFT | ATH_TURN_GIVEN);
    end_call(&caller);
    sem_post(&may_end);
    take_back();
}
END_TEST

/* ---- captures ---- */

static atomic_bool captures_over;

static void *capture_much(void *nothing)
{
    enum { CAPTURES = 30, CALLS = 100 };
    CUstream first, second;
    CUevent fork, join;
    CUgraph graph;
    OK(raw.cuCtxSetCurrent(context));
    OK(driver.cuStreamCreate(&first, CU_STREAM_DEFAULT));
    OK(driver.cuStreamCreate(&second, CU_STREAM_DEFAULT));
    OK(driver.cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(driver.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < CAPTURES; i++) {
        OK(driver.cuMemsetD8Async(memory, 1, BYTES, first));
        OK(driver.cuMemsetD8Async(memory, 1, BYTES, second));
        OK(driver.cuMemsetD8Async(memory, 1, BYTES, NULL));
        OK(driver.cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
        OK(driver.cuEventRecord(fork, first));
        OK(driver.cuStreamWaitEvent(second, fork, 0));
        for (int n = 0; n < CALLS; n++) {
            OK(driver.cuMemsetD8Async(memory, 1, BYTES, first));
            OK(driver.cuMemsetD8Async(memory, 1, BYTES, second));
        }
        OK(driver.cuEventRecord(join, second));
        OK(driver.cuStreamWaitEvent(first, join, 0));
        OK(driver.cuStreamEndCapture(first, &graph));
        OK(driver.cuGraphDestroy(graph));
    }
    captures_over = true;
    return nothing;
}

TEST(captures_stay_valid_while_turns_come_and_go)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, capture_much, NULL), 0);
    while (!captures_over) {
        give(ATH_TURN_OTHERS | ATH_TURN_WAITED);
        rest_ms(1);
        take_back();
    }
    pthread_join(thread, NULL);
}
END_TEST

TEST(captured_calls_need_no_turn)
{
    CUgraph graph;
    OK(driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    OK(driver.cuStreamEndCapture(stream, &graph));
    ck_assert_uint_eq(atomic_load(&wish.wants), 0);
}
END_TEST

/* Between captures no call looks for one. A capture that does not begin is none. */
TEST(captures_are_counted)
{
    CUstream other;
    CUgraph graph;
    OK(driver.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ck_assert_int_ne(driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
    OK(driver.cuStreamBeginCapture_v2(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUstream both[] = { stream, other };
    for (int i = 0; i < 2; i++) {
        bool is_held = ath_used_streams_joins(both[i]);
        ath_used_streams_joined(is_held);
        ck_assert(is_held);
        OK(driver.cuStreamEndCapture(both[i], &graph));
    }
    ck_assert(!ath_used_streams_joins(stream));
}
END_TEST

/* ---- contexts ---- */

/* A device's primary context counts once, that of a device past the 64 bits each time. */
TEST(primary_contexts_count_once)
{
    enum { FIRST = 0, LAST = 63, PAST = 64 };
    ath_turn_contexts_begin(&raw, 0);
    ath_turn_contexts_retained(LAST);
    ath_turn_contexts_retained(LAST);
    ck_assert(!ath_turn_contexts_are_several);
    ath_turn_contexts_retained(FIRST);
    ck_assert(ath_turn_contexts_are_several);
    ath_turn_contexts_begin(&raw, 0);
    ath_turn_contexts_retained(PAST);
    ck_assert(!ath_turn_contexts_are_several);
    ath_turn_contexts_retained(FIRST);
    ck_assert(ath_turn_contexts_are_several);
}
END_TEST

/* ---- many threads ---- */

enum { THREADS = 6 };
static atomic_bool is_over;
static CUstream streams[THREADS];

static void *work_on(void *own)
{
    long calls = 0;
    OK(raw.cuCtxSetCurrent(context));
    while (!is_over) {
        OK(driver.cuMemsetD8Async(memory, 1, BYTES, *(CUstream *)own));
        calls++;
    }
    return (void *)calls;
}

/* With the kernel's barriers, and without. */
LOOP_TEST(no_work_is_left_when_a_turn_is_back, 0, 2)
{
    enum { TURNS = 100 };
    pthread_t threads[THREADS];
    if (_i)
        ath_turn_callers_need_barrier = true;
    for (int i = 0; i < THREADS; i++) {
        OK(raw.cuStreamCreate(&streams[i], i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_on, &streams[i]), 0);
    }
    for (int i = 0; i < TURNS; i++) {
        give(i % 2 ? ATH_TURN_OTHERS : 0);
        rest_ms(1);
        take_back();
        for (int n = 0; n < THREADS; n++)
            OK(raw.cuStreamQuery(streams[n]));
    }
    is_over = true;
    give(0);
    for (int i = 0; i < THREADS; i++) {
        void *calls;
        pthread_join(threads[i], &calls);
        ck_assert_ptr_nonnull(calls);
    }
}
END_TEST

static CUresult end_thread(CUdeviceptr to, unsigned char value, size_t count, CUstream at)
{
    OK(raw.cuMemsetD8Async(to, value, count, at));
    pthread_exit(NULL);
}

/* As a thread does that is cancelled there. */
TEST(a_thread_that_ends_in_a_call_keeps_no_turn)
{
    struct caller caller;
    driver = raw;
    driver.cuMemsetD8Async = end_thread;
    begin_gate(SESSION);
    give(0);
    start_call(&caller);
    pthread_join(caller.thread, NULL);
    ck_assert(!caller.is_done);
    take_back();
}
END_TEST

static CUresult set_nothing(CUdeviceptr to, unsigned char value, size_t count, CUstream at)
{
    (void)to;
    (void)value;
    (void)count;
    (void)at;
    return CUDA_SUCCESS;
}

static void *call_cancelled(void *caller)
{
    OK(raw.cuCtxSetCurrent(context));
    pthread_cancel(pthread_self());
    driver.cuMemsetD8Async(memory, 2, BYTES, ((struct caller *)caller)->stream);
    return NULL;
}

/* The thread ends when its call is over. */
TEST(a_thread_that_is_cancelled_while_it_waits_leaves_nothing_behind)
{
    struct caller caller = { .stream = stream };
    driver = raw;
    driver.cuMemsetD8Async = set_nothing;
    begin_gate(SESSION);
    ck_assert_int_eq(pthread_create(&caller.thread, NULL, call_cancelled, &caller), 0);
    WAIT_FOR(atomic_load(&wish.wants));
    rest_ms(BACK_MS);
    give(0);
    pthread_join(caller.thread, NULL);
    take_back();
    ck_assert_uint_eq(atomic_load(&wish.wants), 0);
}
END_TEST

static void *work_on_own(void *is_long)
{
    OK(raw.cuCtxSetCurrent(context));
    if (is_long)
        OK(raw.cuLaunchHostFunc(CU_STREAM_PER_THREAD, wait_for_end, NULL));
    OK(driver.cuMemsetD8Async_ptsz(memory, 1, BYTES, NULL));
    return NULL;
}

/* The second thread gets the place of the first one. */
TEST(a_threads_own_stream_is_not_that_of_the_next_thread)
{
    pthread_t thread;
    give(0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, work_on_own, i ? NULL : &thread), 0);
        pthread_join(thread, NULL);
    }
    expect_return_after_the_work();
}
END_TEST

/* ---- devices ---- */

/* A turn is for all devices of the session, so one for another set of them has to come first. */
TEST(the_first_work_on_a_device_needs_another_turn)
{
    CUcontext second;
    struct caller caller;
    give(0);
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    ck_assert_uint_eq(atomic_load(&wish.devices), 1 << 5);
    OK(driver.cuCtxCreate_v2(&second, 0, 1));
    context = second;
    OK(driver.cuMemAlloc_v2(&memory, BYTES));
    OK(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    start_call(&caller);
    WAIT_FOR(is_returned());
    ck_assert_uint_eq(atomic_load(&wish.devices), 1 << 5 | 1 << 3);
    expect_wait_for_turn(&caller);
}
END_TEST

/* The device of the current context has nothing to do. */
TEST(work_counts_for_the_device_of_its_stream)
{
    CUcontext second;
    struct caller caller;
    OK(driver.cuCtxCreate_v2(&second, 0, 1));
    OK(driver.cuMemAlloc_v2(&memory, BYTES));
    OK(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    start_call(&caller); /* with the first context */
    WAIT_FOR(atomic_load(&wish.wants));
    ck_assert_uint_eq(atomic_load(&wish.devices), 1 << 3);
    give(0);
    end_call(&caller);
}
END_TEST

/* The work on the first one may wait for that on the second, and the arbiter has not asked for the
 * turn. */
TEST(the_first_work_on_a_device_waits_for_no_other)
{
    CUcontext second;
    struct caller caller;
    give(0);
    give_long_work(stream);
    OK(driver.cuCtxCreate_v2(&second, 0, 1));
    context = second;
    OK(driver.cuMemAlloc_v2(&memory, BYTES));
    OK(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    start_call(&caller);
    WAIT_FOR(atomic_load(&wish.left) == number);
    WAIT_FOR(atomic_load(&wish.wants));
    ck_assert(!is_returned() && !caller.is_done);
    give(0);
    end_call(&caller);
    sem_post(&may_end);
    take_back();
}
END_TEST

/* ---- without an arbiter ---- */

TEST(calls_pass_when_the_arbiter_is_dead)
{
    struct caller caller;
    start_call(&caller);
    WAIT_FOR(atomic_load(&wish.wants));
    ck_assert(!caller.is_done);
    atomic_store(&beat_ms, 1); /* the machine's first second */
    end_call(&caller);
    ck_assert_int_eq(said, 1);
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    ck_assert_int_eq(said, 1);
    /* and wait again when there is one */
    atomic_store(&beat_ms, UINT64_MAX / 2);
    rest_ms(1500);
    start_call(&caller);
    expect_wait_for_turn(&caller);
}
END_TEST

TEST(calls_pass_when_no_arbiter_knows_the_session)
{
    driver = raw;
    begin_gate(SESSION + 1);
    OK(driver.cuMemsetD8Async(memory, 1, BYTES, stream));
    ck_assert_int_eq(said, 1);
}
END_TEST
