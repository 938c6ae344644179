/* The functions of ncursesw that the screens use, loaded when a screen opens. Private to tui. */
#pragma once
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <stdbool.h>
#include <stdio.h>

#include <curses.h>
#include <term.h>

#include "base/late.h"

#undef lines
#undef columns

#define ATH_CURSES_FUNCTIONS(F)                                                                    \
    F(cbreak)                                                                                      \
    F(clearok)                                                                                     \
    F(curs_set)                                                                                    \
    F(delscreen)                                                                                   \
    F(delwin)                                                                                      \
    F(endwin)                                                                                      \
    F(getmouse)                                                                                    \
    F(has_colors)                                                                                  \
    F(init_pair)                                                                                   \
    F(keypad)                                                                                      \
    F(mouseinterval)                                                                               \
    F(mousemask)                                                                                   \
    F(newterm)                                                                                     \
    F(newwin)                                                                                      \
    F(nodelay)                                                                                     \
    F(noecho)                                                                                      \
    F(nonl)                                                                                        \
    F(resizeterm)                                                                                  \
    F(set_escdelay)                                                                                \
    F(start_color)                                                                                 \
    F(tigetnum)                                                                                    \
    F(tigetstr)                                                                                    \
    F(use_default_colors)                                                                          \
    F(use_env)                                                                                     \
    F(use_tioctl)                                                                                  \
    F(waddnwstr)                                                                                   \
    F(wattr_set)                                                                                   \
    F(werase)                                                                                      \
    F(wget_wch)                                                                                    \
    F(wmove)                                                                                       \
    F(wrefresh)

struct ath_curses {
    ATH_CURSES_FUNCTIONS(ATH_LATE_MEMBER)
};

/* Loads the library. Returns 0, or -ENOENT with err (code word "library-missing"). */
int ath_curses_load(struct ath_curses *out, struct ath_err *err);
