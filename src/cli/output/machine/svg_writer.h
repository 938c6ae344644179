/*
 * Writes the SVG 1.1 shapes of our pictures. Lengths are pixels; y grows downwards. Classes are
 * defined by the style sheet in svg_writer.c. Every text is made harmless and escaped here.
 */
#pragma once
#include <stdio.h>

struct ath_svg_box {
    int x, y, width, height;
};

/* The x coordinate of a box's middle. */
int ath_svg_middle(const struct ath_svg_box *box);

/* Begins a picture and draws its background; title and description are for screen readers. */
void ath_svg_begin(FILE *out, int width, int height, const char *title, const char *description);
void ath_svg_end(FILE *out);

/* A group; viewers show its title when the pointer rests on the group. */
void ath_svg_begin_group(FILE *out, const char *title);
void ath_svg_end_group(FILE *out);

void ath_svg_rect(FILE *out, const struct ath_svg_box *box, int radius, const char *class);
void ath_svg_path(FILE *out, const char *class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ath_svg_line(FILE *out, const char *class, int x1, int y1, int x2, int y2);

/*
 * One line of text with its baseline at y. Text that is wider than `room` (0 for no limit) is cut
 * and ends in an ellipsis. Widths are estimated from `size`, the font size of the class.
 */
void ath_svg_text(FILE *out, int x, int y, const char *class, int size, int room, const char *text);

/* A short text centred at (x, y), on a patch that hides the line below it. */
void ath_svg_label(FILE *out, int x, int y, const char *class, const char *text);

/*
 * Breaks text into at most `max` lines that fit into room, at a blank, or else after "-", "/" or
 * ",". The last line gets what is left. Returns the number of lines; the caller frees each.
 */
size_t ath_svg_wrap(const char *text, int size, int room, char *out[], size_t max);

/* The estimated width of a line of text, rather too wide than too narrow. */
int ath_svg_text_width(const char *text, int size);
