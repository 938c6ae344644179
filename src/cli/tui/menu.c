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
#include "cli/tui/page.h"

enum { LABEL_COLUMN = 5, LABEL_COLUMNS_MAX = 44 };

/* A row as it is now. */
struct line {
    const struct ath_menu_row *row;
    char *subject, *label, *value;
};

struct ath_menu_list {
    const struct ath_menu_row *row; /* that the next lines are of */
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

/* The values of a row's fields, joined. */
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

/* The document may have changed since: rows are made for every drawing. */
static void make_rows(const struct ath_tui *tui, struct showing *showing)
{
    free_list(&showing->list);
    for (const struct ath_menu_row *row = showing->menu->rows; row->label || row->list; row++)
        add_row(tui, showing, row);
}

/* ---- drawing ---- */

static int label_columns(const struct ath_menu_list *list)
{
    int widest = 0;
    for (size_t i = 0; i < list->count; i++) {
        int width = (int)ath_text_width(list->items[i].label);
        if (list->items[i].value && width > widest)
            widest = width;
    }
    return widest < LABEL_COLUMNS_MAX ? widest : LABEL_COLUMNS_MAX;
}

static void draw_line(struct ath_tui *tui, const struct showing *showing, int index, int row)
{
    const struct line *line = &showing->list.items[index];
    bool is_at = index == showing->cursor.at;
    int columns = ath_screen_columns(tui->terminal), width = label_columns(&showing->list);
    int value_column = LABEL_COLUMN + width + 3;
    ath_auto_free char *number = ath_xasprintf(" %2d  ", index + 1);

    ath_screen_put(tui->terminal, row, 0, columns, ATH_ROLE_PLAIN, is_at, number);
    if (!line->value) {
        ath_screen_put(tui->terminal, row, LABEL_COLUMN, columns - LABEL_COLUMN, ATH_ROLE_PLAIN,
                       is_at, line->label);
        return;
    }
    ath_screen_put(tui->terminal, row, LABEL_COLUMN, width + 3, ATH_ROLE_PLAIN, is_at, line->label);
    ath_screen_put(tui->terminal, row, value_column, columns - value_column - 1, ATH_ROLE_NAME,
                   is_at, line->value);
}

static const char *help_of(const struct showing *showing, const struct line *line)
{
    if (line->row->help)
        return _(line->row->help);
    return line->row->fields[0] ? ath_field_help(showing->menu->list, line->row->fields[0]) : NULL;
}

/* True where the command line has the command that a line of text names. */
static bool is_command(const char *line)
{
    const struct ath_command *command = &ath_command_root;
    ath_auto_free char *copy = ath_xstrdup(line);
    char *rest = copy;

    strsep(&rest, " "); /* aitherion */
    while (command && command->children)
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
    int row = ATH_TUI_BODY;
    for (int i = showing->cursor.first; i < count && row < end; i++)
        draw_line(tui, showing, i, row++);
    ath_auto_free char *about =
        showing->menu->about ? showing->menu->about(tui, showing->subject) : NULL;
    if (about)
        ath_tui_draw_text(tui, row + 1, LABEL_COLUMN, end,
                          ath_screen_columns(tui->terminal) - LABEL_COLUMN - 1, ATH_ROLE_PLAIN,
                          about);
    draw_foot(tui, showing);
}

/* ---- acting ---- */

/* A copy: the document changes under the rows. True where this screen is done. */
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
        ath_tui_say(tui, ATH_ROLE_GOOD, _("the machine was read anew"));
    ath_screen_repaint(tui->terminal);
}

static bool act(struct ath_tui *tui, struct showing *showing, enum ath_action action, int key)
{
    bool is_picked = ath_cursor_act(&showing->cursor, action, key, (int)showing->list.count);

    if (action == ATH_ACTION_BACK)
        return true;
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
