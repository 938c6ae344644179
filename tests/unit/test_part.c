/* Parts of a device's multiprocessors: how many groups a percentage is, and who has which. */
#include "config.h"

#include "runtime/part/part.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/part/order.h"
#include "runtime/part_table.h"
#include "unit.h"

TEST(a_percentage_is_rounded_down_to_groups)
{
    static const struct {
        int percent;
        unsigned int groups, wanted;
    } cases[] = {
        { 25, 16, 4 }, { 50, 16, 8 }, { 1, 16, 1 },    { 97, 16, 15 },  { 99, 16, 15 },
        { 6, 16, 1 },  { 12, 16, 1 }, { 13, 16, 2 },   { 100, 16, 16 }, { 25, 8, 2 },
        { 12, 8, 1 },  { 13, 8, 1 },  { 50, 27, 13 },  { 100, 27, 27 }, { 3, 27, 1 },
        { 33, 23, 7 }, { 50, 0, 0 },  { 100, 64, 64 }, { 10, 1, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(ath_part_groups(cases[i].percent, cases[i].groups) == cases[i].wanted,
                      "case %zu", i);
}

TEST(percentages_that_add_up_to_100_fit)
{
    for (unsigned int groups = 4; groups <= 64; groups++) {
        ck_assert_uint_le(4 * ath_part_groups(25, groups), groups);
        ck_assert_uint_le(3 * ath_part_groups(33, groups), groups);
        ck_assert_uint_le(2 * ath_part_groups(50, groups), groups);
        ck_assert_uint_le(ath_part_groups(30, groups) + ath_part_groups(70, groups), groups);
    }
}

static CUresult create(CUgreenCtx *context, CUdevResourceDesc descriptor, CUdevice device,
                       unsigned int flags)
{
    (void)context;
    (void)descriptor;
    (void)device;
    (void)flags;
    return CUDA_ERROR_NOT_SUPPORTED;
}

TEST(a_driver_without_green_contexts_is_named_by_what_it_lacks)
{
    struct ath_cuda_driver driver = { 0 };
    ck_assert_str_eq(ath_part_lacks(&driver), "cuGreenCtxCreate");
    driver.cuGreenCtxCreate = create;
    ck_assert_str_eq(ath_part_lacks(&driver), "cuGreenCtxDestroy");
}

static struct ath_session_board *make_board(void)
{
    struct ath_session_board *board = ath_session_board_make();
    ck_assert_ptr_nonnull(board);
    for (size_t i = 0; i < 3; i++)
        ath_session_board_add(board, i, 10 + i, "test");
    return board;
}

TEST(sessions_have_different_groups)
{
    struct ath_session_board *board = make_board();
    ck_assert_uint_eq(ath_part_table_take(board, 0, 1, 15, 4), 0xf);
    ck_assert_uint_eq(ath_part_table_take(board, 1, 1, 15, 8), 0xff0);
    ck_assert_uint_eq(ath_part_table_take(board, 2, 1, 15, 4), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 2, 1, 15, 3), 0x7000);
    ck_assert_uint_eq(ath_part_table_take(board, 2, 0, 15, 15), 0x7fff); /* another device */
    ck_assert_uint_eq(ath_part_table_take(board, 0, 1, 15, 0), 0);       /* gives its part back */
    ck_assert_uint_eq(ath_part_table_take(board, 2, 1, 15, 7), 0x700f);  /* in place of its own */
    ath_session_board_remove(board, 1);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 1, 15, 8), 0xff0);
    ath_session_board_add(board, 1, 20, "another");
    ck_assert_uint_eq(ath_part_table_take(board, 1, 1, 15, 1), 0);
    ath_session_board_free(board);
}

TEST(numbers_that_make_no_sense_get_nothing)
{
    struct ath_session_board *board = make_board();
    ck_assert_uint_eq(ath_part_table_take(board, 0, ATH_DEVICES_MAX, 15, 4), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 65, 4), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 15, 16), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 15, -1), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 0, 0), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 64, 64), UINT64_MAX);
    ath_session_board_free(board);
}

/* A session's process that was taken over asks for what it likes. */
TEST(the_row_of_an_identity_bounds_a_session)
{
    struct ath_session_board *board = make_board();
    atomic_store(&board->known[0].identity_part, 25);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 16, 5), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 16, 4), 0xf);
    atomic_store(&board->known[0].identity_part, 1);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 16, 2), 0);
    ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 16, 1), 1);
    for (int percent = 1; percent <= 100; percent++) { /* what a session asks for by its row */
        atomic_store(&board->known[0].identity_part, percent);
        unsigned int wanted = ath_part_groups(percent, 16);
        ck_assert_msg(ath_part_table_take(board, 0, 0, 16, wanted), "%d percent", percent);
        ck_assert_uint_eq(ath_part_table_take(board, 0, 0, 16, wanted + 1), 0);
    }
    ath_session_board_free(board);
}

/* ---- the order of the null stream and others, at a driver that tells its calls ---- */

#define STREAM ((CUstream)(uintptr_t)0x20)
#define CAPTURED ((CUstream)(uintptr_t)0x30)

static char told[512];
static uintptr_t events;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    size_t length = strlen(told);
    va_list args;
    va_start(args, format);
    vsnprintf(told + length, sizeof told - length, format, args);
    va_end(args);
}

static CUresult push(CUcontext context)
{
    tell("in %zx, ", (size_t)(uintptr_t)context);
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
    *context = NULL;
    tell("out, ");
    return CUDA_SUCCESS;
}

static CUresult create_event(CUevent *event, unsigned int flags)
{
    *event = (CUevent)++events;
    return flags == CU_EVENT_DISABLE_TIMING ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult record(CUevent event, CUstream stream)
{
    tell("event %zu behind %zx, ", (size_t)(uintptr_t)event, (size_t)(uintptr_t)stream);
    return CUDA_SUCCESS;
}

static CUresult await(CUstream stream, CUevent event, unsigned int flags)
{
    tell("%zx waits for %zu, ", (size_t)(uintptr_t)stream, (size_t)(uintptr_t)event);
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult destroy_event(CUevent event)
{
    tell("event %zu ends, ", (size_t)(uintptr_t)event);
    return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = stream == CAPTURED ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

/* Compares the driver's calls since the last time. */
static void expect_told(const char *expected)
{
    ck_assert_str_eq(told, expected);
    *told = '\0';
}

/* A session of two devices. Returns the part of the second one. */
static struct ath_part *begin_order(void)
{
    ath_parts = (struct ath_parts){ .setup.device_count = 2,
                                    .raw = { .cuCtxPushCurrent_v2 = push,
                                             .cuCtxPopCurrent_v2 = pop,
                                             .cuEventCreate = create_event,
                                             .cuEventDestroy_v2 = destroy_event,
                                             .cuEventRecord = record,
                                             .cuStreamWaitEvent = await,
                                             .cuStreamIsCapturing = is_capturing } };
    for (size_t i = 0; i < 2; i++) {
        pthread_mutex_init(&ath_parts.items[i].lock, NULL);
        ath_parts.items[i].context = (CUcontext)(uintptr_t)(0xa + i);
    }
    events = 0;
    *told = '\0';
    ck_assert(ath_part_order_add(&ath_parts.items[1], STREAM));
    ck_assert(ath_part_order_add(&ath_parts.items[1], CAPTURED));
    return &ath_parts.items[1];
}

TEST(the_null_stream_and_others_wait_for_each_other_once)
{
    struct ath_part *part = begin_order();
    ck_assert_int_eq(ath_part_order_enter_null(part, true), CUDA_SUCCESS);
    expect_told(""); /* no stream has work yet */
    ck_assert_int_eq(ath_part_order_enter(STREAM), CUDA_SUCCESS);
    expect_told("in b, event 1 behind 0, 20 waits for 1, out, ");
    ck_assert_int_eq(ath_part_order_enter(STREAM), CUDA_SUCCESS);
    expect_told("");
    ck_assert_int_eq(ath_part_order_enter_null(part, false), CUDA_SUCCESS);
    expect_told("event 2 behind 20, 0 waits for 2, ");
    ck_assert_int_eq(ath_part_order_enter_null(part, true), CUDA_SUCCESS);
    expect_told("");
    ck_assert_int_eq(ath_part_order_enter(STREAM), CUDA_SUCCESS);
    expect_told("in b, event 1 behind 0, 20 waits for 1, out, ");
    ath_part_order_drop(part, STREAM);
    expect_told("event 2 ends, ");
    ck_assert_int_eq(ath_part_order_enter_null(part, true), CUDA_SUCCESS);
    ck_assert_int_eq(ath_part_order_enter(STREAM), CUDA_SUCCESS);
    expect_told("");
    ath_part_order_clear(part);
}

TEST(a_stream_that_captures_is_not_in_the_order)
{
    struct ath_part *part = begin_order();
    ck_assert_int_eq(ath_part_order_enter_null(part, true), CUDA_SUCCESS);
    ck_assert_int_eq(ath_part_order_enter(CAPTURED), CUDA_SUCCESS);
    ck_assert_int_eq(ath_part_order_enter_null(part, true), CUDA_SUCCESS);
    expect_told("");
    ath_part_order_clear(part);
    ck_assert_ptr_null(part->streams);
    ck_assert_uint_eq(part->null_work, 0);
}
