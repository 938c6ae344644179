/*
 * The arena: the contents of all device memory.
 *
 * Addresses of device memory lie in a window that the host cannot read: a program that uses one on
 * the host crashes, as with a GPU. The contents lie in the arena, which has the same layout as the
 * window. Sizes are bytes, and multiples of SIM_ALIGNMENT.
 */
#pragma once
#include "sim/sim.h"

struct sim_range;

enum { SIM_ALIGNMENT = 512 /* of device memory, and the gap between two allocations */ };

/* Takes memory; returns its address for the device, and where this process reads it. Returns false
 * if there is none. */
bool sim_arena_take(size_t bytes, uint64_t *out_address, unsigned char **out_cells);
/* Gives memory back that sim_arena_take() returned. */
void sim_arena_give(const unsigned char *cells, size_t bytes);

/* Returns the descriptor of the arena, and the offset of a range in it (range may be NULL); -1 if
 * there is no arena. */
int sim_arena_place(const struct sim_range *range, size_t *out_offset);
