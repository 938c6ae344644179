/* The answer of `aitherion place`, as text and as JSON. */
#pragma once
#include "cli/output/output.h"
#include "place/choose.h"
#include "place/group.h"

/* Owns nothing. */
struct ath_place_report {
    const struct ath_machine *machine;
    enum ath_place_policy policy;
    const char *near; /* the port as the user named it; NULL for none */
    size_t size;
    const struct ath_place_answer *answer;
    const struct ath_place_group *groups;
    size_t group_count;
    const char *const *program; /* the program to run; none: only show */
    size_t program_word_count;
};

/* The policies that a user can choose, up to a NULL; in the order of enum ath_place_policy. */
extern const char *const ath_place_policies[];

extern const struct ath_view ath_place_view; /* of a struct ath_place_report */
