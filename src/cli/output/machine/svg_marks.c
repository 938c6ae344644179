/*
 * A chosen GPU has a thick border and a badge with the word of its group; the others are pale. The
 * links of a group's ring are thick. Groups repeat the colours; their badges differ.
 */
#include "config.h"

#include "cli/output/machine/svg_marks.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* A light colour for the box and a dark one for its border, badge and ring. */
static const struct {
    const char *light, *dark;
} colours[] = {
    { "#c3e6b3", "#1d5c0c" }, { "#c9dcf5", "#1f4e8c" }, { "#fbd9b8", "#8a3b00" },
    { "#e8cdf0", "#6b2a7a" }, { "#f7c9c9", "#8c1f1f" }, { "#c2e8e8", "#0b5f5f" },
};

void ath_svg_marks_style(FILE *out, const struct ath_marks *marks)
{
    if (!marks)
        return;
    fputs("<style>.passed{fill:#fbfcfb;stroke:#c3cad3}.port{stroke-width:3}"
          ".badge{fill:#ffffff;font-weight:bold;text-anchor:middle}",
          out);
    for (size_t i = 0; i < ATH_COUNT(colours) && i < marks->group_count; i++)
        fprintf(out,
                ".group%zu{fill:%s;stroke:%s;stroke-width:4}.badge%zu{fill:%s}"
                ".ring%zu{fill:none;stroke:%s;stroke-width:5}",
                i, colours[i].light, colours[i].dark, i, colours[i].dark, i, colours[i].dark);
    fputs("</style>\n", out);
}

static const char *name_class(const char *name, size_t group, char out[ATH_SVG_CLASS])
{
    snprintf(out, ATH_SVG_CLASS, "%s%zu", name, (group - 1) % ATH_COUNT(colours));
    return out;
}

const char *ath_svg_group_class(size_t group, char out[ATH_SVG_CLASS])
{
    return name_class("group", group, out);
}

const char *ath_svg_ring_class(size_t group, char out[ATH_SVG_CLASS])
{
    return name_class("ring", group, out);
}

const char *ath_svg_gpu_class(const struct ath_marks *marks, size_t gpu, char out[ATH_SVG_CLASS])
{
    size_t group = ath_marks_group(marks, gpu);
    return group ? name_class("group", group, out) : marks ? "passed" : "gpu";
}

const char *ath_svg_link_class(const struct ath_marks *marks, size_t a, size_t b,
                               char out[ATH_SVG_CLASS])
{
    size_t group = ath_marks_ring(marks, a, b);
    return group ? name_class("ring", group, out) : "nvlink";
}

const char *ath_svg_stub_class(const struct ath_marks *marks, size_t gpu, char out[ATH_SVG_CLASS])
{
    size_t group = ath_marks_group(marks, gpu);
    return group && marks->next[gpu] != gpu ? name_class("ring", group, out) : "nvlink";
}

const char *ath_svg_nic_class(const struct ath_marks *marks, size_t nic, const char *plain,
                              char out[ATH_SVG_CLASS])
{
    if (!ath_marks_has_port(marks, nic))
        return plain;
    snprintf(out, ATH_SVG_CLASS, "%s port", plain);
    return out;
}

void ath_svg_mark(FILE *out, const struct ath_marks *marks, size_t gpu,
                  const struct ath_svg_box *box)
{
    size_t group = ath_marks_group(marks, gpu);
    char class[ATH_SVG_CLASS];

    if (!group)
        return;
    ath_auto_free char *word = ath_marks_word(marks, group);
    int width = ath_svg_text_width(word, 10) + 12;
    struct ath_svg_box badge = { box->x + box->width - width - 6, box->y + 5, width, 15 };
    ath_svg_rect(out, &badge, 4, name_class("badge", group, class));
    ath_svg_text(out, ath_svg_middle(&badge), badge.y + 11, "badge", 10, 0, word);
}
