/*
 * The menus: screens over the document and the machine.
 *
 * A screen is a loop that draws itself, waits for a key, and returns when the user goes back. The
 * open screens form a stack of frames, so that they can be drawn again from the lowest to the
 * topmost, for example when the window's size changes. The menus decide nothing that the command
 * line would decide differently. One thread.
 */
#pragma once
#include <stdbool.h>

#include "cli/cli.h"
#include "cli/tui/cursor.h"
#include "cli/tui/keys.h"
#include "cli/tui/store.h"
#include "cli/tui/terminal.h"
#include "place/choose.h"

struct ath_tui;

/* One level of the stack of screens; lives on the stack of its loop. */
struct ath_tui_frame {
    void (*draw)(struct ath_tui *tui, void *data);
    void *data;
    bool is_full; /* covers the whole screen: frames below are not drawn */
    /* Called every tick_ms while the frame can be seen, also below a dialog, and when the
     * descriptor of ath_screen_wake() is readable; then all frames are drawn again. The frame keeps
     * what must stay: its cursor, where it is scrolled to. NULL: none. */
    void (*tick)(struct ath_tui *tui, void *data);
    int tick_ms;
    uint64_t ticked_ms; /* when it was called last; private to tui.c */
    struct ath_tui_frame *below;
};

struct ath_tui {
    struct ath_store store;
    struct ath_screen_terminal *terminal;
    struct ath_tui_frame *top;
    bool is_over;                  /* all screens return */
    int rows_least, columns_least; /* that the screens need; 0: ATH_SCREEN_ROWS, _COLUMNS */
    char *status;                  /* the last message to the user, or NULL */
    enum ath_role status_role;
    char *sought; /* the text of the last search, or NULL */
    struct {
        size_t size; /* GPUs; 0: not chosen yet */
        enum ath_place_policy policy;
        char *near; /* a network port; NULL: none */
    } place;        /* what the screen of placements asks for */
};

/*
 * Shows the menus until the user leaves them. entry: NULL for the main menu; "" for the menu of
 * NUMA entries on top of it; "1" for entry 1 on top of that. Returns 0, or a negative errno with
 * err: "no-terminal", "interrupted", or why a machine that the user named cannot be read.
 */
int ath_tui_run(struct ath_cli *cli, const char *entry, struct ath_err *err);

/*
 * Draws all frames and waits for a key; handles resizing, repainting, ticks and help. Returns the
 * key's action in `place` and the key itself; ATH_ACTION_BACK if the menus end, ATH_ACTION_NONE
 * after timeout_ms. ATH_KEY_PROGRAM comes only in ATH_IN_RUN.
 */
enum ath_action ath_tui_key(struct ath_tui *tui, enum ath_key_place place, int timeout_ms,
                            int *out_key);

/* Selects the row of a list that was clicked. Returns true if it was selected before. */
bool ath_tui_click(const struct ath_tui *tui, struct ath_cursor *cursor, int count);

void ath_tui_push(struct ath_tui *tui, struct ath_tui_frame *frame);
void ath_tui_pop(struct ath_tui *tui);

/* Shows a message to the user until the next one. */
void ath_tui_say(struct ath_tui *tui, enum ath_role role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ath_tui_say_error(struct ath_tui *tui, const struct ath_err *err);
void ath_tui_hush(struct ath_tui *tui);

/* Draws what surrounds every screen: title, message, key hints. help and command (the same on the
 * command line) may be NULL. */
void ath_tui_draw_around(struct ath_tui *tui, const char *title, const char *help,
                         const char *command, enum ath_key_place place);

/* The first row of a screen's own part, and its number of rows. */
enum { ATH_TUI_BODY = 2 };
int ath_tui_body_rows(const struct ath_tui *tui);

/* Draws text wrapped to width columns, from row up to end_row at most. Returns the row after it. */
int ath_tui_draw_text(struct ath_tui *tui, int row, int column, int end_row, int width,
                      enum ath_role role, const char *text);

/* Returns the number of lines that a text takes. */
int ath_tui_text_rows(const char *text, int width);

/* Returns text with "{0}" replaced by the subject. The caller frees it. */
char *ath_tui_fill(const char *text, const char *subject);

/* Saves. On failure asks the user what to do. Returns true if the document is saved. */
bool ath_tui_save(struct ath_tui *tui);

/* Asks about unsaved changes. Returns true if the user may leave. */
bool ath_tui_may_leave(struct ath_tui *tui);
