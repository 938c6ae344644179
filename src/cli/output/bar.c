/* Drawing the bar. */
#include "config.h"

#include "cli/output/bar.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

static void draw(const struct ath_bar *bar, const struct ath_bar_step *step)
{
    int room = (bar->columns ? bar->columns : 80) - 40;
    int width = room < 10 ? 10 : room > 50 ? 50 : room;
    double fraction = step->fraction < 0 ? 0 : step->fraction > 1 ? 1 : step->fraction;
    int done = (int)(fraction * width);

    fprintf(stderr, "\r%s [", step->phase);
    for (int i = 0; i < width; i++)
        putc(i < done ? '#' : '.', stderr);
    if (step->fraction < 0)
        fputs("]      ", stderr);
    else
        fprintf(stderr, "] %3.0f %%", fraction * 100);
    fprintf(stderr, "  %s\033[K", step->note ? step->note : "");
    fflush(stderr);
}

void ath_bar_show(struct ath_bar *bar, const struct ath_bar_step *step, const char *line)
{
    if (bar->is_silent)
        return;
    if (bar->is_terminal)
        draw(bar, step);
    else if (!bar->told || strcmp(bar->told, step->phase))
        ath_log(ATH_LOG_NORMAL, "%s", line);
    bar->told = step->phase;
}

void ath_bar_end(struct ath_bar *bar)
{
    if (bar->is_terminal && bar->told && !bar->is_silent)
        fputs("\r\033[K", stderr);
    bar->told = NULL;
}
