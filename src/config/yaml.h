/*
 * A YAML file as a tree that remembers where every value stands, byte by byte, so that a value can
 * be changed in the file's own text.
 *
 * Read with libyaml (YAML 1.1 syntax); plain scalars mean what YAML 1.2's core schema says, so that
 * 'no' is a text. Aliases, merge keys and tags are faults: with them a value's place would not be
 * where it counts. A tree is only read after it was made; it does not point into the text.
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
    ATH_YAML_BROKEN, /* a fault was reported for it; nothing more to say */
};

enum ath_yaml_style {
    ATH_YAML_PLAIN, /* scalars: as they are, 'quoted', "quoted", or | and > */
    ATH_YAML_SINGLE,
    ATH_YAML_DOUBLE,
    ATH_YAML_LITERAL,
    ATH_YAML_FLOW, /* lists and mappings: in brackets, or by indentation */
    ATH_YAML_BLOCK,
};

/* What a scalar is, without a schema. */
enum ath_yaml_type { ATH_YAML_TEXT, ATH_YAML_NULL, ATH_YAML_BOOLEAN, ATH_YAML_NUMBER };

struct ath_yaml {
    enum ath_yaml_kind kind;
    enum ath_yaml_style style;
    char *key; /* in the mapping above; NULL for the root and for entries of lists */
    size_t key_begin, key_end; /* bytes */
    char *text;                /* of a scalar */
    bool has_anchor;
    size_t begin, end; /* bytes of the value; the end of a BLOCK may lie in a later line */
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
 * Reads text. True with *out whole; false with at least one fault added and *out empty. Faults that
 * leave the tree whole (an alias, a key twice) are added too, and true returns.
 */
bool ath_yaml_parse(const char *text, size_t length, struct ath_yaml *out,
                    struct ath_faults *faults);
void ath_yaml_free(struct ath_yaml *yaml);

/* The value of a key of a mapping; NULL where there is none (or yaml is NULL or no mapping). */
const struct ath_yaml *ath_yaml_get(const struct ath_yaml *yaml, const char *key);

/* True for a value left out, '~' or 'null'. */
bool ath_yaml_is_null(const struct ath_yaml *yaml);

enum ath_yaml_type ath_yaml_type_of(const struct ath_yaml *scalar);

/* What plain text would be read as. */
enum ath_yaml_type ath_yaml_type_of_plain(const char *text);

/* True where both mean the same: styles, comments and places do not count. */
bool ath_yaml_equals(const struct ath_yaml *a, const struct ath_yaml *b);

/* Behind the last byte of a value, without the blanks and comments that follow it. */
size_t ath_yaml_content_end(const struct ath_yaml *yaml, const char *text);

/*
 * Whether text may stand without quotes, where any reader of YAML 1.1 or 1.2 takes it for that text
 * (https://yaml.org/type/: not "no", "1e3", "0004:04" in base sixty, "2024-01-01"). signs: what it
 * may hold beside letters, digits and "_./-"; some of " +()" outside brackets, "" within.
 */
bool ath_yaml_is_plain(const char *text, const char *signs);

/*
 * Adds text as a scalar that any YAML reader takes for that text, inside brackets too. style: what
 * to use where it can say the text (PLAIN, SINGLE or DOUBLE), else DOUBLE is used.
 */
void ath_yaml_write(struct ath_text *out, const char *text, enum ath_yaml_style style);
