/* Pages of text. */
#include "config.h"

#include "cli/tui/page.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "cli/tui/lines.h"
#include "cli/tui/look.h"

enum {
    READ_SHARE = 10,   /* looks take at most a tenth of the time, even with a slow driver */
    TICK_MS = 250,     /* how often a page sees whether it is time to look */
    AT_ONCE_MS = 200,  /* the first look is often done by then, and the page appears whole */
    PATIENCE_MS = 2000 /* after this time the page says that it waits */
};

struct showing {
    struct ath_tui *tui;
    const struct ath_page *page;
    struct ath_lines lines;
    int columns;          /* that the text was made for */
    struct ath_look look; /* at work on the next text, */
    int look_columns;     /* for so many columns */
    int read_ms;          /* duration of the last look */
    uint64_t next_ms;     /* when to look again */
};

static char *make_text(const struct showing *showing)
{
    struct ath_style style = ath_screen_style(showing->tui->terminal);
    style.columns -= 2;
    return showing->page->make(showing->tui, &style);
}

static int columns_of(const struct showing *showing)
{
    return ath_screen_columns(showing->tui->terminal) - 2;
}

/* Returns the ms between two looks; -1 for a page that stays as it is: a file about a machine does
 * not change. A captured root may change while it is shown. */
static int pause_of(const struct showing *showing)
{
    const struct ath_store *store = &showing->tui->store;
    int pause = READ_SHARE * showing->read_ms, wanted = showing->page->refresh_ms;

    if (!wanted || !store->has_machine || store->machine.source == ATH_SOURCE_XML)
        return -1;
    return pause > wanted ? pause : wanted;
}

/* ---- looking ---- */

/* In the child: reads the machine again and makes the text. */
static char *look(void *context)
{
    struct showing *showing = context;
    struct ath_err err;
    if (pause_of(showing) >= 0) /* the text says what is missing */
        (void)ath_store_read_machine(&showing->tui->store, &err);
    return make_text(showing);
}

static void begin_look(struct showing *showing)
{
    struct ath_err err = { 0 };
    if (showing->look.child)
        return;
    int fd = ath_look_begin(&showing->look, look, showing);
    showing->look_columns = columns_of(showing);
    showing->next_ms = ath_now_ms() + (uint64_t)showing->page->refresh_ms;
    if (fd >= 0) {
        ath_screen_wake(showing->tui->terminal, fd);
        return;
    }
    ath_err_system(&err, fd, "%s", _("cannot look at the machine"));
    ath_tui_say_error(showing->tui, &err);
}

static void end_look(struct showing *showing)
{
    ath_screen_wake(showing->tui->terminal, -1);
    ath_look_end(&showing->look);
}

/* Shows the new text at the same place. A look that failed leaves the old one. */
static void take_look(struct showing *showing)
{
    ath_auto_free char *text = NULL;
    if (!showing->look.child || !ath_look_take(&showing->look, &text))
        return;
    ath_screen_wake(showing->tui->terminal, -1);
    uint64_t now = ath_now_ms();
    showing->read_ms = (int)(now - showing->look.began_ms);
    showing->next_ms = now + (uint64_t)(pause_of(showing) > 0 ? pause_of(showing) : 0);
    showing->columns = showing->look_columns;
    if (text)
        ath_lines_set(&showing->lines, text);
    else
        ath_tui_say(showing->tui, ATH_ROLE_BAD, _("a look at the machine failed"));
}

static void tick(struct ath_tui *tui, void *data)
{
    struct showing *showing = data;
    bool has_other_size = showing->page->is_slow && showing->columns != columns_of(showing);

    (void)tui;
    take_look(showing);
    if (has_other_size || (pause_of(showing) >= 0 && ath_now_ms() >= showing->next_ms))
        begin_look(showing);
}

/* Makes the text from what the menus know already; a slow one in a child. */
static void renew(struct showing *showing)
{
    if (showing->page->is_slow) {
        end_look(showing); /* it may have begun before a change */
        begin_look(showing);
        return;
    }
    ath_auto_free char *text = make_text(showing);
    ath_lines_set(&showing->lines, text);
    showing->columns = columns_of(showing);
}

static void show_first(struct showing *showing)
{
    renew(showing);
    if (!showing->page->is_slow)
        return;
    ath_lines_set(&showing->lines, _("looking ..."));
    showing->columns = columns_of(showing);
    ath_look_wait(&showing->look, AT_ONCE_MS);
    take_look(showing);
}

/* ---- the screen ---- */

/* Returns "lines 1 to 16 of 31; refreshes itself". The caller frees it. */
static char *help_of(const struct showing *showing)
{
    ath_auto_free char *place = ath_lines_place(&showing->lines, ath_tui_body_rows(showing->tui));
    uint64_t waited_ms = showing->look.child ? ath_now_ms() - showing->look.began_ms : 0;

    if (waited_ms >= PATIENCE_MS)
        return ath_xasprintf(_("%s; waiting for an answer since %d s"), place,
                             (int)(waited_ms / 1000));
    return pause_of(showing) < 0 ? ath_steal(&place)
                                 : ath_xasprintf(_("%s; refreshes itself"), place);
}

static void draw_page(struct ath_tui *tui, void *data)
{
    struct showing *showing = data;

    if (!showing->page->is_slow && showing->columns != columns_of(showing))
        renew(showing);
    ath_lines_draw(tui, &showing->lines, ATH_TUI_BODY, ath_tui_body_rows(tui));
    ath_auto_free char *help = help_of(showing);
    ath_tui_draw_around(tui, _(showing->page->title), help, showing->page->command,
                        showing->page->place);
}

/* The user asks, so the other screens get the machine too. */
static void reload(struct showing *showing)
{
    struct ath_tui *tui = showing->tui;
    struct ath_err err = { 0 };

    if (ath_store_read_machine(&tui->store, &err))
        ath_tui_say_error(tui, &err);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("the machine was read again"));
    ath_screen_repaint(tui->terminal);
    renew(showing);
}

static void act(struct showing *showing, enum ath_action action)
{
    struct ath_tui *tui = showing->tui;
    if (action == ATH_ACTION_RELOAD) {
        reload(showing);
        return;
    }
    if (showing->page->act && showing->page->act(tui, action))
        renew(showing);
    ath_lines_act(tui, &showing->lines, action, ath_tui_body_rows(tui));
}

void ath_page_show(struct ath_tui *tui, const struct ath_page *page)
{
    struct showing showing = { .tui = tui, .page = page };
    struct ath_tui_frame frame = {
        .draw = draw_page, .data = &showing, .is_full = true, .tick = tick, .tick_ms = TICK_MS
    };

    show_first(&showing);
    showing.next_ms = ath_now_ms() + (uint64_t)page->refresh_ms;
    ath_tui_push(tui, &frame);
    for (;;) {
        int key;
        enum ath_action action = ath_tui_key(tui, page->place, -1, &key);
        if (action == ATH_ACTION_BACK)
            break;
        act(&showing, action);
    }
    ath_tui_pop(tui);
    end_look(&showing);
    ath_lines_free(&showing.lines);
}
