/* Managed memory ends with its context: the driver frees it, and the server must not look there. */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "cuda/server/regions.h"
#include "proto/cuda-wire.h"

#include "session.h"

enum { BYTES = 4 << 20 };

#define PRIMARY ((CUcontext)(uintptr_t)0x10)
#define OWN ((CUcontext)(uintptr_t)0x20)

/* ---- a driver with one piece of managed memory ---- */

static void *memory;
static int users; /* of the primary context */

static void end_memory(void)
{
    munmap(memory, BYTES);
    memory = NULL;
}

static CUresult retain(CUcontext *context, CUdevice device)
{
    (void)device;
    *context = PRIMARY;
    users++;
    return CUDA_SUCCESS;
}

static CUresult release(CUdevice device)
{
    (void)device;
    if (!--users)
        end_memory();
    return CUDA_SUCCESS;
}

static CUresult reset(CUdevice device)
{
    (void)device;
    end_memory();
    return CUDA_SUCCESS;
}

static CUresult get_state(CUdevice device, unsigned int *flags, int *is_active)
{
    (void)device;
    *flags = 0;
    *is_active = users > 0;
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *context, unsigned int flags, CUdevice device)
{
    (void)flags;
    (void)device;
    *context = OWN;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUcontext context)
{
    (void)context;
    end_memory();
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
    *context = OWN;
    return CUDA_SUCCESS;
}

static CUresult set_current(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
    (void)flags;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *address = (uintptr_t)memory;
    return memory == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult release_memory(CUdeviceptr address)
{
    (void)address;
    end_memory();
    return CUDA_SUCCESS;
}

static const struct ath_cuda_driver driver = { .cuDevicePrimaryCtxRetain = retain,
                                               .cuDevicePrimaryCtxRelease_v2 = release,
                                               .cuDevicePrimaryCtxReset_v2 = reset,
                                               .cuDevicePrimaryCtxGetState = get_state,
                                               .cuCtxCreate_v2 = create,
                                               .cuCtxDestroy_v2 = destroy,
                                               .cuCtxPopCurrent_v2 = pop,
                                               .cuCtxSetCurrent = set_current,
                                               .cuMemAllocManaged = allocate,
                                               .cuMemFree_v2 = release_memory };

/* ---- a session ---- */

static uint64_t address; /* of the managed memory */

static void serve_well(void)
{
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
}

static void retain_primary(void)
{
    ath_cuda_wire_device_primary_ctx_retain_set_device(
        ath_cuda_wire_call_init_device_primary_ctx_retain(begin(NULL)), 0);
    serve_well();
}

static void release_primary(void)
{
    ath_cuda_wire_device_primary_ctx_release_v2_set_device(
        ath_cuda_wire_call_init_device_primary_ctx_release_v2(begin(NULL)), 0);
    serve_well();
}

static void allocate_in(CUcontext context)
{
    struct ath_cuda_wire_mem_alloc_managed_builder call =
        ath_cuda_wire_call_init_mem_alloc_managed(begin(context));
    ath_cuda_wire_mem_alloc_managed_set_bytes(call, BYTES);
    ath_cuda_wire_mem_alloc_managed_set_flags(call, CU_MEM_ATTACH_GLOBAL);
    address = ath_cuda_wire_mem_alloc_managed_result_address(
        ath_cuda_wire_answer_mem_alloc_managed(serve()));
    ck_assert_uint_eq(address, (uintptr_t)memory);
}

/* The result of bytes that the client brings for the memory. */
static CUresult push(void)
{
    struct ath_wire_array parts =
        ath_cuda_wire_push_memory_init_parts(ath_cuda_wire_call_init_push_memory(begin(NULL)), 1);
    struct ath_cuda_wire_memory_part_builder part = { ath_wire_array_struct(parts, 0) };
    ath_cuda_wire_memory_part_set_address(part, address);
    ath_cuda_wire_memory_part_set_data(part, (struct ath_wire_bytes){ (const uint8_t *)"abcd", 4 });
    return serve_status();
}

/* No byte of the memory is read or written. */
static void expect_gone(void)
{
    ck_assert_ptr_null(memory);
    ck_assert_int_eq(ath_cuda_changes(&session, &answer_builder), 0);
    ck_assert_int_eq(push(), CUDA_ERROR_INVALID_VALUE);
}

static void setup(void)
{
    users = 0;
    memory = NULL;
    begin_session(&driver);
    retain_primary();
}

static void teardown(void)
{
    if (memory)
        end_memory();
    end_session();
}

FIXTURE(setup, teardown);

TEST(ends_with_a_reset)
{
    allocate_in(PRIMARY);
    ath_cuda_wire_device_primary_ctx_reset_v2_set_device(
        ath_cuda_wire_call_init_device_primary_ctx_reset_v2(begin(NULL)), 0);
    serve_well();
    expect_gone();
}

TEST(ends_with_the_last_release_only)
{
    retain_primary();
    allocate_in(PRIMARY);
    release_primary();
    ck_assert_int_eq(push(), CUDA_SUCCESS);
    ck_assert_int_eq(memcmp(memory, "abcd", 4), 0);
    release_primary();
    expect_gone();
}

TEST(ends_with_its_own_context_only)
{
    ath_cuda_wire_ctx_create_v2_set_device(ath_cuda_wire_call_init_ctx_create_v2(begin(NULL)), 0);
    serve_well();
    allocate_in(OWN);
    users++; /* so that the driver's memory stays */
    release_primary();
    ck_assert_int_eq(push(), CUDA_SUCCESS);
    ath_cuda_wire_ctx_destroy_v2_set_context(ath_cuda_wire_call_init_ctx_destroy_v2(begin(NULL)),
                                             (uintptr_t)OWN);
    serve_well();
    expect_gone();
}
