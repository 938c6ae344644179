/* The objects that the switch has made handles for, so that a handle of a freed object is
 * recognized. Any thread. */
#pragma once
#include <stdbool.h>

#include "base/map.h"

enum ath_several_kind { ATH_SEVERAL_LIBRARY, ATH_SEVERAL_KERNEL };

/* Must be the first member of an object. The owner removes the object before freeing it. */
struct ath_several_handle {
    struct ath_map_entry entry; /* by the object's address */
    enum ath_several_kind kind;
};

void ath_several_handle_add(struct ath_several_handle *object, enum ath_several_kind kind);

/* Returns whether an object of this kind is at an address. */
bool ath_several_handle_is(const void *address, enum ath_several_kind kind);

/* Removes an object. Returns false if there is none, for example because another thread removed
 * it. */
bool ath_several_handle_take(const void *address, enum ath_several_kind kind);
