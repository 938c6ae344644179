/* Printing a message as JSON in capnp's manner, and copying it, for each struct of the schemas:
 * copies.c is written by copier.py. */
#pragma once
#include <stdio.h>

#include "remote/wire/builder.h"

struct copied {
    const char *name; /* "Message", "Everything.Inner" */
    const struct ath_wire_shape *shape;
    void (*run)(struct ath_wire_struct from, struct ath_wire_builder *to, FILE *out);
};

extern const struct copied copied_types[];
extern const size_t copied_count;

static inline void print_key(FILE *out, bool *is_first, const char *name)
{
    fprintf(out, "%s\"%s\":", *is_first ? "" : ",", name);
    *is_first = false;
}

static inline void print_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static inline void print_data(FILE *out, struct ath_wire_bytes bytes)
{
    fputc('[', out);
    for (size_t i = 0; i < bytes.length; i++)
        fprintf(out, "%s%u", i ? "," : "", bytes.data[i]);
    fputc(']', out);
}

static inline void print_word(FILE *out, const char *word, unsigned int value)
{
    if (word)
        fprintf(out, "\"%s\"", word);
    else
        fprintf(out, "%u", value);
}
