/* Serves a program from the welcome to its last call. */
#include "config.h"

#include "runtime/program_session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/time_claim.h"
#include "base/unknown.h"
#include "cuda/server/call_threads.h"
#include "cuda/server/kernel_output.h"
#include "cuda/turns/gate.h"
#include "proto/control.h"
#include "remote/session/visible_devices.h"
#include "remote/switches.h"
#include "remote/transport/shm.h"
#include "remote/wire/endpoint.h"
#include "runtime/board_books.h"
#include "runtime/driver_library.h"
#include "runtime/event_log.h"
#include "runtime/host_limits.h"
#include "runtime/local_session.h"
#include "runtime/local_turns.h"
#include "runtime/lock_in.h"
#include "runtime/memory_limits.h"
#include "runtime/part/part.h"
#include "runtime/program_stripes.h"
#include "runtime/quota/ledger.h"
#include "runtime/quota/quota.h"
#include "runtime/server_keys.h"

enum { LOOK_MS = 2000 }; /* how often the watch looks for a TCP peer */

/* Variables of the program that the driver must see. None of them names a file of the server. */
static const char *const taken_over[] = {
    "CUDA_LAUNCH_BLOCKING",     "CUDA_MODULE_LOADING",
    "CUDA_MODULE_DATA_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_FORCE_PTX_JIT",       "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_JIT",           "CUDA_DISABLE_JIT",
    "CUDA_AUTO_BOOST",          "CUDA_SCALE_LAUNCH_QUEUES",
};

struct program_session {
    struct ath_calls calls; /* first */
    struct ath_cuda_shared shared;
    struct ath_socket socket;
    const struct ath_server *server;
    struct ath_session_board_entry *entry;
    struct ath_ticket ticket;
    enum ath_control_transport transport;
    int sm_percent; /* of each GPU's multiprocessors, that the program gets; 0: all */
    struct ath_program_stripes stripes;
    struct ath_frame question;
    struct ath_wire_builder answer;
    size_t devices[ATH_DEVICES_MAX];
    size_t device_count;
    struct ath_cuda_driver driver, ungated;
    struct ath_cuda_session session;
    struct ath_stream *stream;
    bool is_open;             /* the client has the answer to openChannel */
    pthread_mutex_t end_lock; /* taken once, by the thread that ends the process */
};

/* ---- the end ---- */

static const char *reason_of(int status, bool is_open)
{
    switch (status) {
    case -EBADMSG:
        return "no call of this version";
    case -EPROTO:
        return "its bytes were changed on the way";
    case -EMSGSIZE:
        return "a call too large";
    case -ETIMEDOUT:
        return is_open ? "its host does not answer" : "it was silent for too long";
    case -ECONNRESET:
        return "it went away";
    default:
        return strerror(-status);
    }
}

/* Ends the process. Any thread; the first one logs its reason. */
__attribute__((noreturn)) static void end(struct program_session *program, int status)
{
    bool is_done = status == -ENODATA;
    pthread_mutex_lock(&program->end_lock);
    ath_auto_free char *calls =
        ath_xasprintf("%llu", (unsigned long long)atomic_load(&program->entry->counts.calls));
    /* The call had no answer, so only the log can tell which call failed. */
    const char *failed = program->session.failed;
    ath_auto_free char *error =
        failed ? ath_xasprintf("%d", (int)program->session.failed_status) : NULL;
    if (!is_done)
        atomic_fetch_add(&program->entry->broken, 1);
    ath_event_log(is_done ? ATH_EVENT_INFO : ATH_EVENT_WARNING,
                  is_done ? "session-closed" : "session-broken", "peer", program->entry->peer,
                  "identity", *program->server->identity ? program->server->identity : NULL,
                  "during",
                  is_done            ? NULL
                  : program->is_open ? "calls"
                                     : "opening the channel",
                  "reason", is_done ? NULL : reason_of(status, program->is_open), "calls", calls,
                  "failed", failed, "error", error, NULL);
    _exit(0);
}

__attribute__((noreturn)) static void calls_over(struct ath_calls *calls, int status)
{
    end((struct program_session *)calls, status);
}

/* Refuses the program's request with a reason, and ends. */
__attribute__((noreturn)) static void refuse_and_end(struct program_session *program,
                                                     const char *reason)
{
    struct ath_common_failure_builder failure =
        ath_control_message_init_failure(ath_control_message_start(&program->answer));
    size_t length;
    int status;
    struct ath_err err;

    ath_common_failure_set_code(failure, ATH_COMMON_FAILURE_CODE_INTERNAL);
    ath_common_failure_set_message(failure, reason);
    ath_event_log(ATH_EVENT_ERROR, "session-failed", "peer", program->entry->peer, "reason", reason,
                  NULL);
    const uint8_t *bytes = ath_wire_finish(&program->answer, &length, &status);
    if (bytes)
        (void)ath_frame_send(program->socket, bytes, length,
                             ath_now_ms() + (uint64_t)program->server->answer_ms, &err);
    _exit(0);
}

static void lock_in(struct program_session *program)
{
    struct ath_err err;
    if (ath_lock_in(program->server, program->entry, program->socket.fd, "libcuda.so.1", &err))
        refuse_and_end(program, err.message);
}

/* ---- the program's request ---- */

static void read_question(struct program_session *program, struct ath_control_open_channel *out)
{
    struct ath_control_message message;
    struct ath_err err;
    int status = ath_frame_receive(program->socket, ATH_CONTROL_ANSWER_FRAME_BYTES,
                                   ath_now_ms() + (uint64_t)program->server->handshake_ms,
                                   &program->question, &err);
    if (status)
        end(program, status);
    if (ath_control_message_open(ath_frame_message(&program->question),
                                 ath_frame_message_length(&program->question), &message) ||
        ath_control_message_which(message) != ATH_CONTROL_MESSAGE_OPEN_CHANNEL)
        end(program, -EBADMSG);
    *out = ath_control_message_open_channel(message);
}

/* The value of a variable of the program; NULL if it is not set. */
static const char *variable(struct ath_control_open_channel question, const char *name)
{
    struct ath_wire_list list = ath_control_open_channel_environment(question);
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_control_variable one = ath_control_variable_item(list, i);
        if (!strcmp(ath_control_variable_name(one), name))
            return ath_control_variable_value(one);
    }
    return NULL;
}

/* Chooses among the devices that the identity may use; their numbers begin at 0, as if there were
 * no others. */
static size_t choose_devices(const struct ath_server *server, const char *wanted, bool by_pci,
                             size_t out[ATH_DEVICES_MAX])
{
    static struct ath_devices allowed; /* of this process, which has one thread now */
    const struct ath_identity *row = ath_identities_find(server->identities, server->identity);
    size_t numbers[ATH_DEVICES_MAX];
    allowed.count = 0;
    for (size_t i = 0; i < server->devices.count; i++) {
        if (!ath_identity_has_gpu(row, server->devices.items[i].pci))
            continue;
        numbers[allowed.count] = i;
        allowed.items[allowed.count++] = server->devices.items[i];
    }
    size_t count = ath_visible_devices(&allowed, wanted, by_pci, out);
    for (size_t i = 0; i < count; i++)
        out[i] = numbers[out[i]];
    return count;
}

/* Whether the server has GPUs that the identity may not use. */
static bool has_other_gpus(const struct ath_server *server)
{
    const struct ath_identity *row = ath_identities_find(server->identities, server->identity);
    bool has_others = false;
    for (size_t i = 0; i < server->devices.count; i++)
        has_others = has_others || !ath_identity_has_gpu(row, server->devices.items[i].pci);
    return has_others;
}

static void take_program_environment(struct program_session *program,
                                     struct ath_control_open_channel question)
{
    const char *order = variable(question, "CUDA_DEVICE_ORDER");
    uint32_t off;
    if (!ath_switches_read(variable(question, "AITHERION_DISABLE"), &off, NULL))
        ath_switches_off = off;
    program->device_count =
        choose_devices(program->server, variable(question, "CUDA_VISIBLE_DEVICES"),
                       order && !strcmp(order, "PCI_BUS_ID"), program->devices);
    ath_auto_free char *visible =
        ath_visible_value(&program->server->devices, program->devices, program->device_count);
    if (visible)
        setenv("CUDA_VISIBLE_DEVICES", visible, true);
    else if (has_other_gpus(program->server))
        refuse_and_end(program, "a GPU has no UUID, by which the GPUs of others could be hidden");
    for (size_t i = 0; i < ATH_COUNT(taken_over); i++) {
        const char *value = variable(question, taken_over[i]);
        if (value)
            setenv(taken_over[i], value, true);
    }
}

/* Logs the most that the program may have of a GPU, and all programs together. */
static void log_limit(const struct program_session *program, size_t device)
{
    char number[24], own[24], all[24];
    int64_t own_bytes = atomic_load(&program->entry->limit_bytes[device]);
    int64_t all_bytes = ath_memory_limits_all(program->server, device);
    snprintf(number, sizeof number, "%zu", device);
    snprintf(own, sizeof own, "%" PRId64, own_bytes);
    snprintf(all, sizeof all, "%" PRId64, all_bytes);
    ath_event_log(ATH_EVENT_DEBUG, "limit", "peer", program->entry->peer, "device", number, "pci",
                  program->server->devices.items[device].pci, "session_bytes",
                  own_bytes >= 0 ? own : "none", "all_bytes",
                  all_bytes == ATH_UNKNOWN ? "none" : all, NULL);
}

/* Sets the program's limit before the driver is loaded, so that it holds from the first allocation
 * on. */
static void take_memory_limit(const struct program_session *program,
                              struct ath_control_open_channel question)
{
    const struct ath_memory_limit asked = {
        .bytes = ath_control_open_channel_memory_limit_bytes(question),
        .fraction = ath_control_open_channel_memory_limit_fraction(question)
    };
    ath_memory_limits_begin(program->server, program->entry, program->devices,
                            program->device_count, &asked);
    for (size_t i = 0; i < program->device_count; i++)
        log_limit(program, program->devices[i]);
}

/* Notes for the arbiter what the program asks for of the GPUs' time. A client may say anything. */
static void take_time_claim(struct ath_session_board_entry *entry,
                            struct ath_control_open_channel question)
{
    struct ath_gpu_claim claim = ath_control_open_channel_claim(question);
    uint32_t percent = ath_gpu_claim_share_percent(claim);
    int priority = (int)ath_gpu_claim_priority(claim);

    if (percent > ATH_SHARE_PERCENT_MAX)
        percent = ATH_SHARE_PERCENT_MAX;
    atomic_store(&entry->asked_share, (int)percent);
    atomic_store(&entry->asked_cap, percent && ath_gpu_claim_is_capped(claim));
    atomic_store(&entry->asked_priority,
                 ath_time_priority_word(priority) ? priority : ATH_GPU_PRIORITY_UNSET);
}

/* The row of the program's identity bounds the part. */
static int part_of(const struct ath_server *server, struct ath_control_open_channel question)
{
    const struct ath_identity *row = ath_identities_find(server->identities, server->identity);
    uint32_t percent = ath_gpu_claim_sm_percent(ath_control_open_channel_claim(question));
    struct ath_time_claim asked = { .sm_percent = percent <= ATH_SHARE_PERCENT_MAX
                                                      ? (int)percent
                                                      : ATH_SHARE_PERCENT_MAX };
    if (row)
        ath_time_claim_bound(&asked, &row->time);
    return asked.sm_percent;
}

/* ---- the driver ---- */

/* The program gets the whole text; the log's line is cut. */
static void log_complaint(struct ath_calls *calls, const char *text, size_t length)
{
    const struct program_session *program = (const struct program_session *)calls;
    ath_auto_free char *copy = ath_xasprintf("%.*s", (int)length, text);
    ath_event_log(ATH_EVENT_WARNING, "driver-message", "peer", program->entry->peer, "text", copy,
                  NULL);
}

static void log_free_passing(void *argument)
{
    const struct program_session *program = argument;
    ath_event_log(ATH_EVENT_WARNING, "turns-silent", "peer", program->entry->peer, "reason",
                  "the arbiter does not answer", NULL);
}

/* Lets calls that occupy a GPU wait for the session's turn. A client that goes away meanwhile is
 * the watch's concern, which ends the process. */
static void begin_turns(struct program_session *program)
{
    const struct ath_server *server = program->server;
    struct ath_session_board *board = server->board;
    const struct ath_turn_gate_setup setup = {
        .wish = &program->entry->turn,
        .grant = &board->turns.grants[ath_session_board_slot_of(board, program->entry)],
        .beat_ms = &board->turns.beat_ms,
        .pipe_fd = server->turns_fd,
        .session = atomic_load(&program->entry->id),
        .devices = program->devices,
        .device_count = program->device_count,
        .passes_freely = log_free_passing,
        .context = program,
    };
    if (server->turns_fd >= 0)
        ath_turn_gate_begin(&setup, &program->driver);
}

/* The program's user reads it on the program's standard error, and the log has it, too. */
static void say_part(const char *text)
{
    ath_event_log(ATH_EVENT_WARNING, "part-refused", "reason", text, NULL);
    fprintf(stderr, "aitherion: %s\n", text);
    fflush(stderr);
}

static void tell_part(const char *text)
{
    ath_event_log(ATH_EVENT_INFO, "part-given", "text", text, NULL);
}

/* Leaves the program a part of each GPU's multiprocessors. */
static void begin_part(struct program_session *program)
{
    const struct ath_part_setup setup = { .percent = program->sm_percent,
                                          .devices = program->devices,
                                          .device_count = program->device_count,
                                          .books = ath_board_books(program->server),
                                          .say = say_part,
                                          .tell = tell_part };
    const char *lacking = program->sm_percent ? ath_part_lacks(&program->driver) : NULL;
    if (lacking)
        refuse_and_end(program,
                       "a part of the multiprocessors (--sm-share) needs a driver for CUDA "
                       "12.4 or newer, which the server does not have");
    ath_part_begin(&setup, &program->driver);
}

static void load_driver(struct program_session *program)
{
    static const struct ath_cuda_books books = { .exported = ath_quota_exported,
                                                 .forgotten = ath_ledger_drop_share,
                                                 .imported = ath_quota_imported };
    void *library;
    struct ath_err err;
    int log_fd;
    int status = ath_kernel_output_catch(&log_fd);
    if (!status)
        ath_event_log_to(log_fd);
    else
        ath_event_log(ATH_EVENT_WARNING, "output-not-caught", "peer", program->entry->peer,
                      "reason", strerror(-status), NULL);
    if (ath_driver_library_open(program->server->is_simulated, "libcuda.so.1", &library, &err))
        refuse_and_end(program, err.message);
    ath_cuda_driver_load(library, &program->driver);
    ath_cuda_session_init(&program->session, &program->driver);
    begin_part(program); /* first, so that nothing passes beside it */
    program->ungated = program->driver;
    program->session.ungated = &program->ungated;
    begin_turns(program); /* before the quota's functions, so that nothing passes beside the gate */
    ath_quota_set_devices(ath_board_books(program->server), program->devices,
                          program->device_count);
    program->session.uncounted = ath_quota_wrap(&program->session.captures.count, &program->driver);
    program->session.books = &books;
    ath_part_show(&program->driver);
    ath_event_log(ATH_EVENT_DEBUG, "driver-loaded", "peer", program->entry->peer, "simulated",
                  program->server->is_simulated ? "true" : "false", NULL);
}

/* ---- the transport ---- */

static void *find_shared(struct ath_cuda_shared *shared, uint64_t id, size_t *out_bytes)
{
    struct program_session *program =
        (struct program_session *)((char *)shared - offsetof(struct program_session, shared));
    return ath_shm_find(program->stream, id, out_bytes);
}

static bool is_unix(int fd)
{
    struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
    socklen_t length = sizeof address;
    return !getsockname(fd, (struct sockaddr *)&address, &length) && address.ss_family == AF_UNIX;
}

static void make_tcp(struct program_session *program, uint32_t announced)
{
    struct ath_program_stripes *stripes = &program->stripes;
    struct ath_fd_passing *fd_passing = program->server->fd_passing;

    program->stream = ath_tcp_stream(program->socket);
    if (!program->stream)
        refuse_and_end(program, "out of memory");
    const struct ath_program_stripes_wanted wanted = {
        .announced = announced,
        .ticket = &program->ticket,
        .is_encrypted = program->socket.tls,
        .must_not_leak =
            ath_server_wants_key(program->server) && program->server->encrypt == ATH_ENCRYPT_AUTO,
        .peer = program->entry->peer,
    };
    if (fd_passing && announced && announced < ATH_STRIPES_MAX)
        ath_program_stripes_take(stripes, fd_passing, &wanted);
    if (fd_passing)
        ath_fd_passing_close(fd_passing);
    int status = program->socket.tls ? ath_program_stripes_begin_tls(stripes, &program->ticket) : 0;
    if (status)
        end(program, status);
    if (ath_tcp_add_stripes(program->stream, stripes->way, stripes->sockets, stripes->count))
        refuse_and_end(program, "out of memory");
}

static void make_stream(struct program_session *program, uint32_t announced, int *out_memory)
{
    const bool is_udp = program->transport == ATH_CONTROL_TRANSPORT_UDP;
    if (is_udp && !program->server->udp_port)
        refuse_and_end(program, "this server takes no UDP");
    if (is_udp || program->transport == ATH_CONTROL_TRANSPORT_TCP) {
        make_tcp(program, announced);
        return;
    }
    if (program->transport != ATH_CONTROL_TRANSPORT_SHM)
        refuse_and_end(program, "this transport is not served by this version");
    if (!is_unix(program->socket.fd))
        refuse_and_end(program, "shared memory needs the unix socket");
    int status = ath_shm_make(program->socket.fd, out_memory, &program->stream);
    if (status)
        refuse_and_end(program, strerror(-status));
    program->shared.find = find_shared;
    program->session.shared = &program->shared;
}

/* Every program asks for the version first, and may do so before cuInit(). */
static uint32_t driver_version(const struct ath_cuda_driver *driver)
{
    int version;
    return driver->cuDriverGetVersion && !driver->cuDriverGetVersion(&version) && version > 0
               ? (uint32_t)version
               : 0;
}

static void put_driver_fingerprint(const struct program_session *program,
                                   struct ath_control_channel_builder to)
{
    const struct ath_cuda_driver *driver = &program->driver;
    struct ath_fingerprint_value print;
    if (ath_driver_library_fingerprint((const void *)(uintptr_t)driver->cuInit,
                                       driver_version(driver), &print))
        ath_control_channel_set_driver_fingerprint(
            to, (struct ath_wire_bytes){ (const uint8_t *)&print, sizeof print });
}

/* The devices for the program's own driver, as take_program_environment() chose them. */
static void put_devices(const struct program_session *program,
                        struct ath_control_channel_builder to)
{
    ath_auto_free char *visible =
        ath_visible_value(&program->server->devices, program->devices, program->device_count);
    struct ath_wire_array numbers =
        ath_control_channel_init_device_numbers(to, (uint32_t)program->device_count);
    for (uint32_t i = 0; i < numbers.count; i++)
        ath_wire_array_set_bits(numbers, i, program->devices[i]);
    if (visible)
        ath_control_channel_set_visible_devices(to, visible);
    ath_control_channel_set_only_counts(to, program->server->only_counts);
    ath_control_channel_set_has_turns(to, program->server->turns_fd >= 0);
    ath_control_channel_set_sm_percent(to, (uint32_t)program->sm_percent);
}

static void say_open(struct program_session *program, int memory)
{
    struct ath_control_channel_builder answer =
        ath_control_message_init_channel(ath_control_message_start(&program->answer));
    size_t length;
    int status;
    struct ath_err err;

    ath_control_channel_set_transport(answer, program->transport);
    ath_control_channel_set_devices(answer, (uint32_t)program->device_count);
    ath_control_channel_set_stripes(answer, (uint32_t)program->stripes.count);
    ath_control_channel_set_has_pieces(answer, program->stripes.way == ATH_STRIPES_PIECES);
    ath_control_channel_set_driver_version(answer, driver_version(&program->driver));
    ath_control_channel_set_is_simulated(answer, program->server->is_simulated);
    if (program->transport == ATH_CONTROL_TRANSPORT_LOCAL)
        put_devices(program, answer);
    else
        put_driver_fingerprint(program, answer);
    const uint8_t *bytes = ath_wire_finish(&program->answer, &length, &status);
    if (bytes)
        status = ath_frame_send(program->socket, bytes, length,
                                ath_now_ms() + (uint64_t)program->server->answer_ms, &err);
    if (!status && memory >= 0)
        status = ath_shm_send(program->socket.fd, "", 1, memory);
    if (status)
        end(program, status);
}

static void log_open(const struct program_session *program,
                     struct ath_control_open_channel question)
{
    const char *name = ath_control_open_channel_program(question);
    ath_auto_free char *devices = ath_xasprintf("%zu", program->device_count);
    ath_auto_free char *connections = ath_xasprintf("%zu", 1 + program->stripes.count);
    ath_auto_free char *id =
        ath_xasprintf("%llu", (unsigned long long)atomic_load(&program->entry->id));
    ath_auto_free char *process = ath_xasprintf("%u", program->entry->process);
    ath_event_log(ATH_EVENT_INFO, "session-opened", "peer", program->entry->peer, "identity",
                  *program->server->identity ? program->server->identity : NULL, "host",
                  *program->entry->host ? program->entry->host : NULL, "process",
                  program->entry->process ? process : NULL, "session", id, "connections",
                  connections, "transport", ath_control_transport_word(program->transport),
                  "encrypted", program->socket.tls ? "yes" : "no", "devices", devices, "program",
                  *name ? name : NULL, "disabled",
                  ath_switches_off ? variable(question, "AITHERION_DISABLE") : NULL, NULL);
}

/* ---- watching the client ---- */

/* Watches for the client's end: the threads of calls may all be waiting for the GPU then. */
static void *watch(void *argument)
{
    struct program_session *program = argument;
    bool is_shm = program->transport == ATH_CONTROL_TRANSPORT_SHM;
    /* A TCP peer that closes the connection hangs up one direction; a reset hangs up both
     * (tcp_poll() in the kernel). A unix socket always hangs up both. */
    short cut_off = (short)(POLLERR | POLLNVAL | (is_unix(program->socket.fd) ? 0 : POLLHUP));
    struct pollfd one = { .fd = program->socket.fd, .events = POLLRDHUP };
    if (is_shm)
        one.events |= POLLIN;
    for (;;) {
        int ready = poll(&one, 1, is_shm ? -1 : LOOK_MS);
        int status = 0;
        if (ready > 0 && one.revents & cut_off)
            status = -ECONNRESET;
        else if (ready > 0 && one.revents & (POLLHUP | POLLRDHUP))
            status = -ENODATA;
        else if (ready > 0)
            status = ath_shm_serve_share(program->stream);
        else if (ath_tcp_is_dead(program->socket.fd))
            status = -ETIMEDOUT;
        else
            status = ath_program_stripes_look(&program->stripes);
        if (status)
            end(program, status);
    }
}

/* A bit for each device that the program may use. */
static uint64_t device_bits(const struct program_session *program)
{
    uint64_t devices = 0;
    for (size_t i = 0; i < program->device_count; i++)
        devices |= UINT64_C(1) << program->devices[i];
    return devices;
}

static void make_turns(struct program_session *program, struct ath_local_turns *out)
{
    int status = ath_local_turns_begin(program->server, program->entry, device_bits(program), out);
    if (status)
        refuse_and_end(program, strerror(-status));
}

static void give_turns(struct program_session *program, const struct ath_local_turns *turns)
{
    const int fds[] = { turns->memory, turns->read_fd, turns->write_fd };
    for (size_t i = 0; i < ATH_COUNT(fds); i++) {
        int status = ath_shm_send(program->socket.fd, "", 1, fds[i]);
        if (status)
            end(program, status);
        close(fds[i]);
    }
}

/* Serves a program that has the GPUs in its own process. */
__attribute__((noreturn)) static void serve_local(struct program_session *program,
                                                  struct ath_control_open_channel question)
{
    struct ath_local_turns turns;
    if (!is_unix(program->socket.fd))
        refuse_and_end(program, "a program with its own GPU needs the unix socket");
    if (program->server->fd_passing)
        ath_fd_passing_close(program->server->fd_passing);
    atomic_store(&program->entry->transport, 1 + (int)program->transport);
    if (program->server->turns_fd >= 0)
        make_turns(program, &turns);
    log_open(program, question);
    say_open(program, -1);
    if (program->server->turns_fd >= 0)
        give_turns(program, &turns);
    program->is_open = true;
    end(program, ath_local_session_serve(program->socket, program->server, device_bits(program)));
}

void ath_program_session_serve(struct ath_socket socket, const struct ath_server *server,
                               struct ath_session_board_entry *entry,
                               const struct ath_ticket *ticket)
{
    static struct program_session program; /* outlives every thread: the process has one session */
    struct ath_control_open_channel question;
    ath_auto_close int memory = -1;
    pthread_t watcher;

    program = (struct program_session){ .socket = socket,
                                        .server = server,
                                        .entry = entry,
                                        .ticket = *ticket,
                                        .answer.max_bytes = ATH_CONTROL_ANSWER_FRAME_BYTES,
                                        .end_lock = PTHREAD_MUTEX_INITIALIZER };
    ath_host_limits_apply(server, entry);
    lock_in(&program);
    read_question(&program, &question);
    program.transport = ath_control_open_channel_transport(question);
    snprintf(entry->program, sizeof entry->program, "%s",
             ath_control_open_channel_program(question));
    take_program_environment(&program, question);
    take_memory_limit(&program, question);
    take_time_claim(entry, question);
    program.sm_percent = part_of(server, question);
    if (program.transport == ATH_CONTROL_TRANSPORT_LOCAL)
        serve_local(&program, question);
    load_driver(&program);
    make_stream(&program, ath_control_open_channel_stripes(question), &memory);
    atomic_store(&entry->transport, 1 + (int)program.transport);
    log_open(&program, question);
    say_open(&program, memory);
    int status = socket.tls ? ath_program_stripes_finish_tls(
                                  &program.stripes, ath_now_ms() + (uint64_t)server->handshake_ms)
                            : 0;
    if (status)
        end(&program, status);
    program.is_open = true;
    program.calls.stream = program.stream;
    program.calls.session = &program.session;
    program.calls.counts = &entry->counts;
    program.calls.over = calls_over;
    program.calls.complained = log_complaint;
    if (pthread_create(&watcher, NULL, watch, &program))
        end(&program, -EAGAIN);
    ath_calls_serve(&program.calls);
}
