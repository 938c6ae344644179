/*
 * The board of sessions: a table in memory that the listening process shares with the processes of
 * sessions. It has no lock, so no session can stop another one or the listening process by holding
 * one.
 *
 * The listening process writes everything except the samples, which the sampler's process writes
 * (samples.h), the turns, which the arbiter's process writes (turns_page.h), and the counts of
 * datagrams, which the helper of UDP writes (udp_counts.h). A session's process writes its own
 * entry, and reads the rest: after ath_session_board_confine() it has no way to write there. Other
 * processes take from an entry only what its session may say about itself (its program's name, the
 * memory that it has), and the rest from what the listening process knows. The listening process
 * reads nothing on the board by which a session could harm another process (process_table.h).
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/host_budget.h"
#include "base/key_name.h"
#include "cuda/server/call_counts.h"
#include "remote/session/figures.h"
#include "remote/transport/stream.h"
#include "runtime/devices.h"
#include "runtime/samples.h"
#include "runtime/turns_page.h"
#include "runtime/udp_counts.h"
#include "turns/slot.h"

/*
 * Some slots are kept for administrators. Unproven clients may have a quarter of the slots for each
 * listening socket, one source a quarter of those, and each keeps a slot for this many milliseconds
 * when others want it. So clients without the key do not keep out those that have it.
 */
enum {
    ATH_SESSION_BOARD_MAX = ATH_SAMPLED_SESSIONS,
    ATH_SESSION_BOARD_KEPT = 16,
    ATH_SESSION_BOARD_UNPROVEN = ATH_SESSION_BOARD_MAX / 4,
    ATH_SESSION_BOARD_UNPROVEN_OF_SOURCE = ATH_SESSION_BOARD_UNPROVEN / 4,
    ATH_SESSION_BOARD_UNPROVEN_FEW = 4, /* of a source: it is not refused early */
    ATH_SESSION_BOARD_UNPROVEN_MS = 500,
    ATH_SESSION_BOARD_RESERVED_MS = 20000, /* longer than most programs take to begin */
    ATH_SESSION_BOARD_PEER = 96,
    ATH_SESSION_BOARD_PROGRAM = 64,
    ATH_SESSION_BOARD_HOST = 65,
    ATH_SESSION_BOARD_ADDRESS = 64,
    ATH_SESSION_BOARD_PAGE = 64 << 10, /* a multiple of every kernel's page */
};

/* A connection for large copies, which the session's process notes every two seconds. */
struct ath_session_board_channel {
    char local[ATH_SESSION_BOARD_ADDRESS], peer[ATH_SESSION_BOARD_ADDRESS]; /* empty: unknown */
    _Atomic int64_t sent_bytes, received_bytes, sent_again;                 /* negative: unknown */
#define X(name) _Atomic int64_t datagrams_##name; /* negative: it does not go by UDP */
    ATH_UDP_CHANNEL_COUNTS(X)
#undef X
    atomic_int is_lost; /* not 0: it broke, and has not come again */
    atomic_int is_udp;  /* not 0: it goes by UDP, or did so before it broke */
};

/* The part that the session's process writes, after the listening process has made it. */
struct ath_session_board_entry {
    _Atomic uint64_t id; /* of the session; 0: the slot is free */
    uint64_t started_ms; /* ath_now_ms() */
    char peer[ATH_SESSION_BOARD_PEER];
    atomic_bool is_proven;             /* the handshake is over */
    atomic_int purpose;                /* enum ath_gpu_purpose, once proven */
    char identity[ATH_KEY_NAME_BYTES]; /* of the key, once proven; empty: the server has no keys */
    atomic_int is_encrypted;           /* by TLS, if not 0 */
    char host[ATH_SESSION_BOARD_HOST]; /* of the client's process, as it says; so is the next */
    uint32_t process;
    char program[ATH_SESSION_BOARD_PROGRAM]; /* its name, as the program says; set by the session's
                                              * process
                                              */
    /* For a program, by the server's number of a device: bytes that it holds, bytes that it may
     * hold (negative: no limit of its own), and a bit for each device of which it holds any. On a
     * copy that ath_session_board_read() makes, the bytes have the shared ones among them. */
    _Atomic int64_t used_bytes[ATH_DEVICES_MAX], limit_bytes[ATH_DEVICES_MAX];
    atomic_int limit_source[ATH_DEVICES_MAX]; /* enum ath_gpu_limit_source */
    _Atomic uint64_t devices;
    _Atomic uint64_t refused; /* 1 + enum ath_control_reason; 0: the session was not refused */
    _Atomic uint64_t broken, missing_lines;     /* this session's part of the board's counts */
    _Atomic int64_t host_taken[ATH_HOST_KINDS]; /* by enum ath_host_kind (host_limits.h) */
    atomic_int transport; /* of a program's calls: 1 + enum ath_control_transport; 0: none yet */
    struct ath_call_counts counts; /* of a program's calls */
    _Atomic uint64_t asked_ms; /* ath_now_ms() when the client last asked for figures; 0: never */
    struct ath_turn_wish turn; /* by the server's numbers of devices, as everything here */
    /* The claim on the GPUs' time that the program asks for. */
    atomic_int asked_share;    /* percent; 0: nothing */
    atomic_int asked_cap;      /* not 0: never more than its share */
    atomic_int asked_priority; /* enum ath_gpu_priority */
    /* Multiprocessors of each device that it has for itself, and all; 0: no part. */
    _Atomic uint32_t processors[ATH_DEVICES_MAX], processors_total[ATH_DEVICES_MAX];
    _Atomic uint32_t channel_count;
    struct ath_session_board_channel channels[ATH_STRIPES_MAX - 1];
    /* The round trip of the connection of the calls, the least one of those for large copies, and
     * the speed of the latest large frames that were sent. Negative: unknown. */
    _Atomic int64_t latency_ns, channel_latency_ns, bytes_per_s;
    atomic_int has_pieces; /* not 0: the calls' connection carries no part of large copies */
};

/* The facts of a session that the listening process writes. */
struct ath_session_board_known {
    _Atomic uint64_t id;
    uint64_t started_ms;
    char peer[ATH_SESSION_BOARD_PEER];
    atomic_int process; /* its id; 0: it has not been forked */
    atomic_bool is_proven;
    atomic_int purpose;
    char identity[ATH_KEY_NAME_BYTES];
    _Atomic int64_t shared_bytes[ATH_DEVICES_MAX]; /* that the session pays for (share_table.h) */
    /* Bytes that all sessions of the identity together may have; negative: no limit. */
    _Atomic int64_t identity_limit_bytes[ATH_DEVICES_MAX];
    _Atomic uint64_t allowed_devices; /* a bit for each device that the identity may use */
    /* The GPUs' time that all sessions of the identity together may have, and their highest
     * priority. */
    atomic_int identity_share;    /* percent; 0: none */
    atomic_int identity_cap;      /* not 0: never more than that */
    atomic_int identity_priority; /* enum ath_gpu_priority; unset: any */
    atomic_int identity_part;     /* of multiprocessors, for each session, in percent; 0: all */
    /* A claim that a user set while the session runs, in place of the program's. */
    atomic_int set_share;    /* percent; 0: none; negative: not set */
    atomic_int set_cap;      /* 0 or 1; negative: not set */
    atomic_int set_priority; /* enum ath_gpu_priority; unset: not set */
    /* A bit for each group of a device's multiprocessors that is the session's (part_table.h). */
    _Atomic uint64_t part[ATH_DEVICES_MAX];
};

/* An entry has pages of its own, so that its session gets no others. */
struct ath_session_board_slot {
    _Alignas(ATH_SESSION_BOARD_PAGE) struct ath_session_board_entry entry;
};

struct ath_session_board {
    struct ath_session_board_known known[ATH_SESSION_BOARD_MAX];
    /* Counts since the start, of the listening process and of sessions that have ended. */
    _Atomic uint64_t accepted, broken;
    _Atomic uint64_t refused[ATH_REFUSAL_REASONS]; /* by enum ath_control_reason */
    _Atomic uint64_t missing_lines;                /* event_log.h */
    _Atomic double vram_fraction; /* set while the server runs; 0: as at its start */
    _Atomic uint64_t asked_ms;    /* the last question for figures by a session that has ended */
    /* Until when a device is reserved for a program that is about to begin (ath_now_ms()). Such
     * programs choose other devices; nothing keeps a session from using the device. */
    _Atomic uint64_t reserved_until_ms[ATH_DEVICES_MAX];
    _Atomic uint64_t changes; /* of sessions and of what they may have, for the arbiter; a count */
    int fd, read_only_fd;     /* of the memory; -1 in a process that is confined */
    /* With pages of its own, so that the helper of UDP gets no others. */
    _Alignas(ATH_SESSION_BOARD_PAGE) struct ath_udp_counts udp;
    /* The same for the sampler. */
    _Alignas(ATH_SESSION_BOARD_PAGE) struct ath_samples samples;
    /* The same for the arbiter. */
    _Alignas(ATH_SESSION_BOARD_PAGE) struct ath_turns_page turns;
    struct ath_session_board_slot slots[ATH_SESSION_BOARD_MAX];
};

/* Makes a board in memory that all processes forked later share. Returns NULL with errno:
 * EFBIG if the limit of file sizes is below the size of the board. */
struct ath_session_board *ath_session_board_make(void);
void ath_session_board_free(struct ath_session_board *board);

/* Leaves the calling process with its own entry to write, and the rest of the board to read, for
 * the rest of its life. NULL: it has no entry. Returns 0 or a negative errno. */
int ath_session_board_confine(struct ath_session_board *board,
                              struct ath_session_board_entry *entry);

/* The same for the sampler, which writes the samples, and for the arbiter, which writes turns. */
int ath_session_board_confine_sampler(struct ath_session_board *board);
int ath_session_board_confine_arbiter(struct ath_session_board *board);

/* The same for the helper of UDP, which writes its counts. */
int ath_session_board_confine_udp(struct ath_session_board *board);

/* The entry at a slot, and the slot of an entry. */
struct ath_session_board_entry *ath_session_board_at(struct ath_session_board *board, size_t slot);
size_t ath_session_board_slot_of(const struct ath_session_board *board,
                                 const struct ath_session_board_entry *entry);

/* Makes the entry of a new session at a free slot. */
struct ath_session_board_entry *ath_session_board_add(struct ath_session_board *board, size_t slot,
                                                      uint64_t id, const char *peer);

/* Notes on the board who has proven a key. Only the listening process calls this. */
void ath_session_board_note(struct ath_session_board *board, size_t slot, int purpose,
                            const char *identity);

/* Reserves the devices of some bits for
 * ATH_SESSION_BOARD_RESERVED_MS. Returns false if a session uses one of them,
 * or if one is reserved. Only the listening process calls this. */
bool ath_session_board_reserve(struct ath_session_board *board, uint64_t devices);

bool ath_session_board_is_reserved(const struct ath_session_board *board, size_t device);

/* Notes on the board which process a session has. Only the listening process calls this. */
void ath_session_board_note_process(struct ath_session_board *board, size_t slot, pid_t process);

/* Removes the entry of a session whose process has ended. Its shares have been dropped. */
void ath_session_board_remove(struct ath_session_board *board, size_t slot);

/* The entry of a session; NULL if there is none. */
struct ath_session_board_entry *ath_session_board_find(struct ath_session_board *board,
                                                       uint64_t id);

/* Copies the entry at a slot. Returns false if the slot is free. */
bool ath_session_board_read(struct ath_session_board *board, size_t slot,
                            struct ath_session_board_entry *out);

/* Limits a session's memory of a device. limit_bytes negative: no limit. source: an enum
 * ath_gpu_limit_source. */
void ath_session_board_limit(struct ath_session_board_entry *entry, size_t device,
                             int64_t limit_bytes, int source);

/*
 * Takes bytes of a device for a session. Returns false if all sessions together would have more
 * than limit_bytes (negative: no limit), this session more than its own limit, or the sessions of
 * its identity more than the identity's limit. Memory of a session that has ended is free again
 * with its entry.
 */
bool ath_session_board_take_memory(struct ath_session_board *board,
                                   struct ath_session_board_entry *entry, size_t device,
                                   int64_t bytes, int64_t limit_bytes);
void ath_session_board_give_memory(struct ath_session_board_entry *entry, size_t device,
                                   int64_t bytes);

/* The bytes of a device that a session has, shared ones for which it pays included. */
int64_t ath_session_board_own(const struct ath_session_board *board,
                              const struct ath_session_board_entry *entry, size_t device);

/* The bytes of a device that all sessions of the session's identity have, and those that they may
 * have (negative: no limit). */
void ath_session_board_of_identity(const struct ath_session_board *board,
                                   const struct ath_session_board_entry *entry, size_t device,
                                   int64_t *out_used_bytes, int64_t *out_limit_bytes);

/* Returns whether a session has more of a device than its limit, or its identity more than its own:
 * a limit may be set when they already have that much. */
bool ath_session_board_is_beyond(const struct ath_session_board *board,
                                 const struct ath_session_board_entry *entry, size_t device);

/* The bytes of a device that all sessions have. *out_sessions is the number of sessions that
 * have any; NULL: not wanted. */
int64_t ath_session_board_memory(const struct ath_session_board *board, size_t device,
                                 uint32_t *out_sessions);

/* Sessions that were refused for a reason, and those that were cut off, since the start, once they
 * have ended: a session that is still there could take its claim back. */
uint64_t ath_session_board_refused(const struct ath_session_board *board,
                                   enum ath_control_reason reason);
uint64_t ath_session_board_broken(const struct ath_session_board *board);
