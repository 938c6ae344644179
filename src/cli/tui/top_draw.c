/* Drawing the live screen, from the top: title, this host, GPUs, ports, charts, sessions, keys. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
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
#include "cli/tui/top.h"

enum {
    GAP = 1,
    SESSION_ROWS_LEAST = 3, /* that GPUs, ports and charts leave free */
    CHART_ROWS = 6,         /* with its title */
    CHART_COLUMNS_LEAST = 28,
    CHART_COLUMNS_MOST = 100,
    SILENT_MS = 4000, /* beyond the interval: then the screen says that a server does not answer */
    PARTS_MAX = 64,
    TROUBLE_ROWS = 2, /* of a server that does not answer */
};

/* The state of one drawing. */
struct canvas {
    struct ath_tui *tui;
    struct ath_screen_terminal *terminal;
    struct ath_top_screen *screen;
    struct ath_style style;
    int rows, columns;
    int row; /* the next free one */
};

static void put(const struct canvas *canvas, int row, int column, int width, enum ath_role role,
                const char *text)
{
    ath_screen_put(canvas->terminal, row, column, width, role, false, text);
}

/* Draws text at the right edge of a field. */
static void put_right(const struct canvas *canvas, int row, int column, int width,
                      enum ath_role role, const char *text)
{
    int room = width - (int)ath_text_width(text);
    put(canvas, row, column, width, role, "");
    put(canvas, row, column + (room > 0 ? room : 0), room > 0 ? width - room : width, role, text);
}

/* ---- bars ---- */

/* A part of a bar; its role counts unless it has a hue. */
struct part {
    double share;
    bool has_hue;
    unsigned int hue;
    enum ath_role role;
};

static void put_cells(const struct canvas *canvas, int column, int cells, const struct part *part,
                      const char *sign)
{
    ATH_AUTO(ath_text) text = { 0 };

    for (int i = 0; i < cells; i++)
        ath_text_add(&text, "%s", sign);
    if (cells <= 0)
        return;
    if (part->has_hue)
        ath_screen_put_hue(canvas->terminal, canvas->row, column, cells, part->hue, text.data);
    else
        put(canvas, canvas->row, column, cells, part->role, text.data);
}

/* Draws a bar of parts in the canvas' row. */
static void put_bar(const struct canvas *canvas, int column, int width, const struct part *parts,
                    size_t count)
{
    const struct part empty = { .role = ATH_ROLE_DIM };
    bool is_utf8 = canvas->style.is_utf8;
    double shares[PARTS_MAX];
    int ends[PARTS_MAX], eighths, at = 0;

    for (size_t i = 0; i < count; i++)
        shares[i] = parts[i].share;
    ath_bar_fit(shares, count, width, ends, &eighths);
    for (size_t i = 0; i < count; i++) {
        put_cells(canvas, column + at, ends[i] - at, &parts[i],
                  ath_bar_full(i, canvas->style.is_color, is_utf8));
        at = ends[i];
    }
    if (eighths && at < width)
        put_cells(canvas, column + at++, 1, &parts[count - 1],
                  ath_bar_eighths(count - 1, eighths, canvas->style.is_color, is_utf8));
    put_cells(canvas, column + at, width - at, &empty, ath_bar_empty(is_utf8));
}

/* ---- title and host ---- */

static size_t answering(const struct ath_top *top)
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
        ath_text_add(&text, _(", %zu of %zu runtimes"), answering(top), top->server_count);
    return ath_text_take(&text);
}

static void draw_title(struct canvas *canvas)
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
static int put_gauge(const struct canvas *canvas, int column, const char *label, int bar,
                     int64_t percent, const char *value, int value_width)
{
    int width = (int)ath_text_width(label);
    const struct part part = { .share = percent < 0 ? 0 : (double)percent / 100,
                               .role = load_role(percent) };

    put(canvas, canvas->row, column, width, ATH_ROLE_HEADING, label);
    column += width + 1;
    put_bar(canvas, column, bar, &part, 1);
    column += bar;
    put_right(canvas, canvas->row, column, value_width, ATH_ROLE_PLAIN, value);
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
static void put_sums(const struct canvas *canvas, int column)
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
        put(canvas, canvas->row, column, label, ATH_ROLE_HEADING, sums[i].label);
        put(canvas, canvas->row, column + label + 1, value, ATH_ROLE_PLAIN, sums[i].value);
        column += label + 1 + value + 1;
    }
}

static void draw_host(struct canvas *canvas)
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

/* ---- GPUs ---- */

enum {
    GPU_NAME,
    GPU_BUSY,
    GPU_MEMORY,
    GPU_TEMPERATURE,
    GPU_POWER,
    GPU_TRAFFIC,
    GPU_HISTORY,
    GPU_SESSIONS,
    GPU_CLOCK,
    GPU_HEALTH,
    GPU_COLUMN_COUNT
};

static const struct {
    const char *title; /* N_() */
    int least, most, importance;
    bool is_right;
} gpu_columns[GPU_COLUMN_COUNT] = {
    [GPU_NAME] = { N_("GPU"), 14, 30, 90, false },
    [GPU_BUSY] = { N_("Busy"), 15, 30, 99, false },
    [GPU_MEMORY] = { N_("Memory"), 23, 40, 98, false },
    [GPU_TEMPERATURE] = { N_("Temp"), 5, 5, 80, true },
    [GPU_POWER] = { N_("Power"), 8, 9, 75, true },
    [GPU_TRAFFIC] = { N_("Bytes/s"), 7, 8, 70, true },
    [GPU_HISTORY] = { N_("History"), 12, 40, 65, false },
    [GPU_SESSIONS] = { N_("Sess."), 5, 5, 30, true },
    [GPU_CLOCK] = { N_("Clock"), 8, 8, 20, true },
    [GPU_HEALTH] = { N_("Health"), 6, 6, 40, true },
};

static bool is_known_anywhere(const struct ath_top *top, size_t offset)
{
    for (size_t i = 0; i < top->gpu_count; i++) {
        int64_t value;
        memcpy(&value, (const char *)&top->gpus[i] + offset, sizeof value);
        if (value >= 0)
            return true;
    }
    return false;
}

/* Columns of which no GPU knows anything take no room. */
static void fit_gpus(const struct canvas *canvas, struct ath_slot *slots)
{
    static const size_t needs[GPU_COLUMN_COUNT] = {
        [GPU_TEMPERATURE] = offsetof(struct ath_top_gpu, figures.temperature_c),
        [GPU_POWER] = offsetof(struct ath_top_gpu, figures.power_mw),
        [GPU_TRAFFIC] = offsetof(struct ath_top_gpu, traffic_bytes_s),
        [GPU_HISTORY] = offsetof(struct ath_top_gpu, figures.busy_percent),
        [GPU_CLOCK] = offsetof(struct ath_top_gpu, figures.sm_clock_mhz),
        [GPU_HEALTH] = offsetof(struct ath_top_gpu, figures.health_score),
    };
    for (size_t i = 0; i < GPU_COLUMN_COUNT; i++)
        slots[i] = (struct ath_slot){
            .least = gpu_columns[i].least,
            .most = gpu_columns[i].most,
            .importance = gpu_columns[i].importance,
            .is_wanted = !needs[i] || is_known_anywhere(&canvas->screen->model, needs[i]),
        };
    ath_slots_fit(slots, GPU_COLUMN_COUNT, canvas->columns - 2, GAP);
}

/* Returns the parts that the sessions have of a GPU, each at most `most` of the whole. */
static size_t session_parts(const struct ath_top *top, const struct ath_top_gpu *gpu, bool is_busy,
                            struct part *out)
{
    double total = is_busy ? 100 : (double)gpu->figures.memory_total_bytes;
    size_t count = 0;

    for (size_t i = 0; i < top->session_count && count + 1 < PARTS_MAX; i++) {
        const struct ath_top_session *session = &top->sessions[i];
        int64_t part = session->server != gpu->server ? 0
                       : !is_busy                     ? ath_top_memory_on(session, gpu->number)
                       : session->gpu == gpu->number  ? session->busy_percent
                                                      : 0;
        if (part > 0 && total > 0)
            out[count++] = (struct part){ .share = (double)part / total,
                                          .has_hue = true,
                                          .hue = (unsigned int)session->id };
    }
    return count;
}

/* Adds what is used beyond the sessions' parts. If these say more than the whole, they shrink. */
static size_t add_rest(struct part *parts, size_t count, double whole, enum ath_role role)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += parts[i].share;
    for (size_t i = 0; i < count && sum > whole; i++)
        parts[i].share *= whole / sum;
    if (whole > sum + 0.001)
        parts[count++] = (struct part){ .share = whole - sum, .role = role };
    return count;
}

static void put_busy(const struct canvas *canvas, const struct ath_top_gpu *gpu, int column,
                     int width)
{
    enum { VALUE = 5 };
    int64_t busy = gpu->figures.busy_percent;
    struct part parts[PARTS_MAX];
    ath_auto_free char *value = ath_short_percent(busy);
    size_t count = 0;

    if (busy >= 0) {
        count = session_parts(&canvas->screen->model, gpu, true, parts);
        count = add_rest(parts, count, (double)busy / 100, ATH_ROLE_GOOD);
    }
    put_bar(canvas, column, width - VALUE, parts, count);
    put_right(canvas, canvas->row, column + width - VALUE, VALUE, ATH_ROLE_PLAIN, value);
}

/* NVML alone knows the memory of other programs, and the server that of its sessions. */
static int64_t memory_used(const struct ath_device_figures *figures)
{
    int64_t all = figures->memory_total_bytes >= 0 && figures->memory_free_bytes >= 0
                      ? figures->memory_total_bytes - figures->memory_free_bytes
                      : ATH_UNKNOWN;
    return all > figures->memory_used_bytes ? all : figures->memory_used_bytes;
}

static void put_memory(const struct canvas *canvas, const struct ath_top_gpu *gpu, int column,
                       int width)
{
    enum { VALUE = 12 };
    int64_t used = memory_used(&gpu->figures), total = gpu->figures.memory_total_bytes;
    struct part parts[PARTS_MAX];
    ath_auto_free char *used_text = ath_short_size(used), *total_text = ath_short_size(total);
    ath_auto_free char *value = ath_xasprintf("%s/%s", used_text, total_text);
    size_t count = 0;

    if (used >= 0 && total > 0) {
        double whole = (double)used / (double)total;
        count = session_parts(&canvas->screen->model, gpu, false, parts);
        count = add_rest(parts, count, whole,
                         whole > 0.97  ? ATH_ROLE_BAD
                         : whole > 0.9 ? ATH_ROLE_WARN
                                       : ATH_ROLE_GOOD);
    }
    put_bar(canvas, column, width - VALUE, parts, count);
    put_right(canvas, canvas->row, column + width - VALUE, VALUE, ATH_ROLE_PLAIN, value);
}

/* Returns "0 A100-SXM4-80GB"; of one of several servers "0 NUMA1 A100...". */
static char *gpu_name(const struct canvas *canvas, const struct ath_top_gpu *gpu, int width)
{
    const char *name = gpu->device->name ? gpu->device->name : "?";
    if (ath_starts_with(name, "NVIDIA "))
        name += strlen("NVIDIA ");
    if (canvas->screen->model.server_count < 2)
        return ath_xasprintf("%d %s", gpu->number, name);
    ath_auto_free char *runtime = ath_short_middle(gpu->runtime, width - 3, canvas->style.is_utf8);
    return ath_xasprintf("%d %s %s", gpu->number, runtime, name);
}

static char *power_text(const struct ath_device_figures *figures)
{
    ath_auto_free char *power = ath_short_power(figures->power_mw);
    if (figures->power_mw < 0 || figures->power_limit_mw <= 0)
        return ath_steal(&power);
    return ath_xasprintf("%" PRId64 "/%" PRId64 "W", (figures->power_mw + 500) / 1000,
                         figures->power_limit_mw / 1000);
}

/* The words of the columns that are numbers alone. */
static char *gpu_word(const struct ath_top_gpu *gpu, int which, enum ath_role *role)
{
    const struct ath_device_figures *figures = &gpu->figures;

    *role = ATH_ROLE_PLAIN;
    switch (which) {
    case GPU_TEMPERATURE:
        *role = figures->temperature_c >= 90   ? ATH_ROLE_BAD
                : figures->temperature_c >= 80 ? ATH_ROLE_WARN
                                               : ATH_ROLE_PLAIN;
        return figures->temperature_c < 0 ? ath_xstrdup("?")
                                          : ath_xasprintf("%" PRId64 " C", figures->temperature_c);
    case GPU_POWER:
        return power_text(figures);
    case GPU_TRAFFIC:
        return ath_short_rate(gpu->traffic_bytes_s);
    case GPU_SESSIONS:
        return figures->sessions < 0 ? ath_xstrdup("?")
                                     : ath_xasprintf("%" PRId64, figures->sessions);
    case GPU_CLOCK:
        return figures->sm_clock_mhz < 0 ? ath_xstrdup("?")
                                         : ath_xasprintf("%" PRId64 "MHz", figures->sm_clock_mhz);
    default:
        *role = figures->health_score < 0     ? ATH_ROLE_PLAIN
                : figures->health_score < 60  ? ATH_ROLE_BAD
                : figures->health_score < 100 ? ATH_ROLE_WARN
                                              : ATH_ROLE_GOOD;
        return figures->health_score < 0 ? ath_xstrdup("?")
                                         : ath_xasprintf("%" PRId64, figures->health_score);
    }
}

static void draw_gpu(struct canvas *canvas, const struct ath_slot *slots,
                     const struct ath_top_gpu *gpu)
{
    for (int i = 0; i < GPU_COLUMN_COUNT; i++) {
        int column = 1 + slots[i].column, width = slots[i].width;
        ath_auto_free char *text = NULL;
        enum ath_role role = ATH_ROLE_NAME;
        if (!width)
            continue;
        if (i == GPU_BUSY) {
            put_busy(canvas, gpu, column, width);
        } else if (i == GPU_MEMORY) {
            put_memory(canvas, gpu, column, width);
        } else if (i == GPU_HISTORY) {
            text = ath_spark(&gpu->busy, width, 100, canvas->style.is_utf8);
            put(canvas, canvas->row, column, width, ATH_ROLE_GOOD, text);
        } else if (i == GPU_NAME) {
            text = gpu_name(canvas, gpu, width);
            put(canvas, canvas->row, column, width, role, text);
        } else {
            text = gpu_word(gpu, i, &role);
            put_right(canvas, canvas->row, column, width, role, text);
        }
    }
    canvas->row++;
}

static void draw_gpu_head(struct canvas *canvas, const struct ath_slot *slots)
{
    for (int i = 0; i < GPU_COLUMN_COUNT; i++)
        if (slots[i].width && gpu_columns[i].is_right)
            put_right(canvas, canvas->row, 1 + slots[i].column, slots[i].width, ATH_ROLE_DIM,
                      _(gpu_columns[i].title));
        else if (slots[i].width)
            put(canvas, canvas->row, 1 + slots[i].column, slots[i].width, ATH_ROLE_DIM,
                _(gpu_columns[i].title));
    canvas->row++;
}

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

static void draw_troubles(struct canvas *canvas)
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

/* Returns the rows that may be taken now. */
static int rows_left(const struct canvas *canvas)
{
    int left = canvas->rows - 1 - SESSION_ROWS_LEAST - 1 - canvas->row;
    return left > 0 ? left : 0;
}

static void draw_gpus(struct canvas *canvas)
{
    const struct ath_top *top = &canvas->screen->model;
    struct ath_slot slots[GPU_COLUMN_COUNT];
    size_t room = (size_t)rows_left(canvas), shown = top->gpu_count;

    if (canvas->screen->is_hidden[ATH_TOP_GPUS] || !top->gpu_count || room < 2)
        return;
    fit_gpus(canvas, slots);
    draw_gpu_head(canvas, slots);
    if (shown > room - 1)
        shown = room - 2;
    for (size_t i = 0; i < shown; i++)
        draw_gpu(canvas, slots, &top->gpus[i]);
    if (shown == top->gpu_count)
        return;
    ath_auto_free char *more = ath_xasprintf(
        _("%zu more GPUs: 1 hides, a taller window shows them"), top->gpu_count - shown);
    put(canvas, canvas->row++, 1, canvas->columns - 2, ATH_ROLE_DIM, more);
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

static void put_flow(const struct canvas *canvas, int column, int width, const char *sign,
                     int64_t bytes_s, const struct ath_history *history, int64_t height)
{
    enum { VALUE = 7 };
    ath_auto_free char *value = ath_short_rate(bytes_s);
    ath_auto_free char *spark =
        ath_spark(history, width - VALUE - 3, height, canvas->style.is_utf8);

    put(canvas, canvas->row, column, 1, ATH_ROLE_HEADING, sign);
    put_right(canvas, canvas->row, column + 1, VALUE, ATH_ROLE_PLAIN, value);
    put(canvas, canvas->row, column + VALUE + 2, width - VALUE - 3, ATH_ROLE_GOOD, spark);
}

static void draw_port(struct canvas *canvas, const struct ath_top_port *port)
{
    int left = canvas->columns * 2 / 5, width = (canvas->columns - left - 1) / 2;
    ath_auto_free char *name = port_name(port);
    int64_t height = port_height(port, (size_t)width);
    bool is_utf8 = canvas->style.is_utf8;

    put(canvas, canvas->row, 1, left - 2, ATH_ROLE_NAME, name);
    put_flow(canvas, left, width, is_utf8 ? "▼" : "v", port->received_bytes_s, &port->received,
             height);
    put_flow(canvas, left + width, width, is_utf8 ? "▲" : "^", port->sent_bytes_s, &port->sent,
             height);
    canvas->row++;
}

static void draw_ports(struct canvas *canvas)
{
    const struct ath_top *top = &canvas->screen->model;
    int most = rows_left(canvas) / 3;

    if (canvas->screen->is_hidden[ATH_TOP_PORTS])
        return;
    for (size_t i = 0; i < top->port_count && most > 0; i++)
        if (is_port_shown(&top->ports[i])) {
            draw_port(canvas, &top->ports[i]);
            most--;
        }
}

/* ---- charts ---- */

static void draw_chart(const struct canvas *canvas, const struct ath_top_gpu *gpu, int column,
                       int width)
{
    ath_auto_free char *busy = ath_short_percent(gpu->figures.busy_percent);
    ath_auto_free char *memory = ath_short_percent(ath_history_at(&gpu->memory, 0));
    ath_auto_free char *name = gpu_name(canvas, gpu, width);
    ath_auto_free char *title = ath_xasprintf(_("busy %s, memory %s  %s"), busy, memory, name);
    int rows = CHART_ROWS - 2;

    put(canvas, canvas->row, column, width, ATH_ROLE_DIM, title);
    for (int i = 0; i < rows; i++) {
        ath_auto_free char *line =
            ath_chart_row(&gpu->busy, width, 100, rows, i, canvas->style.is_utf8);
        put(canvas, canvas->row + 1 + i, column, width, ATH_ROLE_GOOD, line);
    }
    ath_auto_free char *spark = ath_spark(&gpu->memory, width, 100, canvas->style.is_utf8);
    ath_screen_put_hue(canvas->terminal, canvas->row + 1 + rows, column, width, 0, spark);
}

/* The charts take at most a third of the rows, and only rows that the sessions do not need. */
static void draw_charts(struct canvas *canvas)
{
    const struct ath_top *top = &canvas->screen->model;
    int across = (canvas->columns - 1) / CHART_COLUMNS_LEAST, least_rows = CHART_ROWS + 10;

    if (canvas->screen->is_hidden[ATH_TOP_CHARTS] || !top->gpu_count ||
        !is_known_anywhere(top, offsetof(struct ath_top_gpu, figures.busy_percent)))
        return;
    across = across > (int)top->gpu_count ? (int)top->gpu_count : across;
    int width = (canvas->columns - 1) / across - 1;
    width = width > CHART_COLUMNS_MOST ? CHART_COLUMNS_MOST : width;
    for (size_t i = 0; i < top->gpu_count && rows_left(canvas) >= least_rows;) {
        for (int j = 0; j < across && i < top->gpu_count; j++, i++)
            draw_chart(canvas, &top->gpus[i], 1 + j * (width + 1), width);
        canvas->row += CHART_ROWS;
        least_rows = canvas->rows * 2 / 3;
    }
}

/* ---- sessions ---- */

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

static void fit_sessions(const struct canvas *canvas)
{
    struct ath_top_screen *screen = canvas->screen;
    size_t count = 0;

    for (const struct ath_top_column *column = ath_top_columns; column->title; column++) {
        bool is_key = column->key == screen->order.key; /* its head has a mark */
        screen->slots[count++] = (struct ath_slot){
            .least = column->least + is_key,
            .most = column->most,
            .importance = column->importance + (is_key ? 100 : 0),
            .is_wanted = !column->is_shown || column->is_shown(&screen->model),
        };
    }
    ath_slots_fit(screen->slots, count, canvas->columns - 2, GAP);
}

static char *head_text(const struct canvas *canvas, const struct ath_top_column *column)
{
    const struct ath_top_order *order = &canvas->screen->order;
    const char *mark = column->key != order->key ? ""
                       : canvas->style.is_utf8   ? (order->is_reversed ? "▲" : "▼")
                                                 : (order->is_reversed ? "^" : "v");
    return column->is_left ? ath_xasprintf("%s%s", _(column->title), mark)
                           : ath_xasprintf("%s%s", mark, _(column->title));
}

static void draw_session_head(struct canvas *canvas)
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

static void draw_session(struct canvas *canvas, const struct ath_top_session *session,
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
    return !top->server_count   ? _("no runtime runs here: aitherion start; r looks again")
           : top->session_count ? _("no session has this text; Esc shows all")
           : answering(top)     ? _("no program uses a runtime now")
                                : "";
}

static void draw_sessions(struct canvas *canvas)
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
        put(canvas, canvas->row + 1, 2, canvas->columns - 3, ATH_ROLE_DIM, empty_text(screen));
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

static void draw_foot(struct canvas *canvas)
{
    struct ath_tui *tui = canvas->tui;
    ath_auto_free char *place = place_text(canvas->screen);
    int row = canvas->rows - 1, width = (int)ath_text_width(place),
        room = canvas->columns - 2 - (width ? width + 2 : 0);
    ath_auto_free char *hints = ath_key_hints(ATH_IN_TOP, (size_t)(room > 0 ? room : 0));

    put(canvas, row, 1, room, tui->status ? tui->status_role : ATH_ROLE_DIM,
        tui->status ? tui->status : hints);
    put(canvas, row, canvas->columns - 1 - width, width, ATH_ROLE_WARN, place);
}

void ath_top_draw(struct ath_tui *tui, void *screen)
{
    struct canvas canvas = { .tui = tui,
                             .terminal = tui->terminal,
                             .screen = screen,
                             .style = ath_screen_style(tui->terminal),
                             .rows = ath_screen_rows(tui->terminal),
                             .columns = ath_screen_columns(tui->terminal) };

    draw_title(&canvas);
    draw_host(&canvas);
    draw_troubles(&canvas);
    draw_gpus(&canvas);
    draw_ports(&canvas);
    draw_charts(&canvas);
    draw_sessions(&canvas);
    draw_foot(&canvas);
}
