/*
 * The time of a launch in a server beyond the driver's own time: the server's code serves one
 * message again and again in the process that has the GPU, without a transport. Any further time of
 * a server's launches (steps.c) comes from the transport or from threads that poll at the same
 * time.
 */
#include "config.h"

#include "../tests/cuda_programs/gpu.h"
#include "load.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cuda/server/server.h"
#include "proto/cuda-wire.h"
#include "remote/transport/poll_briefly.h"
#include "remote/wire/frame.h"

enum { LAUNCHES = 285, TIMES = 40, LOOKERS = 3, N = 256, MESSAGE_MAX = 4096 };

struct parameters { /* of fill() */
    CUdeviceptr memory;
    float value;
    int n;
};

static struct {
    CUfunction fill;
    CUstream stream;
    struct parameters parameters;
    struct ath_cuda_driver driver;
    struct ath_cuda_session session;
    struct ath_cuda_worker worker;
    struct ath_wire_builder call, answer;
    const uint8_t *message;
    size_t length;
} on;

static void launch_natively(void)
{
    struct parameters *given = &on.parameters;
    for (int i = 0; i < LAUNCHES; i++)
        ok(launch(on.fill, N, on.stream, (void *[]){ &given->memory, &given->value, &given->n }));
    ok(cuStreamSynchronize(on.stream));
}

static void serve_launches(void)
{
    for (int i = 0; i < LAUNCHES; i++)
        check(!ath_cuda_serve(&on.worker, on.message, on.length, &on.answer));
    ok(cuStreamSynchronize(on.stream));
}

/* Threads that poll, as a client's and a server's do while there is work. */
static atomic_bool is_over;

static void *look(void *unused)
{
    enum { ROUNDS = 32 };
    static const _Atomic uint32_t patience_us = 1000000;
    struct ath_brief_poll poll_state = { 0 };
    while (!is_over)
        ath_brief_poll_again(&poll_state, ROUNDS, &patience_us);
    return unused;
}

static double serve_beside_others(void)
{
    pthread_t threads[LOOKERS];
    int count = 0;
    is_over = false;
    while (count < LOOKERS && !pthread_create(&threads[count], NULL, look, NULL))
        count++;
    double us = load_single_us(serve_launches, load_times(TIMES));
    is_over = true;
    while (count)
        pthread_join(threads[--count], NULL);
    return us;
}

static void measure(void)
{
    load_row(load_single_us(launch_natively, load_times(TIMES)) / LAUNCHES, "us",
             "launch, the driver's own");
    load_row(load_single_us(serve_launches, load_times(TIMES)) / LAUNCHES, "us",
             "launch, served from a message");
    load_row(serve_beside_others() / LAUNCHES, "us", "the same beside %d threads that look",
             LOOKERS);
}

/* A launch as it comes from a client. */
static void write_message(void)
{
    int status;
    on.call.max_bytes = on.answer.max_bytes = MESSAGE_MAX;
    struct ath_cuda_wire_call_builder call = ath_cuda_wire_call_start(&on.call);
    ath_cuda_wire_call_set_context(call, (uintptr_t)context);
    struct ath_cuda_wire_launch_kernel_builder to = ath_cuda_wire_call_init_launch_kernel(call);
    ath_cuda_wire_launch_kernel_set_function(to, (uintptr_t)on.fill);
    ath_cuda_wire_launch_kernel_set_grid_dim_x(to, 1);
    ath_cuda_wire_launch_kernel_set_grid_dim_y(to, 1);
    ath_cuda_wire_launch_kernel_set_grid_dim_z(to, 1);
    ath_cuda_wire_launch_kernel_set_block_dim_x(to, N);
    ath_cuda_wire_launch_kernel_set_block_dim_y(to, 1);
    ath_cuda_wire_launch_kernel_set_block_dim_z(to, 1);
    ath_cuda_wire_launch_kernel_set_stream(to, (uintptr_t)on.stream);
    ath_cuda_wire_launch_kernel_set_parameters(
        to, (struct ath_wire_bytes){ (const uint8_t *)&on.parameters, sizeof on.parameters });
    const uint8_t *frame = ath_wire_finish(&on.call, &on.length, &status);
    check(frame);
    on.message = frame + ATH_FRAME_HEAD;
    on.length -= ATH_FRAME_HEAD;
}

static void prepare(void)
{
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    on.fill = kernel("fill");
    ok(cuStreamCreate(&on.stream, CU_STREAM_NON_BLOCKING));
    on.parameters = (struct parameters){ allocate(N * sizeof(float)), 1, N };
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    check(library);
    ath_cuda_driver_load(library, &on.driver);
    ath_cuda_session_init(&on.session, &on.driver);
    on.worker.session = &on.session;
    write_message();
}

int main(void)
{
    prepare();
    return load_serve(measure);
}
