/*
 * The engine of the differential test: a random sequence of calls that depends on a seed alone, and
 * one line for each step.
 *
 * An area is a table of operations. A step takes one operation, picks its arguments from the slots
 * of objects (objects.h), calls, and prints what came back. A line names no address and no handle:
 * objects have the numbers of their slots. So the lines of two runs are equal where the driver and
 * aitherion behave alike.
 *
 * The same engine serves the driver API (driver.h) and the runtime API (runtime.cu).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct operation {
    const char *name;
    int weight;        /* of 100 usual: 10 */
    void (*run)(void); /* one step; it says what it does */
};

struct area {
    const char *name;
    const struct operation *operations;
    size_t count;
    enum {
        ALWAYS = 1, /* also if other areas are asked for: they need its objects */
        ALONE = 2,  /* only if it is asked for: it breaks what follows */
    } flags;
};

/* An API, as the engine needs it. */
struct api {
    const struct area *const *areas;
    size_t area_count;
    void (*begin)(void); /* opens the library and makes the first objects; says it */
    void (*check)(void); /* waits for all work, and says hashes of all memory */
    bool (*wait_for)(uint64_t stream, uint64_t context); /* false: a capture forbids it */
    bool (*is_capturing)(uint64_t stream);
    int (*late_error)(void); /* an error of earlier calls that comes late, or 0 */
};

int run_differential(int argc, char **argv, const struct api *api);

/* ---- what a run allows, beside valid calls ---- */

enum risk {
    RISK_NULL = 1,    /* null handles and null addresses */
    RISK_FOREIGN = 2, /* a handle of another kind */
    RISK_TWICE = 4,   /* ending an object twice */
};
bool takes_risk(enum risk risk); /* of this run, by its options */

/* ---- random choices, the same for a seed and a step whatever came before ---- */

uint64_t any(void);
size_t below(size_t limit);
bool chance(size_t of); /* true once in `of` times */
long long one_of(const long long *values, size_t count);
#ifndef __cplusplus
#define ONE_OF(...)                                                                                \
    one_of((const long long[]){ __VA_ARGS__ },                                                     \
           sizeof((const long long[]){ __VA_ARGS__ }) / sizeof(long long))
#endif

/* ---- the line of a step ---- */

__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Around each call, so that a crash shows its function: the name is written before the call. */
void calling(const char *function);
int called(int result);           /* says the result, and returns it */
int called_by_chance(int result); /* the same, where a late error may or may not be there yet */
/* The step cannot be made now: another operation is tried, unless this one has called something. */
void leave_out(void);
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            leave_out();                                                                           \
            return;                                                                                \
        }                                                                                          \
    } while (0)

uint64_t hash_of(const void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
template <typename... T> long long ONE_OF(T... values)
{
    const long long list[] = { (long long)values... };
    return one_of(list, sizeof...(values));
}
#endif
