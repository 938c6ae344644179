/* Faults on the GPU: the context is lost, and each call says so. Each run has one fault at most of
 * the time, in a process of its own: the area runs only if it is asked for. */
#include "config.h"

#include "driver.h"

static void launch_into_nothing(void)
{
    CUdeviceptr p = 0x1000;
    float value = 1;
    int n = 256;
    struct object *function = slot_of(FUNCTION, 0), *stream = pick_live(STREAM);
    NEED(function->is_live && stream && !is_stream_capturing(stream));
    settle_all();
    say(" %s", name_of(stream));
    if (CALL_BY_CHANCE(cuLaunchKernel, FUNCTION_OF(function), 1, 1, 1, 256, 1, 1, 0,
                       STREAM_OF(stream), (void *[]){ &p, &value, &n }, NULL))
        return;
    CALL(cuStreamSynchronize, STREAM_OF(stream)); /* which call meets the fault would be chance */
}

static void reset(void)
{
    settle_all();
    for (int i = 2; i < slots_of(STREAM); i++)
        NEED(!is_stream_capturing(slot_of(STREAM, i)));
    CALL_BY_CHANCE(cuDevicePrimaryCtxReset_v2, 0);
    forget_probe();
    dies_with_context(slot_of(CONTEXT, 0)->handle);
}

static const struct operation operations[] = {
    { "launch into nothing", 4, launch_into_nothing },
    { "reset the primary context", 1, reset },
};

const struct area fault_area = { "faults", operations, COUNT(operations), ALONE };
