/* Drawing on the full screen. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/tui/terminal_state.h"

enum { CELL_LETTERS_MAX = 8 };

void ath_screen_erase(struct ath_screen_terminal *terminal)
{
    terminal->curses.werase(terminal->window);
    terminal->has_cursor = false;
}

void ath_screen_show(struct ath_screen_terminal *terminal)
{
    const struct ath_curses *curses = &terminal->curses;
    curses->curs_set(terminal->has_cursor);
    curses->wmove(terminal->window, terminal->has_cursor ? terminal->cursor_row : 0,
                  terminal->has_cursor ? terminal->cursor_column : 0);
    curses->wrefresh(terminal->window);
}

void ath_screen_repaint(struct ath_screen_terminal *terminal)
{
    terminal->curses.clearok(terminal->window, true);
}

void ath_screen_cursor(struct ath_screen_terminal *terminal, int row, int column)
{
    terminal->has_cursor = true;
    terminal->cursor_row = row;
    terminal->cursor_column = column;
}

static void set_role(struct ath_screen_terminal *terminal, enum ath_role role, bool is_reversed)
{
    static const attr_t attributes[ATH_ROLE_COUNT] = {
        [ATH_ROLE_HEADING] = A_BOLD,
        [ATH_ROLE_BAD] = A_BOLD,
        [ATH_ROLE_DIM] = A_DIM,
    };
    attr_t attribute = attributes[role] | (is_reversed ? A_REVERSE : A_NORMAL);
    if (is_reversed)
        attribute &= ~(attr_t)A_DIM;                            /* hard to read on some terminals */
    bool is_colored = terminal->style.is_color && !is_reversed; /* a selected row has one colour */
    terminal->curses.wattr_set(terminal->window, attribute, is_colored ? (short)role : (short)0,
                               NULL);
}

/* Returns the bytes of the next character of text, the character and its columns. Invalid
 * characters become '?'. */
static size_t next_letter(const char *text, wchar_t *out, int *out_columns)
{
    mbstate_t state = { 0 };
    size_t length = mbrtowc(out, text, strlen(text), &state);
    if (length == 0 || length > strlen(text)) {
        *out = L'?';
        length = 1;
    }
    *out_columns = wcwidth(*out);
    if (*out_columns < 0) {
        *out = L'?';
        *out_columns = 1;
    }
    return length;
}

/* Draws with the attributes that are set. */
static void put_letters(const struct ath_screen_terminal *terminal, int row, int column, int width,
                        const char *text)
{
    const struct ath_curses *curses = &terminal->curses;
    ath_auto_free char *clean = ath_clean(text, terminal->style.is_utf8);
    int room = terminal->columns - column < width ? terminal->columns - column : width;

    if (row < 0 || row >= terminal->rows || column < 0 || room <= 0)
        return;
    ath_auto_free wchar_t *cells =
        ath_xalloc(((size_t)room * CELL_LETTERS_MAX + 1) * sizeof *cells);
    size_t count = 0;
    int used = 0;
    for (const char *at = clean; *at && count < (size_t)room * (CELL_LETTERS_MAX - 1);) {
        int columns;
        at += next_letter(at, &cells[count], &columns);
        if (used + columns > room)
            break;
        used += columns;
        count++;
    }
    for (; used < room; used++)
        cells[count++] = L' ';
    curses->wmove(terminal->window, row, column);
    curses->waddnwstr(terminal->window, cells, (int)count);
}

void ath_screen_put(struct ath_screen_terminal *terminal, int row, int column, int width,
                    enum ath_role role, bool is_reversed, const char *text)
{
    set_role(terminal, role, is_reversed);
    put_letters(terminal, row, column, width, text);
    set_role(terminal, ATH_ROLE_PLAIN, false);
}

void ath_screen_put_hue(struct ath_screen_terminal *terminal, int row, int column, int width,
                        unsigned int hue, const char *text)
{
    bool is_color = terminal->style.is_color;
    terminal->curses.wattr_set(terminal->window, A_NORMAL,
                               (short)(is_color ? ATH_ROLE_COUNT + hue % ATH_HUES : 0), NULL);
    put_letters(terminal, row, column, width, text);
    set_role(terminal, ATH_ROLE_PLAIN, false);
}

static void put_run(struct ath_screen_terminal *terminal, int row, int column, int width,
                    const char *left, const char *middle, const char *right)
{
    struct ath_text text = { 0 };
    ath_text_add(&text, "%s", left);
    for (int i = 2; i < width; i++)
        ath_text_add(&text, "%s", middle);
    ath_text_add(&text, "%s", right);
    ath_auto_free char *run = ath_text_take(&text);
    ath_screen_put(terminal, row, column, width, ATH_ROLE_DIM, false, run);
}

void ath_screen_line(struct ath_screen_terminal *terminal, int row, int column, int width)
{
    const char *line = terminal->style.is_utf8 ? "─" : "-";
    put_run(terminal, row, column, width, line, line, line);
}

void ath_screen_box(struct ath_screen_terminal *terminal, int row, int column, int rows,
                    int columns)
{
    bool is_utf8 = terminal->style.is_utf8;
    const char *line = is_utf8 ? "─" : "-", *side = is_utf8 ? "│" : "|";

    put_run(terminal, row, column, columns, is_utf8 ? "┌" : "+", line, is_utf8 ? "┐" : "+");
    for (int i = 1; i + 1 < rows; i++)
        put_run(terminal, row + i, column, columns, side, " ", side);
    put_run(terminal, row + rows - 1, column, columns, is_utf8 ? "└" : "+", line,
            is_utf8 ? "┘" : "+");
}
