/* Breaking text into lines by display width. */
#include "config.h"

#include "cli/wrap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Bytes of the next piece that must not be broken: a word, or one double-width letter. Its columns
 * go to *width. */
static size_t next_piece(const char *text, int *width)
{
    size_t length = 0;
    *width = 0;
    mbstate_t state = { 0 };

    while (text[length] && text[length] != ' ' && text[length] != '\n') {
        wchar_t letter;
        size_t size = mbrtowc(&letter, text + length, strlen(text + length), &state);
        if (size == (size_t)-1 ||
            size == (size_t)-2) { /* not text in this locale: one byte, one column */
            size = 1;
            letter = L'?';
            state = (mbstate_t){ 0 };
        }
        int columns = wcwidth(letter);
        if (columns == 2 && length)
            break;
        length += size;
        *width += columns > 0 ? columns : 0;
        if (columns == 2)
            break;
    }
    return length;
}

static void start_line(FILE *out, int indent, int *column)
{
    fprintf(out, "\n%*s", indent, "");
    *column = indent;
}

void ath_wrap(FILE *out, const char *text, int column, int indent, int width)
{
    bool is_at_start = true, has_blank = false;

    while (*text) {
        if (*text == '\n') {
            fprintf(out, "\n%*s", text[1] && text[1] != '\n' ? indent : 0, "");
            column = indent;
            is_at_start = true;
            has_blank = false;
            text++;
        } else if (is_at_start && !strncmp(text, "  ", 2)) {
            size_t length = strcspn(text, "\n");
            fprintf(out, "%.*s", (int)length, text);
            text += length;
        } else if (*text == ' ') {
            has_blank = true;
            text++;
        } else {
            int columns;
            size_t length = next_piece(text, &columns);
            if (!is_at_start && column + has_blank + columns > width)
                start_line(out, indent, &column);
            else if (has_blank && !is_at_start)
                column += fprintf(out, " ");
            fprintf(out, "%.*s", (int)length, text);
            column += columns;
            text += length;
            is_at_start = has_blank = false;
        }
    }
    fputc('\n', out);
}
