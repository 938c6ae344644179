/*
 * Each job has a round number, by which the threads notice it. Thread n has part n of each job, so
 * the threads need not agree on who does what.
 */
#include "config.h"

#include "remote/transport/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "remote/switches.h"
#include "remote/transport/poll_briefly.h"
#include "remote/transport/stream.h"

enum {
    LOOK_ROUNDS = 32,
    LEAST_BYTES = 512 * 1024, /* less is not worth a thread */
    HELPERS = 4,
    MANY_PROCESSORS = 4,
};

struct helper {
    struct ath_team *team;
    pthread_t thread;
    size_t part;
};

struct ath_team {
    pthread_mutex_t turn; /* held during a job: one at a time */
    pthread_mutex_t lock; /* for sleeping */
    pthread_cond_t given, done;
    atomic_uint round, left; /* jobs so far; helpers that are still busy with the last job */
    atomic_bool is_over;
    _Atomic uint32_t patience_us;
    size_t parts, helpers; /* the wanted number; the number that exists */
    bool has_started;
    size_t job_parts;
    void (*do_part)(void *job, size_t part);
    void *job;
    struct shares {
        size_t bytes, share;
        void (*do_share)(void *job, size_t begin, size_t end);
        void *job;
    } aside; /* of a job that the helpers do alone */
    struct helper items[ATH_TEAM_MAX - 1];
};

/* Polls, then sleeps, until the value is not old. Returns the new value. */
static unsigned int await_change(struct ath_team *team, atomic_uint *value, unsigned int old,
                                 pthread_cond_t *changed)
{
    struct ath_brief_poll poll_state = { 0 };
    while (*value == old && ath_brief_poll_again(&poll_state, LOOK_ROUNDS, &team->patience_us))
        ;
    if (*value == old) {
        pthread_mutex_lock(&team->lock);
        while (*value == old)
            pthread_cond_wait(changed, &team->lock);
        pthread_mutex_unlock(&team->lock);
    }
    return *value;
}

static void *help(void *argument)
{
    struct helper *helper = argument;
    struct ath_team *team = helper->team;
    for (unsigned int round = 0;;) {
        round = await_change(team, &team->round, round, &team->given);
        if (team->is_over)
            return NULL;
        if (helper->part < team->job_parts)
            team->do_part(team->job, helper->part);
        if (atomic_fetch_sub(&team->left, 1) == 1) {
            pthread_mutex_lock(&team->lock);
            pthread_cond_signal(&team->done);
            pthread_mutex_unlock(&team->lock);
        }
    }
}

static void start_threads(struct ath_team *team)
{
    team->has_started = true;
    team->patience_us = ath_stream_patience_us(ATH_STREAM_IDLE);
    while (team->helpers + 1 < team->parts) {
        struct helper *helper = &team->items[team->helpers];
        *helper = (struct helper){ .team = team, .part = team->helpers + 1 };
        if (ath_thread_start(&helper->thread, help, helper))
            break;
        team->helpers++;
    }
}

static void next_round(struct ath_team *team)
{
    pthread_mutex_lock(&team->lock);
    team->round++;
    pthread_cond_broadcast(&team->given);
    pthread_mutex_unlock(&team->lock);
}

/* Gives the helpers their parts of a job. The caller has the turn. */
static void give_parts(struct ath_team *team, size_t parts, void (*do_part)(void *job, size_t part),
                       void *job)
{
    team->job_parts = parts;
    team->do_part = do_part;
    team->job = job;
    team->left = (unsigned int)team->helpers;
    if (team->helpers)
        next_round(team);
}

static void await_helpers(struct ath_team *team)
{
    for (unsigned int left; (left = team->left);)
        await_change(team, &team->left, left, &team->done);
}

static void do_together(struct ath_team *team, size_t parts,
                        void (*do_part)(void *job, size_t part), void *job)
{
    if (!team->has_started)
        start_threads(team);
    give_parts(team, parts, do_part, job);
    do_part(job, 0);
    for (size_t i = team->helpers + 1; i < parts; i++)
        do_part(job, i);
    await_helpers(team);
}

void ath_team_do(struct ath_team *team, size_t parts, void (*do_part)(void *job, size_t part),
                 void *job)
{
    if (team && parts > 1 && !pthread_mutex_trylock(&team->turn)) {
        do_together(team, parts, do_part, job);
        pthread_mutex_unlock(&team->turn);
        return;
    }
    for (size_t i = 0; i < parts; i++)
        do_part(job, i);
}

struct ath_team *ath_team_make(size_t parts)
{
    struct ath_team *team = calloc(1, sizeof *team);
    if (!team)
        return NULL;
    team->parts = parts < ATH_TEAM_MAX ? parts : ATH_TEAM_MAX;
    pthread_mutex_init(&team->turn, NULL);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->given, NULL);
    pthread_cond_init(&team->done, NULL);
    return team;
}

struct ath_team *ath_team_make_helpers(void)
{
    cpu_set_t processors;
    bool are_many = !sched_getaffinity(0, sizeof processors, &processors) &&
                    CPU_COUNT(&processors) >= MANY_PROCESSORS;
    return are_many && !ath_is_off(ATH_SWITCH_HELPERS) ? ath_team_make(HELPERS) : NULL;
}

void ath_team_free(struct ath_team *team)
{
    if (!team)
        return;
    team->is_over = true;
    next_round(team);
    for (size_t i = 0; i < team->helpers; i++)
        pthread_join(team->items[i].thread, NULL);
    pthread_mutex_destroy(&team->turn);
    pthread_mutex_destroy(&team->lock);
    pthread_cond_destroy(&team->given);
    pthread_cond_destroy(&team->done);
    free(team);
}

/* ---- memory, by shares of whole strides ---- */

static struct shares shares_of(size_t parts, size_t bytes,
                               void (*do_share)(void *job, size_t begin, size_t end), void *job)
{
    size_t round = parts * ATH_TEAM_STRIDE, strides = (bytes + round - 1) / round;
    return (struct shares){ bytes, strides * ATH_TEAM_STRIDE, do_share, job };
}

static void do_one_share(void *job, size_t part)
{
    const struct shares *shares = job;
    size_t begin = part * shares->share, end = begin + shares->share;
    if (begin < shares->bytes)
        shares->do_share(shares->job, begin, end < shares->bytes ? end : shares->bytes);
}

void ath_team_divide(struct ath_team *team, size_t bytes,
                     void (*do_share)(void *job, size_t begin, size_t end), void *job)
{
    size_t parts = team && bytes >= LEAST_BYTES ? team->parts : 1;
    struct shares shares = shares_of(parts, bytes, do_share, job);
    ath_team_do(team, parts, do_one_share, &shares);
}

/* The caller would have part 0. */
static void do_share_aside(void *job, size_t part)
{
    do_one_share(job, part - 1);
}

bool ath_team_begin(struct ath_team *team, size_t bytes,
                    void (*do_share)(void *job, size_t begin, size_t end), void *job)
{
    if (!team || bytes < LEAST_BYTES || pthread_mutex_trylock(&team->turn))
        return false;
    if (!team->has_started)
        start_threads(team);
    if (!team->helpers) {
        pthread_mutex_unlock(&team->turn);
        return false;
    }
    team->aside = shares_of(team->helpers, bytes, do_share, job);
    give_parts(team, 1 + team->helpers, do_share_aside, &team->aside);
    return true;
}

void ath_team_finish(struct ath_team *team)
{
    await_helpers(team);
    pthread_mutex_unlock(&team->turn);
}

struct copy {
    uint8_t *to;
    const uint8_t *from;
};

static void copy_share(void *job, size_t begin, size_t end)
{
    const struct copy *copy = job;
    memcpy(copy->to + begin, copy->from + begin, end - begin);
}

void ath_team_copy(struct ath_team *team, void *to, const void *from, size_t bytes)
{
    struct copy copy = { to, from };
    ath_team_divide(team, bytes, copy_share, &copy);
}

/* memcmp() is fastest with much at once. */
struct compare {
    const uint8_t *one, *other;
    atomic_size_t first; /* so far */
};

static void note_first(struct compare *compare, size_t at)
{
    size_t first = compare->first;
    while (at < first && !atomic_compare_exchange_weak(&compare->first, &first, at))
        ;
}

static void compare_share(void *job, size_t begin, size_t end)
{
    struct compare *compare = job;
    for (size_t at = begin, length; at < end && at < compare->first; at += length) {
        length = end - at < ATH_TEAM_STRIDE ? end - at : ATH_TEAM_STRIDE;
        if (memcmp(compare->one + at, compare->other + at, length))
            note_first(compare, at);
    }
}

size_t ath_team_compare(struct ath_team *team, const void *one, const void *other, size_t bytes)
{
    struct compare compare = { one, other, bytes };
    ath_team_divide(team, bytes, compare_share, &compare);
    return compare.first;
}
