/* The arena: a file of memory with a list of its holes, and the window of its addresses. */
#include "config.h"

#include "sim/arena.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/address_space.h"
#include "sim/device.h"
#include "sim/range.h"

enum { GIVE_BACK_BYTES = 1 << 20 /* larger holes go back to the system */ };

static struct {
    unsigned char *window, *cells;
    int fd;
    struct hole {
        struct hole *next;
        size_t offset, bytes;
    } * holes; /* by offset; no two are adjacent */
} arena;

/* The arena has twice the memory of all devices, so that holes rarely matter. */
static bool open_arena(void)
{
    size_t bytes = 2 * (size_t)SIM_ALIGNMENT;
    for (int i = 0; i < sim_device_count(); i++)
        bytes += 2 * sim_device(i)->total_bytes;
    struct hole *hole = calloc(1, sizeof *hole);
    void *window = sim_map(bytes, SIM_PLACES, PROT_NONE);
    int fd = memfd_create("aitherion-sim-memory", MFD_CLOEXEC);
    void *cells = fd < 0 || ftruncate(fd, (off_t)bytes) ? MAP_FAILED
                                                        : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                                               MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (!hole || !window || cells == MAP_FAILED) {
        free(hole);
        if (fd >= 0)
            close(fd);
        if (window)
            munmap(window, bytes);
        if (cells != MAP_FAILED)
            munmap(cells, bytes);
        return false;
    }
    hole->bytes = sim_round_up(bytes, SIM_ALIGNMENT) - SIM_ALIGNMENT;
    arena.window = window;
    arena.cells = cells;
    arena.fd = fd;
    arena.holes = hole;
    return true;
}

/* Returns an offset, or SIZE_MAX. */
static size_t take_slot(size_t bytes)
{
    if (!arena.window && !open_arena())
        return SIZE_MAX;
    struct hole **at = &arena.holes;
    while (*at && (*at)->bytes < bytes)
        at = &(*at)->next;
    struct hole *hole = *at;
    if (!hole)
        return SIZE_MAX;
    size_t offset = hole->offset;
    hole->offset += bytes;
    hole->bytes -= bytes;
    if (!hole->bytes) {
        *at = hole->next;
        free(hole);
    }
    return offset;
}

bool sim_arena_take(size_t bytes, uint64_t *out_address, unsigned char **out_cells)
{
    size_t offset = take_slot(bytes);
    if (offset == SIZE_MAX)
        return false;
    *out_address = (uint64_t)(uintptr_t)arena.window + offset;
    *out_cells = arena.cells + offset;
    return true;
}

static void give_back_pages(size_t offset, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t from = sim_round_up(offset, page), to = (offset + bytes) / page * page;
    if (bytes >= GIVE_BACK_BYTES && to > from)
        madvise(arena.cells + from, to - from, MADV_REMOVE);
}

void sim_arena_give(const unsigned char *cells, size_t bytes)
{
    size_t offset = (size_t)(cells - arena.cells);
    struct hole *before = NULL, *after = arena.holes;
    give_back_pages(offset, bytes);
    while (after && after->offset < offset) {
        before = after;
        after = after->next;
    }
    if (before && before->offset + before->bytes == offset) {
        before->bytes += bytes;
    } else {
        struct hole *hole = calloc(1, sizeof *hole);
        if (!hole)
            return; /* the slot is lost, but its memory is freed */
        *hole = (struct hole){ after, offset, bytes };
        *(before ? &before->next : &arena.holes) = hole;
        before = hole;
    }
    if (after && before->offset + before->bytes == after->offset) {
        before->bytes += after->bytes;
        before->next = after->next;
        free(after);
    }
}

int sim_arena_place(const struct sim_range *range, size_t *out_offset)
{
    if (!arena.window && !open_arena())
        return -1;
    if (range)
        *out_offset = (size_t)(range->backing - arena.cells);
    return arena.fd;
}
