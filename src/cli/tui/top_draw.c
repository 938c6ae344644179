/* Drawing the live screen, from the top: title, this host, GPUs, ports, charts, sessions, keys. */
#include "config.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/words.h"
#include "cli/top/short.h"
#include "cli/top/spark.h"
#include "cli/tui/top_canvas.h"

enum {
    SILENT_MS = 4000, /* beyond the interval: then the screen says that a server does not answer */
    TROUBLE_ROWS = 2, /* of a server that does not answer */
};

/* ---- title and host ---- */

size_t ath_top_answering(const struct ath_top *top)
{
    size_t count = 0;
    for (size_t i = 0; i < top->server_count; i++)
        count += top->servers[i].answer.at_ms && !top->servers[i].lost_ms;
    return count;
}

static char *title_text(const struct ath_top_screen *screen)
{
    const struct ath_top *top = &screen->model;
    ATH_AUTO(ath_text) text = { 0 };

    ath_text_add(&text, " aitherion top  ");
    ath_text_add(&text, ngettext("%zu GPU", "%zu GPUs", top->gpu_count), top->gpu_count);
    ath_text_add(&text, ngettext(", %zu session", ", %zu sessions", top->session_count),
                 top->session_count);
    if (top->server_count > 1)
        ath_text_add(&text, _(", %zu of %zu runtimes"), ath_top_answering(top), top->server_count);
    return ath_text_take(&text);
}

static void draw_title(struct ath_canvas *canvas)
{
    const struct ath_top_screen *screen = canvas->screen;
    ath_auto_free char *left = title_text(screen);
    char now[16];
    time_t seconds = time(NULL);
    struct tm local;

    strftime(now, sizeof now, "%H:%M:%S", localtime_r(&seconds, &local));
    ath_auto_free char *pace = screen->is_paused
                                   ? ath_xstrdup(_("PAUSED: Space goes on"))
                                   : ath_xasprintf(_("every %d s"), screen->interval_s);
    ath_auto_free char *right = ath_xasprintf("%s  %s ", pace, now);
    int width = (int)ath_text_width(right);
    ath_screen_put(canvas->terminal, canvas->row, 0, canvas->columns, ATH_ROLE_HEADING, true, left);
    if (width + (int)ath_text_width(left) < canvas->columns)
        ath_screen_put(canvas->terminal, canvas->row, canvas->columns - width, width,
                       ATH_ROLE_HEADING, true, right);
    canvas->row++;
}

static enum ath_role load_role(int64_t percent)
{
    return percent >= 95 ? ATH_ROLE_BAD : percent >= 80 ? ATH_ROLE_WARN : ATH_ROLE_GOOD;
}

/* Draws "CPU ███···· 38%". Returns the column after it. */
static int put_gauge(const struct ath_canvas *canvas, int column, const char *label, int bar,
                     int64_t percent, const char *value, int value_width)
{
    int width = (int)ath_text_width(label);
    const struct ath_bar_part part = { .share = percent < 0 ? 0 : (double)percent / 100,
                                       .role = load_role(percent) };

    ath_canvas_put(canvas, canvas->row, column, width, ATH_ROLE_HEADING, label);
    column += width + 1;
    ath_canvas_put_bar(canvas, column, bar, &part, 1);
    column += bar;
    ath_canvas_put_right(canvas, canvas->row, column, value_width, ATH_ROLE_PLAIN, value);
    return column + value_width + 2;
}

static int64_t sum_of(const struct ath_top *top, int64_t (*value)(const struct ath_top *, size_t),
                      size_t count)
{
    int64_t sum = ATH_UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        int64_t one = value(top, i);
        sum = one < 0 ? sum : sum < 0 ? one : sum + one;
    }
    return sum;
}

static int64_t power_at(const struct ath_top *top, size_t i)
{
    return top->gpus[i].figures.power_mw;
}

static int64_t calls_at(const struct ath_top *top, size_t i)
{
    return top->sessions[i].calls_s;
}

static int64_t traffic_at(const struct ath_top *top, size_t i)
{
    return top->sessions[i].traffic_bytes_s;
}

/* Adds the sums that are known, while there is room. */
static void put_sums(const struct ath_canvas *canvas, int column)
{
    const struct ath_top *top = &canvas->screen->model;
    ath_auto_free char *power = ath_short_power(sum_of(top, power_at, top->gpu_count));
    ath_auto_free char *calls = ath_short_rate(sum_of(top, calls_at, top->session_count));
    ath_auto_free char *traffic = ath_short_rate(sum_of(top, traffic_at, top->session_count));
    const struct {
        const char *label, *value;
    } sums[] = { { _("Power"), power }, { _("Calls/s"), calls }, { _("Bytes/s"), traffic } };

    for (size_t i = 0; i < ATH_COUNT(sums); i++) {
        int label = (int)ath_text_width(sums[i].label), value = 6;
        if (!strcmp(sums[i].value, "?"))
            continue;
        if (column + label + 1 + value > canvas->columns)
            return;
        ath_canvas_put(canvas, canvas->row, column, label, ATH_ROLE_HEADING, sums[i].label);
        ath_canvas_put(canvas, canvas->row, column + label + 1, value, ATH_ROLE_PLAIN,
                       sums[i].value);
        column += label + 1 + value + 1;
    }
}

static void draw_host(struct ath_canvas *canvas)
{
    const struct ath_top *top = &canvas->screen->model;
    int64_t total = top->host.memory_total_bytes, free_bytes = top->host.memory_available_bytes;
    bool is_known = top->host.at_ms && total > 0 && free_bytes >= 0;
    int bar = canvas->columns / 12;
    ath_auto_free char *busy = ath_short_percent(top->host.at_ms ? top->cpu_percent : ATH_UNKNOWN);
    ath_auto_free char *used_text = ath_short_size(is_known ? total - free_bytes : ATH_UNKNOWN);
    ath_auto_free char *total_text = ath_short_size(is_known ? total : ATH_UNKNOWN);
    ath_auto_free char *memory = ath_xasprintf("%s/%s", used_text, total_text);

    int column =
        put_gauge(canvas, 1, _("CPU"), bar, top->host.at_ms ? top->cpu_percent : -1, busy, 5);
    column = put_gauge(canvas, column, _("Host memory"), bar,
                       is_known ? (total - free_bytes) * 100 / total : -1, memory, 12);
    put_sums(canvas, column);
    canvas->row++;
}

/* ---- servers that do not answer ---- */

/* Returns why a server's figures are not those of now; NULL if they are. The caller frees it. */
static char *trouble_of(const struct ath_top_screen *screen, const struct ath_top_server *server)
{
    uint64_t now_ms = ath_now_ms(), at_ms = server->answer.at_ms;

    if (server->lost_ms && at_ms) {
        ath_auto_free char *age = ath_short_age((int64_t)(now_ms - at_ms));
        return ath_xasprintf(_("lost for %s: %s"), age, server->err.message);
    }
    if (server->lost_ms)
        return ath_xstrdup(server->err.message);
    if (server->is_waiting)
        return ath_xstrdup(_("no answer yet"));
    if (!screen->is_paused && now_ms - at_ms > (uint64_t)screen->interval_s * 1000 + SILENT_MS) {
        ath_auto_free char *age = ath_short_age((int64_t)(now_ms - at_ms));
        return ath_xasprintf(_("no answer for %s"), age);
    }
    return NULL;
}

static void draw_troubles(struct ath_canvas *canvas)
{
    const struct ath_top *top = &canvas->screen->model;

    for (size_t i = 0; i < top->server_count; i++) {
        ath_auto_free char *trouble = trouble_of(canvas->screen, &top->servers[i]);
        if (!trouble)
            continue;
        ath_auto_free char *text = ath_xasprintf("%s: %s", top->servers[i].name, trouble);
        canvas->row = ath_tui_draw_text(
            canvas->tui, canvas->row, 1, canvas->row + TROUBLE_ROWS, canvas->columns - 2,
            top->servers[i].is_waiting ? ATH_ROLE_WARN : ATH_ROLE_BAD, text);
    }
}

/* ---- ports ---- */

/* Ports that are down and were silent tell nothing. */
static bool is_port_shown(const struct ath_top_port *port)
{
    return port->facts.link != ATH_LINK_DOWN || port->received_bytes_s > 0 ||
           port->sent_bytes_s > 0;
}

static char *port_name(const struct ath_top_port *port)
{
    ATH_AUTO(ath_text) text = { 0 };
    ath_auto_free char *speed =
        port->facts.speed_mbps > 0 ? ath_words_speed(port->facts.speed_mbps) : NULL;

    ath_text_add_part(&text, "  ", "%s", port->facts.netdev ? port->facts.netdev : "");
    ath_text_add_part(&text, "  ", "%s", port->facts.rdma_device ? port->facts.rdma_device : "");
    ath_text_add_part(&text, "  ", "%s", speed ? speed : "");
    return ath_text_take(&text);
}

/* Returns the value of a full character: the link's speed would hide what is usual. */
static int64_t port_height(const struct ath_top_port *port, size_t samples)
{
    int64_t received = ath_history_greatest(&port->received, samples),
            sent = ath_history_greatest(&port->sent, samples);
    return ath_chart_height(received > sent ? received : sent, 1000000);
}

static void put_flow(const struct ath_canvas *canvas, int column, int width, const char *sign,
                     int64_t bytes_s, const struct ath_history *history, int64_t height)
{
    enum { VALUE = 7 };
    ath_auto_free char *value = ath_short_rate(bytes_s);
    ath_auto_free char *spark =
        ath_spark(history, width - VALUE - 3, height, canvas->style.is_utf8);

    ath_canvas_put(canvas, canvas->row, column, 1, ATH_ROLE_HEADING, sign);
    ath_canvas_put_right(canvas, canvas->row, column + 1, VALUE, ATH_ROLE_PLAIN, value);
    ath_canvas_put(canvas, canvas->row, column + VALUE + 2, width - VALUE - 3, ATH_ROLE_GOOD,
                   spark);
}

static void draw_port(struct ath_canvas *canvas, const struct ath_top_port *port)
{
    int left = canvas->columns * 2 / 5, width = (canvas->columns - left - 1) / 2;
    ath_auto_free char *name = port_name(port);
    int64_t height = port_height(port, (size_t)width);
    bool is_utf8 = canvas->style.is_utf8;

    ath_canvas_put(canvas, canvas->row, 1, left - 2, ATH_ROLE_NAME, name);
    put_flow(canvas, left, width, is_utf8 ? "▼" : "v", port->received_bytes_s, &port->received,
             height);
    put_flow(canvas, left + width, width, is_utf8 ? "▲" : "^", port->sent_bytes_s, &port->sent,
             height);
    canvas->row++;
}

static void draw_ports(struct ath_canvas *canvas)
{
    const struct ath_top *top = &canvas->screen->model;
    int most = ath_canvas_rows_left(canvas) / 3;

    if (canvas->screen->is_hidden[ATH_TOP_PORTS])
        return;
    for (size_t i = 0; i < top->port_count && most > 0; i++)
        if (is_port_shown(&top->ports[i])) {
            draw_port(canvas, &top->ports[i]);
            most--;
        }
}

/* ---- the foot ---- */

/* Returns "rows 1 to 13 of 64, with 'bert'"; "" if all rows are shown. */
static char *place_text(const struct ath_top_screen *screen)
{
    ATH_AUTO(ath_text) text = { 0 };
    int count = (int)screen->shown_count, last = screen->first + screen->table_rows;

    if (count > screen->table_rows)
        ath_text_add(&text, _("%d-%d of %d"), screen->first + 1, last < count ? last : count,
                     count);
    if (screen->filter)
        ath_text_add_part(&text, "  ", _("only '%s'"), screen->filter);
    return ath_text_take(&text);
}

static void draw_foot(struct ath_canvas *canvas)
{
    struct ath_tui *tui = canvas->tui;
    ath_auto_free char *place = place_text(canvas->screen);
    int row = canvas->rows - 1, width = (int)ath_text_width(place),
        room = canvas->columns - 2 - (width ? width + 2 : 0);
    ath_auto_free char *hints = ath_key_hints(ATH_IN_TOP, (size_t)(room > 0 ? room : 0));

    ath_canvas_put(canvas, row, 1, room, tui->status ? tui->status_role : ATH_ROLE_DIM,
                   tui->status ? tui->status : hints);
    ath_canvas_put(canvas, row, canvas->columns - 1 - width, width, ATH_ROLE_WARN, place);
}

void ath_top_draw(struct ath_tui *tui, void *screen)
{
    struct ath_canvas canvas = { .tui = tui,
                                 .terminal = tui->terminal,
                                 .screen = screen,
                                 .style = ath_screen_style(tui->terminal),
                                 .rows = ath_screen_rows(tui->terminal),
                                 .columns = ath_screen_columns(tui->terminal) };

    draw_title(&canvas);
    draw_host(&canvas);
    draw_troubles(&canvas);
    ath_top_draw_gpus(&canvas);
    draw_ports(&canvas);
    ath_top_draw_charts(&canvas);
    ath_top_draw_sessions(&canvas);
    draw_foot(&canvas);
}
