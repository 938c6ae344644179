/* How text for people may look where it goes: colours by what they mean, lines, and width. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

struct ath_style {
    bool is_color; /* never an escape sequence where this is false */
    bool is_utf8;  /* lines and signs beyond ASCII */
    int columns;   /* to wrap at; 0 for no limit */
};

enum ath_role {
    ATH_ROLE_PLAIN,
    ATH_ROLE_HEADING,
    ATH_ROLE_NAME, /* what a person would type: a device's name */
    ATH_ROLE_GOOD,
    ATH_ROLE_WARN,
    ATH_ROLE_BAD,
    ATH_ROLE_DIM,
    ATH_ROLE_COUNT
};

enum ath_glyph {
    ATH_GLYPH_BRANCH, /* three columns each, for trees */
    ATH_GLYPH_LAST,
    ATH_GLYPH_TRUNK,
    ATH_GLYPH_NO_TRUNK,
    ATH_GLYPH_TIMES,
    ATH_GLYPH_WARNING,
    ATH_GLYPH_COUNT
};

/* What to print before and behind text of a role; "" without colour. */
const char *ath_style_on(const struct ath_style *style, enum ath_role role);
const char *ath_style_off(const struct ath_style *style, enum ath_role role);

const char *ath_style_glyph(const struct ath_style *style, enum ath_glyph glyph);

/* Columns that text takes once it is printed. */
size_t ath_style_width(const struct ath_style *style, const char *text);

/* A paragraph with a label: "│  NVLink  3 to GPU1", wrapped below its own text. */
struct ath_paragraph {
    const char *prefix;      /* before the first line, printed dim; NULL for nothing */
    const char *next_prefix; /* before the others, as wide as prefix */
    const char *label;       /* NULL for none */
    enum ath_role label_role;
    size_t label_columns; /* the label is padded to as many, and two blanks follow; 0 for none */
    const char *text;
    enum ath_role role;
};

/* Prints it, made harmless (clean.h) and ended by a newline. */
void ath_style_print(const struct ath_style *style, FILE *out,
                     const struct ath_paragraph *paragraph);
