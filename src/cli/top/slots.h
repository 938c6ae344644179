/* Fits the columns of a table into a line. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct ath_slot {
    int least, most;   /* columns of the screen */
    int importance;    /* the least important slots are left out first */
    bool is_wanted;    /* false: takes no room */
    int column, width; /* the result; width 0: left out */
};

/*
 * Places the slots in their order, with gaps between them. The most important one is always there,
 * cut to the width if it must be. The room beyond the least widths goes to the most important
 * slots, each up to its greatest width.
 */
void ath_slots_fit(struct ath_slot *slots, size_t count, int width, int gap);
