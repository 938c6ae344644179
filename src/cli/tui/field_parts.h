/* Rows and values of fields, which the files field*.c share. Private to them. */
#pragma once
#include "cli/tui/field.h"

/* ---- field_table.c ---- */

struct ath_field_row {
    const char *list, *key;
    const char *label; /* N_() */
    const char *unit;  /* shown after the value */
    /* Lists what the machine offers; NULL: typed, or chosen from the words that the key allows. */
    void (*offer)(const struct ath_tui *tui, struct ath_choices *out);
};

/* Returns the row of a field, which must be in the table. */
const struct ath_field_row *ath_field_find(const char *list, const char *key);

/* ---- field.c ---- */

/* Returns the document's schema of a key in a list like "roce.macvlans", or of a key of the
 * document itself. */
const struct ath_schema *ath_field_schema(const char *list, const char *key);

/* Returns the value of a key of the document; NULL if it has none. The caller frees it. */
char *ath_field_value(const struct ath_tui *tui, const char *key);

/* Returns "[0, 254]" without the brackets, and without the quotes around PCI addresses. The caller
 * frees it. */
char *ath_field_plain(const char *value);
