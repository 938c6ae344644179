/* Putting text and bars on the live screen. */
#include "config.h"

#include "cli/tui/top_canvas.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/top/spark.h"

enum { SESSION_ROWS_LEAST = 3 }; /* that GPUs, ports and charts leave free */

void ath_canvas_put(const struct ath_canvas *canvas, int row, int column, int width,
                    enum ath_role role, const char *text)
{
    ath_screen_put(canvas->terminal, row, column, width, role, false, text);
}

void ath_canvas_put_right(const struct ath_canvas *canvas, int row, int column, int width,
                          enum ath_role role, const char *text)
{
    int room = width - (int)ath_text_width(text);
    ath_canvas_put(canvas, row, column, width, role, "");
    ath_canvas_put(canvas, row, column + (room > 0 ? room : 0), room > 0 ? width - room : width,
                   role, text);
}

static void put_cells(const struct ath_canvas *canvas, int column, int cells,
                      const struct ath_bar_part *part, const char *sign)
{
    ATH_AUTO(ath_text) text = { 0 };

    for (int i = 0; i < cells; i++)
        ath_text_add(&text, "%s", sign);
    if (cells <= 0)
        return;
    if (part->has_hue)
        ath_screen_put_hue(canvas->terminal, canvas->row, column, cells, part->hue, text.data);
    else
        ath_canvas_put(canvas, canvas->row, column, cells, part->role, text.data);
}

void ath_canvas_put_bar(const struct ath_canvas *canvas, int column, int width,
                        const struct ath_bar_part *parts, size_t count)
{
    const struct ath_bar_part empty = { .role = ATH_ROLE_DIM };
    bool is_utf8 = canvas->style.is_utf8;
    double shares[ATH_BAR_PARTS_MAX] = { 0 };
    int ends[ATH_BAR_PARTS_MAX], eighths, at = 0;

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

int ath_canvas_rows_left(const struct ath_canvas *canvas)
{
    int left = canvas->rows - 1 - SESSION_ROWS_LEAST - 1 - canvas->row;
    return left > 0 ? left : 0;
}
