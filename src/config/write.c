/* Writes a document by walking the table. A key without a value appears once, as a comment. */
#include "config.h"

#include "config/write.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum { COMMENT_COLUMN = 44 };

struct writer {
    struct ath_text text;
    size_t line_begin;
};

/* Ends a line with help, which gets a column of its own if there is room. */
static void end_line(struct writer *writer, const char *help)
{
    size_t width = writer->text.length - writer->line_begin;
    if (help)
        ath_text_add(&writer->text, "%*s# %s",
                     width + 1 < COMMENT_COLUMN ? (int)(COMMENT_COLUMN - width) : 1, "", help);
    ath_text_add(&writer->text, "\n");
    writer->line_begin = writer->text.length;
}

static void add_value(struct writer *writer, const struct ath_schema *schema, const void *base)
{
    ATH_AUTO(ath_texts) values = { 0 };
    ath_schema_texts(schema, base, &values);
    ath_schema_write(schema, &values, &writer->text);
}

static void write_keys(struct writer *writer, const struct ath_schema *mapping, const void *base,
                       int indent, bool has_help, bool is_entry);

static void write_items(struct writer *writer, const struct ath_schema *schema, const void *base,
                        int indent)
{
    for (size_t i = 0; i < ath_schema_count(schema, base); i++)
        write_keys(writer, schema, ath_schema_item(schema, base, i), indent + 4, i == 0, true);
}

/* Returns whether a key can be left out of a new document: a rare key without a value or with its
 * default, or a rare mapping of nothing else. */
static bool is_needless(const struct ath_schema *key, const void *base)
{
    if (!key->is_rare || key->kind != ATH_VALUE_MAPPING)
        return key->is_rare && (ath_schema_is_unset(key, base) || ath_schema_is_default(key, base));
    for (const struct ath_schema *inner = key->keys; inner->name; inner++)
        if (!is_needless(inner, ath_schema_field(key, base)))
            return false;
    return true;
}

/* lead: the blanks before the key, or "  - " */
static void write_key(struct writer *writer, const struct ath_schema *key, const void *base,
                      const char *lead, int indent, bool has_help)
{
    const char *help = has_help ? key->help : NULL;
    bool is_unset = ath_schema_is_unset(key, base);
    if ((is_unset && !has_help) || is_needless(key, base))
        return;

    ath_text_add(&writer->text, "%s%s%s:", lead, is_unset ? "# " : "", key->name);
    if (key->kind == ATH_VALUE_MAPPING) {
        end_line(writer, help);
        write_keys(writer, key, ath_schema_field(key, base), indent + 2, has_help, false);
    } else if (key->kind == ATH_VALUE_ITEMS) {
        ath_text_add(&writer->text, "%s", ath_schema_count(key, base) ? "" : " []");
        end_line(writer, help);
        write_items(writer, key, base, indent);
    } else {
        ath_text_add(&writer->text, "%s", is_unset ? "" : " ");
        add_value(writer, key, base);
        end_line(writer, help);
    }
}

/* The first key of an entry must always be set; it is the key that names the entry. */
static void write_keys(struct writer *writer, const struct ath_schema *mapping, const void *base,
                       int indent, bool has_help, bool is_entry)
{
    for (const struct ath_schema *key = mapping->keys; key->name; key++) {
        bool is_first = is_entry && key == mapping->keys;
        ath_auto_free char *lead =
            ath_xasprintf("%*s%s", is_first ? indent - 2 : indent, "", is_first ? "- " : "");
        write_key(writer, key, base, lead, indent, has_help);
    }
}

char *ath_document_write(const struct ath_document *document, const char *preamble)
{
    struct writer writer = { 0 };

    if (preamble)
        ath_text_add(&writer.text, "%s", preamble);
    writer.line_begin = writer.text.length;
    write_keys(&writer, ath_schema_root(), document, 0, true, false);
    return ath_text_take(&writer.text);
}
