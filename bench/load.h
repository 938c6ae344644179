/*
 * Shared by the measuring programs of this folder. A program prints "ready", measures once for each
 * line on standard input, prints rows, and prints "done". bench/run starts the programs, natively
 * and at servers, and lets them measure in turn. LD_LIBRARY_PATH chooses their libcuda.so.1. One
 * thread.
 *
 * From the environment: BENCH_QUICK (any text) measures only enough to show that it works;
 * BENCH_LARGEST is the size in bytes of the largest copy, BENCH_CLIENTS the number of programs,
 * BENCH_CLIENT_BYTES what each of those takes.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

double load_now_s(void);
bool load_is_quick(void);
/* The given number of times; a small number with BENCH_QUICK. */
int load_times(int times);
/* A number of the environment, or `otherwise` if the variable is not set. */
size_t load_number(const char *name, size_t otherwise);

/* Returns the mean time of `times` calls in a row, in microseconds. settle() is called before and
 * after, and its time does not count. */
double load_issue_us(void (*call)(void), void (*settle)(void), int times);
enum { LOAD_TIMES_MAX = 1000 };

/* Measures each of `times` calls (up to LOAD_TIMES_MAX) by itself. Returns the median in
 * microseconds. */
double load_single_us(void (*call)(void), int times);

/* Prints one result; the name is formatted. */
__attribute__((format(printf, 3, 4))) void load_row(double value, const char *unit,
                                                    const char *format, ...);

/* Measures until standard input ends. Returns the exit code. */
int load_serve(void (*measure)(void));
