/*
 * The processes that the listening one has forked. Every session's process may write the board,
 * and one that went astray might write anything there; so the listening one keeps in its own
 * memory what it acts on: whom it ends, and whom it sends away for others.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/server/board.h"

struct ath_process {
    uint64_t session; /* 0: the place is free */
    pid_t pid;        /* set by who forks it; 0 before */
    uint64_t started_ms;
    char peer[ATH_BOARD_PEER];
    int way;         /* in which it came: the caller's number */
    bool is_trusted; /* counts as proven from the beginning */
    bool is_proven;  /* as the board said once; what it says later changes nothing */
    bool is_ending;  /* it was told to end, which makes room */
};

/* {} with a board is an empty table. A process has the same place here and on the board. */
struct ath_processes {
    struct ath_board *board;
    uint64_t last_session;
    struct ath_process items[ATH_BOARD_MAX];
};

/* A place for a process that is about to be forked, and its entry on the board; NULL where all
 * places, or the strangers' share of them, are taken. */
struct ath_process *ath_processes_add(struct ath_processes *processes, const char *peer, int way,
                                      bool is_trusted);

/*
 * Whether the strangers' share of a way in is full. *out_oldest is then the one of them that has
 * been unproven for longest, if for long enough to be sent away; else NULL.
 */
bool ath_processes_are_crowded(struct ath_processes *processes, int way,
                               struct ath_process **out_oldest);

/* NULL where there is none: by its session, and by its process id. */
struct ath_process *ath_processes_find(struct ath_processes *processes, uint64_t session);
struct ath_process *ath_processes_of_pid(struct ath_processes *processes, pid_t pid);

/* The place of one on the board. */
size_t ath_processes_place(const struct ath_processes *processes,
                           const struct ath_process *process);

/* It has ended, or could not be forked: its place is free again, and its entry. */
void ath_processes_remove(struct ath_processes *processes, struct ath_process *process);
