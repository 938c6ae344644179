/*
 * A YAML file as a tree that knows the place of every value, in bytes, so that a value can be
 * changed in the file's own text.
 *
 * The file is read with libyaml (YAML 1.1 syntax). Plain scalars have the meaning of YAML 1.2's
 * core schema, so 'no' is a text. Aliases, merge keys and tags are faults: their
 * values do not stand where they are used. A tree does not change after it was made, and does
 * not point into the text.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "config/faults.h"

enum ath_yaml_kind {
    ATH_YAML_SCALAR,
    ATH_YAML_LIST,
    ATH_YAML_MAPPING,
    ATH_YAML_BROKEN, /* a fault was reported for it; nothing else is checked */
};

enum ath_yaml_style {
    ATH_YAML_PLAIN, /* scalars: without quotes, 'quoted', "quoted", or | and > */
    ATH_YAML_SINGLE,
    ATH_YAML_DOUBLE,
    ATH_YAML_LITERAL,
    ATH_YAML_FLOW, /* lists and mappings: in brackets, or by indentation */
    ATH_YAML_BLOCK,
};

/* The type of a scalar without a schema. */
enum ath_yaml_type { ATH_YAML_TEXT, ATH_YAML_NULL, ATH_YAML_BOOLEAN, ATH_YAML_NUMBER };

struct ath_yaml {
    enum ath_yaml_kind kind;
    enum ath_yaml_style style;
    char *key; /* in the parent mapping; NULL for the root and for entries of lists */
    size_t key_begin, key_end; /* bytes */
    char *text;                /* of a scalar */
    bool has_anchor;
    size_t begin, end; /* bytes of the value; a BLOCK may end in a later line */
    struct ath_yaml *children;
    size_t child_count;
};

enum {
    ATH_YAML_BYTES_MAX = 4 << 20, /* of a file */
    ATH_YAML_DEPTH_MAX = 32,
    ATH_YAML_CHILDREN_MAX = 4096, /* of one list or mapping */
    ATH_YAML_NODES_MAX = 200000,
};

/*
 * Reads text. Returns true with *out whole, or false with at least one fault added and *out empty.
 * Faults that leave the tree whole (an alias, a repeated key) are added too, with true as the
 * result. The caller releases *out.
 */
bool ath_yaml_parse(const char *text, size_t length, struct ath_yaml *out,
                    struct ath_faults *faults);
void ath_yaml_free(struct ath_yaml *yaml);

/* Returns the value of a key of a mapping, or NULL if it has no such key (or yaml is NULL or not a
 * mapping). */
const struct ath_yaml *ath_yaml_get(const struct ath_yaml *yaml, const char *key);

/* True for a missing value, '~' and 'null'. */
bool ath_yaml_is_null(const struct ath_yaml *yaml);

enum ath_yaml_type ath_yaml_type_of(const struct ath_yaml *scalar);

/* Returns the type that plain text has for a reader. */
enum ath_yaml_type ath_yaml_type_of_plain(const char *text);

/* True if both have the same meaning: styles, comments and places do not count. */
bool ath_yaml_equals(const struct ath_yaml *a, const struct ath_yaml *b);

/* Returns the offset after the last byte of a value, without the blanks and comments that follow
 * it. */
size_t ath_yaml_content_end(const struct ath_yaml *yaml, const char *text);

/*
 * True if text may be written without quotes, because every reader of YAML 1.1 or 1.2 takes it for
 * the same text (https://yaml.org/type/: not "no", "1e3", "0004:04" in base sixty, "2024-01-01").
 * signs: the characters allowed besides letters, digits and "_./-"; some of " +()" outside
 * brackets, "" within.
 */
bool ath_yaml_is_plain(const char *text, const char *signs);

/*
 * Adds text as a scalar that every YAML reader takes for that text, also inside brackets. style:
 * PLAIN, SINGLE or DOUBLE, used if it can express the text; otherwise DOUBLE.
 */
void ath_yaml_write(struct ath_text *out, const char *text, enum ath_yaml_style style);
