/* Text to read. Colours arrive as the sequences that the outputs write (output/style.c) and become
 * roles again here. */
#include "config.h"

#include "cli/tui/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/text.h"

/* Reading takes at most a tenth of the time, however slow a driver answers. */
enum { READ_SHARE = 10, STEP_COLUMNS = 8 };

struct showing {
    const struct ath_page *page;
    char **lines;
    size_t count;
    int first, left; /* row and column that are shown first */
    int columns;     /* that the text was made for */
    int read_ms;     /* that the last reading took */
};

static void free_lines(struct showing *showing)
{
    for (size_t i = 0; i < showing->count; i++)
        free(showing->lines[i]);
    free(showing->lines);
    showing->lines = NULL;
    showing->count = 0;
}

static void make_lines(struct ath_tui *tui, struct showing *showing)
{
    struct ath_style style = ath_screen_style(tui->terminal);
    style.columns -= 2;
    ath_auto_free char *text = showing->page->make(tui, &style);

    free_lines(showing);
    showing->columns = style.columns;
    for (const char *at = text; at && *at;) {
        size_t length = strcspn(at, "\n");
        *(char **)ath_push(&showing->lines, &showing->count, sizeof *showing->lines) =
            ath_xasprintf("%.*s", (int)length, at);
        at += length + (at[length] == '\n');
    }
}

/* Bytes of a colour sequence at text, 0 for none; *role becomes what it says. */
static size_t sequence(const char *text, enum ath_role *role)
{
    const struct ath_style colored = { .is_color = true };

    for (int i = ATH_ROLE_PLAIN + 1; i < ATH_ROLE_COUNT; i++) {
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

/* How many bytes of plain text make up the columns that are scrolled away; *skip is what is left of
 * them. */
static size_t scrolled_away(const char *text, size_t length, int *skip)
{
    for (size_t used = 0; used < length;) {
        size_t letter = 1;
        while (used + letter < length && ((unsigned char)text[used + letter] & 0xc0) == 0x80)
            letter++;
        ath_auto_free char *one = ath_xasprintf("%.*s", (int)letter, text + used);
        int width = (int)ath_text_width(one);
        if (*skip <= 0)
            return used;
        *skip -= width;
        used += letter;
    }
    return length;
}

static void draw_line(struct ath_tui *tui, int row, const char *line, int left)
{
    int column = 1, right = ath_screen_columns(tui->terminal) - 1;
    enum ath_role role = ATH_ROLE_PLAIN;

    while (*line && column < right) {
        size_t length = sequence(line, &role);
        if (length) {
            line += length;
            continue;
        }
        length = strcspn(line, "\033");
        length += length == 0; /* no sequence of ours: shown as a sign */
        size_t gone = scrolled_away(line, length, &left);
        ath_auto_free char *part = ath_xasprintf("%.*s", (int)(length - gone), line + gone);
        int width = (int)ath_text_width(part);
        ath_screen_put(tui->terminal, row, column, width < right - column ? width : right - column,
                       role, false, part);
        column += width;
        line += length;
    }
}

static void fit(const struct ath_tui *tui, struct showing *showing)
{
    int last = (int)showing->count - ath_tui_body_rows(tui);

    if (showing->first > last)
        showing->first = last;
    if (showing->first < 0)
        showing->first = 0;
    if (showing->left < 0)
        showing->left = 0;
}

static void draw_page(struct ath_tui *tui, void *data)
{
    struct showing *showing = data;
    int rows = ath_tui_body_rows(tui);

    if (showing->columns != ath_screen_columns(tui->terminal) - 2)
        make_lines(tui, showing);
    fit(tui, showing);
    int last =
        showing->first + rows < (int)showing->count ? showing->first + rows : (int)showing->count;
    ath_auto_free char *place = ath_xasprintf(
        _("lines %d to %d of %zu"), showing->count ? showing->first + 1 : 0, last, showing->count);
    for (int i = 0; showing->first + i < last; i++)
        draw_line(tui, ATH_TUI_BODY + i, showing->lines[showing->first + i], showing->left);
    ath_tui_draw_around(tui, _(showing->page->title), place, showing->page->command, ATH_IN_PAGE);
}

/* A file about a machine does not change; a captured root may, while it is looked at. */
static int timeout_of(const struct ath_tui *tui, const struct showing *showing)
{
    int pause = READ_SHARE * showing->read_ms, wanted = showing->page->refresh_ms;

    if (!wanted || !tui->store.has_machine || tui->store.machine.source == ATH_SOURCE_XML)
        return -1;
    return pause > wanted ? pause : wanted;
}

static void reload(struct ath_tui *tui, struct showing *showing, bool is_asked)
{
    struct ath_err err = { 0 };
    uint64_t begin = ath_now_ms();

    if (ath_store_read_machine(&tui->store, &err))
        ath_tui_say_error(tui, &err);
    else if (is_asked)
        ath_tui_say(tui, ATH_ROLE_GOOD, _("the machine was read anew"));
    if (is_asked)
        ath_screen_repaint(tui->terminal);
    make_lines(tui, showing);
    showing->read_ms = (int)(ath_now_ms() - begin);
}

static void act(struct ath_tui *tui, struct showing *showing, enum ath_action action, int key)
{
    int page = ath_tui_body_rows(tui);

    switch (action) {
    case ATH_ACTION_UP:
        showing->first--;
        break;
    case ATH_ACTION_DOWN:
        showing->first++;
        break;
    case ATH_ACTION_PAGE_UP:
        showing->first -= page;
        break;
    case ATH_ACTION_PAGE_DOWN:
        showing->first += page;
        break;
    case ATH_ACTION_FIRST:
        showing->first = showing->left = 0;
        break;
    case ATH_ACTION_LAST:
        showing->first = (int)showing->count;
        break;
    case ATH_ACTION_LEFT:
        showing->left -= STEP_COLUMNS;
        break;
    case ATH_ACTION_RIGHT:
        showing->left += STEP_COLUMNS;
        break;
    case ATH_ACTION_RELOAD:
        reload(tui, showing, true);
        break;
    default:
        if (key == ATH_KEY_NONE)
            reload(tui, showing, false);
    }
}

void ath_page_show(struct ath_tui *tui, const struct ath_page *page)
{
    struct showing showing = { .page = page };
    struct ath_tui_frame frame = { .draw = draw_page, .data = &showing, .is_full = true };

    ath_tui_push(tui, &frame);
    for (;;) {
        int key;
        enum ath_action action = ath_tui_key(tui, ATH_IN_PAGE, timeout_of(tui, &showing), &key);
        if (action == ATH_ACTION_BACK)
            break;
        act(tui, &showing, action, key);
    }
    ath_tui_pop(tui);
    free_lines(&showing);
}
