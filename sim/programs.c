/*
 * The kernels that the simulated device knows, as CPU code.
 *
 *     vector_add(const float *a, const float *b, float *c, int n)       c = a + b
 *     saxpy(int n, float a, const float *x, float *y)                   y += a * x
 *     fill(float *p, float v, int n)                                    p = v
 *     gather(const float *const *from, float *to, int n)                to[i] = *from[i]
 *     scatter(float *const *to, float v, int n)                         *to[i] = v
 *     fill_view(struct view)                                            p[first + i] = v, see below
 *     put_address(void **where, void *address)                          *where = address
 *     matmul(const float *a, const float *b, float *c, int n)           c = a b, n x n
 *     reduce_sum(const float *x, float *out, int n)                     *out = sum of x
 *     await_value(volatile int *flag, int value, volatile int *answer)  waits until *flag is value,
 *                                                                       then *answer = value
 *     say(int value)                                                    each thread prints value
 *     set_conditional(unsigned long long handle, unsigned int value)    of a conditional node
 *     echo(struct echoed *to, char, short, int, long long, int4, struct three, struct five)
 *                                                                       *to = all others
 *     occupy(unsigned int us, unsigned int loops, unsigned int party)   takes us of the GPU's time,
 *                                                                       longer on a part of it
 *     tell_processors(unsigned int *out)                                out[i] = 1 for each
 *                                                                       multiprocessor that has a
 *                                                                       block
 *
 * Each kernel has one thread for each element: threads beyond n do nothing, elements beyond the
 * threads do not change. reduce_sum, await_value, occupy and tell_processors do the same with any
 * number of threads.
 */
#include "config.h"

#include "sim/programs.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sim/condition.h"
#include "sim/facts.h"
#include "sim/gpu_time.h"
#include "sim/occupancy.h"
#include "sim/range.h"

/* An array of floats in device memory. `faulted`: an access was outside known memory. */
struct floats {
    uint64_t address;
    bool is_output;
    bool *faulted;
    uint64_t piece; /* the piece of the last access */
    size_t piece_bytes;
    unsigned char *cells;
};

static float *element(struct floats *floats, size_t index)
{
    static _Thread_local float nowhere;
    uint64_t at = floats->address + index * sizeof(float);
    if (at < floats->piece || at - floats->piece + sizeof(float) > floats->piece_bytes) {
        floats->cells =
            at % sizeof(float) ? NULL : sim_reach(at, floats->is_output, &floats->piece_bytes);
        floats->piece = at;
        if (!floats->cells || floats->piece_bytes < sizeof(float)) {
            floats->piece_bytes = 0;
            *floats->faulted = true;
            return &nowhere;
        }
    }
    return (float *)(void *)(floats->cells + (at - floats->piece));
}

static struct floats input(uint64_t address, bool *faulted)
{
    return (struct floats){ .address = address, .faulted = faulted };
}

static struct floats output(uint64_t address, bool *faulted)
{
    return (struct floats){ .address = address, .is_output = true, .faulted = faulted };
}

/* min(n, threads of a dimension) */
static size_t extent(const struct sim_geometry *geometry, int dimension, int n)
{
    size_t threads = (size_t)geometry->grid[dimension] * geometry->block[dimension];
    return n <= 0 ? 0 : (size_t)n < threads ? (size_t)n : threads;
}

static CUresult result(bool faulted)
{
    return faulted ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

struct vector_add_params {
    uint64_t a, b, c;
    int n;
};

static CUresult vector_add(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct vector_add_params p;
    bool faulted = false;
    memcpy(&p, params, sizeof p);
    struct floats a = input(p.a, &faulted), b = input(p.b, &faulted), c = output(p.c, &faulted);
    for (size_t i = 0; i < extent(geometry, 0, p.n) && !faulted; i++)
        *element(&c, i) = *element(&a, i) + *element(&b, i);
    return result(faulted);
}

struct saxpy_params {
    int n;
    float a;
    uint64_t x, y;
};

static CUresult saxpy(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct saxpy_params p;
    bool faulted = false;
    memcpy(&p, params, sizeof p);
    struct floats x = input(p.x, &faulted), y = output(p.y, &faulted);
    for (size_t i = 0; i < extent(geometry, 0, p.n) && !faulted; i++)
        *element(&y, i) += p.a * *element(&x, i);
    return result(faulted);
}

struct fill_params {
    uint64_t p;
    float v;
    int n;
};

static CUresult fill(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct fill_params p;
    bool faulted = false;
    memcpy(&p, params, sizeof p);
    struct floats to = output(p.p, &faulted);
    for (size_t i = 0; i < extent(geometry, 0, p.n) && !faulted; i++)
        *element(&to, i) = p.v;
    return result(faulted);
}

struct reduce_sum_params {
    uint64_t x, out;
    int n;
};

static CUresult reduce_sum(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct reduce_sum_params p;
    bool faulted = false;
    double sum = 0;
    (void)geometry;
    memcpy(&p, params, sizeof p);
    struct floats x = input(p.x, &faulted), out = output(p.out, &faulted);
    for (size_t i = 0; p.n > 0 && i < (size_t)p.n && !faulted; i++)
        sum += (double)*element(&x, i);
    if (!faulted)
        *element(&out, 0) = (float)sum;
    return result(faulted);
}

static CUresult matmul(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct vector_add_params p;
    bool faulted = false;
    memcpy(&p, params, sizeof p);
    struct floats a = input(p.a, &faulted), b = input(p.b, &faulted), c = output(p.c, &faulted);
    size_t n = p.n > 0 ? (size_t)p.n : 0;
    for (size_t row = 0; row < extent(geometry, 1, p.n); row++)
        for (size_t column = 0; column < extent(geometry, 0, p.n) && !faulted; column++) {
            float sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += *element(&a, row * n + k) * *element(&b, k * n + column);
            if (!faulted)
                *element(&c, row * n + column) = sum;
        }
    return result(faulted);
}

/* A pointer that is stored in memory. */
static bool load_pointer(uint64_t at, uint64_t *out)
{
    size_t bytes = 0;
    const unsigned char *pointer = at % sizeof *out ? NULL : sim_reach(at, false, &bytes);
    if (!pointer || bytes < sizeof *out)
        return false;
    memcpy(out, pointer, sizeof *out);
    return true;
}

struct gather_params {
    uint64_t from, to;
    int n;
};

static CUresult gather(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct gather_params p;
    bool faulted = false;
    memcpy(&p, params, sizeof p);
    struct floats to = output(p.to, &faulted);
    for (size_t i = 0; i < extent(geometry, 0, p.n) && !faulted; i++) {
        uint64_t address;
        if (!load_pointer(p.from + i * sizeof address, &address))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        struct floats from = input(address, &faulted);
        *element(&to, i) = *element(&from, 0);
    }
    return result(faulted);
}

struct scatter_params {
    uint64_t to;
    float v;
    int n;
};

static CUresult scatter(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct scatter_params p;
    bool faulted = false;
    memcpy(&p, params, sizeof p);
    for (size_t i = 0; i < extent(geometry, 0, p.n) && !faulted; i++) {
        uint64_t address;
        if (!load_pointer(p.to + i * sizeof address, &address))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        struct floats to = output(address, &faulted);
        *element(&to, 0) = p.v;
    }
    return result(faulted);
}

/* One parameter with a pointer in it. */
struct view {
    int first, n;
    uint64_t p;
    float v;
};

struct fill_view_params {
    struct view view;
};

static CUresult fill_view(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct view view;
    bool faulted = false;
    memcpy(&view, params, sizeof view);
    struct floats to = output(view.p + (uint64_t)(int64_t)view.first * sizeof(float), &faulted);
    for (size_t i = 0; i < extent(geometry, 0, view.n) && !faulted; i++)
        *element(&to, i) = view.v;
    return result(faulted);
}

struct put_address_params {
    uint64_t where, address;
};

static CUresult put_address(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct put_address_params p;
    size_t bytes = 0;
    (void)geometry;
    memcpy(&p, params, sizeof p);
    unsigned char *where = p.where % sizeof p.address ? NULL : sim_reach(p.where, true, &bytes);
    if (!where || bytes < sizeof p.address)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    memcpy(where, &p.address, sizeof p.address);
    return CUDA_SUCCESS;
}

struct await_value_params {
    uint64_t flag;
    int value;
    uint64_t answer;
};

static int *reach_int(uint64_t address, bool is_write)
{
    size_t bytes = 0;
    unsigned char *at = address % sizeof(int) ? NULL : sim_reach(address, is_write, &bytes);
    return bytes < sizeof(int) ? NULL : (int *)(void *)at;
}

/* The flag may be freed meanwhile, so its address is looked up each time. */
static CUresult await_value(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct await_value_params p;
    const int *flag;
    (void)geometry;
    memcpy(&p, params, sizeof p);
    while ((flag = reach_int(p.flag, false)) && __atomic_load_n(flag, __ATOMIC_ACQUIRE) != p.value)
        nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
    int *answer = reach_int(p.answer, true);
    if (!flag || !answer)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    __atomic_store_n(answer, p.value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

struct say_params {
    int value;
};

/* Prints a line for each thread to standard output, as the real driver does; a negative value to
 * standard error, as the real driver does with the text of a failed assert(). */
static CUresult say(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct say_params p;
    memcpy(&p, params, sizeof p);
    for (unsigned int block = 0; block < geometry->grid[0]; block++)
        for (unsigned int thread = 0; thread < geometry->block[0]; thread++)
            fprintf(p.value < 0 ? stderr : stdout, "thread %u of block %u says %d\n", thread, block,
                    p.value);
    return CUDA_SUCCESS;
}

struct set_conditional_params {
    unsigned long long handle;
    unsigned int value;
};

static CUresult set_conditional(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct set_conditional_params p;
    (void)geometry;
    memcpy(&p, params, sizeof p);
    return sim_condition_set(p.handle, p.value) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* Parameters of each size and alignment. */
struct echoed {
    char one;
    short two;
    int four;
    long long eight;
    _Alignas(16) int sixteen[4];
    int twelve[3];
    char five[5];
};

struct echo_params {
    uint64_t to;
    char one;
    short two;
    int four;
    long long eight;
    _Alignas(16) int sixteen[4];
    int twelve[3];
    char five[5];
};

static CUresult echo(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct echo_params p;
    size_t bytes;
    (void)geometry;
    memset(&p, 0, sizeof p);
    memcpy(&p, params, offsetof(struct echo_params, five) + sizeof p.five);
    struct echoed all = { p.one, p.two, p.four, p.eight, { 0 }, { 0 }, { 0 } };
    memcpy(all.sixteen, p.sixteen, sizeof all.sixteen);
    memcpy(all.twelve, p.twelve, sizeof all.twelve);
    memcpy(all.five, p.five, sizeof all.five);
    unsigned char *to = sim_reach(p.to, true, &bytes);
    if (!to || bytes < sizeof all)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    memcpy(to, &all, sizeof all);
    return CUDA_SUCCESS;
}

struct occupy_params {
    unsigned int us, loops, party; /* a real GPU counts loops instead of us */
};

static CUresult occupy(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct occupy_params p;
    memcpy(&p, params, sizeof p);
    int processors = __builtin_popcountll(geometry->processors);
    sim_gpu_occupy(geometry->device, (int64_t)p.us * 1000 * SIM_SM_COUNT / processors, p.party);
    return CUDA_SUCCESS;
}

struct tell_processors_params {
    uint64_t out;
};

static CUresult tell_processors(const struct sim_geometry *geometry, const unsigned char *params)
{
    struct tell_processors_params p;
    size_t bytes;
    memcpy(&p, params, sizeof p);
    uint32_t *out = (uint32_t *)(void *)sim_reach(p.out, true, &bytes);
    if (!out || bytes < SIM_SM_COUNT * sizeof *out)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (unsigned int i = 0; i < SIM_SM_COUNT; i++)
        if (geometry->processors >> i & 1)
            out[i] = 1;
    return CUDA_SUCCESS;
}

#define PARAM(type, member)                                                                        \
    {                                                                                              \
        offsetof(struct type, member), sizeof(((struct type *)NULL)->member)                       \
    }

static const struct sim_program programs[] = {
    { "vector_add",
      "_Z10vector_addPKfS0_Pfi",
      4,
      { PARAM(vector_add_params, a), PARAM(vector_add_params, b), PARAM(vector_add_params, c),
        PARAM(vector_add_params, n) },
      vector_add },
    { "saxpy",
      "_Z5saxpyifPKfPf",
      4,
      { PARAM(saxpy_params, n), PARAM(saxpy_params, a), PARAM(saxpy_params, x),
        PARAM(saxpy_params, y) },
      saxpy },
    { "fill",
      "_Z4fillPffi",
      3,
      { PARAM(fill_params, p), PARAM(fill_params, v), PARAM(fill_params, n) },
      fill },
    { "reduce_sum",
      "_Z10reduce_sumPKfPfi",
      3,
      { PARAM(reduce_sum_params, x), PARAM(reduce_sum_params, out), PARAM(reduce_sum_params, n) },
      reduce_sum },
    { "matmul",
      "_Z6matmulPKfS0_Pfi",
      4,
      { PARAM(vector_add_params, a), PARAM(vector_add_params, b), PARAM(vector_add_params, c),
        PARAM(vector_add_params, n) },
      matmul },
    { "gather",
      "_Z6gatherPKPKfPfi",
      3,
      { PARAM(gather_params, from), PARAM(gather_params, to), PARAM(gather_params, n) },
      gather },
    { "scatter",
      "_Z7scatterPKPffi",
      3,
      { PARAM(scatter_params, to), PARAM(scatter_params, v), PARAM(scatter_params, n) },
      scatter },
    { "fill_view", "_Z9fill_view4view", 1, { PARAM(fill_view_params, view) }, fill_view },
    { "put_address",
      "_Z11put_addressPPvS_",
      2,
      { PARAM(put_address_params, where), PARAM(put_address_params, address) },
      put_address },
    { "await_value",
      "_Z11await_valuePViiS0_",
      3,
      { PARAM(await_value_params, flag), PARAM(await_value_params, value),
        PARAM(await_value_params, answer) },
      await_value },
    { "say", "_Z3sayi", 1, { PARAM(say_params, value) }, say },
    { "set_conditional",
      "_Z15set_conditionalyj",
      2,
      { PARAM(set_conditional_params, handle), PARAM(set_conditional_params, value) },
      set_conditional },
    { "echo",
      "_Z4echoP6echoedcsix4int45three4five",
      8,
      { PARAM(echo_params, to), PARAM(echo_params, one), PARAM(echo_params, two),
        PARAM(echo_params, four), PARAM(echo_params, eight), PARAM(echo_params, sixteen),
        PARAM(echo_params, twelve), PARAM(echo_params, five) },
      echo },
    { "occupy",
      "_Z6occupyjjj",
      3,
      { PARAM(occupy_params, us), PARAM(occupy_params, loops), PARAM(occupy_params, party) },
      occupy },
    { "tell_processors",
      "_Z15tell_processorsPj",
      1,
      { PARAM(tell_processors_params, out) },
      tell_processors },
};

static CUresult do_nothing(const struct sim_geometry *geometry, const unsigned char *params)
{
    (void)geometry;
    (void)params;
    return CUDA_SUCCESS;
}

static const struct sim_program unknown = { .name = "unknown", .run = do_nothing };

const struct sim_program *sim_program_find(const char *name)
{
    for (size_t i = 0; i < SIM_COUNT(programs); i++)
        if (!strcmp(programs[i].name, name) || !strcmp(programs[i].mangled, name))
            return &programs[i];
    return sim_facts_ignores_unknown() ? &unknown : NULL;
}

const struct sim_program *sim_program_number(size_t number)
{
    return number < SIM_COUNT(programs) ? &programs[number] : NULL;
}

size_t sim_program_param_bytes(const struct sim_program *program)
{
    if (!program->param_count)
        return 0;
    const struct sim_param *last = &program->params[program->param_count - 1];
    return last->offset + last->bytes;
}
