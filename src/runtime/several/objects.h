/*
 * What the switch itself has made handles of, so that a handle of what is gone is known for one.
 * Any thread.
 */
#pragma once
#include <stdbool.h>

enum ath_several_kind { ATH_SEVERAL_LIBRARY, ATH_SEVERAL_KERNEL };

/* The first member of such a thing. Whoever adds one takes it out before it is freed. */
struct ath_several_object {
    struct ath_several_object *next;
    enum ath_several_kind kind;
};

void ath_several_object_add(struct ath_several_object *object, enum ath_several_kind kind);

/* Whether there is such a thing at that address. */
bool ath_several_object_is(const void *address, enum ath_several_kind kind);

/* false: there is none (any more), as where another thread has taken it. */
bool ath_several_object_take(const void *address, enum ath_several_kind kind);
