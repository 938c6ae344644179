/*
 * Paths of keys, as users write them: "numa.0.memory_percent", "engine.kind",
 * "roce.cards.0003:01:00.0.description". An entry of a list goes by its id, name or PCI address,
 * dots in it included.
 */
#pragma once
#include "base/err.h"
#include "config/schema.h"
#include "config/yaml.h"

enum { ATH_KEY_DEPTH = 8 };

/* The target of a path in a tree. Pointers belong to the tree and the table. */
struct ath_key {
    const struct ath_schema *schema; /* of the target */
    bool is_item;                  /* the target is an item of a list; schema is then the list's */
    size_t item;                   /* index of that item */
    const struct ath_yaml *list;   /* the list of that item */
    const struct ath_yaml *value;  /* NULL if the file does not give the value */
    const struct ath_yaml *holder; /* the last mapping on the path that the file has */
    const struct ath_schema
        *missing[ATH_KEY_DEPTH]; /* the keys below holder on the path, the target included */
    size_t missing_count;
    void *base; /* the struct that holds the field; NULL if no document was given */
};

/*
 * Follows a path in tree. base is the document that was bound from the tree, or NULL. Returns 0, or
 * -ENOENT "key-unknown" with err, which suggests a similar key.
 */
int ath_key_find(const struct ath_yaml *tree, void *base, const char *path, struct ath_key *out,
                 struct ath_err *err);

/* Returns the path of the value that begins or stands at a byte of the file; NULL if there is none,
 * or no key of the table leads to it. The caller frees it. */
char *ath_key_at(const struct ath_yaml *tree, size_t offset);
