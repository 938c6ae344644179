/*
 * Programs at one server (or GPU) at once: 1, 2, 4 ... of them make calls for a while, each in a
 * process of its own; how many calls all of them get done, and the slowest one. As many as the
 * device's memory has room for: it is asked.
 */
#include "config.h"

#include "load.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "../tests/cuda_programs/gpu.h"

enum { CLIENTS_MAX = 64, LAUNCHES = 50 }; /* then one waits for them */

/* In memory that all processes share. */
struct shared {
    sem_t has_context, may_begin;         /* posted by each client; posted for each client */
    size_t available[CLIENTS_MAX], total; /* bytes of the device, as each client saw them */
    pthread_barrier_t turn; /* of all clients and the parent, before and after each measurement */
    atomic_bool is_over;
    int active; /* number of clients that take part */
    double calls[CLIENTS_MAX];
};

static struct shared *shared;
static int wanted_count, client_count;

/* ---- a client ---- */

static double call_until_over(CUfunction fill, CUdeviceptr memory)
{
    double calls = 0;
    do {
        for (int i = 0; i < LAUNCHES; i++)
            ok(launch(fill, 1, NULL, (void *[]){ &memory, &(float){ 1 }, &(int){ 1 } }));
        ok(cuCtxSynchronize());
        calls += LAUNCHES + 1;
    } while (!shared->is_over);
    return calls;
}

__attribute__((noreturn)) static void be_client(int number)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context, 0));
    ok(cuCtxSetCurrent(context));
    CUfunction fill = kernel("fill");
    CUdeviceptr memory = allocate(load_number("BENCH_CLIENT_BYTES", 4096));
    ok(cuMemGetInfo_v2(&shared->available[number], &shared->total));
    sem_post(&shared->has_context);
    sem_wait(&shared->may_begin);
    for (;; pthread_barrier_wait(&shared->turn)) {
        pthread_barrier_wait(&shared->turn);
        if (number < shared->active)
            shared->calls[number] = call_until_over(fill, memory);
    }
}

/* ---- all clients ---- */

static void measure_some(int count)
{
    double total = 0, least = 0;
    shared->active = count;
    shared->is_over = false;
    double begin = load_now_s();
    pthread_barrier_wait(&shared->turn);
    sleep_ms(load_is_quick() ? 20 : 400);
    shared->is_over = true;
    pthread_barrier_wait(&shared->turn);
    double ms = (load_now_s() - begin) * 1e3;
    for (int i = 0; i < count; i++) {
        total += shared->calls[i];
        least = i && least < shared->calls[i] ? least : shared->calls[i];
    }
    const char *word = count == 1 ? "client" : "clients";
    load_row(total / ms, "thousand/s", "%d %s: calls of all", count, word);
    if (count > 1)
        load_row(least / ms, "thousand/s", "%d %s: calls of the slowest", count, word);
}

static void measure(void)
{
    load_row(client_count, "programs", "programs that have room, of %d", wanted_count);
    for (int count = 1; count <= client_count; count *= 2)
        measure_some(count);
}

/* The others would wait forever for a client that has ended. */
static void lose_client(int signal_number)
{
    (void)signal_number;
    _exit(1);
}

static void add_clients(int count)
{
    for (int i = client_count; i < count; i++) {
        int child = fork();
        check(child >= 0);
        if (!child)
            be_client(i);
    }
    for (; client_count < count; client_count++)
        sem_wait(&shared->has_context);
}

/* Twice as many clients need as much memory again as is taken now. */
static bool has_room_for_twice(void)
{
    size_t least = shared->total;
    for (int i = 0; i < client_count; i++)
        least = shared->available[i] < least ? shared->available[i] : least;
    return least >= shared->total - least;
}

static void begin_clients(void)
{
    pthread_barrierattr_t attributes;
    sem_init(&shared->has_context, 1, 0);
    sem_init(&shared->may_begin, 1, 0);
    signal(SIGCHLD, lose_client);
    add_clients(1);
    while (client_count < wanted_count && has_room_for_twice())
        add_clients(2 * client_count < wanted_count ? 2 * client_count : wanted_count);
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->turn, &attributes, (unsigned int)client_count + 1);
    for (int i = 0; i < client_count; i++)
        sem_post(&shared->may_begin);
}

int main(void)
{
    size_t wanted = load_number("BENCH_CLIENTS", CLIENTS_MAX);
    wanted_count = wanted < CLIENTS_MAX ? (int)wanted : CLIENTS_MAX;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(shared != MAP_FAILED && wanted_count > 0);
    begin_clients();
    return load_serve(measure);
}
