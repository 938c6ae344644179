/* See engine.h. */
#include "engine.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"

enum { TRIES = 12, CHECK_EVERY = 25 };

static const struct api *api;
static uint64_t seed = 1, state;
static unsigned int steps = 100, risks;
static const char *wanted_areas;
static bool *skipped;
static bool is_left_out, has_called;
static bool wants_errors_now; /* each call is asked for its late error: aitherion sends some calls
                                 without waiting for their results */

/* ---- random choices ---- */

/* splitmix64 (prng.di.unimi.it). */
uint64_t any(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

size_t below(size_t limit)
{
    return limit ? (size_t)(any() % limit) : 0;
}

bool chance(size_t of)
{
    return !below(of);
}

long long one_of(const long long *values, size_t count)
{
    return values[below(count)];
}

bool takes_risk(enum risk risk)
{
    return (risks & risk) != 0;
}

static void seed_step(unsigned int step)
{
    state = seed * 0x100000001b3u + step;
    any();
    state ^= any();
}

/* ---- the line ---- */

static char line[1 << 13];
static size_t filled, shown;

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + filled, sizeof line - filled, format, arguments);
    va_end(arguments);
    if (length > 0)
        filled += (size_t)length;
    if (filled >= sizeof line)
        filled = sizeof line - 1;
}

static void show_line(void)
{
    fwrite(line + shown, 1, filled - shown, stdout);
    fflush(stdout);
    shown = filled;
}

static void end_line(void)
{
    say("\n");
    show_line();
    filled = shown = 0;
}

void calling(const char *function)
{
    has_called = true;
    say(" | %s", function);
    show_line();
}

int called_by_chance(int result)
{
    say(" %d", result);
    return result;
}

int called(int result)
{
    if (!result && wants_errors_now)
        result = api->late_error();
    return called_by_chance(result);
}

void leave_out(void)
{
    is_left_out = true;
}

uint64_t hash_of(const void *memory, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, by words of 8 bytes */
    const unsigned char *at = memory;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    while (bytes--)
        hash = (hash ^ *at++) * 0x100000001b3u;
    return hash;
}

/* ---- areas ---- */

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ',') && (!at[length] || at[length] == ','))
            return true;
    return false;
}

/* Percent of an operation's weight: the chosen areas count more than those that only help them. */
static int share_of(const struct area *area)
{
    if (!wanted_areas)
        return area->flags & ALONE ? 0 : 100;
    if (has_word(wanted_areas, area->name))
        return 100;
    return area->flags & ALWAYS ? 25 : 0;
}

static int weight_of(const struct area *area, const struct operation *operation)
{
    return share_of(area) * operation->weight;
}

static const struct operation *choose(const struct area **out_area)
{
    size_t sum = 0;
    for (size_t i = 0; i < api->area_count; i++)
        for (size_t j = 0; j < api->areas[i]->count; j++)
            sum += (size_t)weight_of(api->areas[i], &api->areas[i]->operations[j]);
    size_t left = below(sum);
    for (size_t i = 0; i < api->area_count; i++)
        for (size_t j = 0; j < api->areas[i]->count; j++) {
            const struct operation *operation = &api->areas[i]->operations[j];
            size_t weight = (size_t)weight_of(api->areas[i], operation);
            if (left < weight) {
                *out_area = api->areas[i];
                return operation;
            }
            left -= weight;
        }
    return NULL;
}

/* ---- steps ---- */

static bool try_operation(unsigned int step)
{
    const struct area *area = NULL;
    const struct operation *operation = choose(&area);
    if (!operation)
        return true;
    is_left_out = has_called = false;
    filled = shown = 0;
    say("= %u %s %s:", step, area->name, operation->name);
    operation->run();
    if (is_left_out && !has_called)
        return false;
    end_line();
    return true;
}

static void run_step(unsigned int step)
{
    seed_step(step);
    for (int i = 0; i < TRIES; i++)
        if (try_operation(step))
            return;
}

static void check(const char *when)
{
    filled = shown = 0;
    say("= check %s:", when);
    show_line();
    api->check();
    end_line();
}

static void run_steps(void)
{
    char when[32];
    filled = shown = 0;
    say("= begin:");
    api->begin();
    end_line();
    for (unsigned int step = 0; step < steps; step++) {
        if (!skipped[step])
            run_step(step);
        if (step % CHECK_EVERY == CHECK_EVERY - 1) {
            snprintf(when, sizeof when, "after %u", step);
            check(when);
        }
    }
    check("end");
    puts("= end");
}

/* ---- options ---- */

static void list_operations(void)
{
    for (size_t i = 0; i < api->area_count; i++)
        for (size_t j = 0; j < api->areas[i]->count; j++)
            printf("%s %s\n", api->areas[i]->name, api->areas[i]->operations[j].name);
}

static void skip_steps(const char *numbers)
{
    for (const char *at = numbers; *at;) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (unsigned long i = first; i <= last && i < steps; i++)
            skipped[i] = true;
        at = *end ? end + 1 : end;
    }
}

static unsigned int risks_of(const char *words)
{
    return (has_word(words, "null") ? RISK_NULL : 0) |
           (has_word(words, "foreign") ? RISK_FOREIGN : 0) |
           (has_word(words, "twice") ? RISK_TWICE : 0);
}

static int usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--seed N] [--steps K] [--only AREA,...] [--skip STEP,FIRST-LAST,...]\n"
            "       [--risks null,foreign,twice] [--errors-now] | --list\n",
            program);
    return 2;
}

int run_differential(int argc, char **argv, const struct api *of)
{
    static const struct option options[] = {
        { "seed", required_argument, NULL, 's' },  { "steps", required_argument, NULL, 'n' },
        { "only", required_argument, NULL, 'o' },  { "skip", required_argument, NULL, 'k' },
        { "risks", required_argument, NULL, 'r' }, { "list", no_argument, NULL, 'l' },
        { "errors-now", no_argument, NULL, 'e' },  { NULL, 0, NULL, 0 },
    };
    const char *to_skip = "";
    api = of;
    set_objects_api(of);
    for (int word; (word = getopt_long(argc, argv, "", options, NULL)) >= 0;)
        switch (word) {
        case 's':
            seed = strtoull(optarg, NULL, 10);
            break;
        case 'n':
            steps = (unsigned int)strtoul(optarg, NULL, 10);
            break;
        case 'o':
            wanted_areas = optarg;
            break;
        case 'k':
            to_skip = optarg;
            break;
        case 'r':
            risks = risks_of(optarg);
            break;
        case 'e':
            wants_errors_now = true;
            break;
        case 'l':
            list_operations();
            return 0;
        default:
            return usage(argv[0]);
        }
    skipped = calloc(steps + 1, sizeof *skipped);
    if (!skipped)
        return 1;
    skip_steps(to_skip);
    run_steps();
    return 0;
}
