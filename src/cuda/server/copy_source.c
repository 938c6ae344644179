/* Keeps the source of a copy until the driver has read it. */
#include "config.h"

#include "cuda/server/copy_source.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/server/call_rooms.h"

/*
 * Most drivers stage pageable memory, so its data are copied when the function returns. A driver
 * whose GPU walks the host's page tables may read later, when the copy's turn comes ("might be
 * synchronous with respect to host": docs.nvidia.com/cuda/cuda-driver-api, "API synchronization
 * behavior"). All devices of a host are alike in this.
 */
static bool reads_late(const struct ath_cuda_driver *driver)
{
    enum { UNKNOWN, NO, YES };
    static atomic_int known; /* a process has one driver */
    int value = 0;
    if (known == UNKNOWN) {
        if (driver->cuDeviceGetAttribute)
            driver->cuDeviceGetAttribute(
                &value, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0);
        known = value ? YES : NO;
    }
    return known == YES;
}

/* Data of a call that a copy may still read, kept until its turn has passed. */
struct ath_copy_kept {
    size_t length;
    uint8_t bytes[];
};

static atomic_size_t kept_bytes;

static void kept_free(void *memory)
{
    struct ath_copy_kept *kept = memory;
    kept_bytes -= kept->length;
    free(kept);
}

static struct ath_copy_kept *copy_kept(struct ath_wire_bytes data)
{
    struct ath_copy_kept *kept = malloc(sizeof *kept + data.length);
    if (!kept)
        return NULL;
    kept->length = data.length;
    memcpy(kept->bytes, data.data, data.length);
    kept_bytes += data.length;
    return kept;
}

struct ath_copy_source ath_copy_source_take(struct ath_cuda_served *served,
                                            struct ath_wire_bytes data, bool is_waited)
{
    struct ath_pinned_room *room = ath_call_room_of(data.data);
    bool is_pinned = room && ath_call_room_pin(room, served);
    if (room)
        data.data = ath_call_room_data(room, data.data);
    struct ath_copy_source source = { .bytes = data.data };
    if (is_waited)
        return source;
    if (is_pinned) {
        source.room = room;
    } else if (reads_late(served->driver)) {
        source.kept = copy_kept(data);
        source.bytes = source.kept ? source.kept->bytes : NULL;
        if (!source.kept)
            served->status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return source;
}

static void wait_for(struct ath_cuda_served *served, CUstream stream)
{
    if (!served->status && served->driver->cuStreamSynchronize)
        served->status = served->driver->cuStreamSynchronize(stream);
}

static void leave_room(struct ath_cuda_served *served, struct ath_pinned_room *room,
                       CUstream stream)
{
    if (served->status || ath_pinned_room_mark(room, served->session->ungated, stream))
        return;
    wait_for(served, stream);
    *room->is_done = !served->status;
}

void ath_copy_source_leave(struct ath_cuda_served *served, const struct ath_copy_source *source,
                           CUstream stream)
{
    enum { MOST = 64 * 1024 * 1024 };
    const struct ath_cuda_driver *driver = served->session->ungated;
    struct ath_copy_kept *kept = source->kept;
    if (source->room)
        leave_room(served, source->room, stream);
    if (!kept || (!served->status && kept_bytes <= MOST && driver->cuLaunchHostFunc &&
                  !driver->cuLaunchHostFunc(stream, kept_free, kept)))
        return;
    wait_for(served, stream);
    kept_free(kept);
}
