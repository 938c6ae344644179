/*
 * The life of a helper: a process of the server that is no session. The listening process starts
 * it, kills it when it hangs, and replaces it when it has ended. There is at most one of a kind.
 * The kinds: sampler.h, arbiter.h.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/session_board.h"

struct ath_listener;
struct ath_server;

struct ath_helper_kind {
    const char *name;         /* in events */
    const char *process_name; /* base/process_name.h */
    uint64_t begin_ms;        /* without a sign of life after the start, before it is killed */
    uint64_t hangs_ms;        /* the same later */
    int look_ms;              /* between looks at the sign of life */
    uint64_t pause_ms;        /* before a replacement, and twice as long each time */
    uint64_t longest_pause_ms;
    uint64_t soon_ms;     /* an end after less time is a failure */
    bool returns_at_once; /* the first replacement has no pause */
    int useless_code;     /* exit code of one that no other should replace; 0: none */
    /* Whether it must give signs of life now; one that need not may sleep without end. */
    bool (*is_busy)(const struct ath_listener *listener);
    const _Atomic uint64_t *(*beat_ms)(const struct ath_session_board *board); /* ath_now_ms() */
    /* Runs in the child, and never returns. Leaves the listening process's descriptors that it
     * does not need, and the parts of the board that it does not write. */
    void (*run)(struct ath_listener *listener, pid_t parent);
};

/* {} is a helper that has not been started. */
struct ath_helper {
    pid_t pid; /* 0: none runs */
    uint64_t started_ms;
    uint64_t next_ms;      /* when another one may be started */
    uint64_t idle_ms;      /* when it last had to give no sign of life */
    unsigned int failures; /* ends in a row, soon after the start */
    bool was_busy;         /* at the last look */
    bool is_killed;        /* it hung, and its end has not come yet */
    bool is_useless;       /* none is wanted, or its end said that no other one would work */
};

/* Starts a helper if one is due, and kills one that hangs. */
void ath_helper_look(struct ath_listener *listener, struct ath_helper *helper,
                     const struct ath_helper_kind *kind);

/* Takes the end of a process. Returns false if it was another one. */
bool ath_helper_take_end(struct ath_helper *helper, const struct ath_helper_kind *kind, pid_t pid,
                         int status);

/* Returns how many milliseconds it may take until the next ath_helper_look(); -1: any number. */
int ath_helper_patience_ms(const struct ath_listener *listener, const struct ath_helper *helper,
                           const struct ath_helper_kind *kind);

/* Kills the helper, and waits for its end: a new one has the listening sockets for a moment, and
 * the next runtime wants their addresses. Waits for a second at most, as a process may hang in the
 * kernel. */
void ath_helper_end(const struct ath_helper *helper);
