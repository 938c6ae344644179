/*
 * The menus: screens over the document and the machine.
 *
 * A screen is a loop that draws itself, waits for a key and returns when the person goes back;
 * screens above it lie in frames, so that whatever changes (the window's size) is drawn from the
 * lowest to the topmost. Nothing here decides anything that the flags would not decide alike.
 */
#pragma once
#include <stdbool.h>

#include "cli/cli.h"
#include "cli/tui/keys.h"
#include "cli/tui/store.h"
#include "cli/tui/terminal.h"

struct ath_tui;

/* Something that lies on the screen. */
struct ath_tui_frame {
    void (*draw)(struct ath_tui *tui, void *data);
    void *data;
    bool is_full; /* covers the whole screen: what lies below need not be drawn */
    struct ath_tui_frame *below;
};

struct ath_tui {
    struct ath_store store;
    struct ath_screen_terminal *terminal;
    struct ath_tui_frame *top;
    bool is_over; /* every screen returns */
    char *status; /* the last word to the person; NULL for none */
    enum ath_role status_role;
};

/*
 * Shows the menus until the person leaves them. entry: NULL for the main menu; "" for the menu of
 * NUMA entries on top of it, "1" for the entry 1 on top of that. Returns 0, or a negative errno
 * with err: "no-terminal", "interrupted", what is wrong with the document (cli->faults).
 */
int ath_tui_run(struct ath_cli *cli, const char *entry, struct ath_err *err);

/* Draws all frames and waits for a key; sizes and repainting are seen to. The action in `place`,
 * and the key itself; ATH_ACTION_BACK where all is over; NONE when the time is. */
enum ath_action ath_tui_key(struct ath_tui *tui, enum ath_key_place place, int timeout_ms,
                            int *out_key);

void ath_tui_push(struct ath_tui *tui, struct ath_tui_frame *frame);
void ath_tui_pop(struct ath_tui *tui);

/* The word to the person, shown until the next one. */
void ath_tui_say(struct ath_tui *tui, enum ath_role role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ath_tui_say_error(struct ath_tui *tui, const struct ath_err *err);
void ath_tui_hush(struct ath_tui *tui);

/* What every screen shows around its own part: title, the word to the person, hints. help and
 * command (the same by command line) may be NULL. */
void ath_tui_draw_around(struct ath_tui *tui, const char *title, const char *help,
                         const char *command, enum ath_key_place place);

/* Where a screen's own part begins, and how many rows it has. */
enum { ATH_TUI_BODY = 2 };
int ath_tui_body_rows(const struct ath_tui *tui);

/* Text broken to lines of at most width columns, from row to at most end_row; returns the row
 * behind it. */
int ath_tui_draw_text(struct ath_tui *tui, int row, int column, int end_row, int width,
                      enum ath_role role, const char *text);

/* How many lines it takes. */
int ath_tui_text_rows(const char *text, int width);

/* "{0}" in text replaced; the caller frees it. */
char *ath_tui_fill(const char *text, const char *subject);

/* Saves, and asks what to do where that fails. True where the document is on disk as it is here. */
bool ath_tui_save(struct ath_tui *tui);

/* Asks where there are unsaved changes. True where the person may leave. */
bool ath_tui_may_leave(struct ath_tui *tui);
