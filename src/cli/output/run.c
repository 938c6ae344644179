/* The command line that does the same, for a shell and as data. */
#include "config.h"

#include "cli/output/run.h"

#include <string.h>

static json_t *to_json(const void *data)
{
    const struct ath_run_report *report = data;
    json_t *environment = json_object(), *words = json_array();

    for (size_t i = 0; i < ATH_RUN_VARIABLES && report->environment[i].name; i++)
        json_object_set_new(environment, report->environment[i].name,
                            json_string(report->environment[i].value));
    for (size_t i = 0; i < report->word_count; i++) {
        json_t *word = json_string(report->words[i]);
        json_array_append_new(words, word ? word : json_null()); /* what is no UTF-8 */
    }
    return json_pack("{s:b, s:o, s:o}", "is_dry_run", true, "environment", environment, "command",
                     words);
}

/* As a shell reads it back: in single quotes unless it is harmless. */
static void print_word(FILE *out, const char *word)
{
    static const char harmless[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    if (*word && !word[strspn(word, harmless)]) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_run_report *report = data;
    (void)style;
    fputs("env", out);
    for (size_t i = 0; i < ATH_RUN_VARIABLES && report->environment[i].name; i++) {
        fprintf(out, " %s=", report->environment[i].name);
        print_word(out, report->environment[i].value);
    }
    for (size_t i = 0; i < report->word_count; i++) {
        fputc(' ', out);
        print_word(out, report->words[i]);
    }
    fputc('\n', out);
}

const struct ath_view ath_run_view = { "aitherion.run/1", to_json, to_text, NULL, 0 };
