/*
 * The reports and questions of a session's process to the listening process. They travel by a pair
 * of sockets that only these two have: first who has proven a key, then orders to end sessions, and
 * questions about what only the listening process may change. Each process has a pair of its own,
 * so the sender of a report is certain. The listening process believes the first report and no
 * later one, and decides by its own table whether the sender may do what it asks for.
 */
#pragma once
#include <stdint.h>

#include "base/key_name.h"
#include "remote/wire/secret.h"

/* The question of a report. Each has an answer, a number, except ATH_ASK_NOTHING (which may end a
 * session). */
enum ath_session_asks {
    ATH_ASK_NOTHING,
    ATH_ASK_USER,       /* the answer is the user of the asker's identity (sandbox/users.h) */
    ATH_ASK_PLACE,      /* whether the asker may go on: enum ath_verdict (process_table.h) */
    ATH_ASK_LIMIT,      /* object: session, device, bytes; the answer is 1, or 0: refused */
    ATH_ASK_CLAIM,      /* object: session, share, cap, priority; 1, or 0: refused */
    ATH_ASK_FRACTION,   /* fraction of the GPUs' memory to serve; 1, or 0: refused */
    ATH_ASK_SHARE,      /* device, bytes; the answer is the new share, or 0 (share_table.h) */
    ATH_ASK_SHARE_NAME, /* object: share, name; 1 */
    ATH_ASK_SHARE_FIND, /* name; the share or 0 */
    ATH_ASK_SHARE_HOLD, /* object: share; 1, or 0: there is none */
    ATH_ASK_SHARE_DROP, /* object: share; 1 */
    ATH_ASK_RESERVE,    /* object: bits of devices; 1, or 0: one is in use or reserved */
    ATH_ASK_PART,       /* device, object: groups, bytes: those wanted; bits or 0 (part_table.h) */
};

/* Tells one content of a key's file from another. */
struct ath_key_version {
    uint64_t inode, bytes;
    int64_t changed_s, changed_ns;
};

struct ath_session_report {
    uint32_t asks; /* enum ath_session_asks */
    uint32_t device;
    uint64_t object, name;
    int64_t bytes;
    double fraction;
    int32_t share;    /* percent of the GPUs' time; 0: none; negative: as it is */
    int32_t cap;      /* 0 or 1; negative: as it is */
    int32_t priority; /* enum ath_gpu_priority; unset: as it is */
    uint64_t ends;    /* the session to end; 0: this is the report of who is here */
    int32_t purpose;  /* enum ath_gpu_purpose */
    char identity[ATH_KEY_NAME_BYTES]; /* empty: the server has no keys */
    struct ath_key_version version;    /* of a key in a folder */
    struct ath_ticket ticket; /* by which further connections of the session prove theirs */
};

/* Makes a pair of sockets: the first for the listening process, the second for the session's.
 * Returns 0 or a negative errno. */
int ath_session_report_pair(int out[2]);

/*
 * Sends a question and waits for its answer, at most 10 s. Any thread. Returns 0 or a negative
 * errno.
 */
int ath_session_report_ask(int fd, const struct ath_session_report *question, uint64_t *out_answer);

/* Answers a question without waiting. Returns 0 or a negative errno. */
int ath_session_report_answer(int fd, uint64_t answer);

/* Sends without waiting. Returns 0 or a negative errno. */
int ath_session_report_send(int fd, const struct ath_session_report *report);

/* Takes a message that has come, without waiting. Returns 0, -EAGAIN if there is none, -ENODATA if
 * the session's process has ended, or another negative errno. Text in *out is valid, whatever the
 * session's process sent. */
int ath_session_report_take(int fd, struct ath_session_report *out);
