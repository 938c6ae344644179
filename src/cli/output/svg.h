/*
 * The few shapes of SVG 1.1 that our pictures are drawn with. Lengths are pixels, y grows
 * downwards; classes are those of the style sheet in svg.c. Every text is made harmless and
 * escaped here.
 */
#pragma once
#include <stdio.h>

struct ath_svg_box {
    int x, y, width, height;
};

/* The x of a box's middle. */
int ath_svg_middle(const struct ath_svg_box *box);

/* Begins a picture with a background of its own; title and description are for screen readers. */
void ath_svg_begin(FILE *out, int width, int height, const char *title, const char *description);
void ath_svg_end(FILE *out);

/* A group whose title shows when the pointer rests on it. */
void ath_svg_begin_group(FILE *out, const char *title);
void ath_svg_end_group(FILE *out);

void ath_svg_rect(FILE *out, const struct ath_svg_box *box, int radius, const char *class);
void ath_svg_path(FILE *out, const char *class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ath_svg_line(FILE *out, const char *class, int x1, int y1, int x2, int y2);

/*
 * One line of text, its baseline at y. Where it is wider than room (0 for no limit; reckoned by
 * size, the class's font size) it is cut off and ends in an ellipsis.
 */
void ath_svg_text(FILE *out, int x, int y, const char *class, int size, int room, const char *text);

/* A short text centred on a line, on a patch that hides what is below. */
void ath_svg_label(FILE *out, int x, int y, const char *class, const char *text);

/* About how wide a line of text is, rather too wide than too narrow. */
int ath_svg_text_width(const char *text, int size);
