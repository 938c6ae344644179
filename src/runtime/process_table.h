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
#include "remote/wire/secret.h"
#include "remote/wire/source.h"
#include "runtime/session_board.h"
#include "runtime/session_report.h"

struct ath_process {
    uint64_t session; /* 0: the slot is free */
    pid_t pid;        /* set by the caller that forks it; 0 before */
    uint64_t started_ms;
    char peer[ATH_SESSION_BOARD_PEER];
    struct ath_source source;
    int way;         /* the listening socket that it came by: the caller's number */
    bool is_trusted; /* counts as proven from the start */
    bool is_admin;   /* may change the sessions of others, now */
    bool is_kept;    /* has a slot that is kept for administrators */
    int report_fd;   /* the listening process's end of the pair (session_report.h), which the
                      * caller makes and closes; -1: none */
    bool is_proven;  /* its first report has come; the next fields are from it */
    int purpose;     /* enum ath_gpu_purpose */
    char identity[ATH_KEY_NAME_BYTES]; /* empty: the server has no keys */
    struct ath_key_version version;
    bool is_ending;           /* it has been asked to end, which frees its slot */
    struct ath_ticket ticket; /* of its further connections; wiped in each forked process */
    unsigned int joins;       /* further connections that were passed to it */
};

/* A client that wants a session. */
struct ath_newcomer {
    const char *peer;
    struct ath_source source;
    int way;
    bool is_trusted; /* root or the server's own user, by the unix socket: an administrator */
};

enum ath_place {
    ATH_PLACE_GIVEN,
    ATH_PLACE_FULL,        /* all slots are taken */
    ATH_PLACE_SOURCE_FULL, /* the source has its most */
    ATH_PLACE_CROWDED,     /* too many clients are not proven yet */
};

/* A table that is {} with a board is empty. A process has the same slot here and on the board. */
struct ath_process_table {
    struct ath_session_board *board;
    uint64_t last_session;
    unsigned int most_of_source; /* slots of one source, and of one identity */
    bool limits_identities;      /* there are several keys; else all clients have the same one */
    struct ath_process items[ATH_SESSION_BOARD_MAX];
};

/*
 * Gives a slot, and an entry on the board, to a process that is about to be forked. An
 * administrator gets any slot; others leave ATH_SESSION_BOARD_KEPT of them. If unproven clients
 * are crowded, one that has been unproven for long may have to leave: *out_leaves is its process,
 * which counts as ending from then on, else NULL. random decides which newcomers are refused before
 * the slots for unproven clients are all taken, as OpenSSH's MaxStartups does: a source with few is
 * not.
 */
enum ath_place ath_process_table_add(struct ath_process_table *processes,
                                     const struct ath_newcomer *newcomer, uint32_t random,
                                     struct ath_process **out, struct ath_process **out_leaves);

enum ath_verdict {
    ATH_VERDICT_NONE, /* no answer that the listening process gives */
    ATH_VERDICT_GO_ON,
    ATH_VERDICT_FULL,          /* only a kept slot was left, and this is a program */
    ATH_VERDICT_IDENTITY_FULL, /* the identity has more sessions than it may have */
};

/* Decides about a process that has reported its identity and purpose. */
enum ath_verdict ath_process_table_judge(const struct ath_process_table *processes,
                                         const struct ath_process *process);

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

/* Wipes the tickets, in a process that must not have those of others. */
void ath_process_table_wipe_tickets(struct ath_process_table *processes);

/* Frees the slot and the entry of a process that has ended or could not be forked. */
void ath_process_table_remove(struct ath_process_table *processes, struct ath_process *process);
