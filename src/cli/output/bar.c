/* The progress bar. */
#include "config.h"

#include "cli/output/bar.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/terminal.h"

enum {
    COLUMNS = 80, /* of a terminal that does not report its width */
    BAR_MIN = 8,
    BAR_MAX = 50,
    NOTE_COLUMNS = 34 /* kept for notes, so that the bar stays as wide while they change */
};

static int columns_of(const struct ath_bar *bar)
{
    int columns = bar->columns ? bar->columns : ath_terminal_error_columns();
    return columns ? columns : COLUMNS;
}

/* A long note makes the bar shorter. A narrow terminal has room for the note alone. */
static int bar_width(int room, int note_columns)
{
    int width = room - (note_columns > NOTE_COLUMNS ? note_columns : NOTE_COLUMNS);

    if (room - NOTE_COLUMNS < BAR_MIN)
        return 0;
    return width < BAR_MIN ? BAR_MIN : width > BAR_MAX ? BAR_MAX : width;
}

static void add_bar(struct ath_text *line, double fraction, int width)
{
    ath_text_add(line, " [");
    for (int i = 0; i < width; i++)
        ath_text_add(line, "%s", i < (int)(fraction * width) ? "#" : ".");
    ath_text_add(line, "]");
}

/* Returns a whole line: "start [#####.....]  50 %  note". The caller frees it. */
static char *make_line(const struct ath_bar_step *step, const char *note, int columns)
{
    struct ath_text line = { 0 };
    double fraction = step->fraction > 1 ? 1 : step->fraction;
    int room = columns - (int)(ath_text_width(step->phase) + strlen(" []  50 %  "));
    int width = bar_width(room, (int)ath_text_width(note));

    ath_text_add(&line, "%s", step->phase);
    if (width)
        add_bar(&line, fraction, width);
    if (fraction >= 0)
        ath_text_add(&line, " %3.0f %%", fraction * 100);
    else if (width)
        ath_text_add(&line, "      ");
    ath_text_add_part(&line, "  ", "%s", note);
    return ath_text_take(&line);
}

/* A terminal that wraps in its last column would begin a new line there, so it stays free. */
static void draw(const struct ath_bar *bar, const struct ath_bar_step *step)
{
    static const char dots[] = "...";
    size_t columns = (size_t)columns_of(bar) - 1;
    ath_auto_free char *note = ath_clean(step->note ? step->note : "", ath_terminal_is_utf8());
    ath_auto_free char *line = make_line(step, note, (int)columns);

    if (ath_text_width(line) > columns) {
        size_t kept = columns > strlen(dots) ? columns - strlen(dots) : 0;
        ath_auto_free char *whole = ath_steal(&line);
        line = ath_xasprintf("%.*s%.*s", (int)ath_text_cut(whole, kept), whole, (int)columns, dots);
    }
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
}

void ath_bar_show(struct ath_bar *bar, const struct ath_bar_step *step, const char *line)
{
    if (bar->is_silent)
        return;
    if (bar->is_terminal)
        draw(bar, step);
    else if (!bar->last_phase || strcmp(bar->last_phase, step->phase))
        ath_log(ATH_LOG_NORMAL, "%s", line);
    bar->last_phase = step->phase;
}

void ath_bar_end(struct ath_bar *bar)
{
    if (bar->is_terminal && bar->last_phase && !bar->is_silent)
        fputs("\r\033[K", stderr);
    bar->last_phase = NULL;
}
