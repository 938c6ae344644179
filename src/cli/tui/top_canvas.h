/*
 * The canvas of the live screen: the state of one drawing, and the ways to put text and bars on it.
 * Private to top_*.c.
 */
#pragma once
#include "cli/tui/top.h"

enum { ATH_BAR_PARTS_MAX = 64 };

/* The state of one drawing. */
struct ath_canvas {
    struct ath_tui *tui;
    struct ath_screen_terminal *terminal;
    struct ath_top_screen *screen;
    struct ath_style style;
    int rows, columns;
    int row; /* the next free one */
};

/* A part of a bar; its role counts unless it has a hue. */
struct ath_bar_part {
    double share; /* of the whole bar */
    bool has_hue;
    unsigned int hue;
    enum ath_role role;
};

void ath_canvas_put(const struct ath_canvas *canvas, int row, int column, int width,
                    enum ath_role role, const char *text);

/* Puts text at the right edge of a field. */
void ath_canvas_put_right(const struct ath_canvas *canvas, int row, int column, int width,
                          enum ath_role role, const char *text);

/* Puts a bar of at most ATH_BAR_PARTS_MAX parts into the canvas' row. */
void ath_canvas_put_bar(const struct ath_canvas *canvas, int column, int width,
                        const struct ath_bar_part *parts, size_t count);

/* Returns the rows that GPUs, ports and charts may still take: the sessions keep some. */
int ath_canvas_rows_left(const struct ath_canvas *canvas);

/* Returns the number of servers that answer. */
size_t ath_top_answering(const struct ath_top *top);

/* Draw a part of the screen from the canvas' row on, and move that row. */
void ath_top_draw_gpus(struct ath_canvas *canvas);
void ath_top_draw_charts(struct ath_canvas *canvas);
void ath_top_draw_sessions(struct ath_canvas *canvas);
