/*
 * The processes that the listening process has forked. A session's process can write the board, and
 * a faulty one might write anything there. So the listening process keeps in its own memory what it
 * acts on: which process to end, and which unproven client to send away when others wait.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/key_name.h"
#include "runtime/session_board.h"
#include "runtime/session_report.h"

struct ath_process {
    uint64_t session; /* 0: the slot is free */
    pid_t pid;        /* set by the caller that forks it; 0 before */
    uint64_t started_ms;
    char peer[ATH_SESSION_BOARD_PEER];
    int way;         /* the listening socket that it came by: the caller's number */
    bool is_trusted; /* counts as proven from the start */
    bool is_admin;   /* may change the sessions of others, now */
    int report_fd;   /* the listening process's end of the pair (session_report.h), which the
                      * caller makes and closes; -1: none */
    bool is_proven;  /* its first report has come; the next fields are from it */
    int purpose;     /* enum ath_gpu_purpose */
    char identity[ATH_KEY_NAME_BYTES]; /* empty: the server has no keys */
    struct ath_key_version version;
    bool is_ending; /* it has been asked to end, which frees its slot */
};

/* A table that is {} with a board is empty. A process has the same slot here and on the board. */
struct ath_process_table {
    struct ath_session_board *board;
    uint64_t last_session;
    struct ath_process items[ATH_SESSION_BOARD_MAX];
};

/* Gives a slot, and an entry on the board, to a process that is about to be forked. Returns NULL
 * if all slots are taken, or the quarter of them for unproven clients. */
struct ath_process *ath_process_table_add(struct ath_process_table *processes, const char *peer,
                                          int way, bool is_trusted);

/*
 * Whether the slots for unproven clients of one listening socket are all taken. If so, *out_oldest
 * is the client that has been unproven longest, provided that it may be sent away by now; otherwise
 * NULL.
 */
bool ath_process_table_is_crowded(struct ath_process_table *processes, int way,
                                  struct ath_process **out_oldest);

/* Notes the first report of a process. Returns false for any later one, which changes nothing. */
bool ath_process_table_note(struct ath_process *process, const struct ath_session_report *report);

/* Counts the programs' sessions of an identity. */
int ath_process_table_count(const struct ath_process_table *processes, const char *identity);

/* Find a process by its session and by its process id. Return NULL if there is none. */
struct ath_process *ath_process_table_find(struct ath_process_table *processes, uint64_t session);
struct ath_process *ath_process_table_find_pid(struct ath_process_table *processes, pid_t pid);

/* The slot of a process. */
size_t ath_process_table_slot(const struct ath_process_table *processes,
                              const struct ath_process *process);

/* Frees the slot and the entry of a process that has ended or could not be forked. */
void ath_process_table_remove(struct ath_process_table *processes, struct ath_process *process);
