/*
 * The one table of the topology document's keys.
 *
 * Reading, checking, `configure --set` and `--show`, the output of `init`, the JSON form and the
 * manual page are made from it. A new key is one new row, and the field that it fills. The table is
 * constant; any thread may read it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "config/faults.h"
#include "config/yaml.h"

enum ath_value_kind {
    ATH_VALUE_TEXT,    /* char *, owned; NULL if not given */
    ATH_VALUE_INTEGER, /* int; ATH_UNSET if not given */
    ATH_VALUE_NUMBER,  /* double */
    ATH_VALUE_BOOLEAN, /* bool */
    ATH_VALUE_CHOICE,  /* int, an index into choices; ATH_UNSET if not given */
    ATH_VALUE_IDS,     /* struct ath_idset */
    ATH_VALUE_TEXTS,   /* struct ath_texts */
    ATH_VALUE_MAPPING, /* a struct of its own, inside the struct above */
    ATH_VALUE_ITEMS, /* struct { T *items; size_t count; }: mappings, named by one of their keys */
    ATH_VALUE_KIND_COUNT
};

/* The forms of texts. */
enum ath_form {
    ATH_FORM_LINE,
    ATH_FORM_NAME,
    ATH_FORM_INTERFACE,
    ATH_FORM_RDMA_DEVICE,
    ATH_FORM_PCI,
    ATH_FORM_ADDRESS, /* 192.168.100.10/24 */
    ATH_FORM_FILE,
    ATH_FORM_DOCKER_HOST,
    ATH_FORM_IMAGE,
    ATH_FORM_KEY_NAME,
    ATH_FORM_MEMORY, /* 4G, 50% */
    ATH_FORM_LISTEN, /* 9460, 10.0.0.1:9460, [fd00::1]:9460 */
    ATH_FORM_COUNT
};

enum { ATH_UNSET = -1 };

struct ath_schema {
    const char *name; /* NULL ends a table */
    enum ath_value_kind kind;
    size_t offset;        /* of the field, in the struct of the mapping that has the key */
    enum ath_form form;   /* of a text, or of each text of a list */
    double min, max;      /* of a number, or of each number of a list */
    bool is_min_excluded; /* above min, not min itself */
    bool is_required;
    bool is_rare;               /* a new document has the key only if it differs from the default */
    bool may_be_one;            /* of TEXTS: a text without brackets is a list of one */
    const char *fallback;       /* the default, written as in a document; NULL: none */
    const char *otherwise;      /* N_(): for help, the effect of no value and no fallback */
    const char *const *choices; /* ended by NULL */
    const char *help;           /* N_(): one line */
    const char *title;          /* N_(): heading of a mapping; name of one entry of ITEMS */
    const char *name_key;       /* of ITEMS: the key whose value names an entry in a path */
    const struct ath_schema *keys; /* of a mapping, or of each of ITEMS */
    size_t item_size;              /* of ITEMS */
};

/* The field of a list of texts. */
struct ath_texts {
    char **items;
    size_t count;
};

/* The whole document: a mapping whose fields are in struct ath_document. */
const struct ath_schema *ath_schema_root(void);

/* Returns a key of a mapping or of ITEMS, or NULL if it has no such key. */
const struct ath_schema *ath_schema_find(const struct ath_schema *parent, const char *name);

/* Returns the key of parent that the user may have meant by name, or NULL if none is near. */
const char *ath_schema_nearest(const struct ath_schema *parent, const char *name);

/* Returns the kind in one word, untranslated: "text", "integer", ... */
const char *ath_value_kind_word(enum ath_value_kind kind);

/* True for kinds whose values (or entries) are texts in YAML; true for kinds that are lists of
 * values. */
bool ath_value_is_text(enum ath_value_kind kind);
bool ath_value_is_list(enum ath_value_kind kind);

/* Returns the allowed values of the key, translated, to follow "must be": "a whole number from 1 to
 * 65535". The caller frees it. */
char *ath_schema_allowed(const struct ath_schema *schema);

/* The same for one entry of a list; for other kinds, for the value itself. */
char *ath_schema_allowed_entry(const struct ath_schema *schema);

/* Checks text as a value of the key (as an entry, if the key is a list). Returns ATH_FAULT_NONE, or
 * the fault. */
enum ath_fault_code ath_schema_check(const struct ath_schema *schema, const char *text);

/* Stores a checked value in its field in base (adds an entry, if the key is a list); texts in
 * canonical form. */
void ath_schema_store(const struct ath_schema *schema, void *base, const char *text);

/* Adds a value's entries as texts: none if it is not set, one for a scalar. */
void ath_schema_texts(const struct ath_schema *schema, const void *base, struct ath_texts *out);

/*
 * Adds a checked value (an entry, if the key is a list) as YAML. style: that of a text, used if the
 * text allows it; PCI addresses are always quoted.
 */
void ath_schema_write_entry(const struct ath_schema *schema, const char *value,
                            enum ath_yaml_style style, struct ath_text *out);

/* Adds a value as YAML, made of its entries: "[a, b]" for lists. */
void ath_schema_write(const struct ath_schema *schema, const struct ath_texts *entries,
                      struct ath_text *out);

/* True if the field has the default of its key; false for a key without a default. */
bool ath_schema_is_default(const struct ath_schema *schema, const void *base);

/* True if a field has no value: an optional text or number that was not given. */
bool ath_schema_is_unset(const struct ath_schema *schema, const void *base);

/* Return the field of a key in base, the number of its ITEMS, and one of them. */
void *ath_schema_field(const struct ath_schema *schema, const void *base);
size_t ath_schema_count(const struct ath_schema *schema, const void *base);
void *ath_schema_item(const struct ath_schema *schema, const void *base, size_t index);

/* Adds one zeroed item with its defaults set, and returns it. */
void *ath_schema_add_item(const struct ath_schema *schema, void *base);

/* Sets the defaults of a mapping's keys, in a zeroed struct. */
void ath_schema_defaults(const struct ath_schema *mapping, void *base);

/* Releases and zeroes the fields of a mapping. */
void ath_schema_clear(const struct ath_schema *mapping, void *base);

/* Adds a copy of text. */
void ath_texts_add(struct ath_texts *texts, const char *text);
void ath_texts_free(struct ath_texts *texts);

/* Returns whether one of the texts is equal to text; false for NULL. */
bool ath_texts_has(const struct ath_texts *texts, const char *text);

/* Returns the texts as "a, b"; "" for none. The caller frees it. */
char *ath_texts_join(const struct ath_texts *texts);

/* Returns a number in its shortest form, in every locale with a decimal point: "80", "0.8". The
 * caller frees it. */
char *ath_number_text(double number);
