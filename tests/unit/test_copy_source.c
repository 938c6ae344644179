/* Data of a call that the GPU reads later: kept until it has, and waited for where it cannot say
 * so.
 */
#include "config.h"

#include "cuda/server/copy_source.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/server/pinned_room.h"
#include "cuda/server/server.h"

#include "unit.h"

enum { KEPT_MOST = 64 << 20 }; /* more waits for the stream */

/* ---- a driver that reads pageable memory late ---- */

static int waits;
static CUresult wait_status, launch_status;
static struct {
    CUhostFn function;
    void *data;
} launched;

static CUresult attribute(int *value, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    *value = which == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES;
    return CUDA_SUCCESS;
}

static CUresult synchronize(CUstream stream)
{
    (void)stream;
    waits++;
    return wait_status;
}

static CUresult launch(CUstream stream, CUhostFn function, void *data)
{
    (void)stream;
    if (launch_status)
        return launch_status;
    launched.function = function;
    launched.data = data;
    return CUDA_SUCCESS;
}

static const struct ath_cuda_driver driver = { .cuDeviceGetAttribute = attribute,
                                               .cuStreamSynchronize = synchronize,
                                               .cuLaunchHostFunc = launch };

static struct ath_cuda_session session;
static struct ath_cuda_served served;

static void setup(void)
{
    waits = 0;
    wait_status = launch_status = CUDA_SUCCESS;
    ath_cuda_session_init(&session, &driver);
    served = (struct ath_cuda_served){ .session = &session, .driver = &driver };
}

/* Runs the host function, as the driver does when the copy's turn has passed. */
static void pass_copy(void)
{
    launched.function(launched.data);
}

static struct ath_wire_bytes data_of(const void *data, size_t length)
{
    return (struct ath_wire_bytes){ data, (uint32_t)length };
}

static void teardown(void)
{
    ath_cuda_session_free(&session);
}

FIXTURE(setup, teardown);

TEST(data_stay_until_the_copy_has_passed)
{
    char data[] = "data";
    struct ath_copy_source source =
        ath_copy_source_take(&served, data_of(data, sizeof data), false);
    ck_assert_ptr_nonnull(source.kept);
    memset(data, 'x', sizeof data);
    ck_assert_str_eq(source.bytes, "data");
    ath_copy_source_leave(&served, &source, NULL);
    ck_assert_str_eq(source.bytes, "data");
    ck_assert_int_eq(waits, 0);
    pass_copy();
}

TEST(a_copy_that_is_waited_for_needs_no_data_of_its_own)
{
    char data[] = "data";
    struct ath_copy_source source = ath_copy_source_take(&served, data_of(data, sizeof data), true);
    ck_assert_ptr_null(source.kept);
    ck_assert_ptr_eq(source.bytes, data);
    ath_copy_source_leave(&served, &source, NULL);
    ck_assert_int_eq(waits, 0);
}

/* The stream is waited for if no function can be launched, or the call has failed. */
TEST(data_are_freed_at_once_where_nothing_tells)
{
    char data[] = "data";
    struct ath_copy_source source =
        ath_copy_source_take(&served, data_of(data, sizeof data), false);
    launch_status = CUDA_ERROR_NOT_SUPPORTED;
    ath_copy_source_leave(&served, &source, NULL);
    ck_assert_int_eq(waits, 1);
    source = ath_copy_source_take(&served, data_of(data, sizeof data), false);
    launch_status = CUDA_SUCCESS;
    launched.data = NULL;
    served.status = CUDA_ERROR_INVALID_VALUE; /* the driver has taken no copy */
    ath_copy_source_leave(&served, &source, NULL);
    ck_assert_int_eq(waits, 1);
    ck_assert_ptr_null(launched.data);
}

TEST(no_more_than_so_much_is_kept)
{
    char *data = calloc(1, KEPT_MOST);
    struct ath_copy_source most = ath_copy_source_take(&served, data_of(data, KEPT_MOST), false);
    ath_copy_source_leave(&served, &most, NULL);
    ck_assert_int_eq(waits, 0);
    void *first = launched.data;
    struct ath_copy_source more = ath_copy_source_take(&served, data_of(data, 1), false);
    ath_copy_source_leave(&served, &more, NULL);
    ck_assert_int_eq(waits, 1);
    ck_assert_ptr_eq(launched.data, first);
    pass_copy();
    more = ath_copy_source_take(&served, data_of(data, 1), false);
    ath_copy_source_leave(&served, &more, NULL);
    ck_assert_int_eq(waits, 1); /* there is room again */
    pass_copy();
    free(data);
}

/* A room that the GPU may still read is never used again. */
TEST(a_room_is_free_when_the_stream_was_waited_for)
{
    struct ath_pinned_room room;
    ck_assert(ath_pinned_room_make(&room, 4096));
    const struct ath_copy_source source = { .bytes = room.memory, .room = &room };

    ath_copy_source_leave(&served, &source, NULL);
    ck_assert(!*room.is_done);
    pass_copy();
    ck_assert(*room.is_done);
    launch_status = CUDA_ERROR_NOT_SUPPORTED;
    ath_copy_source_leave(&served, &source, NULL);
    ck_assert_int_eq(waits, 1);
    ck_assert(*room.is_done);
    wait_status = CUDA_ERROR_ILLEGAL_ADDRESS;
    ath_copy_source_leave(&served, &source, NULL);
    ck_assert(!*room.is_done);
    ck_assert_int_eq(served.status, CUDA_ERROR_ILLEGAL_ADDRESS);
    ath_pinned_room_end(&room, &driver);
}
