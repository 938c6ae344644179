/* Pinned rooms: a kernel of the client can write them, and their memory counts. */
#include "config.h"

#include "cuda/server/call_rooms.h"

#include <stdlib.h>
#include <string.h>

#include "base/host_budget.h"
#include "cuda/server/copy_source.h"
#include "proto/cuda-wire.h"
#include "unit.h"

enum { DATA = 2500 * 1000, MESSAGE_MAX = 4 << 20, OTHER = 0xee };

/* ---- a driver that notes what the GPU may write ---- */

static uint8_t *pinned;
static size_t pinned_bytes;

static CUresult pin(void *memory, size_t bytes, unsigned int flags)
{
    (void)flags;
    pinned = memory;
    pinned_bytes = bytes;
    return CUDA_SUCCESS;
}

static const struct ath_cuda_driver driver = { .cuMemHostRegister_v2 = pin };
static struct ath_cuda_session session;
static struct ath_cuda_served served = { .session = &session, .driver = &driver };
static struct ath_wire_builder builder = { .max_bytes = MESSAGE_MAX };
static uint8_t data[DATA];

static void setup(void)
{
    session.ungated = &driver;
    for (size_t i = 0; i < DATA; i++)
        data[i] = (uint8_t)(i * 7);
}

static void teardown(void)
{
    ath_wire_builder_free(&builder);
}

FIXTURE(setup, teardown);

/* Pins the first room: a room is not pinned at its first use. */
static void pin_room(void)
{
    for (int i = 0; i < 2; i++) {
        struct ath_pinned_room *room = ath_call_room_take(DATA);
        ck_assert_ptr_nonnull(room);
        ck_assert_int_eq(ath_call_room_pin(room, &served), i);
        ath_call_room_put(room);
    }
}

/* Receives the message that was built, as a server does. */
static struct ath_frame receive(void)
{
    struct ath_frame frame = { 0 };
    size_t length;
    int status;
    const uint8_t *bytes = ath_wire_finish(&builder, &length, &status);
    ck_assert_ptr_nonnull(bytes);
    ath_call_room_lay(&frame, length);
    ck_assert_uint_ge(frame.capacity, length);
    memcpy(frame.bytes, bytes, length);
    frame.length = length;
    ath_call_room_shield(&frame);
    return frame;
}

static bool gpu_reaches(const void *address)
{
    return (uintptr_t)address - (uintptr_t)pinned < pinned_bytes;
}

static struct ath_cuda_wire_call open_call(const struct ath_frame *frame)
{
    struct ath_cuda_wire_call call;
    ck_assert_int_eq(
        ath_cuda_wire_call_open(ath_frame_message(frame), ath_frame_message_length(frame), &call),
        0);
    return call;
}

static void build_copy(void)
{
    ath_cuda_wire_memcpy_hto_d_async_v2_set_source(
        ath_cuda_wire_call_init_memcpy_hto_d_async_v2(ath_cuda_wire_call_start(&builder)),
        (struct ath_wire_bytes){ data, DATA });
}

static void build_other(void)
{
    ath_cuda_wire_device_set_graph_mem_attribute_set_value(
        ath_cuda_wire_call_init_device_set_graph_mem_attribute(ath_cuda_wire_call_start(&builder)),
        (struct ath_wire_bytes){ data, DATA });
}

/* ---- messages ---- */

TEST(a_kernel_cannot_change_the_message_of_a_copy)
{
    pin_room();
    build_copy();
    struct ath_frame frame = receive();
    ck_assert(!gpu_reaches(frame.bytes));
    memset(pinned, OTHER, 64); /* as a kernel could */
    struct ath_wire_bytes source = ath_cuda_wire_memcpy_hto_d_async_v2_source(
        ath_cuda_wire_call_memcpy_hto_d_async_v2(open_call(&frame)));
    ck_assert_uint_eq(source.length, DATA);
    const struct ath_copy_source taken = ath_copy_source_take(&served, source, false);
    ck_assert_ptr_nonnull(taken.room); /* the data stay where the GPU reads them */
    ck_assert(gpu_reaches(taken.bytes));
    ck_assert_mem_eq(taken.bytes, data, DATA);
    ath_call_room_free_frame(&frame);
    ck_assert_ptr_null(frame.bytes);
}

TEST(a_kernel_cannot_change_another_message_at_all)
{
    pin_room();
    for (int i = 0; i < 3; i++) {
        build_other();
        struct ath_frame frame = receive();
        memset(pinned, OTHER, DATA);
        const struct ath_wire_bytes value = ath_cuda_wire_device_set_graph_mem_attribute_value(
            ath_cuda_wire_call_device_set_graph_mem_attribute(open_call(&frame)));
        ck_assert_uint_eq(value.length, DATA);
        ck_assert(!gpu_reaches(value.data));
        ck_assert_mem_eq(value.data, data, DATA);
        ath_call_room_free_frame(&frame);
    }
}

/* A message that is copied as a whole leaves the shield empty. */
TEST(a_message_is_not_followed_by_the_last_one)
{
    static const uint8_t zeros[DATA - 8192];
    pin_room();
    build_other();
    struct ath_frame frame = receive();
    ath_call_room_free_frame(&frame);
    build_copy();
    frame = receive();
    ck_assert_mem_eq(frame.bytes + 8192, zeros, sizeof zeros);
    ath_call_room_free_frame(&frame);
}

TEST(a_room_that_is_not_pinned_needs_no_shield)
{
    build_copy();
    struct ath_frame frame = receive();
    const struct ath_wire_bytes source = ath_cuda_wire_memcpy_hto_d_async_v2_source(
        ath_cuda_wire_call_memcpy_hto_d_async_v2(open_call(&frame)));
    ck_assert_ptr_eq(ath_copy_source_take(&served, source, true).bytes, source.data);
    ck_assert_mem_eq(source.data, data, DATA);
    ath_call_room_free_frame(&frame);
}

/* ---- the host's memory ---- */

static int64_t taken, most;

static bool take(void *context, enum ath_host_kind kind, int64_t amount)
{
    (void)context;
    ck_assert_int_eq(kind, ATH_HOST_BYTES);
    const bool fits = amount <= most - taken;
    taken += fits ? amount : 0;
    return fits;
}

static void give(void *context, enum ath_host_kind kind, int64_t amount)
{
    (void)context;
    (void)kind;
    taken -= amount;
}

TEST(rooms_count_for_the_memory_of_the_session)
{
    static const struct ath_host_budget budget = { .take = take, .give = give };
    struct ath_pinned_room *room, own;
    ath_host_budget_set(&budget);
    most = 0;
    ck_assert_ptr_null(ath_call_room_take(DATA));
    most = INT64_C(16) << 20;
    room = ath_call_room_take(DATA);
    ck_assert_ptr_nonnull(room);
    const int64_t one = taken;
    ck_assert_int_ge(one, (int64_t)room->capacity);
    ck_assert(ath_pinned_room_make(&own, 4096));
    ck_assert_int_gt(taken, one);
    ath_pinned_room_end(&own, &driver);
    ck_assert_int_eq(taken, one);
    ath_call_room_put(room);
}

/* ---- several at a time ---- */

TEST(several_calls_have_rooms_of_their_own)
{
    enum { FEW = 4, MANY = 64 };
    struct ath_pinned_room *rooms[MANY];
    size_t count = 0;
    while (count < MANY && (rooms[count] = ath_call_room_take(DATA)))
        count++;
    ck_assert_uint_ge(count, FEW);
    ck_assert_uint_lt(count, MANY); /* later calls get memory that is not pinned */
    for (size_t i = 0; i < count; i++)
        memset(rooms[i]->memory, (int)i + 1, DATA);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(rooms[i]->memory[0], (int)i + 1);
        ck_assert_int_eq(rooms[i]->memory[DATA - 1], (int)i + 1);
    }
    for (size_t i = count; i-- > 0;) { /* each can be taken again, one at a time */
        ath_call_room_put(rooms[i]);
        ck_assert_ptr_eq(ath_call_room_take(DATA), rooms[i]);
        ck_assert_ptr_null(ath_call_room_take(DATA));
    }
    for (size_t i = 0; i < count; i++)
        ath_call_room_put(rooms[i]);
    ck_assert_ptr_null(ath_call_room_take(1)); /* too small for one */
    ath_call_room_put(NULL);
}
