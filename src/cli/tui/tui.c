/* The menus' frame: running, drawing around screens, saving and leaving. */
#include "config.h"

#include "cli/tui/tui.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/suggest.h"
#include "cli/tui/dialog.h"
#include "cli/tui/page.h"
#include "cli/tui/screens.h"

/* A line, the help, three rows for the command and the message, the key hints. */
enum { FOOT_ROWS = 6 };

void ath_tui_push(struct ath_tui *tui, struct ath_tui_frame *frame)
{
    frame->below = tui->top;
    frame->ticked_ms = ath_now_ms();
    tui->top = frame;
}

void ath_tui_pop(struct ath_tui *tui)
{
    tui->top = tui->top->below;
}

void ath_tui_hush(struct ath_tui *tui)
{
    free(tui->status);
    tui->status = NULL;
}

void ath_tui_say(struct ath_tui *tui, enum ath_role role, const char *format, ...)
{
    char *text = NULL;
    va_list list;

    va_start(list, format);
    if (vasprintf(&text, format, list) < 0)
        text = NULL;
    va_end(list);
    ath_tui_hush(tui);
    tui->status = text;
    tui->status_role = role;
}

void ath_tui_say_error(struct ath_tui *tui, const struct ath_err *err)
{
    ath_auto_free char *hint = ath_suggest_complete(&tui->store.cli->globals, err->hint);
    ath_tui_say(tui, ATH_ROLE_BAD, "%s%s%s%s", err->message, *hint ? "  (" : "", hint,
                *hint ? ")" : "");
}

char *ath_tui_fill(const char *text, const char *subject)
{
    const char *hole = strstr(text, "{0}");
    if (!hole)
        return ath_xstrdup(text);
    return ath_xasprintf("%.*s%s%s", (int)(hole - text), text, subject ? subject : "", hole + 3);
}

/* ---- drawing ---- */

int ath_tui_body_rows(const struct ath_tui *tui)
{
    return ath_screen_rows(tui->terminal) - ATH_TUI_BODY - FOOT_ROWS;
}

/* Returns the next line of a text, within its paragraph, and moves *text after it. The caller frees
 * it. */
static char *next_line(const char **text, int width)
{
    size_t paragraph = strcspn(*text, "\n");
    ath_auto_free char *whole = ath_xasprintf("%.*s", (int)paragraph, *text);
    size_t length = ath_text_fit(whole, (size_t)width);

    if (length == 0 || length > paragraph)
        length = paragraph;
    char *line = ath_xasprintf("%.*s", (int)length, whole);
    *text += length;
    while (length < paragraph && **text == ' ')
        (*text)++;
    if (**text == '\n')
        (*text)++;
    return line;
}

int ath_tui_draw_text(struct ath_tui *tui, int row, int column, int end_row, int width,
                      enum ath_role role, const char *text)
{
    while (*text && row < end_row) {
        ath_auto_free char *line = next_line(&text, width);
        ath_screen_put(tui->terminal, row++, column, width, role, false, line);
    }
    return row;
}

int ath_tui_text_rows(const char *text, int width)
{
    int rows = 0;
    for (; *text; rows++)
        free(next_line(&text, width));
    return rows;
}

static void draw_title(struct ath_tui *tui, const char *title)
{
    int columns = ath_screen_columns(tui->terminal);
    const char *mark = ath_store_is_changed(&tui->store) ? _("not saved yet") : "";
    const char *name =
        tui->store.has_machine && tui->store.machine.hostname ? tui->store.machine.hostname : "";
    ath_auto_free char *left = ath_xasprintf(" aitherion  %s", title);
    ath_auto_free char *right = ath_xasprintf("%s%s%s ", mark, *mark && *name ? "  " : "", name);
    int right_width = (int)ath_text_width(right);

    ath_screen_put(tui->terminal, 0, 0, columns, ATH_ROLE_HEADING, true, left);
    if (right_width < columns / 2)
        ath_screen_put(tui->terminal, 0, columns - right_width, right_width, ATH_ROLE_HEADING, true,
                       right);
}

/* Returns the row after it. */
static int draw_command(struct ath_tui *tui, int row, int end_row, const char *command)
{
    const char *label = _("command:");
    int width = (int)ath_text_width(label);

    ath_screen_put(tui->terminal, row, 1, width, ATH_ROLE_DIM, false, label);
    return ath_tui_draw_text(tui, row, width + 2, end_row,
                             ath_screen_columns(tui->terminal) - width - 3, ATH_ROLE_NAME, command);
}

/* If there is no room for both, the message is shown instead of the rest of a long command. */
static void draw_command_and_word(struct ath_tui *tui, int row, int end_row, const char *command)
{
    int width = ath_screen_columns(tui->terminal) - 2;
    int word_rows = tui->status ? ath_tui_text_rows(tui->status, width) : 0;
    int word_row = word_rows < end_row - row ? end_row - word_rows : row + 1;

    if (command) {
        ath_auto_free char *whole = ath_suggest_command(&tui->store.cli->globals, command);
        word_row = draw_command(tui, row, word_row, whole);
    }
    if (tui->status)
        ath_tui_draw_text(tui, command ? word_row : row + 1, 1, end_row, width, tui->status_role,
                          tui->status);
}

void ath_tui_draw_around(struct ath_tui *tui, const char *title, const char *help,
                         const char *command, enum ath_key_place place)
{
    int columns = ath_screen_columns(tui->terminal),
        foot = ath_screen_rows(tui->terminal) - FOOT_ROWS;
    ath_auto_free char *hints = ath_key_hints(place, (size_t)columns - 1);

    draw_title(tui, title);
    ath_screen_line(tui->terminal, foot, 0, columns);
    if (help)
        ath_screen_put(tui->terminal, foot + 1, 1, columns - 2, ATH_ROLE_PLAIN, false, help);
    draw_command_and_word(tui, foot + 2, foot + FOOT_ROWS - 1, command);
    ath_screen_put(tui->terminal, foot + FOOT_ROWS - 1, 1, columns - 1, ATH_ROLE_DIM, false, hints);
}

static void draw_frames(struct ath_tui *tui, struct ath_tui_frame *frame)
{
    if (!frame)
        return;
    if (!frame->is_full)
        draw_frames(tui, frame->below);
    frame->draw(tui, frame->data);
}

static int rows_least(const struct ath_tui *tui)
{
    return tui->rows_least ? tui->rows_least : ATH_SCREEN_ROWS;
}

static int columns_least(const struct ath_tui *tui)
{
    return tui->columns_least ? tui->columns_least : ATH_SCREEN_COLUMNS;
}

static bool is_too_small(const struct ath_tui *tui)
{
    return ath_screen_rows(tui->terminal) < rows_least(tui) ||
           ath_screen_columns(tui->terminal) < columns_least(tui);
}

static void draw_too_small(struct ath_tui *tui)
{
    int rows = ath_screen_rows(tui->terminal), columns = ath_screen_columns(tui->terminal);
    ath_auto_free char *text =
        ath_xasprintf(_("The window is too small: %d x %d. Make it at least %d x %d, or press "
                        "Ctrl-C to leave without saving."),
                      columns, rows, columns_least(tui), rows_least(tui));
    ath_tui_draw_text(tui, 0, 0, rows, columns, ATH_ROLE_PLAIN, text);
}

static void draw(struct ath_tui *tui)
{
    ath_screen_erase(tui->terminal);
    if (is_too_small(tui))
        draw_too_small(tui);
    else
        draw_frames(tui, tui->top);
    ath_screen_show(tui->terminal);
}

static void show_key_help(struct ath_tui *tui, enum ath_key_place place)
{
    ath_auto_free char *text = ath_key_help(place);
    ath_dialog_say(tui, _("Keys"), text);
}

/* ---- time ---- */

/* Returns the frame below that can be seen, or NULL. */
static struct ath_tui_frame *seen_below(const struct ath_tui_frame *frame)
{
    return frame->is_full ? NULL : frame->below;
}

/* Returns the milliseconds until the next tick, at most `most` (-1: without limit). */
static int time_to_tick(const struct ath_tui *tui, int most)
{
    uint64_t now = ath_now_ms();

    for (const struct ath_tui_frame *frame = tui->top; frame; frame = seen_below(frame)) {
        uint64_t passed = now - frame->ticked_ms;
        int left = passed < (uint64_t)frame->tick_ms ? frame->tick_ms - (int)passed : 0;
        if (frame->tick && (most < 0 || left < most))
            most = left;
    }
    return most;
}

/* Calls the ticks that are due, or all of them. */
static void tick(struct ath_tui *tui, bool is_woken)
{
    uint64_t now = ath_now_ms();

    for (struct ath_tui_frame *frame = tui->top; frame; frame = seen_below(frame)) {
        if (!frame->tick || (!is_woken && now - frame->ticked_ms < (uint64_t)frame->tick_ms))
            continue;
        frame->ticked_ms = now;
        frame->tick(tui, frame->data);
    }
}

/* Returns the next key; ticks happen meanwhile. ATH_KEY_NONE only after timeout_ms. */
static int next_key(struct ath_tui *tui, int timeout_ms)
{
    uint64_t begin = ath_now_ms();

    for (;;) {
        uint64_t passed = ath_now_ms() - begin;
        int left = timeout_ms < 0                  ? -1
                   : passed < (uint64_t)timeout_ms ? timeout_ms - (int)passed
                                                   : 0;
        int key = ath_screen_key(tui->terminal, time_to_tick(tui, left));
        if (key != ATH_KEY_NONE && key != ATH_KEY_WAKE)
            return key;
        tick(tui, key == ATH_KEY_WAKE);
        if (timeout_ms >= 0 && ath_now_ms() - begin >= (uint64_t)timeout_ms)
            return ATH_KEY_NONE;
        draw(tui);
    }
}

enum ath_action ath_tui_key(struct ath_tui *tui, enum ath_key_place place, int timeout_ms,
                            int *out_key)
{
    for (;;) {
        draw(tui);
        int key = next_key(tui, timeout_ms);
        enum ath_action action = ath_key_action(key, place);
        *out_key = key;
        if (key == ATH_KEY_END)
            tui->is_over = true;
        if (tui->is_over)
            return ATH_ACTION_BACK;
        if (key == ATH_KEY_NONE || (key == ATH_KEY_PROGRAM && place == ATH_IN_RUN))
            return ATH_ACTION_NONE;
        if (action == ATH_ACTION_REPAINT)
            ath_screen_repaint(tui->terminal);
        else if (key == ATH_KEY_RESIZE || key == ATH_KEY_PROGRAM || is_too_small(tui))
            continue;
        else if (action == ATH_ACTION_HELP)
            show_key_help(tui, place);
        else
            return action;
    }
}

bool ath_tui_click(const struct ath_tui *tui, struct ath_cursor *cursor, int count)
{
    int row, column;
    ath_screen_mouse(tui->terminal, &row, &column);
    return ath_cursor_click(cursor, row, count);
}

/* ---- saving and leaving ---- */

static bool retry(struct ath_tui *tui)
{
    return ath_tui_save(tui);
}

static bool keep(struct ath_tui *tui)
{
    ath_tui_say(tui, ATH_ROLE_WARN, _("not saved; your changes are still here"));
    return false;
}

static bool accept_copy(struct ath_tui *tui, const char *text, void *data, char **out_reason)
{
    struct ath_err err = { 0 };
    (void)data;
    if (!ath_store_save_copy(&tui->store, text, &err))
        return true;
    *out_reason = ath_xstrdup(err.message);
    return false;
}

static bool save_copy(struct ath_tui *tui)
{
    ath_auto_free char *name = ath_xasprintf("%s.mine", tui->store.path);
    ath_auto_free char *path =
        ath_dialog_input(tui, _("Save to another file"),
                         _("The file to write; it must not exist yet."), name, accept_copy, NULL);
    if (path)
        ath_tui_say(tui, ATH_ROLE_GOOD, _("wrote '%s'; the document itself is unchanged"), path);
    return false;
}

static bool start_over(struct ath_tui *tui)
{
    struct ath_err err = { 0 };
    if (ath_store_read_document(&tui->store, &err))
        ath_tui_say_error(tui, &err);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("read '%s' again"), tui->store.path);
    return false;
}

/* The choices of the user if saving failed. */
static const struct {
    const char *label;
    bool needs_change_on_disk;
    bool (*act)(struct ath_tui *tui);
} after_failure[] = {
    { N_("Try again"), false, retry },
    { N_("Go on editing; nothing is lost"), false, keep },
    { N_("Save my version to another file"), false, save_copy },
    { N_("Drop my changes and read the file again"), true, start_over },
};

static bool ask_after_failure(struct ath_tui *tui, const struct ath_err *err)
{
    ATH_AUTO(ath_choices) choices = { 0 };
    ath_auto_free char *text = ath_xasprintf("%s\n%s", err->message, err->hint);

    for (size_t i = 0; i < ATH_COUNT(after_failure); i++)
        if (!after_failure[i].needs_change_on_disk || err->code == ATH_E_DOCUMENT_CHANGED)
            ath_choices_add(&choices, "", _(after_failure[i].label), NULL);
    int chosen = ath_dialog_choose(tui, _("Not saved"), text, &choices, false);
    return chosen >= 0 ? after_failure[chosen].act(tui) : keep(tui);
}

bool ath_tui_save(struct ath_tui *tui)
{
    struct ath_err err = { 0 };

    if (!ath_store_is_changed(&tui->store)) {
        ath_tui_say(tui, ATH_ROLE_PLAIN, _("nothing has changed since the last save"));
        return true;
    }
    if (tui->store.cli->globals.is_dry_run) {
        ath_tui_say(tui, ATH_ROLE_WARN, _("'%s' is unchanged (--dry-run)"), tui->store.path);
        return true;
    }
    ath_tui_say(tui, ATH_ROLE_PLAIN, _("saving '%s' ..."), tui->store.path);
    draw(tui); /* saving may wait for another writer */
    if (ath_store_save(&tui->store, &err))
        return ask_after_failure(tui, &err);
    ath_tui_say(tui, ATH_ROLE_GOOD, _("saved '%s'"), tui->store.path);
    return true;
}

bool ath_tui_may_leave(struct ath_tui *tui)
{
    enum { SAVE, DROP };
    ATH_AUTO(ath_choices) choices = { 0 };

    if (tui->is_over || !ath_store_is_changed(&tui->store))
        return true;
    ath_choices_add(&choices, "", _("Save and leave"), NULL);
    ath_choices_add(&choices, "", _("Leave without saving"), NULL);
    ath_choices_add(&choices, "", _("Stay"), NULL);
    int chosen =
        ath_dialog_choose(tui, _("Changes are not saved"), tui->store.path, &choices, false);
    return chosen == DROP || (chosen == SAVE && ath_tui_save(tui)) || tui->is_over;
}

/* ---- the whole ---- */

static int report_signal(const struct ath_tui *tui, bool is_changed, struct ath_err *err)
{
    int number = ath_screen_signal(tui->terminal);
    ath_err_set(err, -EINTR, ATH_E_INTERRUPTED,
                is_changed ? _("signal %d (%s) ended the menus; unsaved changes are lost")
                           : _("signal %d (%s) ended the menus"),
                number, strsignal(number));
    return -EINTR;
}

static void tui_free(struct ath_tui *tui)
{
    ath_screen_close(tui->terminal);
    ath_store_free(&tui->store);
    ath_tui_hush(tui);
    free(tui->sought);
    free(tui->place.near);
}

/* Silences the log: standard error would print into the screen. */
static int show(struct ath_tui *tui, const char *entry, struct ath_err *err)
{
    int status = ath_screen_open(&tui->store.cli->style, &tui->terminal, err);
    if (status)
        return status;
    ath_log_set_level(ATH_LOG_QUIET);
    ath_screens_main(tui, entry);
    if (!ath_screen_signal(tui->terminal))
        return 0;
    return report_signal(tui, ath_store_is_changed(&tui->store), err);
}

int ath_tui_run(struct ath_cli *cli, const char *entry, struct ath_err *err)
{
    struct ath_tui tui __attribute__((cleanup(tui_free))) = { 0 };

    if (ath_cli_format(cli) != ATH_FORMAT_TEXT || cli->globals.is_no_input)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("the menus do not work with '--json', '--yaml' or '--no-input'"));
    int status = ath_screen_is_possible() ? ath_store_open(cli, &tui.store, err)
                                          : ath_screen_open(&cli->style, &tui.terminal, err);
    return status ? status : show(&tui, entry, err);
}
