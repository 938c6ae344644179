/* The look of text for users: colours by meaning, line-drawing characters, width. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

struct ath_globals;

struct ath_style {
    bool is_color;                     /* if false, no escape sequence is printed */
    bool is_utf8;                      /* lines and signs may be outside ASCII */
    bool is_verbose;                   /* -v: show what is usually left out */
    int columns;                       /* width to wrap at; 0 for no limit */
    const struct ath_globals *globals; /* options of this run, which suggested commands get; NULL
                                          for none */
};

enum ath_role {
    ATH_ROLE_PLAIN,
    ATH_ROLE_HEADING,
    ATH_ROLE_NAME, /* a word that a user would type: a device's name */
    ATH_ROLE_GOOD,
    ATH_ROLE_WARN,
    ATH_ROLE_BAD,
    ATH_ROLE_DIM,
    ATH_ROLE_COUNT
};

enum ath_glyph {
    ATH_GLYPH_BRANCH, /* the first four draw trees; three columns each */
    ATH_GLYPH_LAST,
    ATH_GLYPH_TRUNK,
    ATH_GLYPH_NO_TRUNK,
    ATH_GLYPH_TIMES,
    ATH_GLYPH_WARNING,
    ATH_GLYPH_COUNT
};

/* Escape sequences to print before and after text of a role; "" without colour. */
const char *ath_style_on(const struct ath_style *style, enum ath_role role);
const char *ath_style_off(const struct ath_style *style, enum ath_role role);

/* The sign as UTF-8 or ASCII. */
const char *ath_style_glyph(const struct ath_style *style, enum ath_glyph glyph);

/*
 * Returns a text whose suggested commands have the options of this run (cli/suggest.h), and the
 * same after "hint: ". Each output that suggests a command calls one of them. NULL stays NULL; an
 * empty hint becomes NULL. The caller frees the result.
 */
char *ath_style_suggest(const struct ath_style *style, const char *text);
char *ath_style_hint(const struct ath_style *style, const char *hint);

/* The width of printed text, in columns. */
size_t ath_style_width(const struct ath_style *style, const char *text);

/* A paragraph with a label: "│  NVLink  3 to GPU1". Further lines align with the text. */
struct ath_paragraph {
    const char *prefix;      /* before the first line, printed dim; NULL for none */
    const char *next_prefix; /* before further lines, as wide as prefix; NULL for the same */
    const char *label;       /* NULL for none */
    enum ath_role label_role;
    size_t label_columns; /* the label is padded to this width plus two; 0 for no padding */
    const char *text;
    enum ath_role role;
};

/* Prints the paragraph and a newline. Makes the text harmless (clean.h). */
void ath_style_print(const struct ath_style *style, FILE *out,
                     const struct ath_paragraph *paragraph);

/* Prints a row "  Label  text", whose dim label is columns wide. */
void ath_style_print_row(const struct ath_style *style, FILE *out, size_t columns,
                         const char *label, const char *text);
