/* Pages of text. */
#include "config.h"

#include "cli/tui/page.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "cli/tui/lines.h"

/* Reading the machine takes at most a tenth of the time, even with a slow driver. */
enum { READ_SHARE = 10 };

struct showing {
    const struct ath_page *page;
    struct ath_lines lines;
    int columns; /* that the text was made for */
    int read_ms; /* duration of the last reading */
};

static void make_lines(struct ath_tui *tui, struct showing *showing)
{
    struct ath_style style = ath_screen_style(tui->terminal);
    style.columns -= 2;
    ath_auto_free char *text = showing->page->make(tui, &style);

    ath_lines_set(&showing->lines, text);
    showing->columns = style.columns;
}

/* A file about a machine does not change. A captured root may change while it is shown. */
static int timeout_of(const struct ath_tui *tui, const struct showing *showing)
{
    int pause = READ_SHARE * showing->read_ms, wanted = showing->page->refresh_ms;

    if (!wanted || !tui->store.has_machine || tui->store.machine.source == ATH_SOURCE_XML)
        return -1;
    return pause > wanted ? pause : wanted;
}

/* Returns "lines 1 to 16 of 31; refreshes itself". The caller frees it. */
static char *help_of(const struct ath_tui *tui, const struct showing *showing)
{
    ath_auto_free char *place = ath_lines_place(&showing->lines, ath_tui_body_rows(tui));
    return timeout_of(tui, showing) < 0 ? ath_steal(&place)
                                        : ath_xasprintf(_("%s; refreshes itself"), place);
}

static void draw_page(struct ath_tui *tui, void *data)
{
    struct showing *showing = data;

    if (showing->columns != ath_screen_columns(tui->terminal) - 2)
        make_lines(tui, showing);
    ath_lines_draw(tui, &showing->lines, ATH_TUI_BODY, ath_tui_body_rows(tui));
    ath_auto_free char *help = help_of(tui, showing);
    ath_tui_draw_around(tui, _(showing->page->title), help, showing->page->command,
                        showing->page->place);
}

static void reload(struct ath_tui *tui, struct showing *showing, bool is_asked)
{
    struct ath_err err = { 0 };
    uint64_t begin = ath_now_ms();

    if (ath_store_read_machine(&tui->store, &err))
        ath_tui_say_error(tui, &err);
    else if (is_asked)
        ath_tui_say(tui, ATH_ROLE_GOOD, _("the machine was read again"));
    if (is_asked)
        ath_screen_repaint(tui->terminal);
    make_lines(tui, showing);
    showing->read_ms = (int)(ath_now_ms() - begin);
}

static void act(struct ath_tui *tui, struct showing *showing, enum ath_action action, int key)
{
    if (action == ATH_ACTION_RELOAD || key == ATH_KEY_NONE) {
        reload(tui, showing, key != ATH_KEY_NONE);
        return;
    }
    if (showing->page->act && showing->page->act(tui, action))
        make_lines(tui, showing);
    ath_lines_act(tui, &showing->lines, action, ath_tui_body_rows(tui));
}

void ath_page_show(struct ath_tui *tui, const struct ath_page *page)
{
    struct showing showing = { .page = page };
    struct ath_tui_frame frame = { .draw = draw_page, .data = &showing, .is_full = true };

    ath_tui_push(tui, &frame);
    for (;;) {
        int key;
        enum ath_action action = ath_tui_key(tui, page->place, timeout_of(tui, &showing), &key);
        if (action == ATH_ACTION_BACK)
            break;
        act(tui, &showing, action, key);
    }
    ath_tui_pop(tui);
    ath_lines_free(&showing.lines);
}
