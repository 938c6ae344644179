/* Scrolled text. */
#include "config.h"

#include "cli/tui/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/tui/search.h"

enum { STEP_COLUMNS = 8 };

void ath_lines_cut(struct ath_lines *lines, size_t count)
{
    while (lines->count > count)
        free(lines->items[--lines->count]);
}

void ath_lines_free(struct ath_lines *lines)
{
    if (!lines)
        return;
    ath_lines_cut(lines, 0);
    free(lines->items);
    *lines = (struct ath_lines){ 0 };
}

static void add(struct ath_lines *lines, const char *text, size_t length)
{
    *(char **)ath_push(&lines->items, &lines->count, sizeof *lines->items) =
        ath_xasprintf("%.*s", (int)length, text);
}

void ath_lines_set(struct ath_lines *lines, const char *text)
{
    ath_lines_cut(lines, 0);
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        add(lines, text, length);
        text += length + (text[length] == '\n');
    }
}

size_t ath_lines_sequence(const char *text, enum ath_role *role)
{
    const struct ath_style colored = { .is_color = true };

    for (int i = ATH_ROLE_PLAIN + 1; *text == '\033' && i < ATH_ROLE_COUNT; i++) {
        const char *on = ath_style_on(&colored, (enum ath_role)i);
        const char *off = ath_style_off(&colored, (enum ath_role)i);
        if (*on && ath_starts_with(text, on)) {
            *role = (enum ath_role)i;
            return strlen(on);
        }
        if (*off && ath_starts_with(text, off)) {
            *role = ATH_ROLE_PLAIN;
            return strlen(off);
        }
    }
    return 0;
}

/* Returns the bytes of the character at text, and its columns. */
static size_t character_at(const char *text, int *out_columns)
{
    size_t length = 1;
    while (ath_utf8_is_inside(text[length]))
        length++;
    ath_auto_free char *character = ath_xasprintf("%.*s", (int)length, text);
    *out_columns = (int)ath_text_width(character);
    return length;
}

void ath_lines_add(struct ath_lines *lines, const char *text, int columns)
{
    const struct ath_style colored = { .is_color = true };
    ATH_AUTO(ath_text) line = { 0 };
    enum ath_role role = ATH_ROLE_PLAIN;
    int used = 0;

    while (*text) {
        int width = 0;
        size_t length = ath_lines_sequence(text, &role);
        if (!length)
            length = character_at(text, &width);
        if (used + width > columns) {
            add(lines, line.data, line.length);
            ath_text_free(&line);
            line = (struct ath_text){ 0 };
            ath_text_add(&line, "%s", ath_style_on(&colored, role)); /* the colour goes on */
            used = 0;
        }
        ath_text_add_bytes(&line, text, length);
        used += width;
        text += length;
    }
    add(lines, line.data ? line.data : "", line.length);
}

void ath_lines_end(struct ath_lines *lines)
{
    lines->first = (int)lines->count;
}

/* ---- drawing ---- */

/* Returns the bytes of plain text that are scrolled away. *skip is the number of columns to scroll
 * away, and is reduced by the columns that the text has had. */
static size_t scrolled_away(const char *text, size_t length, int *skip)
{
    size_t used = 0;
    while (*skip > 0 && used < length) {
        int width;
        used += character_at(text + used, &width);
        *skip -= width;
    }
    return used < length ? used : length;
}

static void draw_line(struct ath_tui *tui, int row, const char *line, int left, bool is_found)
{
    int column = 1, right = ath_screen_columns(tui->terminal) - 1;
    enum ath_role role = ATH_ROLE_PLAIN;

    while (*line && column < right) {
        size_t length = ath_lines_sequence(line, &role);
        if (length) {
            line += length;
            continue;
        }
        length = strcspn(line, "\033");
        length += length == 0; /* not one of our sequences: shown as a sign */
        size_t gone = scrolled_away(line, length, &left);
        ath_auto_free char *part = ath_xasprintf("%.*s", (int)(length - gone), line + gone);
        int width = (int)ath_text_width(part);
        ath_screen_put(tui->terminal, row, column, width < right - column ? width : right - column,
                       role, is_found, part);
        column += width;
        line += length;
    }
}

static void fit(struct ath_lines *lines, int rows)
{
    int last = (int)lines->count - rows;

    if (lines->first > last)
        lines->first = last;
    if (lines->first < 0)
        lines->first = 0;
    if (lines->left < 0)
        lines->left = 0;
}

static int last_shown(const struct ath_lines *lines, int rows)
{
    return lines->first + rows < (int)lines->count ? lines->first + rows : (int)lines->count;
}

int ath_lines_draw(struct ath_tui *tui, struct ath_lines *lines, int row, int rows)
{
    fit(lines, rows);
    for (int i = lines->first; i < last_shown(lines, rows); i++)
        draw_line(tui, row++, lines->items[i], lines->left, i + 1 == lines->found);
    return row;
}

char *ath_lines_place(const struct ath_lines *lines, int rows)
{
    return ath_xasprintf(_("lines %d to %d of %zu"), lines->count ? lines->first + 1 : 0,
                         last_shown(lines, rows), lines->count);
}

/* ---- moving ---- */

/* Returns a line without colours. The caller frees it. */
static char *line_of(const void *data, int index)
{
    const struct ath_lines *lines = data;
    struct ath_text plain = { 0 };
    enum ath_role role;

    for (const char *at = lines->items[index]; *at;) {
        size_t length = ath_lines_sequence(at, &role);
        if (!length)
            ath_text_add_bytes(&plain, at, 1);
        at += length ? length : 1;
    }
    return ath_text_take(&plain);
}

/* Searches on from the line found last if it is still shown. The line found comes to the middle. */
static void search(struct ath_tui *tui, struct ath_lines *lines, enum ath_action action, int rows)
{
    const struct ath_search_rows all = { line_of, lines, &lines->count };
    int at = lines->found - 1;

    if (at < lines->first || at >= last_shown(lines, rows))
        at = lines->first - 1;
    if (!ath_search_act(tui, action, &all, &at))
        return;
    lines->found = at + 1;
    if (at < lines->first || at >= last_shown(lines, rows))
        lines->first = at - rows / 2;
}

void ath_lines_act(struct ath_tui *tui, struct ath_lines *lines, enum ath_action action, int rows)
{
    switch (action) {
    case ATH_ACTION_UP:
        lines->first--;
        break;
    case ATH_ACTION_DOWN:
        lines->first++;
        break;
    case ATH_ACTION_WHEEL_UP:
        lines->first -= ATH_WHEEL_ROWS;
        break;
    case ATH_ACTION_WHEEL_DOWN:
        lines->first += ATH_WHEEL_ROWS;
        break;
    case ATH_ACTION_PAGE_UP:
        lines->first -= rows;
        break;
    case ATH_ACTION_PAGE_DOWN:
        lines->first += rows;
        break;
    case ATH_ACTION_FIRST:
        lines->first = lines->left = 0;
        break;
    case ATH_ACTION_LAST:
        ath_lines_end(lines);
        break;
    case ATH_ACTION_LEFT:
        lines->left -= STEP_COLUMNS;
        break;
    case ATH_ACTION_RIGHT:
        lines->left += STEP_COLUMNS;
        break;
    default:
        search(tui, lines, action, rows);
    }
}
