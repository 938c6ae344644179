/* The table of sessions on the live screen. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/top/short.h"
#include "cli/tui/top_canvas.h"

enum { GAP = 1 };

const struct ath_top_session *ath_top_selected(const struct ath_top_screen *screen)
{
    return screen->has_selection
               ? ath_top_find(&screen->model, screen->selected_server, screen->selected_id)
               : NULL;
}

int ath_top_selected_row(const struct ath_top_screen *screen)
{
    const struct ath_top_session *selected = ath_top_selected(screen);
    for (size_t i = 0; selected && i < screen->shown_count; i++)
        if (&screen->model.sessions[screen->shown[i]] == selected)
            return (int)i;
    return -1;
}

static void fit_sessions(const struct ath_canvas *canvas)
{
    struct ath_top_screen *screen = canvas->screen;
    size_t count = 0;

    for (const struct ath_top_column *column = ath_top_columns; column->title; column++) {
        bool is_key = column->key == screen->order.key; /* its head has a mark */
        screen->slots[count++] = (struct ath_slot){
            .least = column->least + is_key,
            .most = column->most,
            .importance = ath_top_column_importance(column, &screen->model) + (is_key ? 100 : 0),
            .is_wanted = !column->is_shown || column->is_shown(&screen->model),
        };
    }
    ath_slots_fit(screen->slots, count, canvas->columns - 2, GAP);
}

static char *head_text(const struct ath_canvas *canvas, const struct ath_top_column *column)
{
    const struct ath_top_order *order = &canvas->screen->order;
    const char *mark = column->key != order->key ? ""
                       : canvas->style.is_utf8   ? (order->is_reversed ? "▲" : "▼")
                                                 : (order->is_reversed ? "^" : "v");
    return column->is_left ? ath_xasprintf("%s%s", _(column->title), mark)
                           : ath_xasprintf("%s%s", mark, _(column->title));
}

static void draw_session_head(struct ath_canvas *canvas)
{
    struct ath_top_screen *screen = canvas->screen;

    screen->head_row = canvas->row;
    ath_screen_put(canvas->terminal, canvas->row, 0, canvas->columns, ATH_ROLE_PLAIN, true, "");
    for (size_t i = 0; ath_top_columns[i].title; i++) {
        const struct ath_top_column *column = &ath_top_columns[i];
        const struct ath_slot *slot = &screen->slots[i];
        ath_auto_free char *text = head_text(canvas, column);
        int room = slot->width - (int)ath_text_width(text);
        int shift = column->is_left || room < 0 ? 0 : room;
        if (slot->width)
            ath_screen_put(
                canvas->terminal, canvas->row, 1 + slot->column + shift, slot->width - shift,
                column->key == screen->order.key ? ATH_ROLE_HEADING : ATH_ROLE_PLAIN, true, text);
    }
    canvas->row++;
}

static void draw_session(struct ath_canvas *canvas, const struct ath_top_session *session,
                         bool is_selected)
{
    const struct ath_top_screen *screen = canvas->screen;

    ath_screen_put(canvas->terminal, canvas->row, 0, canvas->columns, ATH_ROLE_PLAIN, is_selected,
                   "");
    ath_screen_put_hue(canvas->terminal, canvas->row, 0, 1, (unsigned int)session->id,
                       canvas->style.is_utf8    ? "▌"
                       : canvas->style.is_color ? "|"
                                                : " ");
    for (size_t i = 0; ath_top_columns[i].title; i++) {
        const struct ath_top_column *column = &ath_top_columns[i];
        const struct ath_slot *slot = &screen->slots[i];
        if (!slot->width)
            continue;
        ath_auto_free char *whole = column->text(&screen->model, session);
        ath_auto_free char *text = column->is_address
                                       ? ath_short_middle(whole, slot->width, canvas->style.is_utf8)
                                       : ath_steal(&whole);
        int room = slot->width - (int)ath_text_width(text);
        int shift = column->is_left || room < 0 ? 0 : room;
        ath_screen_put(canvas->terminal, canvas->row, 1 + slot->column + shift, slot->width - shift,
                       column->role ? column->role(session) : ATH_ROLE_PLAIN, is_selected, text);
    }
    canvas->row++;
}

/* Keeps the selected session visible, and the table filled. */
static void fit_table(struct ath_top_screen *screen)
{
    int selected = ath_top_selected_row(screen), count = (int)screen->shown_count;

    if (selected >= 0 && selected < screen->first)
        screen->first = selected;
    if (selected >= screen->first + screen->table_rows)
        screen->first = selected - screen->table_rows + 1;
    if (screen->first > count - screen->table_rows)
        screen->first = count - screen->table_rows;
    if (screen->first < 0)
        screen->first = 0;
}

static const char *empty_text(const struct ath_top_screen *screen)
{
    const struct ath_top *top = &screen->model;
    return !top->server_count       ? _("no runtime runs here: aitherion start; r looks again")
           : top->session_count     ? _("no session has this text; Esc shows all")
           : ath_top_answering(top) ? _("no program uses a runtime now")
                                    : "";
}

void ath_top_draw_sessions(struct ath_canvas *canvas)
{
    struct ath_top_screen *screen = canvas->screen;
    int selected;

    free(screen->shown);
    screen->shown = ath_top_sorted(&screen->model, &screen->order, &screen->shown_count);
    fit_sessions(canvas);
    draw_session_head(canvas);
    screen->table_rows = canvas->rows - 1 - canvas->row;
    fit_table(screen);
    selected = ath_top_selected_row(screen);
    for (int i = screen->first;
         i < (int)screen->shown_count && i < screen->first + screen->table_rows; i++)
        draw_session(canvas, &screen->model.sessions[screen->shown[i]], i == selected);
    if (!screen->shown_count && screen->table_rows > 1)
        ath_canvas_put(canvas, canvas->row + 1, 2, canvas->columns - 3, ATH_ROLE_DIM,
                       empty_text(screen));
}
