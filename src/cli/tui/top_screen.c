/* The live screen: keys and clicks. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/tui/dialog.h"
#include "cli/tui/search.h"
#include "cli/tui/top.h"

enum { CLOCK_MS = 1000, LOOK_MS = 3000 };

static void screen_free(struct ath_top_screen *screen)
{
    ath_watcher_end(screen->watcher);
    ath_top_free(&screen->model);
    free(screen->shown);
    free(screen->filter);
}

/* ---- runtimes ---- */

static void begin_watching(struct ath_tui *tui, struct ath_top_screen *screen,
                           struct ath_reach *reach)
{
    screen->watcher = ath_watcher_start(reach, screen->interval_s * 1000);
    ath_watcher_describe(screen->watcher, &screen->model);
    ath_screen_wake(tui->terminal, ath_watcher_fd(screen->watcher));
}

/* Looks for the runtimes that there are now. If there are any, all rates and histories begin
 * again. */
static void look_again(struct ath_tui *tui, struct ath_top_screen *screen)
{
    ATH_AUTO(ath_reach) reach = { 0 };
    struct ath_cli cli = *tui->store.cli;
    struct ath_err err = { 0 };
    int status = ath_reach_open(&cli, screen->reach, ATH_REACH_ALL, &reach, &err);

    ath_faults_free(&cli.faults);
    screen->looked_ms = ath_now_ms();
    if (status)
        ath_tui_say_error(tui, &err);
    if (status || !(reach.count || screen->model.server_count))
        return;
    ath_watcher_end(screen->watcher);
    ath_top_free(&screen->model);
    begin_watching(tui, screen, &reach);
    ath_screen_repaint(tui->terminal);
}

static void tick(struct ath_tui *tui, void *data)
{
    struct ath_top_screen *screen = data;
    struct ath_top_command done;

    /* a user may open the screen first and start runtimes then */
    if (!screen->model.server_count && ath_now_ms() - screen->looked_ms > LOOK_MS)
        look_again(tui, screen);
    if (!screen->is_paused)
        ath_watcher_take(screen->watcher, &screen->model);
    while (ath_watcher_done(screen->watcher, &done))
        ath_top_say_done(tui, &done);
}

/* ---- the selection ---- */

static void select_row(struct ath_top_screen *screen, int row)
{
    int last = (int)screen->shown_count - 1;

    if (last < 0)
        return;
    row = row < 0 ? 0 : row > last ? last : row;
    const struct ath_top_session *session = &screen->model.sessions[screen->shown[row]];
    screen->has_selection = true;
    screen->selected_server = session->server;
    screen->selected_id = session->id;
}

/* Without a selection the first step selects the first row. */
static void move(struct ath_top_screen *screen, int rows)
{
    int at = ath_top_selected_row(screen);
    select_row(screen, at < 0 ? screen->first : at + rows);
}

static char *row_text(const void *data, int index)
{
    const struct ath_top_screen *screen = data;
    const struct ath_top_session *session = &screen->model.sessions[screen->shown[index]];
    ATH_AUTO(ath_text) text = { 0 };

    for (const struct ath_top_column *column = ath_top_columns; column->title; column++) {
        ath_auto_free char *cell = column->text(&screen->model, session);
        ath_text_add(&text, "%s ", cell);
    }
    return ath_text_take(&text);
}

static void search(struct ath_tui *tui, struct ath_top_screen *screen, enum ath_action action)
{
    const struct ath_search_rows rows = { row_text, screen, &screen->shown_count };
    int at = ath_top_selected_row(screen);

    if (ath_search_act(tui, action, &rows, &at))
        select_row(screen, at);
}

/* ---- order and filter ---- */

static void sort_by(struct ath_top_screen *screen, enum ath_top_sort key)
{
    screen->order.is_reversed = screen->order.key == key && !screen->order.is_reversed;
    screen->order.key = key;
}

/* Goes to the next column to the left or right that is shown and can be sorted by. */
static void step_order(struct ath_top_screen *screen, int step)
{
    int at = (int)(ath_top_column(screen->order.key) - ath_top_columns) + step;

    for (; at >= 0 && ath_top_columns[at].title; at += step)
        if (screen->slots[at].width && ath_top_columns[at].key != ATH_TOP_SORT_COUNT) {
            screen->order.key = ath_top_columns[at].key;
            screen->order.is_reversed = false;
            return;
        }
}

static void choose_order(struct ath_tui *tui, struct ath_top_screen *screen)
{
    ATH_AUTO(ath_choices) choices = { 0 };

    for (const struct ath_top_column *column = ath_top_columns; column->title; column++)
        if (column->key != ATH_TOP_SORT_COUNT)
            ath_choices_add(&choices, ath_top_sort_words[column->key], _(column->title),
                            _(column->help))
                ->is_on = column->key == screen->order.key;
    int chosen = ath_dialog_choose(tui, _("Sort by"), NULL, &choices, false);
    for (int key = 0; chosen >= 0 && key < ATH_TOP_SORT_COUNT; key++)
        if (!strcmp(ath_top_sort_words[key], choices.items[chosen].value)) {
            screen->order.key = (enum ath_top_sort)key;
            screen->order.is_reversed = false;
        }
}

static bool accept_any(struct ath_tui *tui, const char *text, void *data, char **out_reason)
{
    (void)tui, (void)text, (void)data, (void)out_reason;
    return true;
}

static void set_filter(struct ath_top_screen *screen, const char *text)
{
    char *copy = text && *text ? ath_xstrdup(text) : NULL;
    free(screen->filter);
    screen->filter = copy;
    screen->order.filter = copy;
}

static void ask_filter(struct ath_tui *tui, struct ath_top_screen *screen)
{
    ath_auto_free char *text = ath_dialog_input(
        tui, _("Filter"),
        _("Shows only sessions whose program, key, host, runtime or number has this text. Empty "
          "shows all."),
        screen->filter, accept_any, NULL);
    if (text)
        set_filter(screen, text);
}

/* ---- keys ---- */

static void click(struct ath_tui *tui, struct ath_top_screen *screen)
{
    int row, column, before = ath_top_selected_row(screen);

    ath_screen_mouse(tui->terminal, &row, &column);
    for (size_t i = 0; row == screen->head_row && ath_top_columns[i].title; i++) {
        const struct ath_slot *slot = &screen->slots[i];
        if (slot->width && column >= 1 + slot->column && column <= 1 + slot->column + slot->width &&
            ath_top_columns[i].key != ATH_TOP_SORT_COUNT) {
            sort_by(screen, ath_top_columns[i].key);
            return;
        }
    }
    int index = screen->first + row - screen->head_row - 1;
    if (row <= screen->head_row || row > screen->head_row + screen->table_rows ||
        index >= (int)screen->shown_count)
        return;
    select_row(screen, index);
    if (index == before)
        ath_top_show_session(tui, screen);
}

static void pause_or_go_on(struct ath_tui *tui, struct ath_top_screen *screen)
{
    screen->is_paused = !screen->is_paused;
    ath_screen_wake(tui->terminal, screen->is_paused ? -1 : ath_watcher_fd(screen->watcher));
}

static void change_pace(struct ath_top_screen *screen, int step)
{
    static const int paces[] = { 1, 2, 5, 10, 30, 60 };
    int at = 0, last = (int)ATH_COUNT(paces) - 1;

    while (at < last && paces[at] < screen->interval_s)
        at++;
    if (step > 0 && paces[at] <= screen->interval_s && at < last)
        at++;
    if (step < 0 && at > 0)
        at--;
    screen->interval_s = paces[at];
    ath_watcher_pace(screen->watcher, screen->interval_s * 1000);
}

static void hide_or_show(struct ath_top_screen *screen, int key)
{
    int part = key - '1';
    if (part >= 0 && part < ATH_TOP_PART_COUNT)
        screen->is_hidden[part] = !screen->is_hidden[part];
}

static void clear(struct ath_top_screen *screen)
{
    screen->has_selection = false;
    set_filter(screen, NULL);
}

static void move_by_pages(struct ath_top_screen *screen, int pages)
{
    move(screen, pages * screen->table_rows);
}

static void select_first(struct ath_tui *tui, struct ath_top_screen *screen)
{
    (void)tui;
    select_row(screen, 0);
}

static void select_last(struct ath_tui *tui, struct ath_top_screen *screen)
{
    (void)tui;
    select_row(screen, (int)screen->shown_count - 1);
}

static void reverse_order(struct ath_tui *tui, struct ath_top_screen *screen)
{
    (void)tui;
    screen->order.is_reversed = !screen->order.is_reversed;
}

static void clear_all(struct ath_tui *tui, struct ath_top_screen *screen)
{
    (void)tui;
    clear(screen);
}

static void show_session(struct ath_tui *tui, struct ath_top_screen *screen)
{
    ath_top_show_session(tui, screen);
}

/* The function of each action: one with its step, or one that may ask. */
static const struct {
    void (*step)(struct ath_top_screen *screen, int by);
    int by;
    void (*ask)(struct ath_tui *tui, struct ath_top_screen *screen);
} acts[] = {
    [ATH_ACTION_UP] = { .step = move, .by = -1 },
    [ATH_ACTION_DOWN] = { .step = move, .by = 1 },
    [ATH_ACTION_PAGE_UP] = { .step = move_by_pages, .by = -1 },
    [ATH_ACTION_PAGE_DOWN] = { .step = move_by_pages, .by = 1 },
    [ATH_ACTION_WHEEL_UP] = { .step = move, .by = -ATH_WHEEL_ROWS },
    [ATH_ACTION_WHEEL_DOWN] = { .step = move, .by = ATH_WHEEL_ROWS },
    [ATH_ACTION_LEFT] = { .step = step_order, .by = -1 },
    [ATH_ACTION_RIGHT] = { .step = step_order, .by = 1 },
    [ATH_ACTION_SLOWER] = { .step = change_pace, .by = 1 },
    [ATH_ACTION_FASTER] = { .step = change_pace, .by = -1 },
    [ATH_ACTION_FIRST] = { .ask = select_first },
    [ATH_ACTION_LAST] = { .ask = select_last },
    [ATH_ACTION_CLICK] = { .ask = click },
    [ATH_ACTION_OPEN] = { .ask = show_session },
    [ATH_ACTION_END] = { .ask = ath_top_end_session },
    [ATH_ACTION_LIMIT] = { .ask = ath_top_limit_session },
    [ATH_ACTION_FILTER] = { .ask = ask_filter },
    [ATH_ACTION_SORT] = { .ask = choose_order },
    [ATH_ACTION_REVERSE] = { .ask = reverse_order },
    [ATH_ACTION_PAUSE] = { .ask = pause_or_go_on },
    [ATH_ACTION_CLEAR] = { .ask = clear_all },
    [ATH_ACTION_RELOAD] = { .ask = look_again },
};

static void act(struct ath_tui *tui, struct ath_top_screen *screen, enum ath_action action, int key)
{
    const bool is_listed = (size_t)action < sizeof acts / sizeof *acts;

    if (action == ATH_ACTION_NUMBER)
        hide_or_show(screen, key);
    else if (is_listed && acts[action].step)
        acts[action].step(screen, acts[action].by);
    else if (is_listed && acts[action].ask)
        acts[action].ask(tui, screen);
    else
        search(tui, screen, action);
}

static void turn(struct ath_tui *tui, struct ath_top_screen *screen)
{
    for (;;) {
        int key;
        enum ath_action action = ath_tui_key(tui, ATH_IN_TOP, -1, &key);
        if (action == ATH_ACTION_BACK)
            return;
        ath_tui_hush(tui);
        act(tui, screen, action, key);
    }
}

static void tui_free(struct ath_tui *tui)
{
    ath_screen_close(tui->terminal);
    ath_tui_hush(tui);
    free(tui->sought);
}

/* A signal is the usual end of a screen that only looks. */
int ath_top_show(struct ath_cli *cli, const struct ath_reach_options *options,
                 struct ath_reach *reach, int interval_s, const struct ath_top_order *order,
                 struct ath_err *err)
{
    struct ath_tui tui __attribute__((cleanup(tui_free))) = {
        .store = { .cli = cli },
        .rows_least = ATH_TOP_ROWS,
        .columns_least = ATH_TOP_COLUMNS,
    };
    struct ath_top_screen screen __attribute__((
        cleanup(screen_free))) = { .reach = options, .order = *order, .interval_s = interval_s };
    struct ath_tui_frame frame = {
        .draw = ath_top_draw, .data = &screen, .is_full = true, .tick = tick, .tick_ms = CLOCK_MS
    };

    set_filter(&screen, order->filter);
    int status = ath_screen_open(&cli->style, &tui.terminal, err);
    if (status)
        return status;
    ath_log_set_level(ATH_LOG_QUIET);
    begin_watching(&tui, &screen, reach);
    ath_tui_push(&tui, &frame);
    turn(&tui, &screen);
    ath_tui_pop(&tui);
    return 0;
}
