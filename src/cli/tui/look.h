/*
 * A text that a child process makes, so that keys are answered while a daemon or a driver is slow.
 * The child has a copy of what the menus know, and changes no part of the menus. It ends with
 * the menus. Private to tui.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

/* A look that is {} has not begun. */
struct ath_look {
    pid_t child; /* 0: none is at work */
    int fd;
    struct ath_text text; /* that has come so far */
    uint64_t began_ms;    /* ath_now_ms() */
};

/* Begins a look. make: makes the text in the child, or returns NULL if it cannot; the text is never
 * freed. Returns the descriptor to watch for ath_look_take(), or a negative errno. */
int ath_look_begin(struct ath_look *look, char *(*make)(void *context), void *context);

/* Takes what the child has written, without waiting. Returns true if the look is over: *out is the
 * text, which the caller frees, or NULL if the child failed. */
bool ath_look_take(struct ath_look *look, char **out);

/* Waits at most this long until ath_look_take() has something to take. */
void ath_look_wait(const struct ath_look *look, int timeout_ms);

/* Ends a look that is at work. */
void ath_look_end(struct ath_look *look);
