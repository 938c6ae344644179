/* Repeating a look, and showing each result in place of the last one. */
#include "config.h"

#include "cli/repeat.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/terminal.h"

enum { SECONDS_MAX = 86400 };

struct ath_repeat {
    const struct ath_cli *cli;
    int seconds;      /* 0: only one look */
    bool is_redrawn;  /* on a terminal: overwrite the old text */
    sigset_t signals; /* that end the repetition */
    char *last;       /* the last output as data, to see changes */
};

static void repeat_free(struct ath_repeat *repeat)
{
    free(repeat->last);
}

bool ath_repeat_is_watching(const struct ath_repeat *repeat)
{
    return repeat->seconds > 0;
}

/* Removes the members that grow with time alone. */
static void drop_clocks(json_t *value, const char *const *clocks)
{
    const char *key;
    json_t *part;
    size_t index;

    if (json_is_object(value))
        for (const char *const *clock = clocks; *clock; clock++)
            json_object_del(value, *clock);
    json_object_foreach(value, key, part) drop_clocks(part, clocks);
    json_array_foreach(value, index, part) drop_clocks(part, clocks);
}

/* Returns the output as one line of JSON; is_state: without the view's clocks. The caller frees
 * it. */
static char *line_of(const struct ath_repeat *repeat, const struct ath_view *view, const void *data,
                     bool is_state)
{
    json_t *object = ath_view_to_json(view, data, &repeat->cli->style);
    if (is_state && view->clocks)
        drop_clocks(object, view->clocks);
    ath_auto_free char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return ath_xasprintf("%s\n", text ? text : "");
}

static int make(const struct ath_repeat *repeat, const struct ath_view *view, const void *data,
                char **out, struct ath_err *err)
{
    enum ath_format format = ath_cli_format(repeat->cli);
    ath_auto_free char *text = NULL;
    size_t length = 0;

    if (format == ATH_FORMAT_JSON) { /* one line each, for programs that read line by line */
        *out = line_of(repeat, view, data, false);
        return 0;
    }
    int status = ath_output_make(view, data, format, &repeat->cli->style, &text, &length, err);
    if (status)
        return status;
    *out = format == ATH_FORMAT_YAML ? ath_xasprintf("---\n%s", text) : ath_steal(&text);
    return 0;
}

/* Returns the length of the first rows lines; the most important ones come first. */
static size_t visible_length(const char *text, int rows)
{
    const char *at = text;
    for (; rows > 0 && *at; rows--)
        at += strcspn(at, "\n") + 1;
    return (size_t)(at - text);
}

/* Prints each line over the old one and erases only what is left of that: a screen that is erased
 * first would flicker. */
static void put_lines(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        printf("%.*s\033[K\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void redraw(const struct ath_repeat *repeat, const char *text)
{
    char now[16];
    time_t seconds = time(NULL);
    struct tm local;
    int rows = ath_terminal_rows();
    size_t length = rows ? visible_length(text, rows > 2 ? rows - 2 : 1) : strlen(text);

    strftime(now, sizeof now, "%H:%M:%S", localtime_r(&seconds, &local));
    ath_auto_free char *lines =
        ath_xasprintf("%.*s%s", (int)length, text, text[length] ? "...\n" : "");
    fputs("\033[H", stdout);
    put_lines(lines);
    printf(_("%s, every %d s; Ctrl-C ends"), now, repeat->seconds);
    fputs("\033[J", stdout);
}

/* Shows the data if they differ from those shown last; on a terminal always, so that the clock
 * runs. */
static int show_again(struct ath_repeat *repeat, const struct ath_view *view, const void *data,
                      struct ath_err *err)
{
    ath_auto_free char *state = line_of(repeat, view, data, true);
    ath_auto_free char *text = NULL;
    bool is_first = !repeat->last, is_changed = is_first || strcmp(state, repeat->last) != 0;

    if (!is_changed && !repeat->is_redrawn)
        return 0;
    int status = make(repeat, view, data, &text, err);
    if (status)
        return status;
    free(repeat->last);
    repeat->last = ath_steal(&state);
    if (repeat->is_redrawn)
        redraw(repeat, text);
    else
        printf("%s%s", is_first || ath_cli_format(repeat->cli) != ATH_FORMAT_TEXT ? "" : "\n",
               text);
    if (fflush(stdout) || ferror(stdout))
        return ath_err_system(err, -EIO, _("cannot write to standard output"));
    return 0;
}

int ath_repeat_show(struct ath_repeat *repeat, const struct ath_view *view, const void *data,
                    struct ath_err *err)
{
    return ath_repeat_is_watching(repeat)
               ? show_again(repeat, view, data, err)
               : ath_cli_show(repeat->cli, view, data, ath_cli_format(repeat->cli), err);
}

/* Signals are blocked and taken only while waiting, so a look is never interrupted. A new terminal
 * size is drawn at once. */
static bool wait_ends(const struct ath_repeat *repeat)
{
    const struct timespec time = { .tv_sec = repeat->seconds };
    int number = sigtimedwait(&repeat->signals, NULL, &time);
    return number > 0 && number != SIGWINCH;
}

/* Signals that our parent set to be ignored (nohup, a shell's "&") stay ignored. */
static void take_signals(sigset_t *out)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };

    sigemptyset(out);
    for (size_t i = 0; i < ATH_COUNT(numbers); i++) {
        struct sigaction action;
        if (!sigaction(numbers[i], NULL, &action) && action.sa_handler != SIG_IGN)
            sigaddset(out, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, out, NULL);
}

int ath_repeat_run(struct ath_cli *cli, const char *seconds, ath_look *look, const void *options,
                   struct ath_err *err)
{
    __attribute__((cleanup(repeat_free))) struct ath_repeat repeat = { .cli = cli };
    int status;

    if (!seconds)
        return look(cli, options, &repeat, err);
    if (ath_parse_int(seconds, 1, SECONDS_MAX, &repeat.seconds)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not a value for '--%s'"), seconds,
                    "watch");
        return ath_err_hint(err, -EINVAL, _("a whole number from %d to %d"), 1, SECONDS_MAX);
    }
    repeat.is_redrawn = ath_cli_format(cli) == ATH_FORMAT_TEXT && ath_terminal_can_redraw();
    take_signals(&repeat.signals);
    do {
        if (repeat.is_redrawn)
            cli->style.columns = ath_terminal_columns();
        status = look(cli, options, &repeat, err);
    } while (status >= 0 && !wait_ends(&repeat));
    if (repeat.is_redrawn)
        putchar('\n');
    return status;
}
