/*
 * What the measuring programs of this folder share: they say "ready", measure once for each line on
 * standard input, print rows, and say "done". bench/run starts them, natively and at servers, and
 * lets them measure in turn. LD_LIBRARY_PATH chooses their libcuda.so.1. One thread.
 *
 * From the environment: BENCH_QUICK (any text) has them measure as little as shows that they can;
 * BENCH_LARGEST is the size in bytes of the largest copy, BENCH_CLIENTS the number of programs,
 * BENCH_CLIENT_BYTES what each of those takes.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

double load_now_s(void);
bool load_is_quick(void);
/* So many times, or few where it is quick. */
int load_times(int times);
/* A number of the environment; otherwise where it is not there. */
size_t load_number(const char *name, size_t otherwise);

/* Microseconds of one of so many calls, one behind the other; settle() is called before and after
 * and not measured. */
double load_issue_us(void (*call)(void), void (*settle)(void), int times);
/* The median of single calls, in microseconds. times: up to LOAD_TIMES_MAX. */
enum { LOAD_TIMES_MAX = 1000 };
double load_single_us(void (*call)(void), int times);

/* One result; the name is formatted. */
__attribute__((format(printf, 3, 4))) void load_row(double value, const char *unit,
                                                    const char *format, ...);

/* Until standard input ends. Returns the exit code. */
int load_serve(void (*measure)(void));
