/* The entries of the board: making and removing them, their memory, and what others read of them.
 */
#include "config.h"

#include "runtime/session_board.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proto/gpu-control.h"

/* ---- entries ---- */

struct ath_session_board_entry *ath_session_board_at(struct ath_session_board *board, size_t slot)
{
    return &board->slots[slot].entry;
}

size_t ath_session_board_slot_of(const struct ath_session_board *board,
                                 const struct ath_session_board_entry *entry)
{
    return (size_t)((const struct ath_session_board_slot *)entry - board->slots);
}

void ath_session_board_limit(struct ath_session_board_entry *entry, size_t device,
                             int64_t limit_bytes, int source)
{
    atomic_store(&entry->limit_source[device], source);
    atomic_store(&entry->limit_bytes[device], limit_bytes);
}

static void begin_turns(struct ath_session_board_known *known,
                        struct ath_session_board_entry *entry)
{
    atomic_store(&entry->turn.devices, 0);
    atomic_store(&entry->turn.wants, 0);
    atomic_store(&entry->turn.returned, 0);
    atomic_store(&entry->turn.left, 0);
    atomic_store(&entry->asked_share, 0);
    atomic_store(&entry->asked_cap, 0);
    atomic_store(&entry->asked_priority, ATH_GPU_PRIORITY_UNSET);
    atomic_store(&known->allowed_devices, 0);
    atomic_store(&known->identity_share, 0);
    atomic_store(&known->identity_cap, 0);
    atomic_store(&known->identity_priority, ATH_GPU_PRIORITY_UNSET);
    atomic_store(&known->identity_part, 0);
    atomic_store(&known->set_share, -1);
    atomic_store(&known->set_cap, -1);
    atomic_store(&known->set_priority, ATH_GPU_PRIORITY_UNSET);
}

struct ath_session_board_entry *ath_session_board_add(struct ath_session_board *board, size_t slot,
                                                      uint64_t id, const char *peer)
{
    struct ath_session_board_known *known = &board->known[slot];
    struct ath_session_board_entry *entry = ath_session_board_at(board, slot);
    known->started_ms = entry->started_ms = ath_now_ms();
    snprintf(known->peer, sizeof known->peer, "%s", peer);
    snprintf(entry->peer, sizeof entry->peer, "%s", peer);
    atomic_store(&known->is_proven, false);
    atomic_store(&entry->is_proven, false);
    atomic_store(&known->purpose, 0);
    atomic_store(&entry->is_encrypted, false);
    atomic_store(&entry->purpose, 0);
    known->identity[0] = entry->identity[0] = entry->program[0] = entry->host[0] = '\0';
    entry->process = 0;
    for (size_t device = 0; device < ATH_DEVICES_MAX; device++) {
        atomic_store(&known->shared_bytes[device], 0);
        atomic_store(&entry->used_bytes[device], 0);
        ath_session_board_limit(entry, device, -1, 0);
        atomic_store(&known->identity_limit_bytes[device], -1);
        atomic_store(&known->part[device], 0);
        atomic_store(&entry->processors[device], 0);
        atomic_store(&entry->processors_total[device], 0);
    }
    atomic_store(&entry->devices, 0);
    atomic_store(&entry->refused, 0);
    atomic_store(&entry->broken, 0);
    atomic_store(&entry->missing_lines, 0);
    for (size_t kind = 0; kind < ATH_HOST_KINDS; kind++)
        atomic_store(&entry->host_taken[kind], 0);
    atomic_store(&entry->transport, 0);
    entry->counts = (struct ath_call_counts){ 0 };
    atomic_store(&entry->channel_count, 0);
    atomic_store(&entry->latency_ns, -1);
    atomic_store(&entry->channel_latency_ns, -1);
    atomic_store(&entry->bytes_per_s, -1);
    atomic_store(&entry->asked_ms, 0);
    begin_turns(known, entry);
    atomic_store(&known->process, 0);
    atomic_store(&entry->id, id);
    atomic_store(&known->id, id);
    return entry;
}

void ath_session_board_note(struct ath_session_board *board, size_t slot, int purpose,
                            const char *identity)
{
    struct ath_session_board_known *known = &board->known[slot];
    snprintf(known->identity, sizeof known->identity, "%s", identity);
    atomic_store(&known->purpose, purpose);
    atomic_store(&known->is_proven, true);
}

/* A count that a session has written; a session is refused and cut off once at most. */
static uint64_t claimed(const _Atomic uint64_t *count, uint64_t most)
{
    uint64_t value = atomic_load(count);
    return value < most ? value : most;
}

/* The reason that a session has written. One that does not exist is unknown. */
static bool was_refused(const struct ath_session_board_entry *entry, enum ath_control_reason *out)
{
    uint64_t written = atomic_load(&entry->refused);
    *out = written && written <= ATH_REFUSAL_REASONS ? (enum ath_control_reason)(written - 1)
                                                     : ATH_CONTROL_REASON_UNKNOWN;
    return written;
}

void ath_session_board_note_process(struct ath_session_board *board, size_t slot, pid_t process)
{
    atomic_store(&board->known[slot].process, process > 0 ? process : 0);
}

/* Keeps a question for figures after its session. A session that lies can have the sampler work. */
static void keep_question(struct ath_session_board *board, uint64_t asked_ms)
{
    if (asked_ms > atomic_load(&board->asked_ms) && asked_ms <= ath_now_ms())
        atomic_store(&board->asked_ms, asked_ms);
}

void ath_session_board_remove(struct ath_session_board *board, size_t slot)
{
    enum { LINES_MAX = 1 << 20 };
    struct ath_session_board_entry *entry = ath_session_board_at(board, slot);
    keep_question(board, atomic_load(&entry->asked_ms));
    enum ath_control_reason reason;
    if (was_refused(entry, &reason))
        atomic_fetch_add(&board->refused[reason], 1);
    atomic_fetch_add(&board->broken, claimed(&entry->broken, 1));
    atomic_fetch_add(&board->missing_lines, claimed(&entry->missing_lines, LINES_MAX));
    atomic_store(&board->known[slot].id, 0);
    atomic_store(&entry->id, 0);
}

struct ath_session_board_entry *ath_session_board_find(struct ath_session_board *board, uint64_t id)
{
    for (size_t i = 0; id && i < ATH_SESSION_BOARD_MAX; i++)
        if (atomic_load(&board->known[i].id) == id)
            return ath_session_board_at(board, i);
    return NULL;
}

/* ---- memory ---- */

/* The bytes that a session says it has. No claim makes the sum of all overflow. */
static int64_t claimed_bytes(const struct ath_session_board_entry *entry, size_t device)
{
    static const int64_t most = (int64_t)1 << 50;
    int64_t bytes = atomic_load(&entry->used_bytes[device]);
    return bytes < 0 ? 0 : bytes < most ? bytes : most;
}

static int64_t bytes_of(const struct ath_session_board *board, size_t slot, size_t device)
{
    return claimed_bytes(&board->slots[slot].entry, device) +
           atomic_load(&board->known[slot].shared_bytes[device]);
}

static bool has_any(const struct ath_session_board *board, size_t slot, size_t device)
{
    return atomic_load(&board->known[slot].shared_bytes[device]) ||
           (atomic_load(&board->slots[slot].entry.devices) >> device & 1);
}

/* The smaller one of the session's limit and its identity's. */
static void copy_limit(const struct ath_session_board_known *known,
                       const struct ath_session_board_entry *entry, size_t device,
                       struct ath_session_board_entry *out)
{
    int64_t own_bytes = atomic_load(&entry->limit_bytes[device]);
    int64_t identity_bytes = atomic_load(&known->identity_limit_bytes[device]);
    bool is_own = identity_bytes < 0 || (own_bytes >= 0 && own_bytes <= identity_bytes);
    ath_session_board_limit(out, device, is_own ? own_bytes : identity_bytes,
                            is_own ? atomic_load(&entry->limit_source[device])
                                   : ATH_GPU_LIMIT_SOURCE_IDENTITY);
}

static void copy_counts(const struct ath_call_counts *from, struct ath_call_counts *to)
{
    to->calls = atomic_load(&from->calls);
    to->received_bytes = atomic_load(&from->received_bytes);
    to->sent_bytes = atomic_load(&from->sent_bytes);
    for (size_t i = 0; i < ATH_COUNT(to->waits); i++)
        to->waits[i] = atomic_load(&from->waits[i]);
    to->waited_us = atomic_load(&from->waited_us);
}

/* A session without a part has none to tell of. */
static void copy_part(const struct ath_session_board_known *known,
                      const struct ath_session_board_entry *entry, size_t device,
                      struct ath_session_board_entry *out)
{
    bool has_part = atomic_load(&known->part[device]) != 0;
    atomic_store(&out->processors[device], has_part ? atomic_load(&entry->processors[device]) : 0);
    atomic_store(&out->processors_total[device],
                 has_part ? atomic_load(&entry->processors_total[device]) : 0);
}

/* The session's process wrote the texts, so they may lack their end. */
static void copy_channels(const struct ath_session_board_entry *entry,
                          struct ath_session_board_entry *out)
{
    enum { MOST = ATH_COUNT(out->channels) };
    uint32_t count = atomic_load(&entry->channel_count);
    out->channel_count = count < MOST ? count : MOST;
    for (size_t i = 0; i < MOST; i++) {
        const struct ath_session_board_channel *from = &entry->channels[i];
        struct ath_session_board_channel *to = &out->channels[i];
        memcpy(to->local, from->local, sizeof to->local);
        memcpy(to->peer, from->peer, sizeof to->peer);
        to->local[sizeof to->local - 1] = to->peer[sizeof to->peer - 1] = '\0';
        to->is_lost = atomic_load(&from->is_lost);
        to->sent_bytes = atomic_load(&from->sent_bytes);
        to->received_bytes = atomic_load(&from->received_bytes);
        to->sent_again = atomic_load(&from->sent_again);
        to->is_udp = atomic_load(&from->is_udp);
#define X(name) to->datagrams_##name = atomic_load(&from->datagrams_##name);
        ATH_UDP_CHANNEL_COUNTS(X)
#undef X
    }
    out->latency_ns = atomic_load(&entry->latency_ns);
    out->channel_latency_ns = atomic_load(&entry->channel_latency_ns);
    out->bytes_per_s = atomic_load(&entry->bytes_per_s);
    out->has_pieces = atomic_load(&entry->has_pieces);
}

/* The slot may be given to another session during the copy; its id differs then. */
bool ath_session_board_read(struct ath_session_board *board, size_t slot,
                            struct ath_session_board_entry *out)
{
    const struct ath_session_board_known *known = &board->known[slot];
    struct ath_session_board_entry *entry = ath_session_board_at(board, slot);
    uint64_t id = atomic_load(&known->id), devices = 0;
    if (!id)
        return false;
    out->id = id;
    out->started_ms = known->started_ms;
    memcpy(out->peer, known->peer, sizeof out->peer);
    out->peer[sizeof out->peer - 1] = '\0';
    out->is_proven = atomic_load(&known->is_proven);
    out->purpose = atomic_load(&known->purpose);
    memcpy(out->identity, known->identity, sizeof out->identity);
    out->is_encrypted = atomic_load(&entry->is_encrypted);
    out->identity[sizeof out->identity - 1] = '\0';
    if (!ath_key_name_is_valid(out->identity)) /* a faulty session might have written anything */
        out->identity[0] = '\0';
    memcpy(out->host, entry->host, sizeof out->host);
    out->host[sizeof out->host - 1] = '\0';
    out->process = entry->process;
    memcpy(out->program, entry->program, sizeof out->program);
    out->program[sizeof out->program - 1] = '\0';
    out->transport = atomic_load(&entry->transport);
    copy_counts(&entry->counts, &out->counts);
    copy_channels(entry, out);
    for (size_t device = 0; device < ATH_DEVICES_MAX; device++) {
        atomic_store(&out->used_bytes[device], bytes_of(board, slot, device));
        copy_limit(known, entry, device, out);
        copy_part(known, entry, device, out);
        devices |= (uint64_t)has_any(board, slot, device) << device;
    }
    atomic_store(&out->devices, devices);
    return atomic_load(&known->id) == id;
}

int64_t ath_session_board_memory(const struct ath_session_board *board, size_t device,
                                 uint32_t *out_sessions)
{
    int64_t bytes = 0;
    uint32_t sessions = 0;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        if (!atomic_load(&board->known[i].id))
            continue;
        bytes += bytes_of(board, i, device);
        sessions += has_any(board, i, device);
    }
    if (out_sessions)
        *out_sessions = sessions;
    return bytes;
}

bool ath_session_board_is_reserved(const struct ath_session_board *board, size_t device)
{
    return atomic_load(&board->reserved_until_ms[device]) > ath_now_ms();
}

static bool is_in_use(const struct ath_session_board *board, size_t device)
{
    uint32_t sessions;
    ath_session_board_memory(board, device, &sessions);
    return sessions || ath_session_board_is_reserved(board, device);
}

bool ath_session_board_reserve(struct ath_session_board *board, uint64_t devices)
{
    for (size_t i = 0; i < ATH_DEVICES_MAX; i++)
        if (devices >> i & 1 && is_in_use(board, i))
            return false;
    for (size_t i = 0; i < ATH_DEVICES_MAX; i++)
        if (devices >> i & 1)
            atomic_store(&board->reserved_until_ms[i],
                         ath_now_ms() + ATH_SESSION_BOARD_RESERVED_MS);
    return true;
}

static bool has_room(const struct ath_session_board *board, size_t device, int64_t bytes,
                     int64_t limit_bytes)
{
    return limit_bytes < 0 || bytes <= limit_bytes - ath_session_board_memory(board, device, NULL);
}

static bool has_own_room(const struct ath_session_board *board, size_t slot, size_t device,
                         int64_t bytes)
{
    int64_t own_bytes = atomic_load(&board->slots[slot].entry.limit_bytes[device]);
    return own_bytes < 0 || bytes <= own_bytes - bytes_of(board, slot, device);
}

static int64_t bytes_of_identity(const struct ath_session_board *board, size_t slot, size_t device)
{
    const struct ath_session_board_known *known = &board->known[slot];
    int64_t bytes = 0;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (atomic_load(&board->known[i].id) && atomic_load(&board->known[i].is_proven) &&
            !strncmp(board->known[i].identity, known->identity, sizeof known->identity))
            bytes += bytes_of(board, i, device);
    return bytes;
}

/* Returns whether the sessions of the same identity may have so many more bytes. */
static bool has_identity_room(const struct ath_session_board *board, size_t slot, size_t device,
                              int64_t bytes)
{
    int64_t limit_bytes = atomic_load(&board->known[slot].identity_limit_bytes[device]);
    return limit_bytes < 0 || bytes <= limit_bytes - bytes_of_identity(board, slot, device);
}

/*
 * Two sessions that take at the same moment see each other's bytes after they have added their own,
 * so never both go beyond the limit. Each gives its bytes back then, waits, and tries again: waits
 * of different lengths let one of them be first.
 */
bool ath_session_board_take_memory(struct ath_session_board *board,
                                   struct ath_session_board_entry *entry, size_t device,
                                   int64_t bytes, int64_t limit_bytes)
{
    enum { ATTEMPTS = 16, WAIT_NS = 20000 };
    size_t slot = ath_session_board_slot_of(board, entry);
    for (unsigned int i = 0; i < ATTEMPTS; i++) {
        if (!has_own_room(board, slot, device, bytes) ||
            !has_identity_room(board, slot, device, bytes) ||
            !has_room(board, device, bytes, limit_bytes))
            return false;
        atomic_fetch_add(&entry->used_bytes[device], bytes);
        if (has_own_room(board, slot, device, 0) && has_identity_room(board, slot, device, 0) &&
            has_room(board, device, 0, limit_bytes)) {
            atomic_fetch_or(&entry->devices, UINT64_C(1) << device);
            return true;
        }
        atomic_fetch_sub(&entry->used_bytes[device], bytes);
        nanosleep(&(struct timespec){ .tv_nsec =
                                          (long)(WAIT_NS * (1 + (slot * 7 + (size_t)i * 3) % 16)) },
                  NULL);
    }
    return false;
}

int64_t ath_session_board_own(const struct ath_session_board *board,
                              const struct ath_session_board_entry *entry, size_t device)
{
    return bytes_of(board, ath_session_board_slot_of(board, entry), device);
}

void ath_session_board_of_identity(const struct ath_session_board *board,
                                   const struct ath_session_board_entry *entry, size_t device,
                                   int64_t *out_used_bytes, int64_t *out_limit_bytes)
{
    size_t slot = ath_session_board_slot_of(board, entry);
    *out_limit_bytes = atomic_load(&board->known[slot].identity_limit_bytes[device]);
    *out_used_bytes = bytes_of_identity(board, slot, device);
}

bool ath_session_board_is_beyond(const struct ath_session_board *board,
                                 const struct ath_session_board_entry *entry, size_t device)
{
    size_t slot = ath_session_board_slot_of(board, entry);
    return !has_own_room(board, slot, device, 0) || !has_identity_room(board, slot, device, 0);
}

void ath_session_board_give_memory(struct ath_session_board_entry *entry, size_t device,
                                   int64_t bytes)
{
    atomic_fetch_sub(&entry->used_bytes[device], bytes);
}

/* ---- counts ---- */

uint64_t ath_session_board_refused(const struct ath_session_board *board,
                                   enum ath_control_reason reason)
{
    return atomic_load(&board->refused[reason]);
}

uint64_t ath_session_board_broken(const struct ath_session_board *board)
{
    return atomic_load(&board->broken);
}
