/* Declarations for the generated part of the loopback test; its program is
 * tests/cuda/loopback_main.c. */
#pragma once
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/client/client.h"
#include "cuda/client/handles.h"
#include "cuda/common/bytes.h"
#include "cuda/server/server.h"
#include "proto/cuda-client.h"

struct random {
    uint64_t state;
};

struct test {
    const char *name;
    void (*run)(struct random *random);
};

/* The driver's next call: the status that it returns, where its results come from, and a count's
 * value before the call. */
static CUresult planned;
static uint64_t planned_seed, planned_before, planned_actual;
static long calls; /* of the driver */

static void check(bool is_right, const char *what);
static void check_deferred(CUresult status, const char *what);

/* The status of a call: the plan, or (for a call that waits) the failure of an earlier call. */
static inline CUresult expected_status(bool waits)
{
    (void)waits;
    return planned;
}

static inline uint64_t next(struct random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t bits = (random->state ^ random->state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

static inline uint32_t below(struct random *random, uint32_t end)
{
    return (uint32_t)(next(random) % end);
}

static inline void fill_bytes(struct random *random, void *to, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)to)[i] = (unsigned char)next(random);
}

/* The same, for what may not be asked for: then the plan goes on as if it were. */
static inline void fill_planned(struct random *random, void *to, size_t size)
{
    uint64_t seed = next(random);
    if (to)
        fill_bytes(&(struct random){ seed }, to, size);
}

static inline void *random_pointer(struct random *random)
{
    return (void *)(uintptr_t)next(random);
}

static inline const char *random_text(struct random *random, char *to, size_t size)
{
    size_t length = below(random, (uint32_t)size);
    for (size_t i = 0; i < length; i++)
        to[i] = (char)('a' + below(random, 26));
    to[length < size ? length : size - 1] = '\0';
    return to;
}

static inline const char *planned_text(struct random *random)
{
    static const char *const texts[] = { "", "x", "vector_add",
                                         "a name that is cut where room is little" };
    return texts[below(random, 4)];
}

static inline bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Memory that stays until the program ends. */
static inline void *kept_room(size_t size)
{
    static void *first;
    void **block = calloc(1, sizeof *block * 2 + size);
    if (!block)
        abort();
    *block = first;
    first = block;
    return block + 2;
}
