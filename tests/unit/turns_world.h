/*
 * Programs that share GPUs by turns (turns/turns.h), in simulated time.
 *
 * A program runs pieces of work: a kernel, or a burst of short ones that it cannot take back. It
 * pauses after each step: a piece, or several. It gives its turn back after a piece when it is
 * asked, and in a pause when it has been idle for a while, as the gate does (cuda/turns).
 */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "turns/turns.h"

enum { WORLD_PROGRAMS = 64, WAKE_US = 50, IDLE_WAITED_US = 500, PAUSE_US = 5000, IDLE_US = 100000 };

static const int64_t NEVER = INT64_MAX;

enum program_state { ABSENT, PAUSES, WAITS, RUNS, IDLE_IN_TURN };

struct program {
    struct ath_turns_claim claim;
    int64_t piece_us, pause_us;
    int64_t step_us;   /* of work, in pieces; 0: one piece */
    int64_t short_us;  /* of a piece that must be very short; 0: as others */
    int64_t done_us;   /* of this step */
    int64_t length_us; /* of the piece that runs */
    enum program_state state;
    int64_t next_us; /* when the piece or the pause is over */
    int64_t idle_us; /* since when it has a turn and no work */
    int64_t ran_us;  /* of pieces that are over */
    int64_t waited_us, longest_wait_us, wanted_us;
    uint32_t number; /* of its turn */
    bool is_deaf;    /* its piece has no end */
    bool flips;      /* it gives its turn back after each piece, and wants the next at once */
};

struct world {
    struct ath_turns *turns;
    struct program programs[WORLD_PROGRAMS];
    size_t count;
    int64_t now_us, look_us;
    bool is_changed; /* since the last decision */
    uint64_t decisions;
};

static inline void world_make(struct world *world)
{
    *world = (struct world){ .turns = ath_turns_make(0) };
}

static inline void world_free(struct world *world)
{
    ath_turns_free(world->turns);
}

static inline void world_claim(struct world *world, size_t which)
{
    ath_turns_claim(world->turns, which, &world->programs[which].claim, world->now_us);
    world->is_changed = true;
}

static inline void world_want(struct world *world, size_t which)
{
    ath_turns_want(world->turns, which, world->now_us);
    world->programs[which].state = WAITS;
    world->programs[which].wanted_us = world->now_us;
}

/* Adds a program that wants its GPU at once. Returns its number. */
static inline size_t world_add(struct world *world, struct program program)
{
    struct ath_turns_claim *claim = &program.claim;
    const size_t which = world->count++;
    if (!claim->devices)
        claim->devices = 1;
    if (!claim->weight)
        claim->weight = 1;
    if (!claim->group_weight)
        claim->group_weight = 1;
    if (!claim->most_percent)
        claim->most_percent = 100;
    if (!claim->group_most_percent)
        claim->group_most_percent = 100;
    world->programs[which] = program;
    world_claim(world, which);
    world_want(world, which);
    return which;
}

static inline void world_leave(struct world *world, size_t which)
{
    ath_turns_leave(world->turns, which, world->now_us);
    world->programs[which].state = ABSENT;
    world->is_changed = true;
}

static inline void world_give_back(struct world *world, struct program *program, bool wants)
{
    const size_t which = (size_t)(program - world->programs);
    ath_turns_give_back(world->turns, which, program->number, wants, world->now_us);
    program->state = wants ? WAITS : PAUSES;
    program->wanted_us = world->now_us;
}

static inline void world_run_piece(struct world *world, struct program *program)
{
    const struct ath_turns_state state =
        ath_turns_state(world->turns, (size_t)(program - world->programs));
    const int64_t left_us = program->step_us - program->done_us;
    program->length_us =
        state.has_higher && program->short_us ? program->short_us : program->piece_us;
    if (program->step_us && program->length_us > left_us)
        program->length_us = left_us;
    program->state = RUNS;
    program->next_us = world->now_us + program->length_us;
}

static inline void world_end_piece(struct world *world, struct program *program)
{
    program->ran_us += program->length_us;
    program->done_us += program->length_us;
    program->idle_us = world->now_us;
    program->state = IDLE_IN_TURN;
    program->next_us = world->now_us;
    if (program->done_us < program->step_us)
        return;
    program->done_us = 0;
    program->next_us += program->pause_us;
}

/* How long a program keeps an idle turn. */
static inline int64_t world_patience(const struct program *program,
                                     const struct ath_turns_state *state)
{
    if (!state->is_waited_for)
        return IDLE_US;
    return state->is_owed && program->pause_us <= PAUSE_US ? PAUSE_US : IDLE_WAITED_US;
}

static inline void world_begin(struct world *world, struct program *program)
{
    const int64_t us = world->now_us - program->wanted_us;
    program->waited_us += us;
    if (us > program->longest_wait_us)
        program->longest_wait_us = us;
    world_run_piece(world, program);
    program->next_us += WAKE_US;
}

/* Lets a program with a turn act. Returns whether it told the arbiter something. */
static inline bool world_act_in_turn(struct world *world, struct program *program,
                                     const struct ath_turns_state *state)
{
    if (program->state == RUNS && program->next_us <= world->now_us && !program->is_deaf)
        world_end_piece(world, program);
    if (program->state != IDLE_IN_TURN)
        return false;
    const int64_t patience_us = world_patience(program, state);
    if (state->is_wanted_back || program->flips ||
        (program->pause_us && world->now_us - program->idle_us >= patience_us)) {
        world_give_back(world, program, program->next_us <= world->now_us);
        return true;
    }
    if (program->next_us <= world->now_us)
        world_run_piece(world, program);
    return false;
}

static inline bool world_act(struct world *world, struct program *program)
{
    const size_t which = (size_t)(program - world->programs);
    if (program->state == ABSENT || (program->state == PAUSES && program->next_us > world->now_us))
        return false;
    if (program->state == PAUSES) {
        world_want(world, which);
        return true;
    }
    const struct ath_turns_state state = ath_turns_state(world->turns, which);
    if (program->state == WAITS && state.is_given) {
        program->number = state.number;
        world_begin(world, program);
    }
    return state.is_given && world_act_in_turn(world, program, &state);
}

static inline int64_t world_next(const struct world *world, const struct program *program)
{
    if (program->state == PAUSES || (program->state == RUNS && !program->is_deaf))
        return program->next_us;
    if (program->state != IDLE_IN_TURN)
        return NEVER;
    const struct ath_turns_state state =
        ath_turns_state(world->turns, (size_t)(program - world->programs));
    const int64_t idle_us = program->idle_us + world_patience(program, &state);
    return idle_us < program->next_us ? idle_us : program->next_us;
}

/* Lets all programs act at this moment. Decisions are made only when they are asked for. Returns
 * when the next thing happens. */
static inline int64_t world_step(struct world *world)
{
    do {
        if (world->is_changed || world->now_us >= world->look_us) {
            world->look_us = ath_turns_decide(world->turns, world->now_us);
            world->decisions++;
        }
        world->is_changed = false;
        for (size_t i = 0; i < world->count; i++)
            world->is_changed |= world_act(world, &world->programs[i]);
    } while (world->is_changed);
    int64_t next_us = world->look_us;
    for (size_t i = 0; i < world->count; i++) {
        const int64_t at_us = world_next(world, &world->programs[i]);
        if (at_us < next_us)
            next_us = at_us;
    }
    return next_us;
}

static inline void world_run(struct world *world, int64_t us)
{
    const int64_t end_us = world->now_us + us;
    for (int64_t next_us; (next_us = world_step(world)) < end_us; world->now_us = next_us)
        if (next_us <= world->now_us)
            abort();
    world->now_us = end_us;
    world->is_changed = true; /* figures are those of the last decision */
    world_step(world);
}

/* The percentage of all time that a program held turns. */
static inline double world_percent(const struct world *world, size_t which)
{
    return 100.0 * (double)ath_turns_used(world->turns, which).used_us / (double)world->now_us;
}
