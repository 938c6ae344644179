/*
 * Fuzzes the server of CUDA's calls: an input is what a client that has the key might send, frames
 * one behind the other (without heads: the first two bytes of each say how many words it has). They
 * are served by a driver that does nothing; what the server makes of them must be right messages.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/server/server.h"
#include "remote/wire/frame.h"

#include "proto/cuda-wire.h"
#include "tests/fuzz/driver.h"

enum { ANSWER_MAX = 80 << 20, MANAGED_MAX = 1 << 20, PAGE = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __lsan_is_turned_off(void);
const char *__asan_default_options(void);

/* The data of a callback is freed when the driver calls it, which this driver never does. */
int __lsan_is_turned_off(void)
{
    return 1;
}

/* This driver has memory of any size, but the server cannot allocate any size beside it. */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=256";
}

static void insist(bool is_true, const char *promise)
{
    if (!is_true) {
        fprintf(stderr, "broken promise: %s\n", promise);
        abort();
    }
}

/* The server reads and writes managed memory itself, so this is real memory: one allocation at a
 * time. */
static uint8_t *managed;

static CUresult give_managed(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
    (void)flags;
    if (driver_status || managed || bytes > MANAGED_MAX)
        return driver_status ? driver_status : CUDA_ERROR_OUT_OF_MEMORY;
    managed = aligned_alloc(PAGE, bytes);
    *address = (uintptr_t)managed;
    return managed ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult give_variable(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                              const char *name)
{
    (void)library;
    (void)name;
    *bytes = PAGE;
    return give_managed(address, PAGE, 0);
}

static CUresult take_managed(CUdeviceptr address)
{
    if (!driver_status && address == (uintptr_t)managed) {
        free(managed);
        managed = NULL;
    }
    return driver_status;
}

/* Whether the server would wait for a client's callback, which never comes here. */
static bool waits(const uint8_t *message, size_t length)
{
    struct ath_cuda_wire_call call;
    return !ath_cuda_wire_call_open(message, length, &call) &&
           ath_cuda_wire_call_which(call) == ATH_CUDA_METHOD_athNextCallback + 1;
}

static void serve(struct ath_cuda_worker *worker, struct ath_wire_builder *builder,
                  const uint8_t *data, size_t length)
{
    struct ath_cuda_wire_answer answer;
    size_t made;
    int status;
    ath_auto_free uint8_t *exact = malloc(length + 1); /* ASan sees reads beyond it */
    insist(exact != NULL, "there is memory");
    memcpy(exact, data, length);
    if (waits(exact, length))
        return;
    int served = ath_cuda_serve(worker, exact, length, builder);
    if (served <= 0)
        return;
    const uint8_t *bytes = ath_wire_finish(builder, &made, &status);
    insist(bytes != NULL, "an answer fits");
    insist(!ath_cuda_wire_answer_open(bytes + ATH_FRAME_HEAD, made - ATH_FRAME_HEAD, &answer),
           "an answer is right");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ath_cuda_session session;
    struct ath_cuda_driver driver = driver_of_nothing;
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = ANSWER_MAX };

    if (!size)
        return 0;
    driver_status = data[0] & 1 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    data++;
    size--;
    driver.cuMemAllocManaged = give_managed;
    driver.cuLibraryGetManaged = give_variable;
    driver.cuMemFree_v2 = take_managed;
    ath_cuda_session_init(&session, &driver);
    struct ath_cuda_worker worker = { .session = &session };
    while (size >= 2) {
        size_t length = ((size_t)data[0] | (size_t)data[1] << 8) * ATH_WIRE_WORD;
        data += 2;
        size -= 2;
        if (length > size)
            length = size - size % ATH_WIRE_WORD;
        serve(&worker, &builder, data, length);
        data += length;
        size -= length;
    }
    ath_cuda_session_free(&session);
    free(managed);
    managed = NULL;
    return 0;
}
