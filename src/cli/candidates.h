/*
 * Values that a shell's completion offers: ids, interfaces, GPUs, sessions and so on.
 *
 * Looking them up changes nothing, prints nothing, and takes two seconds at most. A value that
 * cannot be read is left out.
 */
#pragma once
#include "cli/command.h"

/* Returns the word by which the completion scripts ask for a kind: "gpus"; NULL for kinds that the
 * shell itself knows. */
const char *ath_candidates_word(enum ath_completion kind);

struct ath_candidate {
    char *value; /* only letters, digits and punctuation that no shell interprets */
    char *about; /* one line; may be empty */
};

/* A zeroed struct is empty. */
struct ath_candidates {
    struct ath_candidate *items;
    size_t count;
};
void ath_candidates_free(struct ath_candidates *candidates);

/*
 * Adds the candidates of a kind, by its word. words are the command line up to the cursor, as
 * typed: words[0] is the program, and the last word is the one that is completed, perhaps "". If it
 * is "--name=a,b", "b" is completed, and each value begins with "a,".
 */
void ath_candidates_find(const char *kind, const char *const *words, size_t count,
                         struct ath_candidates *out);
