/* Serves a program from the welcome to its last call. */
#include "config.h"

#include "runtime/program_session_state.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "remote/transport/shm.h"
#include "runtime/event_log.h"
#include "runtime/host_limits.h"
#include "runtime/local_session.h"
#include "runtime/local_turns.h"
#include "runtime/lock_in.h"
#include "runtime/server_keys.h"

enum { LOOK_MS = 2000 }; /* how often the watch looks for a TCP peer */

__attribute__((noreturn)) static void calls_over(struct ath_calls *calls, int status)
{
    ath_program_session_end((struct ath_program_session *)calls, status);
}

static void lock_in(struct ath_program_session *program)
{
    struct ath_err err;
    if (ath_lock_in(program->server, program->entry, program->socket.fd, "libcuda.so.1", &err))
        ath_program_session_refuse(program, err.message);
}

/* The program gets the whole text; the log's line is cut. */
static void log_complaint(struct ath_calls *calls, const char *text, size_t length)
{
    const struct ath_program_session *program = (const struct ath_program_session *)calls;
    ath_auto_free char *copy = ath_xasprintf("%.*s", (int)length, text);
    ath_event_log(ATH_EVENT_WARNING, "driver-message", "peer", program->entry->peer, "text", copy,
                  NULL);
}

/* ---- the transport ---- */

static void *find_shared(struct ath_cuda_shared *shared, uint64_t id, size_t *out_bytes)
{
    struct ath_program_session *program =
        (struct ath_program_session *)((char *)shared -
                                       offsetof(struct ath_program_session, shared));
    return ath_shm_find(program->stream, id, out_bytes);
}

static bool is_unix(int fd)
{
    struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
    socklen_t length = sizeof address;
    return !getsockname(fd, (struct sockaddr *)&address, &length) && address.ss_family == AF_UNIX;
}

static void log_lost(void *context, size_t slot)
{
    const struct ath_program_session *program = context;
    char number[24];
    snprintf(number, sizeof number, "%zu", slot + 1);
    ath_event_log(ATH_EVENT_DEBUG, "connection-lost", "peer", program->entry->peer, "number",
                  number, NULL);
}

static void make_tcp(struct ath_program_session *program, uint32_t announced)
{
    struct ath_program_stripes *stripes = &program->stripes;
    struct ath_fd_passing *fd_passing = program->server->fd_passing;

    program->stream = ath_tcp_stream(program->socket);
    if (!program->stream)
        ath_program_session_refuse(program, "out of memory");
    program->wanted = (struct ath_program_stripes_wanted){
        .announced = announced,
        .ticket = &program->ticket,
        .is_encrypted = program->socket.tls,
        .must_not_leak =
            ath_server_wants_key(program->server) && program->server->encrypt == ATH_ENCRYPT_AUTO,
        .peer = program->entry->peer,
    };
    if (fd_passing && announced && announced < ATH_STRIPES_MAX)
        ath_program_stripes_take(stripes, fd_passing, &program->wanted);
    if (fd_passing && stripes->way != ATH_STRIPES_PIECES)
        ath_fd_passing_close(fd_passing);
    int status = program->socket.tls ? ath_program_stripes_begin_tls(stripes, &program->ticket) : 0;
    if (status)
        ath_program_session_end(program, status);
}

void ath_program_session_spread(struct ath_program_session *program)
{
    struct ath_program_stripes *stripes = &program->stripes;
    if (program->transport == ATH_CONTROL_TRANSPORT_SHM)
        return;
    int status =
        ath_tcp_add_stripes(program->stream, stripes->way, stripes->sockets, stripes->count);
    if (status)
        ath_program_session_refuse(program, "out of memory");
    struct ath_channels *channels = ath_tcp_channels(program->stream);
    if (channels)
        ath_channels_watch(channels,
                           &(struct ath_channels_watcher){ .lost = log_lost, .context = program });
}

static void make_stream(struct ath_program_session *program, uint32_t announced, int *out_memory)
{
    const bool is_udp = program->transport == ATH_CONTROL_TRANSPORT_UDP;
    if (is_udp && !program->server->udp_port && !program->server->has_data_udp)
        ath_program_session_refuse(program, "this server takes no UDP");
    if (is_udp || program->transport == ATH_CONTROL_TRANSPORT_TCP) {
        make_tcp(program, announced);
        return;
    }
    if (program->transport != ATH_CONTROL_TRANSPORT_SHM || program->is_net_test)
        ath_program_session_refuse(program, "this transport is not served by this version");
    if (!is_unix(program->socket.fd))
        ath_program_session_refuse(program, "shared memory needs the unix socket");
    int status = ath_shm_make(program->socket.fd, out_memory, &program->stream);
    if (status)
        ath_program_session_refuse(program, strerror(-status));
    program->shared.find = find_shared;
    program->session.shared = &program->shared;
}

/* ---- watching the client ---- */

/* Looks after the connections of large frames: channels look after themselves. */
static int look_after_stripes(struct ath_program_session *program, bool has_come)
{
    struct ath_channels *channels =
        program->transport != ATH_CONTROL_TRANSPORT_SHM ? ath_tcp_channels(program->stream) : NULL;
    if (!channels)
        return ath_program_stripes_look(&program->stripes);
    if (has_come)
        ath_program_stripes_take_again(&program->stripes, program->server->fd_passing,
                                       &program->wanted, channels);
    return 0;
}

static void note_address(const char *text, char out[ATH_SESSION_BOARD_ADDRESS])
{
    const char *shown = ath_starts_with(text, "unix:") ? "" : text; /* the carrier's, with UDP */
    snprintf(out, ATH_SESSION_BOARD_ADDRESS, "%.*s", ATH_SESSION_BOARD_ADDRESS - 1, shown);
}

/* Notes on the board what the paths cost. */
static void note_costs(struct ath_program_session *program, int64_t channel_latency_ns)
{
    struct ath_session_board_entry *entry = program->entry;
    const uint64_t bytes_per_s = program->stream->cost.bytes_per_s;
    atomic_store(&entry->latency_ns, ath_tcp_latency_ns(program->socket.fd));
    atomic_store(&entry->channel_latency_ns, channel_latency_ns);
    atomic_store(&entry->bytes_per_s, bytes_per_s ? (int64_t)bytes_per_s : -1);
    atomic_store(&entry->has_pieces, program->stripes.way == ATH_STRIPES_PIECES);
}

static void note_datagrams(const struct ath_stripe_state *state,
                           struct ath_session_board_channel *channel)
{
    atomic_store(&channel->is_udp, state->is_udp);
#define X(name)                                                                                    \
    atomic_store(&channel->datagrams_##name, state->is_udp ? (int64_t)state->datagrams.name : -1);
    ATH_UDP_CHANNEL_COUNTS(X)
#undef X
}

/* Notes on the board what the connections for large copies have carried. A lost one keeps its
 * addresses. */
static void note_channels(struct ath_program_session *program)
{
    struct ath_stripe_state state;
    int64_t latency_ns = -1;
    uint32_t count = 0;
    while (count < program->stripes.count && ath_tcp_stripe_state(program->stream, count, &state)) {
        struct ath_session_board_channel *channel = &program->entry->channels[count++];
        if (!state.is_lost) {
            note_address(state.local, channel->local);
            note_address(state.peer, channel->peer);
            note_datagrams(&state, channel);
        }
        atomic_store(&channel->is_lost, state.is_lost);
        atomic_store(&channel->sent_bytes, (int64_t)state.sent_bytes);
        atomic_store(&channel->received_bytes, (int64_t)state.received_bytes);
        atomic_store(&channel->sent_again, state.sent_again);
        if (state.latency_ns >= 0 && (latency_ns < 0 || state.latency_ns < latency_ns))
            latency_ns = state.latency_ns;
    }
    atomic_store(&program->entry->channel_count, count);
    note_costs(program, latency_ns);
}

/* Watches for the client's end: the threads of calls may all be waiting for the GPU then. */
static void *watch(void *argument)
{
    struct ath_program_session *program = argument;
    bool is_shm = program->transport == ATH_CONTROL_TRANSPORT_SHM;
    /* A TCP peer that closes the connection hangs up one direction; a reset hangs up both
     * (tcp_poll() in the kernel). A unix socket always hangs up both. */
    short cut_off = (short)(POLLERR | POLLNVAL | (is_unix(program->socket.fd) ? 0 : POLLHUP));
    const struct ath_fd_passing *passing = is_shm ? NULL : program->server->fd_passing;
    struct pollfd both[] = { { .fd = program->socket.fd, .events = POLLRDHUP },
                             { .fd = passing ? passing->inner : -1, .events = POLLIN } };
    struct pollfd *one = &both[0], *other = &both[1];
    if (is_shm)
        one->events |= POLLIN;
    for (;;) {
        note_channels(program);
        int ready = poll(both, ATH_COUNT(both), is_shm ? -1 : LOOK_MS);
        int status = 0;
        if (ready > 0 && one->revents & cut_off)
            status = -ECONNRESET;
        else if (ready > 0 && one->revents & (POLLHUP | POLLRDHUP))
            status = -ENODATA;
        else if (ready > 0 && one->revents)
            status = ath_shm_serve_share(program->stream);
        else if (ath_tcp_is_dead(program->socket.fd))
            status = -ETIMEDOUT;
        else
            status = look_after_stripes(program, other->revents & POLLIN);
        if (other->revents & ~POLLIN) /* the listening process is gone */
            other->fd = -1;
        if (status)
            ath_program_session_end(program, status);
    }
}

void ath_program_session_begin_watch(struct ath_program_session *program)
{
    pthread_t watcher;
    if (pthread_create(&watcher, NULL, watch, program))
        ath_program_session_end(program, -EAGAIN);
}

/* A bit for each device that the program may use. */
static uint64_t device_bits(const struct ath_program_session *program)
{
    uint64_t devices = 0;
    for (size_t i = 0; i < program->device_count; i++)
        devices |= UINT64_C(1) << program->devices[i];
    return devices;
}

static void make_turns(struct ath_program_session *program, struct ath_local_turns *out)
{
    int status = ath_local_turns_begin(program->server, program->entry, device_bits(program), out);
    if (status)
        ath_program_session_refuse(program, strerror(-status));
}

static void give_turns(struct ath_program_session *program, const struct ath_local_turns *turns)
{
    const int fds[] = { turns->memory, turns->read_fd, turns->write_fd };
    for (size_t i = 0; i < ATH_COUNT(fds); i++) {
        int status = ath_shm_send(program->socket.fd, "", 1, fds[i]);
        if (status)
            ath_program_session_end(program, status);
        close(fds[i]);
    }
}

/* Serves a program that has the GPUs in its own process. */
__attribute__((noreturn)) static void serve_local(struct ath_program_session *program,
                                                  struct ath_control_open_channel question)
{
    struct ath_local_turns turns;
    if (!is_unix(program->socket.fd))
        ath_program_session_refuse(program, "a program with its own GPU needs the unix socket");
    if (program->server->fd_passing)
        ath_fd_passing_close(program->server->fd_passing);
    atomic_store(&program->entry->transport, 1 + (int)program->transport);
    if (program->server->turns_fd >= 0)
        make_turns(program, &turns);
    ath_program_session_log_open(program, question);
    ath_program_session_answer(program, -1);
    if (program->server->turns_fd >= 0)
        give_turns(program, &turns);
    program->is_open = true;
    ath_program_session_end(
        program, ath_local_session_serve(program->socket, program->server, device_bits(program)));
}

void ath_program_session_serve(struct ath_socket socket, const struct ath_server *server,
                               struct ath_session_board_entry *entry,
                               const struct ath_ticket *ticket)
{
    static struct ath_program_session
        program; /* outlives every thread: the process has one session */
    struct ath_control_open_channel question;
    ath_auto_close int memory = -1;

    program = (struct ath_program_session){ .socket = socket,
                                            .server = server,
                                            .entry = entry,
                                            .ticket = *ticket,
                                            .answer.max_bytes = ATH_CONTROL_ANSWER_FRAME_BYTES,
                                            .end_lock = PTHREAD_MUTEX_INITIALIZER };
    ath_host_limits_apply(server, entry);
    lock_in(&program);
    ath_program_session_read_request(&program, &question);
    ath_program_session_take_request(&program, question);
    if (program.transport == ATH_CONTROL_TRANSPORT_LOCAL && !program.is_net_test)
        serve_local(&program, question);
    if (!program.is_net_test)
        ath_program_session_load_driver(&program);
    make_stream(&program, ath_control_open_channel_stripes(question), &memory);
    if (!program.is_net_test)
        ath_program_session_spread(&program);
    atomic_store(&entry->transport, 1 + (int)program.transport);
    ath_program_session_log_open(&program, question);
    ath_program_session_answer(&program, memory);
    int status = socket.tls ? ath_program_stripes_finish_tls(
                                  &program.stripes, ath_now_ms() + (uint64_t)server->handshake_ms)
                            : 0;
    if (status)
        ath_program_session_end(&program, status);
    program.is_open = true;
    if (program.is_net_test)
        ath_program_session_serve_net_test(&program);
    program.calls.stream = program.stream;
    program.calls.session = &program.session;
    program.calls.counts = &entry->counts;
    program.calls.over = calls_over;
    program.calls.complained = log_complaint;
    ath_program_session_begin_watch(&program);
    ath_calls_serve(&program.calls);
}
