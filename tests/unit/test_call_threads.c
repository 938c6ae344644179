/* The server's threads read on, whatever blocks the answers. */
#include "config.h"

#include "cuda/server/call_threads.h"

#include <endian.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "patience.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"
#include "remote/transport/shm.h"
#include "unit.h"

SECONDS(PATIENCE_MS / 1000);

/* More than any transport holds, and more calls than the server keeps in its queue. */
enum { PART = 8 * 1024 * 1024, PARTS = 8, FRAME_MAX = 2 * PART };
enum { OTHER_THREAD = 1, CAPTURING_THREAD = 2, ASKING_THREAD = 3 };

/* ---- a driver that does as much as these tests see ---- */

static CUresult copy_from(void *host, CUdeviceptr device, size_t bytes, CUstream stream)
{
    (void)device;
    (void)stream;
    memset(host, 0x5a, bytes);
    return CUDA_SUCCESS;
}

static CUresult copy_to(CUdeviceptr device, const void *host, size_t bytes, CUstream stream)
{
    (void)device;
    (void)host;
    (void)bytes;
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult make_event(CUevent *event, unsigned int flags)
{
    (void)flags;
    *event = (CUevent)(uintptr_t)0x1000;
    return CUDA_SUCCESS;
}

static CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode)
{
    (void)stream;
    (void)mode;
    return CUDA_SUCCESS;
}

static CUresult wait_for_stream(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult copy_from_and_wait(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_from(to, from, bytes, NULL);
}

static CUresult copy_to_and_wait(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_to(to, from, bytes, NULL);
}

/* The GPU reads memory of the host late (copy.c). */
static CUresult get_attribute(int *value, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    *value = which == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES;
    return CUDA_SUCCESS;
}

/* The gate would take a function of the server's for one of the program's. */
static CUresult must_not_launch(CUstream stream, CUhostFn function, void *argument)
{
    (void)stream;
    (void)function;
    (void)argument;
    _exit(1);
}

static CUresult launch_at_once(CUstream stream, CUhostFn function, void *argument)
{
    (void)stream;
    function(argument);
    return CUDA_SUCCESS;
}

static const struct ath_cuda_driver ungated = { .cuLaunchHostFunc = launch_at_once };

static const struct ath_cuda_driver driver = {
    .cuDeviceGetAttribute = get_attribute,
    .cuLaunchHostFunc = must_not_launch,
    .cuMemcpyDtoH_v2 = copy_from_and_wait,
    .cuMemcpyDtoHAsync_v2 = copy_from,
    .cuMemcpyHtoD_v2 = copy_to_and_wait,
    .cuMemcpyHtoDAsync_v2 = copy_to,
    .cuEventCreate = make_event,
    .cuStreamBeginCapture_v2 = begin_capture,
    .cuStreamSynchronize = wait_for_stream,
};

/* ---- a server in a process of its own ---- */

struct fixture {
    struct ath_stream *stream;
    pid_t server;
    struct ath_wire_builder builder;
    struct ath_frame answer;
    uint64_t last_number;
};

__attribute__((noreturn)) static void over(struct ath_calls *calls, int status)
{
    (void)calls;
    _exit(!!status);
}

__attribute__((noreturn)) static void serve(struct ath_stream *stream)
{
    static struct ath_cuda_session session;
    static struct ath_calls calls = { .session = &session, .over = over };
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no server behind */
    ath_cuda_session_init(&session, &driver);
    session.ungated = &ungated;
    free(session.objects.map.buckets); /* without them each handle is known */
    session.objects.map.buckets = NULL;
    calls.stream = stream;
    ath_calls_serve(&calls);
}

/* Both ends of a connection. */
static void connect_streams(bool is_shm, struct ath_stream *ends[2])
{
    int fds[2], memory = -1;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    if (is_shm) {
        ck_assert_int_eq(ath_shm_make(fds[0], &memory, &ends[0]), 0);
        ck_assert_int_eq(ath_shm_take(fds[1], memory, &ends[1]), 0);
        close(memory);
    } else {
        for (int i = 0; i < 2; i++)
            ends[i] = ath_tcp_stream((struct ath_socket){ .fd = fds[i] });
    }
}

static void start(struct fixture *fixture, bool is_shm)
{
    struct ath_stream *ends[2];
    connect_streams(is_shm, ends);
    *fixture = (struct fixture){ .stream = ends[1], .builder.max_bytes = FRAME_MAX };
    fixture->server = fork();
    if (!fixture->server) {
        ends[1]->ops->abandon(ends[1]);
        serve(ends[0]);
    }
    ends[0]->ops->abandon(ends[0]);
    ends[0]->ops->close(ends[0]);
}

static void end(struct fixture *fixture)
{
    fixture->stream->ops->close(fixture->stream);
    ath_wire_builder_free(&fixture->builder);
    ath_frame_free(&fixture->answer);
    kill(fixture->server, SIGKILL);
    ck_assert_int_eq(waitpid(fixture->server, NULL, 0), fixture->server);
}

/* ---- calls ---- */

static struct ath_cuda_wire_call_builder begin(struct fixture *fixture, uint32_t thread,
                                               bool is_asked)
{
    struct ath_cuda_wire_call_builder call = ath_cuda_wire_call_start(&fixture->builder);
    ath_cuda_wire_call_set_thread(call, thread);
    ath_cuda_wire_call_set_is_asked(call, is_asked);
    ath_cuda_wire_call_set_number(call, ++fixture->last_number);
    return call;
}

/* Returns the call's number. */
static uint64_t post(struct fixture *fixture)
{
    size_t length;
    int status;
    const uint8_t *bytes = ath_wire_finish(&fixture->builder, &length, &status);
    ck_assert_ptr_nonnull(bytes);
    struct iovec parts[ATH_FRAME_PARTS] = { { (void *)(uintptr_t)bytes, length } };
    ck_assert_int_eq(ath_stream_write_frame(fixture->stream, (struct iovec){ 0 }, parts), 0);
    return fixture->last_number;
}

static uint64_t ask_for_part(struct fixture *fixture, uint32_t thread)
{
    ath_cuda_wire_memcpy_dto_h_async_v2_set_byte_count(
        ath_cuda_wire_call_init_memcpy_dto_h_async_v2(begin(fixture, thread, true)), PART);
    return post(fixture);
}

static uint64_t ask_for_event(struct fixture *fixture, uint32_t thread)
{
    ath_cuda_wire_call_init_event_create(begin(fixture, thread, true));
    return post(fixture);
}

static void post_capture(struct fixture *fixture)
{
    ath_cuda_wire_stream_begin_capture_v2_set_stream(
        ath_cuda_wire_call_init_stream_begin_capture_v2(begin(fixture, CAPTURING_THREAD, false)),
        0x2000);
    post(fixture);
}

static void post_part(struct fixture *fixture)
{
    static uint8_t data[PART];
    ath_cuda_wire_memcpy_hto_d_async_v2_set_source(
        ath_cuda_wire_call_init_memcpy_hto_d_async_v2(begin(fixture, OTHER_THREAD, false)),
        (struct ath_wire_bytes){ data, sizeof data });
    post(fixture);
}

static void check_answer(const uint8_t *message, size_t length, uint64_t *asked, size_t count)
{
    struct ath_cuda_wire_answer answer;
    size_t i = 0;
    ck_assert_int_eq(ath_cuda_wire_answer_open(message, length, &answer), 0);
    ck_assert_int_eq(ath_cuda_wire_answer_status(answer), CUDA_SUCCESS);
    while (i < count && asked[i] != ath_cuda_wire_answer_number(answer))
        i++;
    ck_assert_uint_lt(i, count);
    asked[i] = 0;
}

/* Waits until the server writes an answer, and leaves it there. */
static void see_answer(struct fixture *fixture, uint32_t head[2])
{
    ck_assert_int_eq(fixture->stream->ops->read(fixture->stream, head, 2 * sizeof *head), 0);
}

/* Takes all answers, in any order. The head is that of the first. */
static void take_answers(struct fixture *fixture, const uint32_t head[2], uint64_t *asked,
                         size_t count)
{
    size_t length = (size_t)le32toh(head[1]) * ATH_WIRE_WORD;
    ath_auto_free uint8_t *first = malloc(length);
    ck_assert_int_eq(fixture->stream->ops->read(fixture->stream, first, length), 0);
    check_answer(first, length, asked, count);
    for (size_t taken = 1; taken < count; taken++) {
        ck_assert_int_eq(ath_stream_read_frame(fixture->stream, FRAME_MAX, &fixture->answer), 0);
        check_answer(ath_frame_message(&fixture->answer),
                     ath_frame_message_length(&fixture->answer), asked, count);
    }
}

/* ---- the tests ---- */

enum { WAYS = 8 };

/*
 * Two threads have asked and take no answer yet, because they want to ask for more. The answer to
 * the first does not fit into the transport, and that to the second is behind it. A third thread
 * sends much. The asking threads take their answers when the third has sent all.
 */
LOOP_TEST(untaken_answers_stop_no_calls, 0, WAYS)
{
    struct fixture fixture;
    uint32_t head[2];
    ath_switches_off = _i & 1 ? 1u << ATH_SWITCH_OVERLAP : 0;
    start(&fixture, _i & 2);
    post_capture(&fixture);
    uint64_t asked[] = { ask_for_part(&fixture, ASKING_THREAD), 0, 0 };
    see_answer(&fixture, head);
    asked[1] = ask_for_event(&fixture, _i & 4 ? CAPTURING_THREAD : OTHER_THREAD);
    for (int i = 0; i < PARTS; i++)
        post_part(&fixture);
    asked[2] = ask_for_event(&fixture, CAPTURING_THREAD);
    take_answers(&fixture, head, asked, 3);
    end(&fixture);
}

/* As above, with one answer. A thread that captures is served in the order of all calls. */
LOOP_TEST(an_answer_that_has_to_wait_stops_no_calls, 0, WAYS / 2)
{
    struct fixture fixture;
    uint32_t head[2];
    ath_switches_off = _i & 1 ? 1u << ATH_SWITCH_OVERLAP : 0;
    start(&fixture, _i & 2);
    post_capture(&fixture);
    uint64_t asked[] = { ask_for_part(&fixture, CAPTURING_THREAD), 0, 0 };
    see_answer(&fixture, head);
    asked[1] = ask_for_part(&fixture, CAPTURING_THREAD);
    for (int i = 0; i < PARTS; i++)
        post_part(&fixture);
    asked[2] = ask_for_event(&fixture, CAPTURING_THREAD);
    take_answers(&fixture, head, asked, 3);
    end(&fixture);
}

/* Data that the GPU reads late are freed by a function of the server's behind the copy. */
TEST(the_servers_own_functions_pass_beside_the_gate)
{
    struct fixture fixture;
    uint32_t head[2];
    start(&fixture, true);
    post_part(&fixture);
    uint64_t asked = ask_for_event(&fixture, OTHER_THREAD);
    see_answer(&fixture, head);
    take_answers(&fixture, head, &asked, 1);
    end(&fixture);
}
END_TEST
