/* The table of keys. */
#include "config.h"

#include "cli/tui/keys.h"

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/tui/curses.h"
#include "cli/tui/terminal.h"

enum {
    CTRL_A = 1,
    CTRL_C = 3,
    CTRL_E = 5,
    CTRL_H = 8,
    CTRL_L = 12,
    CTRL_U = 21,
    ESCAPE = 27,
    DEL = 127
};
enum {
    PAGES = ATH_IN_PAGE | ATH_IN_STATUS,
    TEXTS = PAGES | ATH_IN_RESULT,
    READING = TEXTS | ATH_IN_MENU | ATH_IN_LIST | ATH_IN_CHECKS,
    ALL = READING | ATH_IN_INPUT | ATH_IN_DIALOG | ATH_IN_RUN,
    LISTS = ATH_IN_MENU | ATH_IN_LIST | ATH_IN_CHECKS,
};

#define FUNCTION(code) (ATH_KEY_FUNCTION + (code))

const struct ath_key_row ath_key_rows[] = {
    { { FUNCTION(KEY_UP), 'k' },
      ATH_ACTION_UP,
      READING | ATH_IN_TOP | ATH_IN_DIALOG,
      N_("Up, k"),
      N_("one line up"),
      NULL },
    { { FUNCTION(KEY_DOWN), 'j' },
      ATH_ACTION_DOWN,
      READING | ATH_IN_TOP | ATH_IN_DIALOG,
      N_("Down, j"),
      N_("one line down"),
      NULL },
    { { FUNCTION(KEY_PPAGE), 'b' },
      ATH_ACTION_PAGE_UP,
      READING,
      N_("Page Up, b"),
      N_("one page up"),
      NULL },
    { { FUNCTION(KEY_NPAGE), 'f' },
      ATH_ACTION_PAGE_DOWN,
      READING,
      N_("Page Down, f"),
      N_("one page down"),
      NULL },
    { { FUNCTION(KEY_HOME), 'g' },
      ATH_ACTION_FIRST,
      READING | ATH_IN_TOP,
      "Home, g",
      N_("to the beginning"),
      NULL },
    { { FUNCTION(KEY_END), 'G' },
      ATH_ACTION_LAST,
      READING | ATH_IN_TOP,
      "End, G",
      N_("to the end"),
      NULL },
    { { FUNCTION(KEY_LEFT), 'h' },
      ATH_ACTION_LEFT,
      TEXTS,
      N_("Left, h"),
      N_("scroll to the left"),
      NULL },
    { { FUNCTION(KEY_RIGHT), 'l' },
      ATH_ACTION_RIGHT,
      TEXTS,
      N_("Right, l"),
      N_("scroll to the right"),
      NULL },
    { { FUNCTION(KEY_LEFT) },
      ATH_ACTION_LEFT,
      ATH_IN_INPUT,
      N_("Left"),
      N_("one letter to the left"),
      NULL },
    { { FUNCTION(KEY_RIGHT) },
      ATH_ACTION_RIGHT,
      ATH_IN_INPUT,
      N_("Right"),
      N_("one letter to the right"),
      NULL },
    { { FUNCTION(KEY_HOME), CTRL_A },
      ATH_ACTION_FIRST,
      ATH_IN_INPUT,
      "Home, Ctrl-A",
      N_("to the beginning"),
      NULL },
    { { FUNCTION(KEY_END), CTRL_E },
      ATH_ACTION_LAST,
      ATH_IN_INPUT,
      "End, Ctrl-E",
      N_("to the end"),
      NULL },
    { { FUNCTION(KEY_BACKSPACE), DEL, CTRL_H },
      ATH_ACTION_ERASE,
      ATH_IN_INPUT | ATH_IN_RUN,
      "Backspace",
      N_("delete the letter before the cursor"),
      NULL },
    { { FUNCTION(KEY_DC) },
      ATH_ACTION_DELETE,
      ATH_IN_INPUT,
      "Delete",
      N_("delete the letter at the cursor"),
      NULL },
    { { CTRL_U },
      ATH_ACTION_CLEAR,
      ATH_IN_INPUT,
      "Ctrl-U",
      N_("delete the whole line"),
      N_("empty") },
    /* ath_key_action() knows the digits. */
    { { 0 }, ATH_ACTION_NUMBER, LISTS, "1-9", N_("go to the row with this number"), N_("row") },
    { { ' ' },
      ATH_ACTION_TOGGLE,
      ATH_IN_CHECKS,
      N_("Space"),
      N_("tick or untick this row"),
      N_("tick") },
    { { '\r', '\n', FUNCTION(KEY_ENTER) },
      ATH_ACTION_OPEN,
      ATH_IN_MENU,
      "Enter",
      N_("open this row, or do what it says"),
      N_("open") },
    { { '\r', '\n', FUNCTION(KEY_ENTER) },
      ATH_ACTION_OPEN,
      ATH_IN_LIST,
      "Enter",
      N_("choose this row"),
      N_("choose") },
    { { '\r', '\n', FUNCTION(KEY_ENTER) },
      ATH_ACTION_OPEN,
      ATH_IN_CHECKS | ATH_IN_INPUT,
      "Enter",
      N_("accept"),
      N_("accept") },
    { { '\r', '\n', FUNCTION(KEY_ENTER), 'q', ESCAPE },
      ATH_ACTION_BACK,
      ATH_IN_RESULT,
      "Enter, q, Esc",
      N_("return to the menus"),
      N_("return") },
    { { '\r', '\n', FUNCTION(KEY_ENTER) },
      ATH_ACTION_OPEN,
      ATH_IN_RUN,
      "Enter",
      N_("send the typed line to the command"),
      NULL },
    { { CTRL_C },
      ATH_ACTION_STOP,
      ATH_IN_RUN,
      "Ctrl-C",
      N_("stop the command"),
      N_("stop the command") },
    { { FUNCTION(KEY_PPAGE) },
      ATH_ACTION_PAGE_UP,
      ATH_IN_RUN,
      N_("Page Up"),
      N_("one page up"),
      N_("scroll up") },
    { { FUNCTION(KEY_NPAGE) },
      ATH_ACTION_PAGE_DOWN,
      ATH_IN_RUN,
      N_("Page Down"),
      N_("one page down"),
      N_("scroll down") },
    { { FUNCTION(KEY_PPAGE) },
      ATH_ACTION_PAGE_UP,
      ATH_IN_TOP | ATH_IN_DIALOG,
      N_("Page Up"),
      N_("one page up"),
      NULL },
    { { FUNCTION(KEY_NPAGE) },
      ATH_ACTION_PAGE_DOWN,
      ATH_IN_TOP | ATH_IN_DIALOG,
      N_("Page Down"),
      N_("one page down"),
      NULL },
    { { 'q' }, ATH_ACTION_BACK, ATH_IN_TOP, "q", N_("leave"), N_("leave") },
    { { '?', FUNCTION(KEY_F0 + 1) },
      ATH_ACTION_HELP,
      ATH_IN_TOP,
      "?, F1",
      N_("show these keys"),
      N_("keys") },
    { { '\r', '\n', FUNCTION(KEY_ENTER) },
      ATH_ACTION_OPEN,
      ATH_IN_TOP,
      "Enter",
      N_("all about the selected session"),
      N_("more") },
    { { 'm' },
      ATH_ACTION_LIMIT,
      ATH_IN_TOP,
      "m",
      N_("limit memory, share or priority of the selected session"),
      N_("limit") },
    { { 'e' }, ATH_ACTION_END, ATH_IN_TOP, "e", N_("end the selected session"), N_("end") },
    { { 'f' },
      ATH_ACTION_FILTER,
      ATH_IN_TOP,
      "f",
      N_("show only sessions with this text"),
      N_("filter") },
    { { 's' }, ATH_ACTION_SORT, ATH_IN_TOP, "s", N_("choose the column to sort by"), N_("sort") },
    { { FUNCTION(KEY_LEFT), '<' },
      ATH_ACTION_LEFT,
      ATH_IN_TOP,
      N_("Left, <"),
      N_("sort by the column to the left"),
      NULL },
    { { FUNCTION(KEY_RIGHT), '>' },
      ATH_ACTION_RIGHT,
      ATH_IN_TOP,
      N_("Right, >"),
      N_("sort by the column to the right"),
      NULL },
    { { 'i' }, ATH_ACTION_REVERSE, ATH_IN_TOP, "i", N_("reverse the order"), NULL },
    { { 0 }, ATH_ACTION_NUMBER, ATH_IN_TOP, "1-3", N_("show or hide GPUs, ports, charts"), NULL },
    { { ' ' },
      ATH_ACTION_PAUSE,
      ATH_IN_TOP,
      N_("Space"),
      N_("stand still, and go on"),
      N_("pause") },
    { { '+' }, ATH_ACTION_SLOWER, ATH_IN_TOP, "+", N_("a longer interval"), NULL },
    { { '-' }, ATH_ACTION_FASTER, ATH_IN_TOP, "-", N_("a shorter interval"), NULL },
    { { '/' }, ATH_ACTION_SEARCH, ATH_IN_TOP, "/", N_("search for a session"), NULL },
    { { 'r' }, ATH_ACTION_RELOAD, ATH_IN_TOP, "r", N_("look for runtimes again"), NULL },
    { { ESCAPE },
      ATH_ACTION_CLEAR,
      ATH_IN_TOP,
      "Esc",
      N_("drop the selection and the filter"),
      NULL },
    { { 'e' }, ATH_ACTION_END, ATH_IN_STATUS, "e", N_("end a session"), N_("end a session") },
    { { '/' }, ATH_ACTION_SEARCH, TEXTS, "/", N_("search for a text"), N_("search") },
    { { '/' }, ATH_ACTION_SEARCH, LISTS, "/", N_("search for a row with this text"), NULL },
    { { 'n' }, ATH_ACTION_NEXT, READING | ATH_IN_TOP, "n", N_("to the next match"), NULL },
    { { 'N' }, ATH_ACTION_PREVIOUS, READING | ATH_IN_TOP, "N", N_("to the previous match"), NULL },
    { { 's' }, ATH_ACTION_SAVE, ATH_IN_MENU, "s", N_("save the document"), N_("save") },
    { { 'r' },
      ATH_ACTION_RELOAD,
      ATH_IN_MENU | PAGES,
      "r",
      N_("read the machine again"),
      N_("read again") },
    { { 'q', ESCAPE },
      ATH_ACTION_BACK,
      READING & ~ATH_IN_RESULT,
      "q, Esc",
      N_("go back"),
      N_("back") },
    { { ESCAPE },
      ATH_ACTION_BACK,
      ATH_IN_INPUT,
      "Esc",
      N_("go back without a change"),
      N_("back") },
    { { '?', FUNCTION(KEY_F0 + 1) },
      ATH_ACTION_HELP,
      READING,
      "?, F1",
      N_("show these keys"),
      N_("keys") },
    { { FUNCTION(KEY_F0 + 1) },
      ATH_ACTION_HELP,
      ATH_IN_INPUT,
      "F1",
      N_("show these keys"),
      N_("keys") },
    { { ATH_KEY_WHEEL_UP },
      ATH_ACTION_WHEEL_UP,
      READING | ATH_IN_RUN | ATH_IN_TOP | ATH_IN_DIALOG,
      N_("Mouse wheel"),
      N_("three lines up or down"),
      NULL },
    { { ATH_KEY_WHEEL_DOWN },
      ATH_ACTION_WHEEL_DOWN,
      READING | ATH_IN_RUN | ATH_IN_TOP | ATH_IN_DIALOG,
      "",
      NULL,
      NULL },
    { { ATH_KEY_CLICK },
      ATH_ACTION_CLICK,
      LISTS,
      N_("Click"),
      N_("choose this row; a second click opens it"),
      NULL },
    { { ATH_KEY_CLICK },
      ATH_ACTION_CLICK,
      ATH_IN_TOP,
      N_("Click"),
      N_("select a session; sort by a column"),
      NULL },
    { { CTRL_L }, ATH_ACTION_REPAINT, ALL | ATH_IN_TOP, "Ctrl-L", N_("redraw the screen"), NULL },
    { .name = NULL },
};

static bool has_code(const struct ath_key_row *row, int code)
{
    for (size_t i = 0; i < sizeof row->codes / sizeof *row->codes && row->codes[i]; i++)
        if (row->codes[i] == code)
            return true;
    return false;
}

enum ath_action ath_key_action(int code, enum ath_key_place place)
{
    for (const struct ath_key_row *row = ath_key_rows; row->name; row++) {
        bool is_number = row->action == ATH_ACTION_NUMBER && code >= '0' && code <= '9';
        if ((row->places & (int)place) && (is_number || has_code(row, code)))
            return row->action;
    }
    return ATH_ACTION_NONE;
}

char *ath_key_hints(enum ath_key_place place, size_t columns)
{
    ATH_AUTO(ath_text) hints = { 0 };
    size_t used = 0;

    for (const struct ath_key_row *row = ath_key_rows; row->name; row++) {
        if (!(row->places & (int)place) || !row->hint)
            continue;
        size_t width = ath_text_width(_(row->name)) + ath_text_width(_(row->hint)) + 4;
        if (used + width > columns)
            break;
        ath_text_add(&hints, "%s: %s   ", _(row->name), _(row->hint));
        used += width + 1;
    }
    return ath_text_take(&hints);
}

static bool is_listed(const struct ath_key_row *row, enum ath_key_place place)
{
    return (row->places & (int)place) && *row->name;
}

char *ath_key_help(enum ath_key_place place)
{
    ATH_AUTO(ath_text) help = { 0 };
    size_t widest = 0;

    for (const struct ath_key_row *row = ath_key_rows; row->name; row++)
        if (is_listed(row, place) && ath_text_width(_(row->name)) > widest)
            widest = ath_text_width(_(row->name));
    for (const struct ath_key_row *row = ath_key_rows; row->name; row++)
        if (is_listed(row, place))
            ath_text_add(&help, "%s%*s%s\n", _(row->name),
                         (int)(widest - ath_text_width(_(row->name)) + 3), "", _(row->help));
    return ath_text_take(&help);
}
