/* Walks and compares trees, tells the type of plain text, and writes scalars. */
#include "config.h"

#include "config/yaml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"

void ath_yaml_free(struct ath_yaml *yaml)
{
    if (!yaml)
        return;
    for (size_t i = 0; i < yaml->child_count; i++)
        ath_yaml_free(&yaml->children[i]);
    free(yaml->children);
    free(yaml->key);
    free(yaml->text);
    *yaml = (struct ath_yaml){ 0 };
}

const struct ath_yaml *ath_yaml_get(const struct ath_yaml *yaml, const char *key)
{
    if (!yaml || yaml->kind != ATH_YAML_MAPPING)
        return NULL;
    for (size_t i = 0; i < yaml->child_count; i++)
        if (yaml->children[i].key && !strcmp(yaml->children[i].key, key))
            return &yaml->children[i];
    return NULL;
}

/* True for a number of YAML 1.2's core schema: [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?,
 * 0o7, 0xf, .inf, .nan. */
static bool is_number(const char *text)
{
    const char *unsigned_text = text + (*text == '-' || *text == '+');
    if (!strncmp(text, "0o", 2))
        return text[2] && !text[2 + strspn(text + 2, "01234567")];
    if (!strncmp(text, "0x", 2))
        return text[2] && !text[2 + strspn(text + 2, "0123456789abcdefABCDEF")];
    if (!strcasecmp(unsigned_text, ".inf") || !strcasecmp(text, ".nan"))
        return true;

    const char *at = unsigned_text;
    size_t digits = strspn(at, "0123456789");
    at += digits;
    if (*at == '.') {
        size_t fraction = strspn(++at, "0123456789");
        digits += fraction;
        at += fraction;
    }
    if (!digits)
        return false;
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '-' || at[1] == '+');
        digits = strspn(at, "0123456789");
        at += digits;
    }
    return digits && !*at;
}

static bool is_word_of(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(text, words[i]))
            return true;
    return false;
}

enum ath_yaml_type ath_yaml_type_of_plain(const char *text)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
    static const char *const booleans[] = { "true", "True", "TRUE", "false", "False", "FALSE" };

    if (is_word_of(text, nulls, ATH_COUNT(nulls)))
        return ATH_YAML_NULL;
    if (is_word_of(text, booleans, ATH_COUNT(booleans)))
        return ATH_YAML_BOOLEAN;
    return is_number(text) ? ATH_YAML_NUMBER : ATH_YAML_TEXT;
}

enum ath_yaml_type ath_yaml_type_of(const struct ath_yaml *scalar)
{
    return scalar->style == ATH_YAML_PLAIN ? ath_yaml_type_of_plain(scalar->text) : ATH_YAML_TEXT;
}

bool ath_yaml_is_null(const struct ath_yaml *yaml)
{
    return yaml->kind == ATH_YAML_SCALAR && ath_yaml_type_of(yaml) == ATH_YAML_NULL;
}

bool ath_yaml_equals(const struct ath_yaml *a, const struct ath_yaml *b)
{
    if (a->kind != b->kind || a->child_count != b->child_count ||
        strcmp(a->key ? a->key : "", b->key ? b->key : ""))
        return false;
    if (a->kind == ATH_YAML_SCALAR &&
        (strcmp(a->text, b->text) || ath_yaml_type_of(a) != ath_yaml_type_of(b)))
        return false;
    for (size_t i = 0; i < a->child_count; i++)
        if (!ath_yaml_equals(&a->children[i], &b->children[i]))
            return false;
    return true;
}

size_t ath_yaml_content_end(const struct ath_yaml *yaml, const char *text)
{
    size_t end = yaml->end;

    if (yaml->style == ATH_YAML_BLOCK && yaml->child_count)
        return ath_yaml_content_end(&yaml->children[yaml->child_count - 1], text);
    while (yaml->style == ATH_YAML_LITERAL && end > yaml->begin &&
           (text[end - 1] == '\n' || text[end - 1] == '\r'))
        end--; /* the end mark of a block scalar is in a later line */
    return end;
}

/* Dates, octals and similar values begin like numbers. Unlike addresses and paths, they hold no
 * slash. */
static bool begins_plain(const char *text)
{
    return !strchr("0123456789.", *text) ? !strchr(" +-()", *text) : strchr(text, '/') != NULL;
}

bool ath_yaml_is_plain(const char *text, const char *signs)
{
    static const char *const words_of_1_1[] = { "y", "n", "yes", "no", "on", "off" };
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";

    if (!*text || !begins_plain(text) || ath_yaml_type_of_plain(text) != ATH_YAML_TEXT)
        return false;
    for (size_t i = 0; i < ATH_COUNT(words_of_1_1); i++)
        if (!strcasecmp(text, words_of_1_1[i]))
            return false;
    for (const char *c = text; *c; c++)
        if (!strchr(safe, *c) && !strchr(signs, *c))
            return false;
    return text[strlen(text) - 1] != ' ';
}

static bool is_single_line(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            return false;
    return true;
}

static void write_single(struct ath_text *out, const char *text)
{
    ath_text_add(out, "'");
    for (; *text; text++)
        ath_text_add(out, *text == '\'' ? "''" : "%c", *text);
    ath_text_add(out, "'");
}

/* True for characters beyond ASCII that a reader would refuse, drop or take as the end of a
 * line. */
static bool needs_escape(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           c == 0xfffe || c == 0xffff;
}

static void write_double(struct ath_text *out, const char *text)
{
    size_t left = strlen(text);

    ath_text_add(out, "\"");
    while (left) {
        uint32_t c;
        size_t length =
            ath_utf8_decode(text, left, &c); /* YAML cannot express text that is not UTF-8 */
        if (c == '"' || c == '\\')
            ath_text_add(out, "\\%c", (char)c);
        else if (!length || needs_escape(c))
            ath_text_add(out, c < 0x100 ? "\\x%02X" : "\\u%04X", c);
        else
            ath_text_add_bytes(out, text, length);
        text += length ? length : 1;
        left -= length ? length : 1;
    }
    ath_text_add(out, "\"");
}

void ath_yaml_write(struct ath_text *out, const char *text, enum ath_yaml_style style)
{
    if (style == ATH_YAML_PLAIN && ath_yaml_is_plain(text, ""))
        ath_text_add(out, "%s", text);
    else if (style == ATH_YAML_SINGLE && is_single_line(text))
        write_single(out, text);
    else
        write_double(out, text);
}
