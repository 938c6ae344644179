/*
 * Writes SVG 1.1 (https://www.w3.org/TR/SVG11/). Fonts differ between viewers, so widths are
 * estimated for a wide font (DejaVu Sans); a letter of three or more bytes in UTF-8 counts as a
 * square.
 */
#include "config.h"

#include "cli/output/machine/svg_writer.h"

#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/text.h"

static const char style_sheet[] =
    "text{font-family:'DejaVu Sans',Verdana,'Noto Sans','Noto Sans CJK SC',sans-serif;"
    "font-size:10px;fill:#2b313b}"
    ".title{font-size:18px;font-weight:bold}.sub{font-size:11px;fill:#5d6675}"
    ".head{font-size:13px;font-weight:bold}.name{font-size:11px;font-weight:bold}"
    ".dim{fill:#5d6675}.middle{text-anchor:middle}.tag{font-weight:bold;text-anchor:middle}"
    ".page{fill:#ffffff}.node{fill:#f5f6f8;stroke:#b9c0cb}"
    ".unknown{fill:#fbfbfb;stroke:#b9c0cb;stroke-dasharray:5 4}"
    ".gpu{fill:#e4f3dd;stroke:#69a548}.memory{fill:#fff2cf;stroke:#d3a12b}"
    ".nic{fill:#e2edfa;stroke:#4b83c3}.off{fill:#f0f1f3;stroke:#9aa3b0;stroke-dasharray:4 3}"
    ".card{fill:none;stroke:#8aaedb;stroke-dasharray:2 3}"
    ".patch{fill:#ffffff;stroke:#d8dce3;stroke-width:.7}"
    ".nvlink{fill:none;stroke:#58983a;stroke-width:2.2}.fabric{fill:#cfe8c4;stroke:#58983a}"
    ".pair{fill:none;stroke-width:1.8}.pix{stroke:#0f8587}.pxb{stroke:#a88a10}.phb{stroke:#ad4480}"
    ".near-node{stroke:#c9821f}.sys{stroke:#b23b3b}"
    ".distance{fill:none;stroke:#8067ad;stroke-width:2;stroke-dasharray:6 4}"
    "text.nvlink{fill:#35661d;stroke:none}text.pair{stroke:none}"
    "text.distance{fill:#574080;stroke:none}"
    ".cell{fill:#ffffff;stroke:#d8dce3}.near{fill:#e9e3f4;stroke:#d8dce3}";

static void put_escaped(FILE *out, const char *text)
{
    static const struct {
        char letter;
        const char *entity;
    } entities[] = {
        { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" }
    };

    ath_auto_free char *clean = ath_clean(text, true);
    for (const char *c = clean; *c; c++) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
            if (entities[i].letter == *c)
                entity = entities[i].entity;
        if (entity)
            fputs(entity, out);
        else
            putc(*c, out);
    }
}

void ath_svg_begin(FILE *out, int width, int height, const char *title, const char *description)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"title desc\">\n"
            "<title id=\"title\">",
            width, height, width, height);
    put_escaped(out, title);
    fputs("</title>\n<desc id=\"desc\">", out);
    put_escaped(out, description);
    fprintf(out, "</desc>\n<style>%s</style>\n", style_sheet);
    ath_svg_rect(out, &(struct ath_svg_box){ 0, 0, width, height }, 0, "page");
}

void ath_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

void ath_svg_begin_group(FILE *out, const char *title)
{
    fputs("<g><title>", out);
    put_escaped(out, title);
    fputs("</title>\n", out);
}

void ath_svg_end_group(FILE *out)
{
    fputs("</g>\n", out);
}

void ath_svg_rect(FILE *out, const struct ath_svg_box *box, int radius, const char *class)
{
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" class=\"%s\"/>\n",
            box->x, box->y, box->width, box->height, radius, class);
}

void ath_svg_path(FILE *out, const char *class, const char *format, ...)
{
    va_list args;

    fprintf(out, "<path class=\"%s\" d=\"", class);
    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
    fputs("\"/>\n", out);
}

void ath_svg_line(FILE *out, const char *class, int x1, int y1, int x2, int y2)
{
    ath_svg_path(out, class, "M%d %dL%d %d", x1, y1, x2, y2);
}

int ath_svg_middle(const struct ath_svg_box *box)
{
    return box->x + box->width / 2;
}

/* Returns the bytes of the letter at `text` (clean UTF-8). *out_width is in % of the font size. */
static size_t letter(const char *text, int *out_width)
{
    size_t length = ath_utf8_decode(text, strnlen(text, 4), NULL);

    *out_width = length > 2 && strncmp(text, "…", 3) ? 104 : 62;
    if (strchr(" .,:;'|()[]/-ijlrtfI", *text))
        *out_width = 42;
    if (strchr("mwMW@%", *text))
        *out_width = 96;
    return length;
}

int ath_svg_text_width(const char *text, int size)
{
    ath_auto_free char *clean = ath_clean(text, true);
    long hundredths = 0;
    int width;

    for (const char *c = clean; *c; hundredths += width)
        c += letter(c, &width);
    return (int)(hundredths * size / 100) + 1;
}

/* Returns the length of the longest part of text that fits and ends at one of the breaks, or 0. */
static size_t fitting_part(const char *text, const char *breaks, int size, int room)
{
    size_t length = 0;

    for (const char *at = text; *at; at++) {
        if (!strchr(breaks, *at) || !at[1])
            continue;
        size_t end = (size_t)(at - text) + (*at != ' ');
        ath_auto_free char *part = ath_xasprintf("%.*s", (int)end, text);
        if (ath_svg_text_width(part, size) > room)
            break;
        length = end;
    }
    return length;
}

size_t ath_svg_wrap(const char *text, int size, int room, char *out[], size_t max)
{
    size_t count = 0;

    while (count + 1 < max && ath_svg_text_width(text, size) > room) {
        size_t length = fitting_part(text, " ", size, room);
        if (!length)
            length = fitting_part(text, "-/,", size, room);
        if (!length)
            break;
        out[count++] = ath_xasprintf("%.*s", (int)length, text);
        text += length + strspn(text + length, " ");
    }
    if (*text && count < max)
        out[count++] = ath_xstrdup(text);
    return count;
}

/* Cuts text to the room and adds an ellipsis if needed. The caller frees it. */
static char *fit(const char *text, int size, int room)
{
    ath_auto_free char *clean = ath_clean(text, true);
    struct ath_text fitted = { 0 };
    long used = 0, limit = (long)room * 100 / size - 62;

    if (!room || ath_svg_text_width(clean, size) <= room)
        return ath_steal(&clean);
    for (const char *c = clean; *c;) {
        int width;
        size_t length = letter(c, &width);
        if (used + width > limit)
            break;
        ath_text_add_bytes(&fitted, c, length);
        used += width;
        c += length;
    }
    ath_text_add(&fitted, "…");
    return ath_text_take(&fitted);
}

void ath_svg_text(FILE *out, int x, int y, const char *class, int size, int room, const char *text)
{
    ath_auto_free char *fitted = fit(text, size, room);

    fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, class);
    put_escaped(out, fitted);
    fputs("</text>\n", out);
}

void ath_svg_label(FILE *out, int x, int y, const char *class, const char *text)
{
    int width = ath_svg_text_width(text, 10) + 8;
    struct ath_svg_box patch = { x - width / 2, y - 8, width, 15 };

    ath_svg_rect(out, &patch, 4, "patch");
    fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"tag %s\">", x, y + 4, class);
    put_escaped(out, text);
    fputs("</text>\n", out);
}
