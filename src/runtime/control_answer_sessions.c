/* Answers about sessions that the client may see: their list and their figures. */
#include "config.h"

#include "runtime/control_answer_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "runtime/claims.h"
#include "runtime/figures.h"
#include "runtime/identities.h"

/* A bit for each device of which the session has memory, or a limit that an operator has set. */
static uint64_t devices_of(const struct ath_session_board_entry *entry)
{
    uint64_t devices = atomic_load(&entry->devices);
    for (size_t i = 0; i < ATH_DEVICES_MAX; i++)
        if (atomic_load(&entry->limit_source[i]) == ATH_GPU_LIMIT_SOURCE_SET)
            devices |= UINT64_C(1) << i;
    return devices;
}

/* The board is written by sessions: a number that is no source is none. */
static enum ath_gpu_limit_source source_of(const struct ath_session_board_entry *entry,
                                           uint32_t device)
{
    int source = atomic_load(&entry->limit_source[device]);
    return source >= ATH_GPU_LIMIT_SOURCE_NONE && source <= ATH_GPU_LIMIT_SOURCE_SET
               ? (enum ath_gpu_limit_source)source
               : ATH_GPU_LIMIT_SOURCE_NONE;
}

/* The session may have ended since its entry was copied; its slot is free or another one's then. */
static void put_turn(const struct ath_server *server, uint64_t session,
                     struct ath_gpu_turn_builder to)
{
    const struct ath_session_board_entry *entry = ath_session_board_find(server->board, session);
    size_t slot = entry ? ath_session_board_slot_of(server->board, entry) : 0;
    struct ath_session_claim claim;
    struct ath_turn_view view;
    ath_session_claim_read(server->board, slot, &claim);
    ath_turns_page_view(&server->board->turns, slot, session, ath_now_ms(), &view);
    if (!entry || ath_session_board_find(server->board, session) != entry)
        return;
    ath_gpu_turn_set_state(to, view.state);
    ath_gpu_turn_set_waits_for(to, view.waits_for);
    ath_gpu_turn_set_state_ms(to, view.state_ms);
    ath_gpu_turn_set_share_percent(to, view.share_percent);
    ath_gpu_turn_set_share_source(to, claim.share_source);
    ath_gpu_turn_set_priority_source(to, claim.priority_source);
    uint32_t percent = claim.share_percent ? claim.share_percent : claim.identity_share_percent;
    ath_gpu_turn_set_key_percent(to, claim.identity_share_percent);
    ath_gpu_turn_set_is_key_capped(to, claim.identity_share_percent && claim.is_identity_capped);
    struct ath_gpu_claim_builder held = ath_gpu_turn_init_claim(to);
    ath_gpu_claim_set_share_percent(held, percent);
    ath_gpu_claim_set_is_capped(
        held, claim.is_capped || (claim.identity_share_percent && claim.is_identity_capped));
    ath_gpu_claim_set_priority(held, claim.priority);
}

static void put_channels(const struct ath_session_board_entry *entry,
                         struct ath_gpu_session_builder to)
{
    struct ath_wire_array channels = ath_gpu_session_init_channels(to, entry->channel_count);
    for (uint32_t i = 0; i < entry->channel_count; i++) {
        const struct ath_session_board_channel *from = &entry->channels[i];
        struct ath_gpu_session_channel_builder channel = ath_gpu_session_channel_place(channels, i);
        ath_gpu_session_channel_set_local(channel, from->local);
        ath_gpu_session_channel_set_peer(channel, from->peer);
        ath_gpu_session_channel_set_transport(channel, from->is_udp ? "udp" : "tcp");
        ath_gpu_session_channel_set_sent_bytes(channel, from->sent_bytes);
        ath_gpu_session_channel_set_received_bytes(channel, from->received_bytes);
        ath_gpu_session_channel_set_sent_again(channel, from->sent_again);
        ath_gpu_session_channel_set_is_lost(channel, from->is_lost != 0);
#define X(name) ath_gpu_session_channel_set_datagrams_##name(channel, from->datagrams_##name);
        ATH_UDP_CHANNEL_COUNTS(X)
#undef X
    }
}

/* ---- paths ---- */

/* The paths in the order of preference. */
static const enum ath_control_transport paths[] = {
    ATH_CONTROL_TRANSPORT_LOCAL,
    ATH_CONTROL_TRANSPORT_SHM,
    ATH_CONTROL_TRANSPORT_UDP,
    ATH_CONTROL_TRANSPORT_TCP,
};

static bool is_path(enum ath_control_transport transport)
{
    for (size_t i = 0; i < ATH_COUNT(paths); i++)
        if (paths[i] == transport)
            return true;
    return false;
}

/* Returns why a session does not use a path, of the reasons that the server knows. */
static enum ath_gpu_path_reason reason_of(const struct ath_server *server,
                                          const struct ath_session_board_entry *entry,
                                          enum ath_control_transport used,
                                          enum ath_control_transport path)
{
    const bool is_near = ath_starts_with(entry->peer, "unix:");
    const bool takes_udp = server->udp_port || server->has_data_udp;
    if (used == ATH_CONTROL_TRANSPORT_LOCAL ||
        (used == ATH_CONTROL_TRANSPORT_SHM && path != ATH_CONTROL_TRANSPORT_LOCAL) ||
        (is_near && path == ATH_CONTROL_TRANSPORT_UDP))
        return ATH_GPU_PATH_REASON_NOT_NEEDED;
    if (path == ATH_CONTROL_TRANSPORT_UDP)
        return takes_udp ? ATH_GPU_PATH_REASON_NOT_ASKED : ATH_GPU_PATH_REASON_NOT_SERVED;
    return is_near ? ATH_GPU_PATH_REASON_NOT_ASKED : ATH_GPU_PATH_REASON_NOT_NEAR;
}

/* The path of the calls, which is that of the copies, too, if no further connections carry
 * these. */
static void put_calls(const struct ath_session_board_entry *entry, enum ath_control_transport path,
                      struct ath_gpu_session_path_builder to)
{
    ath_gpu_session_path_set_transport(to, ath_control_transport_word(path));
    ath_gpu_session_path_set_connections(to, 1);
    ath_gpu_session_path_set_latency_ns(to,
                                        path == ATH_CONTROL_TRANSPORT_TCP ? entry->latency_ns : -1);
    if (!entry->channel_count)
        ath_gpu_session_path_set_bytes_per_s(to, entry->bytes_per_s);
}

/* The further connections that go by a path. They may change to another one (recovery.h). */
static uint32_t count_by(const struct ath_session_board_entry *entry,
                         enum ath_control_transport path)
{
    uint32_t by_udp = 0;
    for (uint32_t i = 0; i < entry->channel_count; i++)
        by_udp += entry->channels[i].is_udp != 0;
    return path == ATH_CONTROL_TRANSPORT_UDP   ? by_udp
           : path == ATH_CONTROL_TRANSPORT_TCP ? entry->channel_count - by_udp
                                               : 0;
}

static void put_copies(const struct ath_session_board_entry *entry, enum ath_control_transport path,
                       struct ath_gpu_session_path_builder to)
{
    const bool shares = !entry->has_pieces && path == ATH_CONTROL_TRANSPORT_TCP;
    ath_gpu_session_path_set_transport(to, ath_control_transport_word(path));
    ath_gpu_session_path_set_connections(to, count_by(entry, path) + shares);
    ath_gpu_session_path_set_least_bytes(to, ATH_STRIPED_BYTES);
    ath_gpu_session_path_set_latency_ns(to, entry->channel_latency_ns);
    ath_gpu_session_path_set_bytes_per_s(to, entry->bytes_per_s);
}

/* A row for the calls, one for each path of further connections that carry large copies, and one
 * for each other path. */
static void put_paths(const struct ath_server *server, const struct ath_session_board_entry *entry,
                      struct ath_gpu_session_builder to)
{
    const enum ath_control_transport used = (enum ath_control_transport)(entry->transport - 1);
    const enum ath_control_transport calls =
        used == ATH_CONTROL_TRANSPORT_UDP ? ATH_CONTROL_TRANSPORT_TCP : used;
    uint32_t count = 1, at = 0;
    if (!is_path(used)) /* none yet */
        return;
    for (size_t i = 0; i < ATH_COUNT(paths); i++)
        count += count_by(entry, paths[i]) || (paths[i] != calls && paths[i] != used);
    struct ath_wire_array list = ath_gpu_session_init_paths(to, count);
    put_calls(entry, calls, ath_gpu_session_path_place(list, at++));
    for (size_t i = 0; i < ATH_COUNT(paths); i++)
        if (count_by(entry, paths[i]))
            put_copies(entry, paths[i], ath_gpu_session_path_place(list, at++));
    for (size_t i = 0; i < ATH_COUNT(paths); i++) {
        if (paths[i] == calls || paths[i] == used || count_by(entry, paths[i]))
            continue;
        struct ath_gpu_session_path_builder other = ath_gpu_session_path_place(list, at++);
        ath_gpu_session_path_set_transport(other, ath_control_transport_word(paths[i]));
        ath_gpu_session_path_set_reason(other, reason_of(server, entry, used, paths[i]));
    }
}

static void put_session(const struct ath_server *server,
                        const struct ath_session_board_entry *entry,
                        struct ath_gpu_session_builder to)
{
    ath_gpu_session_set_id(to, entry->id);
    ath_gpu_session_set_purpose(to, (enum ath_gpu_purpose)entry->purpose);
    ath_gpu_session_set_peer(to, entry->peer);
    ath_gpu_session_set_program(to, entry->program);
    ath_gpu_session_set_identity(to, entry->identity);
    ath_gpu_session_set_host(to, entry->host);
    ath_gpu_session_set_process(to, entry->process);
    ath_gpu_session_set_is_encrypted(to, entry->is_encrypted != 0);
    ath_gpu_session_set_age_ms(to, ath_now_ms() - entry->started_ms);
    if (entry->purpose == ATH_GPU_PURPOSE_CUDA)
        put_turn(server, entry->id, ath_gpu_session_init_turn(to));
    put_channels(entry, to);
    put_paths(server, entry, to);
    uint64_t devices = devices_of(entry);
    struct ath_wire_array uses =
        ath_gpu_session_init_devices(to, (uint32_t)__builtin_popcountll(devices));
    for (uint32_t at = 0; devices; devices &= devices - 1, at++) {
        uint32_t device = (uint32_t)__builtin_ctzll(devices);
        struct ath_gpu_device_use_builder use = ath_gpu_device_use_place(uses, at);
        ath_gpu_device_use_set_device(use, device);
        ath_gpu_device_use_set_memory_used_bytes(use, atomic_load(&entry->used_bytes[device]));
        ath_gpu_device_use_set_memory_limit_bytes(use, atomic_load(&entry->limit_bytes[device]));
        ath_gpu_device_use_set_memory_limit_source(use, source_of(entry, device));
        ath_gpu_device_use_set_is_limit_enforced(use, !server->only_counts);
        ath_gpu_device_use_set_processors(use, atomic_load(&entry->processors[device]));
        ath_gpu_device_use_set_processors_total(use, atomic_load(&entry->processors_total[device]));
    }
}

bool ath_control_is_owner(const struct ath_server *server, int fd)
{
    struct ucred peer;
    int domain;
    socklen_t domain_length = sizeof domain, length = sizeof peer;
    return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_length) && domain == AF_UNIX &&
           !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
           (peer.uid == server->owner || peer.uid == 0);
}

/* Returns whether the client may see, limit and end a session: an administrator any, others their
 * own. */
static bool may_reach(const struct ath_server *server, int fd,
                      const struct ath_session_board_entry *entry)
{
    const struct ath_identity *row = ath_identities_find(server->identities, server->identity);
    return !strcmp(entry->identity, server->identity) || (row && row->is_admin) ||
           ath_control_is_owner(server, fd);
}

bool ath_control_find_session(const struct ath_server *server, int fd, uint64_t id,
                              struct ath_session_board_entry *out)
{
    const struct ath_session_board_entry *entry = ath_session_board_find(server->board, id);
    return entry &&
           ath_session_board_read(server->board, ath_session_board_slot_of(server->board, entry),
                                  out) &&
           out->id == id && may_reach(server, fd, out);
}

static int by_id(const void *a, const void *b)
{
    const struct ath_session_board_entry *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

void ath_control_answer_sessions(const struct ath_server *server, int fd,
                                 struct ath_control_message question,
                                 struct ath_control_message_builder answer)
{
    static struct ath_session_board_entry
        entries[ATH_SESSION_BOARD_MAX]; /* of this process, which has one thread */
    uint32_t count = 0;

    (void)question;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        count += ath_session_board_read(server->board, i, &entries[count]) &&
                 entries[count].is_proven && may_reach(server, fd, &entries[count]);
    qsort(entries, count, sizeof *entries, by_id);
    struct ath_wire_array to =
        ath_gpu_session_list_init_sessions(ath_control_message_init_sessions(answer), count);
    for (uint32_t i = 0; i < count; i++)
        put_session(server, &entries[i], ath_gpu_session_place(to, i));
}

/* Leaves out the sessions that the client may not see. */
static void keep_reachable(const struct ath_server *server, int fd, struct ath_figures *figures)
{
    struct ath_session_board_entry entry;
    size_t count = 0;
    for (size_t i = 0; i < figures->session_count; i++)
        if (ath_control_find_session(server, fd, figures->sessions[i].id, &entry))
            figures->sessions[count++] = figures->sessions[i];
        else
            free(figures->sessions[i].transport);
    figures->session_count = count;
}

void ath_control_answer_figures(const struct ath_server *server, int fd,
                                struct ath_control_message question,
                                struct ath_control_message_builder answer)
{
    ATH_AUTO(ath_figures) figures = { 0 };
    (void)question;
    ath_figures_collect(server, &figures);
    keep_reachable(server, fd, &figures);
    ath_figures_put(&figures, ath_control_message_init_figures(answer));
}
