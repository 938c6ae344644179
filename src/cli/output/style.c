/*
 * Text for users: SGR sequences (ECMA-48) for roles, signs and their ASCII replacements, and
 * wrapping by display width. Chinese has no blanks to break at: a line may also end next to a wide
 * character, but no line begins with closing punctuation (GB/T 15834, section 5.1).
 */
#include "config.h"

#include "cli/output/style.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/suggest.h"

static const char *const sequences[ATH_ROLE_COUNT] = {
    [ATH_ROLE_HEADING] = "\033[1m", [ATH_ROLE_NAME] = "\033[36m", [ATH_ROLE_GOOD] = "\033[32m",
    [ATH_ROLE_WARN] = "\033[33m",   [ATH_ROLE_BAD] = "\033[31m",  [ATH_ROLE_DIM] = "\033[2m",
};

static const struct {
    const char *utf8, *ascii;
} glyphs[ATH_GLYPH_COUNT] = {
    [ATH_GLYPH_BRANCH] = { "├─ ", "|- " }, [ATH_GLYPH_LAST] = { "└─ ", "`- " },
    [ATH_GLYPH_TRUNK] = { "│  ", "|  " },  [ATH_GLYPH_NO_TRUNK] = { "   ", "   " },
    [ATH_GLYPH_TIMES] = { "×", "x" },      [ATH_GLYPH_WARNING] = { "▲ ", "! " },
};

const char *ath_style_on(const struct ath_style *style, enum ath_role role)
{
    return style->is_color && sequences[role] ? sequences[role] : "";
}

const char *ath_style_off(const struct ath_style *style, enum ath_role role)
{
    return style->is_color && sequences[role] ? "\033[0m" : "";
}

const char *ath_style_glyph(const struct ath_style *style, enum ath_glyph glyph)
{
    return style->is_utf8 ? glyphs[glyph].utf8 : glyphs[glyph].ascii;
}

char *ath_style_suggest(const struct ath_style *style, const char *text)
{
    static const struct ath_globals none = { 0 };
    return ath_suggest_complete(style->globals ? style->globals : &none, text);
}

char *ath_style_hint(const struct ath_style *style, const char *hint)
{
    ath_auto_free char *whole = hint && *hint ? ath_style_suggest(style, hint) : NULL;
    return whole ? ath_xasprintf(_("hint: %s"), whole) : NULL;
}

size_t ath_style_width(const struct ath_style *style, const char *text)
{
    ath_auto_free char *clean = ath_clean(text, style->is_utf8);
    return ath_text_width(clean);
}

static void print_role(const struct ath_style *style, FILE *out, enum ath_role role,
                       const char *text, size_t length)
{
    if (length)
        fprintf(out, "%s%.*s%s", ath_style_on(style, role), (int)length, text,
                ath_style_off(style, role));
}

static void print_blanks(FILE *out, size_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

/* Returns the width of the label and of the blanks after it, in columns. */
static size_t print_label(const struct ath_style *style, FILE *out,
                          const struct ath_paragraph *paragraph)
{
    ath_auto_free char *label = ath_clean(paragraph->label ? paragraph->label : "", style->is_utf8);
    size_t width = ath_text_width(label), columns = paragraph->label_columns;
    size_t blanks = columns ? (width < columns ? columns - width : 0) + 2 : 0;

    print_role(style, out, paragraph->label_role, label, strlen(label));
    if (*paragraph->text)
        print_blanks(out, blanks);
    return width + blanks;
}

/* A column of text that is narrower than this reads worse than a long line. */
enum { TEXT_COLUMNS_MIN = 24 };

static size_t room_beside(const struct ath_style *style, size_t indent)
{
    size_t columns = style->columns > 0 ? (size_t)style->columns : SIZE_MAX;
    return columns > indent + TEXT_COLUMNS_MIN ? columns - indent : SIZE_MAX;
}

void ath_style_print(const struct ath_style *style, FILE *out,
                     const struct ath_paragraph *paragraph)
{
    ath_auto_free char *text = ath_clean(paragraph->text, style->is_utf8);
    const char *prefix = paragraph->prefix ? paragraph->prefix : "";
    const char *next_prefix = paragraph->next_prefix ? paragraph->next_prefix : prefix;
    size_t label = paragraph->label_columns ? paragraph->label_columns + 2 : 0;

    print_role(style, out, ATH_ROLE_DIM, prefix, strlen(prefix));
    size_t indent = ath_text_width(prefix) + print_label(style, out, paragraph);
    for (const char *rest = text;;) {
        size_t length = ath_text_fit(rest, room_beside(style, indent));
        print_role(style, out, paragraph->role, rest, length);
        putc('\n', out);
        rest += length;
        rest += strspn(rest, " ");
        if (!*rest)
            break;
        print_role(style, out, ATH_ROLE_DIM, next_prefix, strlen(next_prefix));
        print_blanks(out, label);
        indent = ath_text_width(next_prefix) + label;
    }
}

void ath_style_print_row(const struct ath_style *style, FILE *out, size_t columns,
                         const char *label, const char *text)
{
    const struct ath_paragraph row = { .prefix = "  ",
                                       .label = label,
                                       .label_role = ATH_ROLE_DIM,
                                       .label_columns = columns,
                                       .text = text };
    ath_style_print(style, out, &row);
}
