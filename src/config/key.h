/*
 * Paths of keys, as people write them: "numa.0.memory_percent", "engine.kind",
 * "roce.cards.0003:01:00.0.description". An entry of a list goes by its id, name or PCI address,
 * dots in it included.
 */
#pragma once
#include "base/err.h"
#include "config/schema.h"
#include "config/yaml.h"

enum { ATH_KEY_DEPTH = 8 };

/* Where a path leads in a tree. Pointers belong to the tree and the table. */
struct ath_key {
    const struct ath_schema *schema; /* of what is there */
    bool is_item;                    /* one of ITEMS, not the list (schema is the list's) */
    size_t item;                     /* which */
    const struct ath_yaml *list;     /* of which list */
    const struct ath_yaml *value;    /* NULL where the file does not say it */
    const struct ath_yaml *holder;   /* the last mapping on the way that the file has */
    const struct ath_schema *missing[ATH_KEY_DEPTH]; /* keys below holder, down to schema itself */
    size_t missing_count;
    void *base; /* the struct that holds the field; NULL where no document was given */
};

/*
 * Follows a path in tree (and in the structs bound from it, where base, their document, is not
 * NULL). Returns 0, or -ENOENT "key-unknown" with err, which names what may have been meant.
 */
int ath_key_find(const struct ath_yaml *tree, void *base, const char *path, struct ath_key *out,
                 struct ath_err *err);
