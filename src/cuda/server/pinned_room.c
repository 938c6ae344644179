/* Makes, registers and ends pinned rooms, and marks when the GPU has finished with one. */
#include "config.h"

#include "cuda/server/pinned_room.h"

#include <sys/mman.h>

#include "base/host_budget.h"

enum { FLAG_BYTES = 64 }; /* behind the data, in a line of their own */

static size_t whole_bytes(const struct ath_pinned_room *room)
{
    return room->capacity + FLAG_BYTES;
}

bool ath_pinned_room_make(struct ath_pinned_room *room, size_t capacity)
{
    *room = (struct ath_pinned_room){ .capacity = capacity };
    if (!ath_host_take(ATH_HOST_BYTES, whole_bytes(room)))
        return false;
    void *memory =
        mmap(NULL, whole_bytes(room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        ath_host_give(ATH_HOST_BYTES, whole_bytes(room));
        return false;
    }
    room->memory = memory;
    room->is_done = (_Atomic uint32_t *)(void *)(room->memory + capacity);
    *room->is_done = true;
    return true;
}

void ath_pinned_room_register(struct ath_pinned_room *room, const struct ath_cuda_driver *driver,
                              uint64_t epoch)
{
    if (!driver->cuMemHostRegister_v2 || (room->is_registered && room->epoch == epoch))
        return;
    CUresult status =
        driver->cuMemHostRegister_v2(room->memory, whole_bytes(room), CU_MEMHOSTREGISTER_PORTABLE);
    room->epoch = epoch;
    room->is_registered = !status || status == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (!room->is_registered || !driver->cuStreamWriteValue32_v2 ||
        !driver->cuMemHostGetDevicePointer_v2 ||
        driver->cuMemHostGetDevicePointer_v2(&room->flag, (void *)room->is_done, 0))
        room->flag = 0;
}

static void note_done(void *is_done)
{
    *(_Atomic uint32_t *)is_done = true;
}

bool ath_pinned_room_mark(struct ath_pinned_room *room, const struct ath_cuda_driver *driver,
                          CUstream stream)
{
    *room->is_done = false;
    if ((room->flag && !driver->cuStreamWriteValue32_v2(stream, room->flag, true, 0)) ||
        (driver->cuLaunchHostFunc &&
         !driver->cuLaunchHostFunc(stream, note_done, (void *)room->is_done)))
        return true;
    *room->is_done = true;
    return false;
}

void ath_pinned_room_end(struct ath_pinned_room *room, const struct ath_cuda_driver *driver)
{
    if (room->is_registered && driver->cuMemHostUnregister)
        driver->cuMemHostUnregister(room->memory);
    munmap(room->memory, whole_bytes(room));
    ath_host_give(ATH_HOST_BYTES, whole_bytes(room));
}
