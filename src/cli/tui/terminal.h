/*
 * The terminal as a full screen: text by roles, keys, its size, and giving it back as it was.
 *
 * Signals are read like keys (signalfd), so nothing is done in handlers and every loop ends in
 * order: SIGTERM, SIGINT and SIGHUP give ATH_KEY_END, a changed size ATH_KEY_RESIZE; SIGTSTP stops
 * the program with the terminal restored. A crash restores it too. One screen a process, one
 * thread.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <wchar.h>

#include "base/err.h"
#include "cli/output/style.h"

/* The least that the screens are made for. */
enum { ATH_SCREEN_ROWS = 24, ATH_SCREEN_COLUMNS = 80 };

/* Keys: characters are themselves (Unicode), function keys of curses lie above them. */
enum ath_key_code {
    ATH_KEY_FUNCTION = 0x200000, /* plus KEY_UP, ... of curses.h */
    ATH_KEY_NONE = 0x400000,     /* the time is over */
    ATH_KEY_RESIZE,
    ATH_KEY_END, /* a signal wants the program to end, or the terminal is gone */
};

struct ath_screen_terminal;

/*
 * Takes the terminal of standard input and output. style: whether colour and UTF-8 may be used.
 * Returns 0, or a negative errno with err: "no-terminal", "library-missing". *out is given back
 * with ath_screen_close(), which takes NULL.
 */
int ath_screen_open(const struct ath_style *style, struct ath_screen_terminal **out,
                    struct ath_err *err);
void ath_screen_close(struct ath_screen_terminal *terminal);

/* True where the menus can be shown: both ends are a terminal, and TERM names one that is not
 * "dumb". */
bool ath_screen_is_possible(void);

int ath_screen_rows(const struct ath_screen_terminal *terminal);
int ath_screen_columns(const struct ath_screen_terminal *terminal);

/* As output is to be made for it: colour, UTF-8, and its width. */
struct ath_style ath_screen_style(const struct ath_screen_terminal *terminal);

/* The signal that ended it, 0 for none; SIGHUP where the terminal is gone. */
int ath_screen_signal(const struct ath_screen_terminal *terminal);

/* Waits for a key, at most timeout_ms (-1: for ever). */
int ath_screen_key(struct ath_screen_terminal *terminal, int timeout_ms);

/* Drawing: everything is drawn anew each time and shown at once. */
void ath_screen_erase(struct ath_screen_terminal *terminal);
void ath_screen_show(struct ath_screen_terminal *terminal);
void ath_screen_repaint(struct ath_screen_terminal *terminal); /* whatever stands there now */

/* Text from a column on, made harmless (clean.h), cut or padded with blanks to `width` columns;
 * reversed for what is selected. What lies outside the window is left out. */
void ath_screen_put(struct ath_screen_terminal *terminal, int row, int column, int width,
                    enum ath_role role, bool is_reversed, const char *text);

/* A line over so many columns; a box, emptied inside. */
void ath_screen_line(struct ath_screen_terminal *terminal, int row, int column, int width);
void ath_screen_box(struct ath_screen_terminal *terminal, int row, int column, int rows,
                    int columns);

/* Shows the cursor there until the next erase. */
void ath_screen_cursor(struct ath_screen_terminal *terminal, int row, int column);

/*
 * Runs a program on the plain terminal and waits for it, then for a key, and comes back. argv is
 * ended by NULL. Returns its exit code, 128 + N for signal N, or a negative errno.
 */
int ath_screen_run(struct ath_screen_terminal *terminal, const char *const *argv,
                   const char *prompt);
