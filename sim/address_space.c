/* Memory that the simulator maps in the program's address space. */
#include "config.h"

#include "sim/address_space.h"

#include <sys/mman.h>

/*
 * The kernel maps a program's memory at the top or the bottom of its address space. Memory that a
 * remote client must map at the same address goes between these, one piece after another.
 */
void *sim_map(size_t bytes, size_t alignment, int protection)
{
    static const uint64_t first = (uint64_t)0x30 << 40, last = (uint64_t)0x50 << 40;
    static uint64_t next = (uint64_t)0x30 << 40;
    next = (next + alignment - 1) / alignment * alignment;
    if (next > last)
        next = first;
    void *memory = mmap((void *)(uintptr_t)next, bytes, protection,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    next += bytes;
    return memory == MAP_FAILED ? NULL : memory;
}
