/* The GPUs on the live screen: a table with bars, and charts of their histories. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/top/short.h"
#include "cli/top/spark.h"
#include "cli/tui/top_canvas.h"

enum {
    GAP = 1,
    CHART_ROWS = 6, /* with its title */
    CHART_COLUMNS_LEAST = 28,
    CHART_COLUMNS_MOST = 100,
    CHART_GAP = 2,
};

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
static void fit_gpus(const struct ath_canvas *canvas, struct ath_slot *slots)
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

/* Makes a part of the bar for each session of a GPU: of its time if is_busy, else of its memory.
 * Returns their number. */
static size_t session_parts(const struct ath_top *top, const struct ath_top_gpu *gpu, bool is_busy,
                            struct ath_bar_part *out)
{
    double total = is_busy ? 100 : (double)gpu->figures.memory_total_bytes;
    size_t count = 0;

    for (size_t i = 0; i < top->session_count && count + 1 < ATH_BAR_PARTS_MAX; i++) {
        const struct ath_top_session *session = &top->sessions[i];
        int64_t part = session->server != gpu->server ? 0
                       : !is_busy                     ? ath_top_memory_on(session, gpu->number)
                       : session->gpu == gpu->number  ? session->busy_percent
                                                      : 0;
        if (part > 0 && total > 0)
            out[count++] = (struct ath_bar_part){ .share = (double)part / total,
                                                  .has_hue = true,
                                                  .hue = (unsigned int)session->id };
    }
    return count;
}

/* Adds what is used beyond the sessions' parts. If these say more than the whole, they shrink. */
static size_t add_rest(struct ath_bar_part *parts, size_t count, double whole, enum ath_role role)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += parts[i].share;
    for (size_t i = 0; i < count && sum > whole; i++)
        parts[i].share *= whole / sum;
    if (whole > sum + 0.001)
        parts[count++] = (struct ath_bar_part){ .share = whole - sum, .role = role };
    return count;
}

static void put_busy(const struct ath_canvas *canvas, const struct ath_top_gpu *gpu, int column,
                     int width)
{
    enum { VALUE = 5 };
    int64_t busy = gpu->figures.busy_percent;
    struct ath_bar_part parts[ATH_BAR_PARTS_MAX];
    ath_auto_free char *value = ath_short_percent(busy);
    size_t count = 0;

    if (busy >= 0) {
        count = session_parts(&canvas->screen->model, gpu, true, parts);
        count = add_rest(parts, count, (double)busy / 100, ATH_ROLE_GOOD);
    }
    ath_canvas_put_bar(canvas, column, width - VALUE, parts, count);
    ath_canvas_put_right(canvas, canvas->row, column + width - VALUE, VALUE, ATH_ROLE_PLAIN, value);
}

/* NVML alone knows the memory of other programs, and the server that of its sessions. */
static int64_t memory_used(const struct ath_device_figures *figures)
{
    int64_t all = figures->memory_total_bytes >= 0 && figures->memory_free_bytes >= 0
                      ? figures->memory_total_bytes - figures->memory_free_bytes
                      : ATH_UNKNOWN;
    return all > figures->memory_used_bytes ? all : figures->memory_used_bytes;
}

static void put_memory(const struct ath_canvas *canvas, const struct ath_top_gpu *gpu, int column,
                       int width)
{
    enum { VALUE = 12 };
    int64_t used = memory_used(&gpu->figures), total = gpu->figures.memory_total_bytes;
    struct ath_bar_part parts[ATH_BAR_PARTS_MAX];
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
    ath_canvas_put_bar(canvas, column, width - VALUE, parts, count);
    ath_canvas_put_right(canvas, canvas->row, column + width - VALUE, VALUE, ATH_ROLE_PLAIN, value);
}

/* Returns "0 A100-SXM4-80GB"; of one of several servers "0 NUMA1 A100...". */
static char *gpu_name(const struct ath_canvas *canvas, const struct ath_top_gpu *gpu, int width)
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

static void draw_gpu(struct ath_canvas *canvas, const struct ath_slot *slots,
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
            ath_canvas_put(canvas, canvas->row, column, width, ATH_ROLE_GOOD, text);
        } else if (i == GPU_NAME) {
            text = gpu_name(canvas, gpu, width);
            ath_canvas_put(canvas, canvas->row, column, width, role, text);
        } else {
            text = gpu_word(gpu, i, &role);
            ath_canvas_put_right(canvas, canvas->row, column, width, role, text);
        }
    }
    canvas->row++;
}

static void draw_gpu_head(struct ath_canvas *canvas, const struct ath_slot *slots)
{
    for (int i = 0; i < GPU_COLUMN_COUNT; i++)
        if (slots[i].width && gpu_columns[i].is_right)
            ath_canvas_put_right(canvas, canvas->row, 1 + slots[i].column, slots[i].width,
                                 ATH_ROLE_DIM, _(gpu_columns[i].title));
        else if (slots[i].width)
            ath_canvas_put(canvas, canvas->row, 1 + slots[i].column, slots[i].width, ATH_ROLE_DIM,
                           _(gpu_columns[i].title));
    canvas->row++;
}

void ath_top_draw_gpus(struct ath_canvas *canvas)
{
    const struct ath_top *top = &canvas->screen->model;
    struct ath_slot slots[GPU_COLUMN_COUNT];
    size_t room = (size_t)ath_canvas_rows_left(canvas), shown = top->gpu_count;

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
    ath_canvas_put(canvas, canvas->row++, 1, canvas->columns - 2, ATH_ROLE_DIM, more);
}

/* ---- charts ---- */

static void draw_chart(const struct ath_canvas *canvas, const struct ath_top_gpu *gpu, int column,
                       int width)
{
    ath_auto_free char *busy = ath_short_percent(gpu->figures.busy_percent);
    ath_auto_free char *memory = ath_short_percent(ath_history_at(&gpu->memory, 0));
    ath_auto_free char *name = gpu_name(canvas, gpu, width);
    ath_auto_free char *title = ath_xasprintf(_("busy %s, memory %s  %s"), busy, memory, name);
    int rows = CHART_ROWS - 2;

    ath_canvas_put(canvas, canvas->row, column, width, ATH_ROLE_DIM, title);
    for (int i = 0; i < rows; i++) {
        ath_auto_free char *line =
            ath_chart_row(&gpu->busy, width, 100, rows, i, canvas->style.is_utf8);
        ath_canvas_put(canvas, canvas->row + 1 + i, column, width, ATH_ROLE_GOOD, line);
    }
    ath_auto_free char *spark = ath_spark(&gpu->memory, width, 100, canvas->style.is_utf8);
    ath_screen_put_hue(canvas->terminal, canvas->row + 1 + rows, column, width, 0, spark);
}

/* The charts take at most a third of the rows, and only rows that the sessions do not need. */
void ath_top_draw_charts(struct ath_canvas *canvas)
{
    const struct ath_top *top = &canvas->screen->model;
    int across = (canvas->columns - 1) / CHART_COLUMNS_LEAST, least_rows = CHART_ROWS + 10;

    if (canvas->screen->is_hidden[ATH_TOP_CHARTS] || !top->gpu_count ||
        !is_known_anywhere(top, offsetof(struct ath_top_gpu, figures.busy_percent)))
        return;
    across = across > (int)top->gpu_count ? (int)top->gpu_count : across;
    int width = (canvas->columns - 1) / across - CHART_GAP;
    width = width > CHART_COLUMNS_MOST ? CHART_COLUMNS_MOST : width;
    for (size_t i = 0; i < top->gpu_count && ath_canvas_rows_left(canvas) >= least_rows;) {
        for (int j = 0; j < across && i < top->gpu_count; j++, i++)
            draw_chart(canvas, &top->gpus[i], 1 + j * (width + CHART_GAP), width);
        canvas->row += CHART_ROWS;
        least_rows = canvas->rows * 2 / 3;
    }
}
