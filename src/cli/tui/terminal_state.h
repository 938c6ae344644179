/* The state of the full screen, and functions that terminal.c and terminal_program.c share. Private
 * to terminal*.c. */
#pragma once
#include "cli/tui/curses.h"
#include "cli/tui/terminal.h"

struct ath_screen_terminal {
    struct ath_curses curses;
    SCREEN *screen;
    WINDOW *window;
    struct ath_style style;
    int rows, columns;
    int signals; /* signalfd */
    int watched; /* a program's terminal, or -1 */
    int waking;  /* makes ATH_KEY_WAKE; or -1 */
    sigset_t old_mask;
    int ended_by;
    bool has_cursor, has_mouse;
    int cursor_row, cursor_column;
    int mouse_row, mouse_column;
};

/* Installs the handlers that restore the terminal after a crash, or removes them. */
void ath_screen_watch_crashes(bool is_on);

/* Returns the next signal that came, or 0. */
int ath_screen_read_signal(struct ath_screen_terminal *terminal);

/* Does the default action of SIGTSTP. */
void ath_screen_stop_here(void);

/* Reads the size of the terminal, and makes a window of that size. */
void ath_screen_measure(struct ath_screen_terminal *terminal);
