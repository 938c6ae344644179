/* Boxes over the screen. */
#include "config.h"

#include "cli/tui/dialog.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/tui/columns.h"
#include "cli/tui/cursor.h"
#include "cli/tui/search.h"

enum { EDGE = 2, LINE_LETTERS_MAX = 1024, INPUT_COLUMNS = 60, REASON_ROWS = 4 };

void ath_choices_free(struct ath_choices *choices)
{
    for (size_t i = 0; choices && i < choices->count; i++) {
        free(choices->items[i].value);
        free(choices->items[i].label);
        free(choices->items[i].detail);
    }
    if (choices)
        free(choices->items);
}

struct ath_choice *ath_choices_add(struct ath_choices *choices, const char *value,
                                   const char *label, const char *detail)
{
    struct ath_choice *choice = ath_push(&choices->items, &choices->count, sizeof *choice);
    choice->value = ath_xstrdup(value);
    choice->label = ath_xstrdup(label ? label : value);
    choice->detail = detail && *detail ? ath_xstrdup(detail) : NULL;
    return choice;
}

struct ath_choice *ath_choices_find(const struct ath_choices *choices, const char *value)
{
    for (size_t i = 0; i < choices->count; i++)
        if (!strcmp(choices->items[i].value, value))
            return &choices->items[i];
    return NULL;
}

/* ---- the box ---- */

struct box {
    int row, column, rows, columns; /* inside the border */
};

static int at_most(int value, int most)
{
    return value < most ? value : most;
}

/* Draws a box in the middle of the screen. It has room inside for these rows and columns, or fewer
 * on a small screen. */
static struct box draw_box(struct ath_tui *tui, const char *title, int rows, int columns)
{
    int screen_rows = ath_screen_rows(tui->terminal),
        screen_columns = ath_screen_columns(tui->terminal);
    int title_columns = (int)ath_text_width(title);

    columns =
        at_most(columns > title_columns ? columns : title_columns, screen_columns - 4 - 2 * EDGE);
    rows = at_most(rows, screen_rows - 4);
    struct box box = { .rows = rows, .columns = columns };
    box.row = (screen_rows - rows - 2) / 2 + 1;
    box.column = (screen_columns - columns) / 2;
    ath_screen_box(tui->terminal, box.row - 1, box.column - EDGE, rows + 2, columns + 2 * EDGE);
    ath_auto_free char *heading = ath_xasprintf(" %s ", title);
    ath_screen_put(tui->terminal, box.row - 1, box.column - 1,
                   at_most((int)ath_text_width(heading), columns + 1), ATH_ROLE_HEADING, false,
                   heading);
    return box;
}

static int widest_line(const char *text)
{
    int widest = 0;
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        ath_auto_free char *line = ath_xasprintf("%.*s", (int)length, text);
        int width = (int)ath_text_width(line);
        widest = width > widest ? width : widest;
        text += length + (text[length] == '\n');
    }
    return widest;
}

/* Returns the columns that a text may take in a box. */
static int room_for(const struct ath_tui *tui)
{
    return ath_screen_columns(tui->terminal) - 4 - 2 * EDGE;
}

static void draw_hints(struct ath_tui *tui, const struct box *box, enum ath_key_place place)
{
    ath_auto_free char *hints = ath_key_hints(place, (size_t)box->columns);
    ath_screen_put(tui->terminal, box->row + box->rows - 1, box->column, box->columns, ATH_ROLE_DIM,
                   false, hints);
}

/* ---- a message ---- */

struct message {
    const char *title, *text;
    int first; /* line that is shown first, if not all of them fit */
    int page;  /* lines that fit; as many as there are: all of them */
    int lines;
};

/* Returns the text from a line on. */
static const char *from_line(const char *text, int line)
{
    for (; line > 0 && *text; line--)
        text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
    return text;
}

/* A text that does not fit scrolls by whole lines, and says so in its last row. */
static void draw_message(struct ath_tui *tui, void *data)
{
    struct message *message = data;
    int columns = at_most(widest_line(message->text), room_for(tui));
    message->lines = ath_tui_text_rows(message->text, columns);
    struct box box = draw_box(tui, message->title, message->lines, columns);
    bool is_cut = box.rows < message->lines;

    message->page = is_cut ? box.rows - 1 : box.rows;
    message->first = at_most(message->first, message->lines - message->page);
    message->first = message->first < 0 ? 0 : message->first;
    ath_tui_draw_text(tui, box.row, box.column, box.row + message->page, box.columns,
                      ATH_ROLE_PLAIN, from_line(message->text, message->first));
    if (is_cut)
        ath_screen_put(tui->terminal, box.row + message->page, box.column, box.columns,
                       ATH_ROLE_DIM, false, _("Up, Down: scroll   other keys: close"));
}

/* Scrolls a text that does not fit. Returns false if the key closes the box. */
static bool scroll(struct message *message, enum ath_action action)
{
    const struct {
        enum ath_action action;
        int lines;
    } steps[] = { { ATH_ACTION_UP, -1 },
                  { ATH_ACTION_DOWN, 1 },
                  { ATH_ACTION_PAGE_UP, -message->page },
                  { ATH_ACTION_PAGE_DOWN, message->page },
                  { ATH_ACTION_WHEEL_UP, -ATH_WHEEL_ROWS },
                  { ATH_ACTION_WHEEL_DOWN, ATH_WHEEL_ROWS } };

    for (size_t i = 0; message->page < message->lines && i < ATH_COUNT(steps); i++)
        if (steps[i].action == action) {
            message->first += steps[i].lines;
            return true;
        }
    return false;
}

void ath_dialog_say(struct ath_tui *tui, const char *title, const char *text)
{
    struct message message = { .title = title, .text = text };
    struct ath_tui_frame frame = { .draw = draw_message, .data = &message };
    int key;

    ath_tui_push(tui, &frame);
    while (scroll(&message, ath_tui_key(tui, ATH_IN_DIALOG, -1, &key)))
        ;
    ath_tui_pop(tui);
}

/* ---- a choice ---- */

struct choosing {
    const char *title, *text;
    struct ath_choices *choices;
    bool is_many;
    struct ath_cursor cursor;
    struct ath_columns columns;
};

static enum ath_key_place place_of(const struct choosing *choosing)
{
    return choosing->is_many ? ATH_IN_CHECKS : ATH_IN_LIST;
}

/* Returns a choice as a row of cells. The caller frees it. */
static char *choice_row(const struct ath_choice *choice)
{
    return choice->detail ? ath_xasprintf("%s\t%s", choice->label, choice->detail)
                          : ath_xstrdup(choice->label);
}

static void fit_columns(struct choosing *choosing)
{
    for (size_t i = 0; i < choosing->choices->count; i++) {
        ath_auto_free char *row = choice_row(&choosing->choices->items[i]);
        ath_columns_fit(&choosing->columns, row);
    }
}

static char *choice_line(const struct choosing *choosing, size_t index)
{
    const struct ath_choice *choice = &choosing->choices->items[index];
    const char *mark = !choosing->is_many ? "" : choice->is_on ? "[x] " : "[ ] ";
    ath_auto_free char *row = choice_row(choice);
    ath_auto_free char *text = ath_columns_pad(&choosing->columns, row);
    return ath_xasprintf("%2zu  %s%s", index + 1, mark, text);
}

static int widest_choice(const struct choosing *choosing)
{
    int widest = 0;
    for (size_t i = 0; i < choosing->choices->count; i++) {
        ath_auto_free char *line = choice_line(choosing, i);
        int width = (int)ath_text_width(line);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Draws the text, the choices, an empty row and the key hints. */
static void draw_choosing(struct ath_tui *tui, void *data)
{
    struct choosing *choosing = data;
    int count = (int)choosing->choices->count;
    ath_auto_free char *hints = ath_key_hints(place_of(choosing), (size_t)room_for(tui));
    int columns = widest_choice(choosing);
    int others[] = { widest_line(choosing->text), (int)ath_text_width(hints) };

    for (size_t i = 0; i < ATH_COUNT(others); i++)
        columns = others[i] > columns ? others[i] : columns;
    columns = at_most(columns, room_for(tui));
    int text_rows = choosing->text ? ath_tui_text_rows(choosing->text, columns) + 1 : 0;
    struct box box = draw_box(tui, choosing->title, text_rows + count + 2, columns);
    if (choosing->text)
        ath_tui_draw_text(tui, box.row, box.column, box.row + text_rows, box.columns,
                          ATH_ROLE_PLAIN, choosing->text);
    int shown = box.rows - text_rows - 2;
    ath_cursor_fit(&choosing->cursor, count, shown);
    choosing->cursor.row = box.row + text_rows;
    for (int i = 0; i < shown && choosing->cursor.first + i < count; i++) {
        int index = choosing->cursor.first + i;
        ath_auto_free char *line = choice_line(choosing, (size_t)index);
        ath_screen_put(tui->terminal, box.row + text_rows + i, box.column, box.columns,
                       ATH_ROLE_PLAIN, index == choosing->cursor.at, line);
    }
    draw_hints(tui, &box, place_of(choosing));
}

static char *searched_choice(const void *data, int index)
{
    return choice_line(data, (size_t)index);
}

/* Returns true when the user is done; *out is then the result of ath_dialog_choose(). */
static bool act_on_choice(struct ath_tui *tui, struct choosing *choosing, enum ath_action action,
                          int key, int *out)
{
    struct ath_choice *items = choosing->choices->items;
    int count = (int)choosing->choices->count;
    const struct ath_search_rows rows = { searched_choice, choosing, &choosing->choices->count };
    bool is_picked = ath_cursor_act(&choosing->cursor, action, key, count) ||
                     (action == ATH_ACTION_CLICK && ath_tui_click(tui, &choosing->cursor, count));

    ath_search_act(tui, action, &rows, &choosing->cursor.at);
    if (choosing->is_many && count && (is_picked || action == ATH_ACTION_TOGGLE))
        items[choosing->cursor.at].is_on ^= true;
    if (action == ATH_ACTION_BACK) {
        *out = -1;
        return true;
    }
    if (action == ATH_ACTION_OPEN || (is_picked && !choosing->is_many)) {
        *out = choosing->is_many ? 0 : choosing->cursor.at;
        return choosing->is_many || count;
    }
    return false;
}

int ath_dialog_choose(struct ath_tui *tui, const char *title, const char *text,
                      struct ath_choices *choices, bool is_many)
{
    struct choosing choosing = { title, text, choices, is_many, { 0 }, { { 0 } } };
    struct ath_tui_frame frame = { .draw = draw_choosing, .data = &choosing };
    int chosen = -1;

    fit_columns(&choosing);
    for (size_t i = 0; !is_many && i < choices->count; i++)
        if (choices->items[i].is_on)
            choosing.cursor.at = (int)i;
    ath_tui_push(tui, &frame);
    for (bool is_done = false; !is_done;) {
        int key;
        enum ath_action action = ath_tui_key(tui, place_of(&choosing), -1, &key);
        is_done = act_on_choice(tui, &choosing, action, key, &chosen) || tui->is_over;
    }
    ath_tui_pop(tui);
    return tui->is_over ? -1 : chosen;
}

/* ---- a line to type ---- */

struct input {
    const char *title, *help;
    wchar_t letters[LINE_LETTERS_MAX + 1];
    size_t length, at;
    bool is_selected; /* the offered text is unchanged: the first letter typed replaces it */
    char *reason;
};

static char *input_text(const struct input *input, size_t from)
{
    size_t size = (input->length + 1) * (size_t)MB_CUR_MAX;
    char *text = ath_xalloc(size);
    for (size_t i = from, used = 0; i < input->length; i++) {
        char bytes[16]; /* MB_LEN_MAX */
        int length = wctomb(bytes, input->letters[i]);
        if (length > 0 && used + (size_t)length < size) {
            memcpy(text + used, bytes, (size_t)length);
            used += (size_t)length;
        }
    }
    return text;
}

static int letters_width(const struct input *input, size_t from, size_t to)
{
    int width = 0;
    for (size_t i = from; i < to; i++)
        width += wcwidth(input->letters[i]) > 0 ? wcwidth(input->letters[i]) : 0;
    return width;
}

static void draw_input(struct ath_tui *tui, void *data)
{
    const struct input *input = data;
    int columns = at_most(INPUT_COLUMNS, room_for(tui));
    int help_rows = input->help ? ath_tui_text_rows(input->help, columns) : 0;
    int reason_rows =
        input->reason ? at_most(ath_tui_text_rows(input->reason, columns), REASON_ROWS) : 1;
    struct box box = draw_box(tui, input->title, help_rows + reason_rows + 4, columns);
    int row = box.row + help_rows + 1;
    size_t from = 0;

    if (input->help)
        ath_tui_draw_text(tui, box.row, box.column, box.row + help_rows, box.columns,
                          ATH_ROLE_PLAIN, input->help);
    while (letters_width(input, from, input->at) > box.columns - 3)
        from++;
    ath_auto_free char *text = input_text(input, from);
    ath_screen_put(tui->terminal, row, box.column, 2, ATH_ROLE_HEADING, false, "> ");
    ath_screen_put(tui->terminal, row, box.column + 2, box.columns - 2, ATH_ROLE_NAME,
                   input->is_selected, text);
    if (input->reason)
        ath_tui_draw_text(tui, row + 1, box.column, row + 1 + reason_rows, box.columns,
                          ATH_ROLE_BAD, input->reason);
    draw_hints(tui, &box, ATH_IN_INPUT);
    ath_screen_cursor(tui->terminal, row, box.column + 2 + letters_width(input, from, input->at));
}

static void take_out(struct input *input, size_t index)
{
    if (index >= input->length)
        return;
    wmemmove(input->letters + index, input->letters + index + 1, input->length - index - 1);
    input->length--;
    input->at -= input->at > index;
}

static void put_in(struct input *input, wchar_t letter)
{
    if (input->length == LINE_LETTERS_MAX)
        return;
    wmemmove(input->letters + input->at + 1, input->letters + input->at, input->length - input->at);
    input->letters[input->at++] = letter;
    input->length++;
}

static void edit(struct input *input, enum ath_action action, int key)
{
    switch (action) {
    case ATH_ACTION_LEFT:
        input->at -= input->at > 0;
        break;
    case ATH_ACTION_RIGHT:
        input->at += input->at < input->length;
        break;
    case ATH_ACTION_FIRST:
        input->at = 0;
        break;
    case ATH_ACTION_LAST:
        input->at = input->length;
        break;
    case ATH_ACTION_ERASE:
        if (input->at)
            take_out(input, input->at - 1);
        break;
    case ATH_ACTION_DELETE:
        take_out(input, input->at);
        break;
    case ATH_ACTION_CLEAR:
        input->length = input->at = 0;
        break;
    default:
        if (key >= ATH_KEY_FUNCTION || !iswprint((wint_t)key) || wcwidth((wchar_t)key) <= 0)
            return;
        if (input->is_selected)
            input->length = input->at = 0;
        put_in(input, (wchar_t)key);
    }
    input->is_selected = false;
}

static void begin_with(struct input *input, const char *text)
{
    size_t length = text ? mbstowcs(input->letters, text, LINE_LETTERS_MAX) : 0;
    input->length = input->at = length == (size_t)-1 ? 0 : length;
    input->is_selected = input->length > 0;
}

char *ath_dialog_input(struct ath_tui *tui, const char *title, const char *help,
                       const char *initial, ath_dialog_accept accept, void *data)
{
    ath_auto_free struct input *input = ath_xalloc(sizeof *input);
    struct ath_tui_frame frame = { .draw = draw_input, .data = input };
    char *result = NULL;

    *input = (struct input){ .title = title, .help = help };
    begin_with(input, initial);
    ath_tui_push(tui, &frame);
    while (!tui->is_over && !result) {
        int key;
        enum ath_action action = ath_tui_key(tui, ATH_IN_INPUT, -1, &key);
        if (action == ATH_ACTION_BACK)
            break;
        free(input->reason);
        input->reason = NULL;
        if (action != ATH_ACTION_OPEN) {
            edit(input, action, key);
            continue;
        }
        ath_auto_free char *text = input_text(input, 0);
        if (accept(tui, text, data, &input->reason))
            result = ath_steal(&text);
    }
    ath_tui_pop(tui);
    free(input->reason);
    return result;
}
