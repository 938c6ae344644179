/*
 * The terminal as a full screen: drawing text by roles, reading keys, its size, and restoring it.
 *
 * Signals are read like keys (signalfd), so handlers do nothing and every loop ends in order.
 * SIGTERM, SIGINT and SIGHUP give ATH_KEY_END, a new size gives ATH_KEY_RESIZE. SIGTSTP stops the
 * program with the terminal restored. A crash restores the terminal too. Only one screen in a
 * process, and one thread.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <wchar.h>

#include "base/err.h"
#include "cli/output/style.h"

/* The smallest size that the screens support. */
enum { ATH_SCREEN_ROWS = 24, ATH_SCREEN_COLUMNS = 80 };

/* Codes of keys. Characters are their Unicode numbers; function keys of curses lie above them. */
enum ath_key_code {
    ATH_KEY_FUNCTION = 0x200000, /* plus KEY_UP, ... of curses.h */
    ATH_KEY_NONE = 0x400000,     /* timeout */
    ATH_KEY_RESIZE,
    ATH_KEY_PROGRAM, /* the watched program has written something, or a program has ended */
    ATH_KEY_WAKE,    /* the descriptor of ath_screen_wake() is readable */
    ATH_KEY_END,     /* a signal ends the program, or the terminal is gone */
    /* The mouse, at the place of ath_screen_mouse(). */
    ATH_KEY_CLICK, /* the left button was pressed */
    ATH_KEY_WHEEL_UP,
    ATH_KEY_WHEEL_DOWN,
};

struct ath_screen_terminal;

/*
 * Takes over the terminal of standard input and output. style: whether colour and UTF-8 may be
 * used. Returns 0, or a negative errno with err (code words "no-terminal", "library-missing"). The
 * caller closes *out with ath_screen_close(), which accepts NULL.
 */
int ath_screen_open(const struct ath_style *style, struct ath_screen_terminal **out,
                    struct ath_err *err);
void ath_screen_close(struct ath_screen_terminal *terminal);

/*
 * Returns whether the menus can be shown: both ends are a terminal, and TERM is set and not "dumb".
 */
bool ath_screen_is_possible(void);

int ath_screen_rows(const struct ath_screen_terminal *terminal);
int ath_screen_columns(const struct ath_screen_terminal *terminal);

/* Returns the style for output on this terminal: colour, UTF-8, width. */
struct ath_style ath_screen_style(const struct ath_screen_terminal *terminal);

/* Returns the signal that ended the screen, 0 for none; SIGHUP if the terminal is gone. */
int ath_screen_signal(const struct ath_screen_terminal *terminal);

/* Waits for a key, at most timeout_ms (-1: without limit). */
int ath_screen_key(struct ath_screen_terminal *terminal, int timeout_ms);

/* Stores the place of the last mouse key, counted from 0. */
void ath_screen_mouse(const struct ath_screen_terminal *terminal, int *out_row, int *out_column);

/* Watches a descriptor: while it is readable, ath_screen_key() returns ATH_KEY_WAKE. The caller
 * reads from it. fd -1: watches no longer. */
void ath_screen_wake(struct ath_screen_terminal *terminal, int fd);

/* Drawing: a screen is drawn completely each time, then shown at once. */
void ath_screen_erase(struct ath_screen_terminal *terminal);
void ath_screen_show(struct ath_screen_terminal *terminal);
void ath_screen_repaint(struct ath_screen_terminal *terminal); /* redraws all cells */

/* Draws text made harmless (clean.h), cut or padded with blanks to `width` columns; reversed if
 * selected. Text outside the window is left out. */
void ath_screen_put(struct ath_screen_terminal *terminal, int row, int column, int width,
                    enum ath_role role, bool is_reversed, const char *text);

/*
 * The same in one of ATH_HUES colours without a meaning, which tell things of one kind apart.
 * Without colour the text is plain.
 */
enum { ATH_HUES = 6 };
void ath_screen_put_hue(struct ath_screen_terminal *terminal, int row, int column, int width,
                        unsigned int hue, const char *text);

/* Draw a horizontal line, and an empty box with a border. */
void ath_screen_line(struct ath_screen_terminal *terminal, int row, int column, int width);
void ath_screen_box(struct ath_screen_terminal *terminal, int row, int column, int rows,
                    int columns);

/* Shows the cursor at this place until the next erase. */
void ath_screen_cursor(struct ath_screen_terminal *terminal, int row, int column);

/*
 * Leaves the full screen, runs a program on the terminal (an editor), waits for it, and returns to
 * the full screen. argv is terminated by NULL. Returns the exit code, 128 + N for signal N, or a
 * negative errno.
 */
int ath_screen_run(struct ath_screen_terminal *terminal, const char *const *argv);

/*
 * Starts a program on a pseudo terminal of its own, of this size. argv is terminated by NULL.
 * Returns 0 with the process and the descriptor of the terminal, which the caller closes; or a
 * negative errno with err.
 */
int ath_screen_start(const struct ath_screen_terminal *terminal, const char *const *argv,
                     const struct winsize *size, pid_t *out_process, int *out_fd,
                     struct ath_err *err);

/*
 * Watches a started program: ath_screen_key() then also returns ATH_KEY_PROGRAM, and Ctrl-C is a
 * key like others. fd -1: watches no longer.
 */
void ath_screen_watch(struct ath_screen_terminal *terminal, int fd);
