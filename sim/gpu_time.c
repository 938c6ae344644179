/* The file of the GPUs is mapped at the first work. */
#include "config.h"

#include "sim/gpu_time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sim/work.h"

_Static_assert(sizeof(pthread_mutex_t) <= 64, "the lock has room in the file");
_Static_assert(sizeof(struct sim_gpu_device) == 128, "tests read the file");
_Static_assert(sizeof(struct sim_gpu_book) == 32, "tests read the file");

static struct sim_gpu_file *gpus; /* NULL: every work has a GPU of its own */
static _Atomic uint32_t last_party;
static _Thread_local int64_t ready_ns; /* when this thread's next work could begin; 0: now */

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "aitherion: AITHERION_SIM_GPU: %s: %s\n", what, strerror(errno));
    abort();
}

/* ---- the file ---- */

static int open_file(const char *setting)
{
    if (!strncmp(setting, "fd:", 3))
        return (int)strtol(setting + 3, NULL, 10);
    return open(setting, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

/* The kernel gives a mutex with priority inheritance to its waiters in their order. */
static void make_locks(struct sim_gpu_file *file)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    for (int i = 0; i < SIM_DEVICES_MAX; i++)
        pthread_mutex_init(&file->devices[i].lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    file->magic = SIM_GPU_MAGIC;
}

static void map_file(void)
{
    const char *setting = getenv("AITHERION_SIM_GPU");
    if (!setting || !*setting)
        return;
    int fd = open_file(setting);
    if (fd < 0 || flock(fd, LOCK_EX) || ftruncate(fd, sizeof *gpus))
        give_up(setting);
    void *memory = mmap(NULL, sizeof *gpus, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        give_up(setting);
    gpus = memory;
    if (gpus->magic != SIM_GPU_MAGIC)
        make_locks(gpus);
    flock(fd, LOCK_UN);
    close(fd);
}

/* ---- books ---- */

static int32_t find_book(uint32_t party)
{
    int32_t process = getpid();
    uint32_t count = __atomic_load_n(&gpus->book_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < SIM_GPU_BOOKS; i++)
        if (gpus->books[i].process == process && gpus->books[i].party == party)
            return (int32_t)i;
    uint32_t mine = __atomic_fetch_add(&gpus->book_count, 1, __ATOMIC_ACQ_REL);
    if (mine >= SIM_GPU_BOOKS)
        return SIM_GPU_BOOKS - 1;
    gpus->books[mine].party = party;
    gpus->books[mine].process = process;
    return (int32_t)mine;
}

static void charge(int32_t book, int64_t ns)
{
    __atomic_add_fetch(&gpus->books[book].used_ns, ns, __ATOMIC_RELAXED);
}

/* ---- the GPU ---- */

/* The work of a killed process has ended with it, and is not charged further. */
static void take(struct sim_gpu_device *device)
{
    if (pthread_mutex_lock(&device->lock) != EOWNERDEAD)
        return;
    int64_t rest_ns = device->busy_until_ns - sim_now_ns();
    if (rest_ns > 0) {
        charge(device->book, -rest_ns);
        device->busy_until_ns -= rest_ns;
    }
    pthread_mutex_consistent(&device->lock);
}

static void sleep_until(int64_t ns)
{
    const struct timespec end = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
}

static void occupy(int number, int64_t ns, uint32_t party)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, map_file);
    int64_t asked_ns = ready_ns ? ready_ns : sim_now_ns();
    if (!gpus) {
        sleep_until(asked_ns + ns);
        return;
    }
    struct sim_gpu_device *device = &gpus->devices[number];
    int32_t book = find_book(party);
    take(device);
    int64_t begin_ns = asked_ns > device->busy_until_ns ? asked_ns : device->busy_until_ns;
    int64_t end_ns = begin_ns + ns;
    device->book = book;
    device->busy_until_ns = end_ns;
    charge(book, ns);
    __atomic_add_fetch(&gpus->books[book].works, 1, __ATOMIC_RELAXED);
    gpus->books[book].last_ns = end_ns;
    if (end_ns - sim_now_ns() > SIM_GPU_AHEAD_NS)
        sleep_until(end_ns);
    pthread_mutex_unlock(&device->lock);
    ready_ns = end_ns;
}

void sim_gpu_waits(void)
{
    ready_ns = 0;
}

void sim_gpu_occupy(int device, int64_t ns, uint32_t party)
{
    last_party = party;
    occupy(device, ns, party);
}

void sim_gpu_fill(int device, uint64_t bytes)
{
    int64_t ns = (int64_t)(bytes / SIM_GPU_FILL_BYTES_NS);
    if (ns && getenv("AITHERION_SIM_GPU"))
        occupy(device, ns, last_party);
}
