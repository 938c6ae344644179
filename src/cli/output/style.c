/*
 * Text for people: roles to SGR sequences (ECMA-48), signs with their ASCII stand-ins, and wrapping
 * by display width. Chinese has no blanks to break at: a line may also end beside a wide character,
 * but none begins with closing punctuation (GB/T 15834, section 5.1).
 */
#include "config.h"

#include "cli/output/style.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/output/clean.h"

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

/* One character: how many bytes and columns it takes. Bytes that are no text count as one each. */
static size_t measure(const char *text, size_t *out_columns, wchar_t *out_wide)
{
    mbstate_t state = { 0 };
    wchar_t wide = L'?';
    size_t rest = strnlen(text, MB_LEN_MAX);
    size_t length = mbrtowc(&wide, text, rest, &state);
    if (length == 0 || length > rest) {
        length = 1;
        wide = L'?';
    }
    int columns = wcwidth(wide);
    *out_columns = columns < 0 ? 1 : (size_t)columns;
    *out_wide = wide;
    return length;
}

static bool may_begin_line(wchar_t wide)
{
    return !wcschr(L"，。、；：！？）》」』】”’·,.;:!?)", wide);
}

/* How many bytes of text fit into columns, ending where a line may end; all of a word that fits
 * nowhere. */
static size_t line_length(const char *text, size_t columns)
{
    size_t used = 0, at = 0, last_break = 0, wide_before = 0;

    while (text[at]) {
        size_t width;
        wchar_t wide;
        size_t length = measure(text + at, &width, &wide);
        /* Lists of ids ("0,2,4") hold no blanks, and may be longer than any line. */
        bool is_break = text[at] == ' ' || (at && text[at - 1] == ',') ||
                        ((width == 2 || wide_before) && may_begin_line(wide));
        if (at && is_break)
            last_break = at;
        if (used + width > columns && last_break)
            return last_break;
        used += width;
        at += length;
        wide_before = width == 2;
    }
    return at;
}

static void print_blanks(FILE *out, size_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

/* Returns how many columns the label takes, with the blanks behind it. */
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

/* Below this a column of text is worse than a long line. */
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
        size_t length = line_length(rest, room_beside(style, indent));
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
