/*
 * The tables of cuGetExportTable(), for static CUDA runtimes.
 *
 * All code about them is in this file. export_tables.h says what they are, why they are answered,
 * and how to leave them out (`./configure --disable-runtime-tables`). Observed with CUDA 13.0;
 * entries that no runtime was seen to call return CUDA_ERROR_NOT_SUPPORTED. HMAC is RFC 2104, MD2
 * is RFC 1319; both come from libnettle.
 */
#include "config.h"

#include "cuda/api/export_tables.h"

#include <nettle/hmac.h>
#include <nettle/md2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES_MAX = 64 };

static const struct ath_tables_driver *driver;

static CUresult not_supported(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- the runtime's interface ---- */

/* The errors that a driver returns for a device after a kernel's fault, until the process ends. */
static bool is_fault(CUresult status)
{
    return status >= CUDA_ERROR_ILLEGAL_ADDRESS && status <= CUDA_ERROR_LAUNCH_FAILED;
}

/* After a fault and a reset a driver's own entry returns the earlier context with success, and
 * calls in it return CUDA_ERROR_CONTEXT_IS_DESTROYED; cuDevicePrimaryCtxRetain() returns the fault
 * (seen on an H200, 580.159). A runtime uses this to find a device that still works. */
static CUresult get_primary(CUcontext *out, CUdevice device)
{
    static _Atomic(CUcontext) given[DEVICES_MAX];
    CUresult status = driver->retain_primary(out, device);
    if (device < 0 || device >= DEVICES_MAX)
        return status;
    if (!status)
        given[device] = *out;
    if (!is_fault(status) || !given[device])
        return status;
    *out = given[device];
    return CUDA_SUCCESS;
}

/* ---- buffers of the runtime's callbacks: unused without a tool ---- */

static void get_large_buffer(void **out, size_t *out_bytes)
{
    static unsigned char buffer[4096];
    *out = buffer;
    *out_bytes = sizeof buffer / sizeof(uint32_t);
}

static void get_small_buffer(void **out, size_t *out_bytes)
{
    static unsigned char buffer[16];
    *out = buffer;
    *out_bytes = 14;
}

/*
 * ---- the number of a context ----
 *
 * cublasLt keeps its findings by the number of the current context. It asks for the number by these
 * two entries while it chooses an algorithm for a product. Without them it finds no algorithm
 * (CUBLAS_STATUS_NOT_SUPPORTED; seen with 13.1).
 */

static CUresult get_current(CUcontext *out)
{
    return driver->get_current(out);
}

static CUresult get_id(CUcontext context, unsigned long long *out)
{
    return driver->get_id(context, out);
}

/*
 * ---- the number of a stream ----
 *
 * cublas (13.1) keeps memory for each stream by the stream's number. It asks which stream a handle
 * means, and then for that stream's number. Without these entries all work that needs such memory
 * fails (CUBLAS_STATUS_INTERNAL_ERROR: dot products, products in several parts).
 */

static CUresult get_stream(CUcontext context, CUstream handle, CUstream *out, int is_per_thread)
{
    (void)context;
    *out = handle || !is_per_thread ? handle : CU_STREAM_PER_THREAD;
    return CUDA_SUCCESS;
}

static CUresult get_stream_id(CUcontext context, CUstream stream, unsigned long long *out)
{
    (void)context;
    return driver->get_stream_id(stream, out);
}

/* ---- values stored with a context ---- */

static CUresult put_value(CUcontext context, void *key, void *value,
                          void (*end)(CUcontext, void *, void *))
{
    return driver->put_local(context, key, value, end);
}

static CUresult drop_value(CUcontext context, void *key)
{
    return driver->delete_local(context, key);
}

static CUresult get_value(void **out, CUcontext context, void *key)
{
    return driver->get_local(context, key, out);
}

/* ---- checks of a context ---- */

static CUresult check_context(CUcontext context, uint32_t *out_flag, const void **out)
{
    (void)context;
    *out_flag = 0;
    *out = NULL;
    return CUDA_SUCCESS;
}

static CUresult answer_zero(void)
{
    return CUDA_SUCCESS;
}

/* ---- functions of a module ---- */

/* cuFFT (of CUDA 13.0) asks by this entry for one function of each of its modules and expects 1 as
 * the answer. It reads the module from the second word of the function's memory, and looks up other
 * functions with it. */
static int tell_function(CUcontext context, CUmodule module,
                         void (*tell)(void *user, CUfunction function), void *user)
{
    CUfunction function = NULL;
    (void)context;
    if (!driver->find_function || driver->find_function(module, &function))
        return 0;
    tell(user, function);
    return 1;
}

/* ---- the check of the driver library ---- */

static CUresult check_library(uint32_t version, uint64_t unix_seconds, uint64_t out[2]);

/* ---- the tables ---- */

/* A table holds functions of many types. They are converted through void (*)(void), as with
 * dlsym(). */
typedef void (*entry)(void);
#define ENTRY(function) ((entry)(void *)(function))
#define UNUSED ENTRY(not_supported)
#define SIZE(count) ((entry)((count) * sizeof(entry)))

static const entry runtime_interface[13] = { SIZE(13), UNUSED, ENTRY(get_primary),
                                             UNUSED,   UNUSED, UNUSED,
                                             UNUSED,   UNUSED, UNUSED,
                                             UNUSED,   UNUSED, UNUSED,
                                             UNUSED };
static const entry callback_hooks[7] = { SIZE(7), UNUSED, ENTRY(get_large_buffer), UNUSED,
                                         UNUSED,  UNUSED, ENTRY(get_small_buffer) };
static const entry tools[3] = { SIZE(3), UNUSED, ENTRY(get_current) };
/* cublasLt (13.1) calls entry 4 for half-precision products on devices with clusters, without
 * checking that the table exists. It accepts an error silently. */
static const entry clusters[8] = {
    SIZE(8), UNUSED, UNUSED, UNUSED, UNUSED, UNUSED, UNUSED, UNUSED
};
/* As long as the table of a CUDA 13 driver. */
static const entry contexts[95] = {
    [0] = SIZE(95),           [1 ... 3] = UNUSED,          [4] = ENTRY(get_id),
    [5 ... 38] = UNUSED,      [39] = ENTRY(get_stream_id), [40 ... 50] = UNUSED,
    [51] = ENTRY(get_stream), [52 ... 94] = UNUSED,
};
static const entry storage[4] = { ENTRY(put_value), ENTRY(drop_value), ENTRY(get_value), UNUSED };
static const entry context_checks[15] = { SIZE(15),
                                          UNUSED,
                                          ENTRY(check_context),
                                          ENTRY(answer_zero),
                                          UNUSED,
                                          UNUSED,
                                          UNUSED,
                                          UNUSED,
                                          UNUSED,
                                          UNUSED,
                                          UNUSED,
                                          UNUSED,
                                          UNUSED,
                                          UNUSED,
                                          UNUSED };
static const entry modules[16] = {
    [0] = SIZE(16), [1 ... 6] = UNUSED, [7] = ENTRY(tell_function), [8 ... 15] = UNUSED
};
static const entry library_check[3] = { SIZE(3), ENTRY(check_library), UNUSED };

static const struct {
    unsigned char uuid[16];
    const entry *entries;
} tables[] = {
    { { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
        0xf9 },
      runtime_interface },
    { { 0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
        0x66 },
      callback_hooks },
    { { 0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
        0xdc },
      tools },
    { { 0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
        0xf2 },
      contexts },
    { { 0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45, 0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b,
        0xca },
      clusters },
    { { 0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
        0x93 },
      storage },
    { { 0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
        0x7e },
      context_checks },
    { { 0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99,
        0x1e },
      modules },
    { { 0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
        0xf2 },
      library_check },
};

const void *ath_table_find(const struct ath_tables_driver *asking, const unsigned char uuid[16])
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!memcmp(tables[i].uuid, uuid, sizeof tables[i].uuid)) {
            __atomic_store_n(&driver, asking, __ATOMIC_RELEASE);
            return tables[i].entries;
        }
    return NULL;
}

/* ---- HMAC over MD2 ---- */

static const uint8_t key[16] = { 0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                                 0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f };

/* MD2's block is 16 bytes, as long as the key. */
struct hmac_md2 {
    struct md2_ctx outer, inner, state;
};

static void add_bytes(struct hmac_md2 *hmac, const void *bytes, size_t length)
{
    md2_update(&hmac->state, length, bytes);
}

static void add_u32(struct hmac_md2 *hmac, uint32_t value)
{
    add_bytes(hmac, &value, sizeof value);
}

static void add_u64(struct hmac_md2 *hmac, uint64_t value)
{
    add_bytes(hmac, &value, sizeof value);
}

static void add_device_list(struct hmac_md2 *hmac, const struct ath_tables_driver *of)
{
    struct ath_table_device devices[DEVICES_MAX];
    size_t count = of->list_devices(devices, DEVICES_MAX);
    for (size_t i = 0; i < count && i < DEVICES_MAX; i++) {
        add_bytes(hmac, devices[i].uuid, sizeof devices[i].uuid);
        add_u32(hmac, (uint32_t)devices[i].pci_domain);
        add_u32(hmac, (uint32_t)devices[i].pci_bus);
        add_u32(hmac, (uint32_t)devices[i].pci_device);
    }
}

void ath_table_check(const struct ath_tables_driver *of, uint32_t version, uint64_t unix_seconds,
                     uint32_t process, uint32_t thread, const uint64_t addresses[3],
                     uint64_t out[2])
{
    static const uint64_t of_zero[2] = { 0x3341181c03cb675c, 0x8ed383aa1f4cd1e8 };
    static const uint64_t of_one[2] = { 0x1841181c03cb675c, 0x8ed383aa1f4cd1e8 };
    struct hmac_md2 hmac;

    if (version % 10 < 2) {
        memcpy(out, version % 10 ? of_one : of_zero, sizeof of_zero);
        return;
    }
    HMAC_SET_KEY(&hmac, &nettle_md2, sizeof key, key);
    add_u32(&hmac, of->version);
    add_u32(&hmac, version);
    add_u32(&hmac, process);
    add_u32(&hmac, thread);
    for (size_t i = 0; i < 3; i++)
        add_u64(&hmac, addresses[i]);
    add_u64(&hmac, unix_seconds);
    add_device_list(&hmac, of);
    HMAC_DIGEST(&hmac, &nettle_md2, MD2_DIGEST_SIZE, (uint8_t *)out);
}

static CUresult check_library(uint32_t version, uint64_t unix_seconds, uint64_t out[2])
{
    const uint64_t addresses[3] = {
        (uint64_t)(uintptr_t)runtime_interface,
        (uint64_t)(uintptr_t)library_check,
        (uint64_t)(uintptr_t)check_library,
    };
    ath_table_check(driver, version, unix_seconds, (uint32_t)getpid(),
                    (uint32_t)(uintptr_t)pthread_self(), addresses, out);
    return CUDA_SUCCESS;
}
