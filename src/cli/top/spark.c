/* Histories and shares as characters. */
#include "config.h"

#include "cli/top/spark.h"

#include "base/text.h"

enum { LEVELS = 8 };

static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const letters[] = { " ", "_", ".", "-", ":", "=", "+", "*", "#" };

/* Returns the character of a level from 0 (blank) to LEVELS. */
static const char *level_sign(int level, bool is_utf8)
{
    return (is_utf8 ? blocks : letters)[level];
}

/* Returns the filled eighths of a column of so many rows. A value above 0 fills at least one. */
static int filled(int64_t value, int64_t greatest, int rows)
{
    int all = rows * LEVELS;
    if (value <= 0)
        return 0;
    if (value >= greatest)
        return all;
    int level = (int)((double)value * all / (double)greatest + 0.5);
    return level ? level : 1;
}

char *ath_spark(const struct ath_history *history, int width, int64_t greatest, bool is_utf8)
{
    struct ath_text text = { 0 };

    for (int i = width - 1; i >= 0; i--) {
        int64_t value = ath_history_at(history, (size_t)i);
        int level = filled(value, greatest, 1);
        /* a known zero has a line, so that it differs from what is unknown */
        ath_text_add(&text, "%s", level_sign(value == 0 ? 1 : level, is_utf8));
    }
    return ath_text_take(&text);
}

char *ath_chart_row(const struct ath_history *history, int width, int64_t greatest, int rows,
                    int row, bool is_utf8)
{
    struct ath_text text = { 0 };

    for (int i = width - 1; i >= 0; i--) {
        int64_t value = ath_history_at(history, (size_t)i);
        int level = filled(value, greatest, rows) - (rows - 1 - row) * LEVELS;
        level = level < 0 ? 0 : level > LEVELS ? LEVELS : level;
        if (!level && value == 0 && row == rows - 1)
            level = 1;
        ath_text_add(&text, "%s", level_sign(level, is_utf8));
    }
    return ath_text_take(&text);
}

void ath_bar_fit(const double *shares, size_t count, int width, int *out_ends, int *out_eighths)
{
    double sum = 0;

    *out_eighths = 0;
    for (size_t i = 0; i < count; i++) {
        sum += shares[i] > 0 ? shares[i] : 0;
        sum = sum > 1 ? 1 : sum;
        int eighths = (int)(sum * width * LEVELS + 0.5);
        bool is_last = i + 1 == count;
        out_ends[i] = is_last ? eighths / LEVELS : (eighths + LEVELS / 2) / LEVELS;
        if (i && out_ends[i] < out_ends[i - 1])
            out_ends[i] = out_ends[i - 1];
        else if (is_last)
            *out_eighths = eighths % LEVELS;
    }
}

const char *ath_bar_full(size_t index, bool is_color, bool is_utf8)
{
    static const char *const shades[] = { "█", "▓", "▒" };
    static const char *const marks[] = { "#", "=", "%" };
    size_t kind = is_color ? 0 : index % 3;
    return (is_utf8 ? shades : marks)[kind];
}

const char *ath_bar_eighths(size_t index, int eighths, bool is_color, bool is_utf8)
{
    static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    if (is_utf8)
        return parts[eighths];
    return eighths < LEVELS / 2 ? ath_bar_empty(false) : ath_bar_full(index, is_color, false);
}

const char *ath_bar_empty(bool is_utf8)
{
    return is_utf8 ? "·" : ".";
}

int64_t ath_chart_height(int64_t value, int64_t least)
{
    static const int64_t steps[] = { 1, 2, 5 };
    for (int64_t power = 1; power <= INT64_MAX / 100; power *= 10)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if (steps[i] * power >= value && steps[i] * power >= least)
                return steps[i] * power;
    return value > least ? value : least;
}
