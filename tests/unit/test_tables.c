/* The tables for static CUDA runtimes: which there are, and the answer of the check. */
#include "config.h"

#include <string.h>

#include "cuda/api/export_tables.h"
#include "unit.h"

static size_t device_count;

static size_t list_devices(struct ath_table_device *out, size_t room)
{
    for (size_t i = 0; i < device_count && i < room; i++) {
        out[i] = (struct ath_table_device){ { 0 }, (int32_t)i, 0x10 + (int32_t)i, 0 };
        for (size_t k = 0; k < sizeof out[i].uuid; k++)
            out[i].uuid[k] = (unsigned char)(16 * i + k);
    }
    return device_count;
}

static CUresult retaining; /* what it says */

static CUresult retain_primary(CUcontext *out, CUdevice device)
{
    if (retaining)
        return retaining;
    *out = (CUcontext)(uintptr_t)(0x1000 + (unsigned int)device);
    return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *out)
{
    *out = (CUcontext)(uintptr_t)0x2000;
    return CUDA_SUCCESS;
}

static CUresult get_id(CUcontext context, unsigned long long *out)
{
    *out = (uintptr_t)context + 7;
    return CUDA_SUCCESS;
}

static CUresult get_stream_id(CUstream stream, unsigned long long *out)
{
    *out = (uintptr_t)stream + 9;
    return CUDA_SUCCESS;
}

static const struct ath_tables_driver driver = {
    .version = 13000,
    .retain_primary = retain_primary,
    .get_current = get_current,
    .get_id = get_id,
    .get_stream_id = get_stream_id,
    .list_devices = list_devices,
};

static const uint64_t addresses[3] = { 0x1000, 0x2000, 0x3000 };
enum { SECONDS = 1700000000, PROCESS = 4242, THREAD = 0x1234567 };

/* Computed by another implementation of RFC 1319 and RFC 2104. */
TEST(answers_the_check)
{
    uint64_t answer[2];
    device_count = 2;
    ath_table_check(&driver, 12, SECONDS, PROCESS, THREAD, addresses, answer);
    ck_assert_uint_eq(answer[0], 0x365cfe446ec58b04);
    ck_assert_uint_eq(answer[1], 0x4e5c8444e07ba743);
}

TEST(checks_every_byte_of_the_message)
{
    uint64_t answer[2], other[2];
    device_count = 2;
    ath_table_check(&driver, 12, SECONDS, PROCESS, THREAD, addresses, answer);
    ath_table_check(&driver, 13, SECONDS, PROCESS, THREAD, addresses, other);
    ck_assert(memcmp(answer, other, sizeof other) != 0);
    ath_table_check(&driver, 12, SECONDS + 1, PROCESS, THREAD, addresses, other);
    ck_assert(memcmp(answer, other, sizeof other) != 0);
    ath_table_check(&driver, 12, SECONDS, PROCESS + 1, THREAD, addresses, other);
    ck_assert(memcmp(answer, other, sizeof other) != 0);
    ath_table_check(&driver, 12, SECONDS, PROCESS, THREAD + 1, addresses, other);
    ck_assert(memcmp(answer, other, sizeof other) != 0);
    device_count = 1;
    ath_table_check(&driver, 12, SECONDS, PROCESS, THREAD, addresses, other);
    ck_assert(memcmp(answer, other, sizeof other) != 0);
}

TEST(some_versions_have_one_answer)
{
    uint64_t answer[2];
    ath_table_check(&driver, 10, SECONDS, PROCESS, THREAD, addresses, answer);
    ck_assert_uint_eq(answer[0], 0x3341181c03cb675c);
    ath_table_check(&driver, 11, SECONDS + 1, PROCESS + 1, THREAD, addresses, answer);
    ck_assert_uint_eq(answer[0], 0x1841181c03cb675c);
    ck_assert_uint_eq(answer[1], 0x8ed383aa1f4cd1e8);
}

static const unsigned char interface[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                             0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };

TEST(the_interface_gives_the_primary_context)
{
    const uintptr_t *table = ath_table_find(&driver, interface);
    CUresult (*get_primary)(CUcontext *, CUdevice);
    CUcontext context = NULL;
    ck_assert_ptr_nonnull(table);
    ck_assert_uint_eq(table[0], 13 * sizeof *table);
    memcpy(&get_primary, &table[2], sizeof get_primary);
    ck_assert_int_eq(get_primary(&context, 3), CUDA_SUCCESS);
    ck_assert_uint_eq((uintptr_t)context, 0x1003);
}

/* After a fault and a reset a runtime gets the old context, as from a driver. */
TEST(the_interface_gives_the_last_context_after_a_fault)
{
    const uintptr_t *table = ath_table_find(&driver, interface);
    CUresult (*get_primary)(CUcontext *, CUdevice);
    CUcontext context = NULL;
    memcpy(&get_primary, &table[2], sizeof get_primary);
    ck_assert_int_eq(get_primary(&context, 5), CUDA_SUCCESS);
    retaining = CUDA_ERROR_ILLEGAL_ADDRESS;
    context = NULL;
    ck_assert_int_eq(get_primary(&context, 5), CUDA_SUCCESS);
    ck_assert_uint_eq((uintptr_t)context, 0x1005);
    ck_assert_int_eq(get_primary(&context, 6), CUDA_ERROR_ILLEGAL_ADDRESS); /* it had none */
    ck_assert_int_eq(get_primary(&context, -1), CUDA_ERROR_ILLEGAL_ADDRESS);
    retaining = CUDA_ERROR_DEVICE_UNAVAILABLE;
    ck_assert_int_eq(get_primary(&context, 5), CUDA_ERROR_DEVICE_UNAVAILABLE);
    retaining = CUDA_ERROR_NOT_INITIALIZED;
    ck_assert_int_eq(get_primary(&context, 5), CUDA_ERROR_NOT_INITIALIZED);
    retaining = CUDA_SUCCESS;
}

static const unsigned char contexts[16] = { 0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48,
                                            0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2 };

/* Without both cublasLt finds no algorithm for any product. */
TEST(the_current_context_has_a_number)
{
    static const unsigned char threads[16] = { 0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47,
                                               0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc };
    const uintptr_t *of_threads = ath_table_find(&driver, threads);
    const uintptr_t *of_contexts = ath_table_find(&driver, contexts);
    CUresult (*current)(CUcontext *);
    CUresult (*number)(CUcontext, unsigned long long *);
    CUresult (*other)(void);
    CUcontext context = NULL;
    unsigned long long id = 0;
    ck_assert(of_threads && of_contexts);
    memcpy(&current, &of_threads[2], sizeof current);
    memcpy(&number, &of_contexts[4], sizeof number);
    ck_assert_int_eq(current(&context), CUDA_SUCCESS);
    ck_assert_int_eq(number(context, &id), CUDA_SUCCESS);
    ck_assert_uint_eq(id, 0x2007);
    for (size_t i = 1; i < of_contexts[0] / sizeof *of_contexts; i++) {
        memcpy(&other, &of_contexts[i], sizeof other);
        ck_assert(i == 4 || i == 39 || i == 51 || other() == CUDA_ERROR_NOT_SUPPORTED);
    }
}

/* Without both cublas has no memory of its own for a stream: no dot product, no product in parts.
 */
TEST(a_stream_has_a_number)
{
    static const struct {
        uintptr_t handle;
        int is_per_thread;
        unsigned long long id;
    } asked[] = { { 0x3000, 0, 0x3009 }, { 0x3000, 1, 0x3009 }, { 0, 0, 9 },
                  { 1, 0, 10 },          { 2, 1, 11 },          { 0, 1, 11 } };
    const uintptr_t *table = ath_table_find(&driver, contexts);
    CUresult (*find)(CUcontext, CUstream, CUstream *, int);
    CUresult (*number)(CUcontext, CUstream, unsigned long long *);
    ck_assert_ptr_nonnull(table);
    memcpy(&find, &table[51], sizeof find);
    memcpy(&number, &table[39], sizeof number);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        CUstream stream = NULL;
        unsigned long long id = 0;
        ck_assert_int_eq(find(NULL, (CUstream)asked[i].handle, &stream, asked[i].is_per_thread),
                         CUDA_SUCCESS);
        ck_assert_int_eq(number(NULL, stream, &id), CUDA_SUCCESS);
        ck_assert_uint_eq(id, asked[i].id);
    }
}

/* cublasLt calls it without looking whether the table is there. */
TEST(clusters_are_an_error_and_no_crash)
{
    static const unsigned char clusters[16] = { 0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45,
                                                0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b, 0xca };
    const uintptr_t *table = ath_table_find(&driver, clusters);
    CUresult (*ask)(void **, void *);
    ck_assert_ptr_nonnull(table);
    ck_assert_uint_gt(table[0] / sizeof *table, 4);
    memcpy(&ask, &table[4], sizeof ask);
    ck_assert_int_eq(ask(NULL, NULL), CUDA_ERROR_NOT_SUPPORTED);
}

TEST(other_tables_do_not_exist)
{
    unsigned char unknown[16];
    memcpy(unknown, interface, sizeof unknown);
    unknown[15] ^= 1;
    ck_assert_ptr_null(ath_table_find(&driver, unknown));
}
