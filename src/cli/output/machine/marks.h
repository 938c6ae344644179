/*
 * Chosen GPUs, and the network ports that belong to them, which stand out in the pictures of their
 * machine. Marks are words and shapes as well as colours, so that a picture can be read without
 * colours. A NULL pointer to marks: nothing is chosen, and the picture is that of `discover`.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cli/output/place.h"

/* Owns its arrays; ath_marks_free() frees them. */
struct ath_marks {
    size_t gpu_count, group_count;
    size_t *groups; /* by GPU: its group from 1; 0: not chosen */
    size_t *next;   /* by GPU: the next one in the best ring of its group */
    bool *ports;    /* by port: near a group, and its link is not down */
};

void ath_marks_make(const struct ath_place_report *report, struct ath_marks *out);
void ath_marks_free(struct ath_marks *marks);

/* Returns the group of a GPU from 1, or 0. */
size_t ath_marks_group(const struct ath_marks *marks, size_t gpu);

bool ath_marks_has_port(const struct ath_marks *marks, size_t nic);

/* Returns the group whose best ring leads from one of the GPUs to the other, or 0. */
size_t ath_marks_ring(const struct ath_marks *marks, size_t a, size_t b);

/* Returns the word for a group: "chosen" if it is the only one, else "group 2". The caller frees
 * it. */
char *ath_marks_word(const struct ath_marks *marks, size_t group);

/* Returns the word with its GPUs: "group 2: GPU0, GPU3"; with their number if there are many. The
 * caller frees it. */
char *ath_marks_words(const struct ath_marks *marks, size_t group);
