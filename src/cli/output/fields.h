/*
 * A table describes the members of a JSON object. It makes both the object and its schema in
 * docs/schema.
 *
 *     #define AT(member) ATH_AT(struct ath_gid, member)
 *     static const struct ath_field gid_fields[] = {
 *         ATH_FIELD("index", AT(index), .rules = ATH_AT_LEAST_0),
 *         ATH_FIELD("gid", AT(address), .help = "the GID as an IPv6 address"),
 *         { .name = NULL },
 *     };
 *     #undef AT
 *
 * ATH_AT() takes the kind of a member from its type in C. A value that no struct has comes from a
 * function. Text is made harmless (clean.h).
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/idset.h"
#include "base/pci.h"
#include "config/schema.h"

enum ath_field_kind {
    ATH_FIELD_BOOL,   /* bool */
    ATH_FIELD_INT,    /* int or an enum */
    ATH_FIELD_INT64,  /* int64_t */
    ATH_FIELD_SIZE,   /* size_t or uint64_t */
    ATH_FIELD_DOUBLE, /* double */
    ATH_FIELD_FLAG,   /* int: 0, 1, or ATH_UNKNOWN for null */
    ATH_FIELD_TEXT,   /* char * */
    ATH_FIELD_LINES,  /* char * with newlines */
    ATH_FIELD_CHARS,  /* char[] */
    ATH_FIELD_PCI,    /* struct ath_pci */
    ATH_FIELD_CPUS,   /* struct ath_idset, as text: "0-3,8" */
    ATH_FIELD_IDS,    /* struct ath_idset, as a list of numbers */
    ATH_FIELD_TEXTS,  /* struct ath_texts, as a list */
    ATH_FIELD_OBJECT, /* a struct with `fields`; without `fields` any object, from `make` */
    ATH_FIELD_INNER,  /* a struct whose members become members of the object around it */
};

enum ath_field_list {
    ATH_FIELD_ONE,     /* no list */
    ATH_FIELD_COUNTED, /* a pointer to items, and a size_t with their number */
    ATH_FIELD_ARRAY,   /* items in the struct itself, and a size_t with their number */
    ATH_FIELD_ROWS,    /* a pointer to items; one that begins with a NULL pointer ends the list */
};

struct ath_field {
    const char *name; /* NULL ends a table */
    struct ath_field_place {
        enum ath_field_kind kind; /* of a list: of its items */
        size_t offset;
        bool is_pointer; /* the struct of the kind is behind a pointer; NULL becomes null */
        enum ath_field_list list;
        size_t count_offset;
        size_t item_size;
    } at;
    const char *help; /* "description" in the schema; NULL if the name says enough */
    /* Unknown values become null: negative numbers, NULL, empty texts in a char[]. */
    bool is_nullable;
    size_t known;      /* ATH_KNOWN(): null if this bool of the struct is false; 0: always known */
    size_t failed;     /* ATH_FAILED(): null if this int of the struct is 0; 0: not asked */
    bool is_optional;  /* the member is left out where it would be null */
    bool is_map;       /* an object with any keys, from `make`; the row describes its values */
    const char *rules; /* more keywords of the schema, as JSON: "{\"minimum\": 0}" */
    const char *(*word)(int value); /* the word for an enum in an ATH_FIELD_INT; NULL: null */
    int word_count;                 /* the enum has the values 0 to word_count - 1 */
    const char *const *words;       /* all texts that the value can be, up to a NULL */
    const struct ath_field *fields; /* members of an object, or of each object of a list */

    /* Returns what `at.offset` counts from, if that is not `object`; NULL makes the member null. */
    const void *(*find)(const void *object);
    /* Makes the value, if no struct has it. Returns a new reference. */
    json_t *(*make)(const void *object);
    /* Makes the schema of what `make` makes, if another table describes it. */
    json_t *(*describe)(void);
};

/* clang-format off */
/* A row: ATH_FIELD("gid", AT(address), .help = "the GID as an IPv6 address") */
#define ATH_FIELD(member_name, place, ...) { .name = member_name, .at = place, __VA_ARGS__ }

/* Often used rules. */
#define ATH_AT_LEAST_0 "{\"minimum\": 0}"
#define ATH_AT_LEAST_1 "{\"minimum\": 1}"

/* A full PCI address, as the pattern of a schema. */
#define ATH_PCI_PATTERN "^[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\\.[0-7]$"

/* The place of a value that `find` returns or `make` makes. */
#define ATH_OF(value_kind) { .kind = (value_kind) }
#define ATH_LIST_OF(item_kind) { .kind = (item_kind), .list = ATH_FIELD_COUNTED }

/* The place of a struct's member; and if its type does not say the kind. */
#define ATH_AT(type, member)                                                                       \
    {                                                                                              \
        .kind = ATH_FIELD_KIND_(ATH_MEMBER_(type, member)),                                        \
        .offset = offsetof(type, member),                                                          \
        .is_pointer = ATH_FIELD_IS_POINTER_(ATH_MEMBER_(type, member)),                            \
    }
#define ATH_AT_AS(value_kind, type, member)                                                        \
    { .kind = (value_kind), .offset = offsetof(type, member) }

/* A list in an object: a pointer to items beside their number, or a pointer to rows of which the last is
 * empty. */
#define ATH_AT_LIST(type, items, count)                                                            \
    {                                                                                              \
        .kind = ATH_FIELD_KIND_(*ATH_MEMBER_(type, items)),                                        \
        .offset = offsetof(type, items),                                                           \
        .is_pointer = ATH_FIELD_IS_POINTER_(*ATH_MEMBER_(type, items)),                            \
        .list = __builtin_types_compatible_p(__typeof__(ATH_MEMBER_(type, items)),                 \
                                             __typeof__(&*ATH_MEMBER_(type, items)))               \
                    ? ATH_FIELD_COUNTED                                                            \
                    : ATH_FIELD_ARRAY,                                                             \
        .count_offset = offsetof(type, count) + _Generic(ATH_MEMBER_(type, count), size_t: 0),     \
        .item_size = sizeof *ATH_MEMBER_(type, items),                                             \
    }
#define ATH_AT_ROWS(type, items)                                                                   \
    {                                                                                              \
        .kind = ATH_FIELD_KIND_(*ATH_MEMBER_(type, items)),                                        \
        .offset = offsetof(type, items),                                                           \
        .is_pointer = ATH_FIELD_IS_POINTER_(*ATH_MEMBER_(type, items)),                            \
        .list = ATH_FIELD_ROWS,                                                                    \
        .item_size = sizeof *ATH_MEMBER_(type, items),                                             \
    }

#define ATH_KNOWN(type, flag) (offsetof(type, flag) + _Generic(ATH_MEMBER_(type, flag), bool: 1))

#define ATH_FAILED(type, status) (offsetof(type, status) + _Generic(ATH_MEMBER_(type, status), int: 1))

#define ATH_MEMBER_(type, member) ((type *)0)->member
/* An enum has the type unsigned int or int. */
#define ATH_FIELD_KIND_(value)                                                                     \
    _Generic((value),                                                                              \
        bool: ATH_FIELD_BOOL,                                                                      \
        int: ATH_FIELD_INT,                                                                        \
        unsigned int: ATH_FIELD_INT,                                                               \
        int64_t: ATH_FIELD_INT64,                                                                  \
        size_t: ATH_FIELD_SIZE,                                                                    \
        double: ATH_FIELD_DOUBLE,                                                                  \
        char *: ATH_FIELD_TEXT_KIND_(value),                                                       \
        const char *: ATH_FIELD_TEXT_KIND_(value),                                                 \
        struct ath_pci: ATH_FIELD_PCI,                                                             \
        struct ath_idset: ATH_FIELD_IDS,                                                           \
        struct ath_texts: ATH_FIELD_TEXTS,                                                         \
        default: ATH_FIELD_OBJECT)
#define ATH_FIELD_TEXT_KIND_(value)                                                                \
    (__builtin_types_compatible_p(__typeof__(value), char *) ||                                    \
     __builtin_types_compatible_p(__typeof__(value), const char *)                                 \
         ? ATH_FIELD_TEXT                                                                          \
         : ATH_FIELD_CHARS)
#define ATH_FIELD_IS_POINTER_(value)                                                               \
    (ATH_FIELD_KIND_(value) == ATH_FIELD_OBJECT &&                                                 \
     __builtin_classify_type(value) == __builtin_classify_type((void *)0))
/* clang-format on */

/* Defines the `word` of a field from the function that has the words of its enum. */
#define ATH_FIELD_WORD(name, type, function)                                                       \
    static const char *name(int value)                                                             \
    {                                                                                              \
        return function((type)value);                                                              \
    }

/* Returns a new JSON object with the members that `fields` describes. */
json_t *ath_fields_to_json(const struct ath_field *fields, const void *object);

/* Returns a new JSON Schema (draft 2020-12) of the object that `fields` describes. */
json_t *ath_fields_schema(const struct ath_field *fields);

extern const struct ath_field ath_error_fields[]; /* of a struct ath_err */
