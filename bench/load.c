/* See load.h. */
#include "config.h"

#include "load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { QUICK = 40 };

double load_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

bool load_is_quick(void)
{
    return getenv("BENCH_QUICK") != NULL;
}

int load_times(int times)
{
    return load_is_quick() ? times / QUICK + 1 : times;
}

size_t load_number(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

double load_issue_us(void (*call)(void), void (*settle)(void), int times)
{
    settle();
    double begin = load_now_s();
    for (int i = 0; i < times; i++)
        call();
    double seconds = load_now_s() - begin;
    settle();
    return seconds / times * 1e6;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

double load_single_us(void (*call)(void), int times)
{
    double taken[LOAD_TIMES_MAX];
    for (int i = 0; i < times; i++) {
        double begin = load_now_s();
        call();
        taken[i] = (load_now_s() - begin) * 1e6;
    }
    qsort(taken, (size_t)times, sizeof *taken, compare);
    return taken[times / 2];
}

void load_row(double value, const char *unit, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("[\"");
    vprintf(format, arguments);
    printf("\", %.6g, \"%s\"]\n", value, unit);
    va_end(arguments);
}

int load_serve(void (*measure)(void))
{
    char line[64];
    puts("ready");
    while (!fflush(stdout) && fgets(line, sizeof line, stdin)) {
        measure();
        puts("done");
    }
    return 0;
}
