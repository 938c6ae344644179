/* Screens of rows. */
#include "config.h"

#include "cli/tui/menu.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/tui/cursor.h"
#include "cli/tui/field.h"
#include "cli/tui/lines.h"
#include "cli/tui/page.h"
#include "cli/tui/search.h"

enum { LABEL_COLUMN = 5, LABEL_COLUMNS_MAX = 44, GAP = 3, BELOW_ROWS_MIN = 16 };

/* A row with its texts for one drawing. */
struct line {
    const struct ath_menu_row *row;
    char *subject, *label, *value;
};

struct ath_menu_list {
    const struct ath_menu_row *row; /* the row whose lines are being added */
    struct line *items;
    size_t count;
};

struct showing {
    const struct ath_menu *menu;
    const char *subject;
    struct ath_menu_list list;
    struct ath_cursor cursor;
};

static void free_list(struct ath_menu_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].subject);
        free(list->items[i].label);
        free(list->items[i].value);
    }
    free(list->items);
    *list = (struct ath_menu_list){ 0 };
}

void ath_menu_list_add(struct ath_menu_list *list, const char *subject, const char *label,
                       const char *detail)
{
    struct line *line = ath_push(&list->items, &list->count, sizeof *line);
    line->row = list->row;
    line->subject = ath_xstrdup(subject);
    line->label = ath_xstrdup(label);
    line->value = ath_xstrdup(detail);
}

/* Returns the values of a row's fields in one line. */
static char *field_values(const struct ath_tui *tui, const struct ath_menu *menu,
                          const char *subject, const struct ath_menu_row *row)
{
    ATH_AUTO(ath_text) values = { 0 };
    for (size_t i = 0; i < ATH_COUNT(row->fields) && row->fields[i]; i++) {
        ath_auto_free char *value = ath_field_shown(tui, menu->list, subject, row->fields[i]);
        ath_text_add(&values, "%s%s", i ? "   " : "", value);
    }
    return ath_text_take(&values);
}

static void add_row(const struct ath_tui *tui, struct showing *showing,
                    const struct ath_menu_row *row)
{
    showing->list.row = row;
    if (row->is_shown && !row->is_shown(tui, showing->subject))
        return;
    if (row->list) {
        row->list(tui, &showing->list);
        return;
    }
    ath_auto_free char *label = ath_tui_fill(_(row->label), showing->subject);
    ath_auto_free char *value = row->value ? row->value(tui, showing->subject)
                                : row->fields[0]
                                    ? field_values(tui, showing->menu, showing->subject, row)
                                    : NULL;
    ath_menu_list_add(&showing->list, showing->subject, label, value);
}

/* Makes all rows again for every drawing, since the document may have changed. */
static void make_rows(const struct ath_tui *tui, struct showing *showing)
{
    free_list(&showing->list);
    for (const struct ath_menu_row *row = showing->menu->rows; row->label || row->list; row++)
        add_row(tui, showing, row);
}

/* ---- drawing ---- */

/* Returns the help of a row, or NULL. */
static const char *help_of(const struct showing *showing, const struct line *line)
{
    if (line->row->help)
        return _(line->row->help);
    return line->row->fields[0] ? ath_field_help(showing->menu->list, line->row->fields[0]) : NULL;
}

static int wider(const char *text, int widest)
{
    int width = text ? (int)ath_text_width(text) : 0;
    return width > widest ? width : widest;
}

/* The columns of a row's parts. The help is shown only if there is room for that of all rows. */
struct grid {
    int columns, value, help; /* help: 0 if it is not shown */
};

static struct grid grid_of(const struct ath_tui *tui, const struct showing *showing)
{
    struct grid grid = { .columns = ath_screen_columns(tui->terminal) };
    int label = 0, value = 0, alone = 0, help = 0;

    for (size_t i = 0; i < showing->list.count; i++) {
        const struct line *line = &showing->list.items[i];
        if (line->value)
            label = wider(line->label, label);
        else
            alone = wider(line->label, alone);
        value = wider(line->value, value);
        help = wider(help_of(showing, line), help);
    }
    grid.value = LABEL_COLUMN + (label < LABEL_COLUMNS_MAX ? label : LABEL_COLUMNS_MAX) + GAP;
    grid.help =
        (grid.value + value > LABEL_COLUMN + alone ? grid.value + value : LABEL_COLUMN + alone) +
        GAP;
    if (grid.help + help >= grid.columns)
        grid.help = 0;
    return grid;
}

/* Returns the columns for the values. */
static int value_room(const struct grid *grid)
{
    return (grid->help ? grid->help : grid->columns - 1) - grid->value;
}

static void draw_line(struct ath_tui *tui, const struct showing *showing, const struct grid *grid,
                      int index, int row)
{
    const struct line *line = &showing->list.items[index];
    const char *help = help_of(showing, line);
    bool is_at = index == showing->cursor.at;
    ath_auto_free char *number = ath_xasprintf(" %2d  ", index + 1);

    ath_screen_put(tui->terminal, row, 0, grid->columns, ATH_ROLE_PLAIN, is_at, number);
    ath_screen_put(tui->terminal, row, LABEL_COLUMN,
                   (line->value ? grid->value : grid->columns) - LABEL_COLUMN, ATH_ROLE_PLAIN,
                   is_at, line->label);
    if (line->value)
        ath_screen_put(tui->terminal, row, grid->value, value_room(grid), ATH_ROLE_NAME, is_at,
                       line->value);
    if (grid->help && help)
        ath_screen_put(tui->terminal, row, grid->help, grid->columns - grid->help, ATH_ROLE_DIM,
                       is_at, help);
}

/* Draws text below the rows. Returns the row after it. */
static int draw_below(struct ath_tui *tui, int row, enum ath_role role, const char *text)
{
    int end = ATH_TUI_BODY + ath_tui_body_rows(tui);
    return ath_tui_draw_text(tui, row + 1, LABEL_COLUMN, end,
                             ath_screen_columns(tui->terminal) - LABEL_COLUMN - 1, role, text);
}

/* A value that is wider than its row is shown whole below the rows. */
static int draw_whole_value(struct ath_tui *tui, const struct showing *showing,
                            const struct grid *grid, int row)
{
    const struct line *line = &showing->list.items[showing->cursor.at];
    bool is_cut = line->value && (int)ath_text_width(line->value) > value_room(grid);
    return is_cut ? draw_below(tui, row, ATH_ROLE_NAME, line->value) : row;
}

static int draw_about(struct ath_tui *tui, const struct showing *showing, int row)
{
    ath_auto_free char *about =
        showing->menu->about ? showing->menu->about(tui, showing->subject) : NULL;
    return about ? draw_below(tui, row, ATH_ROLE_PLAIN, about) : row;
}

/* Shows the beginning of a page on a screen with room for it. */
static void draw_page(struct ath_tui *tui, const struct ath_page *page, int row)
{
    struct ath_style style = ath_screen_style(tui->terminal);
    int rows = ATH_TUI_BODY + ath_tui_body_rows(tui) - row - 2;
    ATH_AUTO(ath_lines) lines = { 0 };

    if (!page || rows < BELOW_ROWS_MIN)
        return;
    ath_screen_line(tui->terminal, row + 1, 0, style.columns);
    style.columns -= 2;
    ath_auto_free char *text = page->make(tui, &style);
    ath_lines_set(&lines, text);
    ath_lines_draw(tui, &lines, row + 2, rows);
}

/* Returns whether the command that a line names exists. Its options, and words after them, are not
 * looked at. */
static bool is_command(const char *line)
{
    const struct ath_command *command = &ath_command_root;
    ath_auto_free char *copy = ath_xstrdup(line);
    char *rest = copy;

    strsep(&rest, " "); /* aitherion */
    while (command && command->children && !(rest && *rest == '-'))
        command = rest ? ath_command_child(command, strsep(&rest, " ")) : NULL;
    return command != NULL;
}

static char *command_of(const struct ath_tui *tui, const struct showing *showing,
                        const struct line *line)
{
    const struct ath_menu_row *row = line->row;
    if (row->command && is_command(row->command))
        return ath_tui_fill(row->command, line->subject);
    if (row->fields[0])
        return ath_field_command(tui, showing->menu->list, line->subject, row->fields);
    return row->shows ? ath_xstrdup(row->shows->command) : NULL;
}

static void draw_foot(struct ath_tui *tui, const struct showing *showing)
{
    const struct line *line = &showing->list.items[showing->cursor.at];
    ath_auto_free char *title = ath_tui_fill(_(showing->menu->title), showing->subject);
    ath_auto_free char *command = command_of(tui, showing, line);
    ath_tui_draw_around(tui, title, help_of(showing, line), command, ATH_IN_MENU);
}

static void draw_menu(struct ath_tui *tui, void *data)
{
    struct showing *showing = data;
    int end = ATH_TUI_BODY + ath_tui_body_rows(tui);

    make_rows(tui, showing);
    int count = (int)showing->list.count;
    ath_cursor_fit(&showing->cursor, count, end - ATH_TUI_BODY);
    struct grid grid = grid_of(tui, showing);
    int row = showing->cursor.row = ATH_TUI_BODY;
    for (int i = showing->cursor.first; i < count && row < end; i++)
        draw_line(tui, showing, &grid, i, row++);
    row = draw_whole_value(tui, showing, &grid, row);
    row = draw_about(tui, showing, row);
    draw_page(tui, showing->menu->below, row);
    draw_foot(tui, showing);
}

/* ---- acting ---- */

/* Opens the selected row. The subject is copied, because the rows change with the document. Returns
 * true if this screen closes. */
static bool open_line(struct ath_tui *tui, const struct showing *showing)
{
    const struct line *line = &showing->list.items[showing->cursor.at];
    const struct ath_menu_row *row = line->row;
    ath_auto_free char *subject = ath_xstrdup(line->subject);

    ath_tui_hush(tui);
    if (row->act)
        return row->act(tui, subject);
    if (row->opens)
        ath_menu_show(tui, row->opens, subject);
    if (row->shows)
        ath_page_show(tui, row->shows);
    for (size_t i = 0; i < ATH_COUNT(row->fields) && row->fields[i]; i++)
        if (!ath_field_change(tui, showing->menu->list, subject, row->fields[i]))
            break;
    return row->is_return;
}

static void reload(struct ath_tui *tui)
{
    struct ath_err err = { 0 };
    if (ath_store_read_machine(&tui->store, &err))
        ath_tui_say_error(tui, &err);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("the machine was read again"));
    ath_screen_repaint(tui->terminal);
}

static char *searched_line(const void *data, int index)
{
    const struct line *line = &((const struct ath_menu_list *)data)->items[index];
    return ath_xasprintf("%s %s", line->label, line->value ? line->value : "");
}

static bool act(struct ath_tui *tui, struct showing *showing, enum ath_action action, int key)
{
    const struct ath_search_rows rows = { searched_line, &showing->list, &showing->list.count };
    bool is_picked = ath_cursor_act(&showing->cursor, action, key, (int)showing->list.count) ||
                     (action == ATH_ACTION_CLICK &&
                      ath_tui_click(tui, &showing->cursor, (int)showing->list.count));

    if (action == ATH_ACTION_BACK)
        return true;
    ath_search_act(tui, action, &rows, &showing->cursor.at);
    if (action == ATH_ACTION_RELOAD)
        reload(tui);
    if (action == ATH_ACTION_SAVE && tui->store.has_document)
        ath_tui_save(tui);
    return (action == ATH_ACTION_OPEN || is_picked) && showing->list.count &&
           open_line(tui, showing);
}

static bool is_there(const struct ath_tui *tui, const struct showing *showing)
{
    return !showing->menu->exists || showing->menu->exists(tui, showing->subject);
}

void ath_menu_show(struct ath_tui *tui, const struct ath_menu *menu, const char *subject)
{
    struct showing showing = { .menu = menu, .subject = subject };
    struct ath_tui_frame frame = { .draw = draw_menu, .data = &showing, .is_full = true };

    ath_tui_push(tui, &frame);
    for (bool is_done = false; !is_done && is_there(tui, &showing);) {
        int key;
        enum ath_action action = ath_tui_key(tui, ATH_IN_MENU, -1, &key);
        is_done = act(tui, &showing, action, key) || tui->is_over;
    }
    ath_tui_pop(tui);
    free_list(&showing.list);
}
