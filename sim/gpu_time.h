/*
 * The time of simulated GPUs that processes share: a kernel 'occupy' and fills take time, one at a
 * time on each GPU, in the order in which they asked, as on a GPU that cannot run two kernels at
 * once. Other kernels and copies take none.
 *
 *     AITHERION_SIM_GPU  a file that stands for the GPUs (none: each work has a GPU of its own). It
 *                        is made if it is not there. "fd:N": an open file.
 *
 * The file also has books: how long each process has occupied the GPUs. They are not
 * aitherion's. A work that takes less than SIM_GPU_AHEAD_NS may end early by so much, and what
 * follows waits for longer, so that works of microseconds need no timer each. A process that is
 * killed gives its GPU back at once, in every state (a robust mutex).
 *
 * Takes no lock of the driver's. Threads: all.
 */
#pragma once
#include <pthread.h>
#include <stdint.h>

#include "sim/facts.h"

enum {
    SIM_GPU_MAGIC = 0x67707531,
    SIM_GPU_BOOKS = 4096, /* rows; without a free one the last one counts */
    SIM_GPU_AHEAD_NS = 200000,
    SIM_GPU_FILL_BYTES_NS = 10, /* that fills write in a nanosecond */
};

/* One row of a process and a party. Tests read it, too (tests/tools/sim_gpu.py). */
struct sim_gpu_book {
    int32_t process;
    uint32_t party; /* as the kernels named it */
    int64_t used_ns;
    uint64_t works;
    int64_t last_ns; /* when its last work ended, by the monotonic clock */
};

struct sim_gpu_device {
    union {
        pthread_mutex_t lock; /* held while a work runs */
        char room[64];
    };
    int64_t busy_until_ns;
    int32_t book; /* of the work that runs */
    char rest[52];
};

struct sim_gpu_file {
    uint32_t magic;
    uint32_t book_count;
    char rest[56];
    struct sim_gpu_device devices[SIM_DEVICES_MAX];
    struct sim_gpu_book books[SIM_GPU_BOOKS];
};

/* Occupies a GPU. Returns when the time is over. */
void sim_gpu_occupy(int device, int64_t ns, uint32_t party);

/* The calling thread, which runs a stream's works, has no work or waits for something other than
 * the GPU. Its next work does not begin before now. Works without a call between follow each other
 * immediately on the GPU, however late this thread wakes up. */
void sim_gpu_waits(void);

/* The same for a fill, in the name of the party that this process named last. */
void sim_gpu_fill(int device, uint64_t bytes);
