/* Breaking text into lines by display width. */
#include "config.h"

#include "cli/wrap.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

/* Prints one line of the text, broken into as many lines as it needs. The first of them begins at
 * `column`, the others at `indent`. */
static void print_line(FILE *out, const char *line, int column, int indent, int width)
{
    for (const char *rest = line; *rest;) {
        size_t length = ath_text_fit(rest, (size_t)(width > column ? width - column : 1));
        size_t shown = length; /* a line may also be broken after a blank: before Chinese */
        while (shown && rest[shown - 1] == ' ')
            shown--;
        fprintf(out, "%.*s", (int)shown, rest);
        rest += length;
        rest += strspn(rest, " ");
        if (*rest)
            fprintf(out, "\n%*s", indent, "");
        column = indent;
    }
    fputc('\n', out);
}

void ath_wrap(FILE *out, const char *text, int column, int indent, int width)
{
    ath_auto_free char *copy = ath_xstrdup(text);
    char *rest = copy;

    for (char *line; (line = strsep(&rest, "\n")); column = indent) {
        if (line != copy && *line)
            fprintf(out, "%*s", indent, "");
        if (ath_starts_with(line, "  "))
            fprintf(out, "%s\n", line);
        else
            print_line(out, line, column, indent, width);
    }
}
