/* From the welcome to the last call. */
#include "config.h"

#include "runtime/server/channel.h"

#include <errno.h>
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
#include "proto/control.h"
#include "runtime/server/calls.h"
#include "runtime/server/driver.h"
#include "runtime/server/printed.h"
#include "runtime/server/quota.h"
#include "runtime/server/record.h"
#include "runtime/server/visible.h"
#include "runtime/switches.h"
#include "runtime/transport/shm.h"
#include "runtime/wire/endpoint.h"

enum {
    LOOK_MS = 2000, /* how often a TCP peer is looked for */
    JOIN_MS = 5000, /* for the connections that were announced; they come while the driver loads */
};

/* What of the program's environment is the driver's business; nothing that names a file here. */
static const char *const taken_over[] = {
    "CUDA_LAUNCH_BLOCKING",     "CUDA_MODULE_LOADING",
    "CUDA_MODULE_DATA_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_FORCE_PTX_JIT",       "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_JIT",           "CUDA_DISABLE_JIT",
    "CUDA_AUTO_BOOST",          "CUDA_SCALE_LAUNCH_QUEUES",
};

struct channel {
    struct ath_calls calls; /* first */
    struct ath_cuda_shared shared;
    int fd;
    const struct ath_server *server;
    struct ath_board_entry *entry;
    struct ath_ticket ticket;
    enum ath_control_transport transport;
    int stripes[ATH_STRIPES_MAX - 1];
    size_t stripe_count;
    struct ath_frame question;
    struct ath_wire_builder answer;
    size_t devices[ATH_DEVICES_MAX];
    size_t device_count;
    struct ath_cuda_driver driver;
    struct ath_cuda_session session;
    struct ath_stream *stream;
    pthread_mutex_t end_lock; /* taken once, by who ends the process */
};

/* ---- the end ---- */

static const char *reason_of(int status)
{
    switch (status) {
    case -EBADMSG:
        return "no call of this version";
    case -EMSGSIZE:
        return "a call too large";
    case -ETIMEDOUT:
        return "its host does not answer";
    case -ECONNRESET:
        return "it went away";
    default:
        return strerror(-status);
    }
}

/* Any thread; the first one says why. */
__attribute__((noreturn)) static void end(struct channel *channel, int status)
{
    bool is_done = status == -ENODATA;
    pthread_mutex_lock(&channel->end_lock);
    ath_auto_free char *calls =
        ath_xasprintf("%llu", (unsigned long long)atomic_load(&channel->calls.served));
    /* Nobody waited for it: here is where one finds out which call it was. */
    const char *failed = channel->session.failed;
    ath_auto_free char *error =
        failed ? ath_xasprintf("%d", (int)channel->session.failed_status) : NULL;
    if (!is_done)
        atomic_fetch_add(&channel->server->board->broken, 1);
    ath_record(is_done ? ATH_RECORD_INFO : ATH_RECORD_WARNING,
               is_done ? "session-closed" : "session-broken", "peer", channel->entry->peer,
               "during", is_done ? NULL : "calls", "reason", is_done ? NULL : reason_of(status),
               "calls", calls, "failed", failed, "error", error, NULL);
    _exit(0);
}

__attribute__((noreturn)) static void calls_over(struct ath_calls *calls, int status)
{
    end((struct channel *)calls, status);
}

/* Refuses what was asked for, and ends. */
__attribute__((noreturn)) static void fail(struct channel *channel, const char *reason)
{
    struct ath_common_failure_builder failure =
        ath_control_message_init_failure(ath_control_message_start(&channel->answer));
    size_t length;
    int status;
    struct ath_err err;

    ath_common_failure_set_code(failure, ATH_COMMON_FAILURE_CODE_INTERNAL);
    ath_common_failure_set_message(failure, reason);
    ath_record(ATH_RECORD_ERROR, "session-failed", "peer", channel->entry->peer, "reason", reason,
               NULL);
    const uint8_t *bytes = ath_wire_finish(&channel->answer, &length, &status);
    if (bytes)
        (void)ath_frame_write(channel->fd, bytes, length,
                              ath_now_ms() + (uint64_t)channel->server->answer_ms, &err);
    _exit(0);
}

/* ---- what the program wants ---- */

static void read_question(struct channel *channel, struct ath_control_open_channel *out)
{
    struct ath_control_message message;
    struct ath_err err;
    int status = ath_frame_read(channel->fd, ATH_CONTROL_ANSWER_FRAME_BYTES,
                                ath_now_ms() + (uint64_t)channel->server->handshake_ms,
                                &channel->question, &err);
    if (status)
        end(channel, status);
    if (ath_control_message_open(ath_frame_message(&channel->question),
                                 ath_frame_message_length(&channel->question), &message) ||
        ath_control_message_which(message) != ATH_CONTROL_MESSAGE_OPEN_CHANNEL)
        end(channel, -EBADMSG);
    *out = ath_control_message_open_channel(message);
}

/* A variable of the program's; NULL where it has none. */
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

static void take_environment(struct channel *channel, struct ath_control_open_channel question)
{
    const char *order = variable(question, "CUDA_DEVICE_ORDER");
    uint32_t off;
    if (!ath_switches_read(variable(question, "AITHERION_DISABLE"), &off, NULL))
        ath_switches_off = off;
    channel->device_count =
        ath_visible_devices(&channel->server->devices, variable(question, "CUDA_VISIBLE_DEVICES"),
                            order && !strcmp(order, "PCI_BUS_ID"), channel->devices);
    ath_auto_free char *visible =
        ath_visible_value(&channel->server->devices, channel->devices, channel->device_count);
    if (visible)
        setenv("CUDA_VISIBLE_DEVICES", visible, true);
    for (size_t i = 0; i < ATH_COUNT(taken_over); i++) {
        const char *value = variable(question, taken_over[i]);
        if (value)
            setenv(taken_over[i], value, true);
    }
}

/* ---- the driver ---- */

static void load_driver(struct channel *channel)
{
    void *library;
    struct ath_err err;
    int status = ath_printed_catch();
    if (status)
        ath_record(ATH_RECORD_WARNING, "output-not-caught", "peer", channel->entry->peer, "reason",
                   strerror(-status), NULL);
    if (ath_driver_open(channel->server->is_simulated, "libcuda.so.1", &library, &err))
        fail(channel, err.message);
    ath_cuda_driver_load(library, &channel->driver);
    ath_cuda_session_init(&channel->session, &channel->driver);
    ath_quota_wrap(channel->server, channel->entry, channel->devices, channel->device_count,
                   &channel->session, &channel->driver);
}

/* ---- the transport ---- */

static void *find_shared(struct ath_cuda_shared *shared, uint64_t id, size_t *out_bytes)
{
    struct channel *channel = (struct channel *)((char *)shared - offsetof(struct channel, shared));
    return ath_shm_find(channel->stream, id, out_bytes);
}

static bool is_unix(int fd)
{
    struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
    socklen_t length = sizeof address;
    return !getsockname(fd, (struct sockaddr *)&address, &length) && address.ss_family == AF_UNIX;
}

/* Whether it is one of those announced, and its place is free. */
static bool is_welcome(const struct channel *channel, const struct ath_joining *joining,
                       size_t announced)
{
    return joining->number >= 1 && joining->number <= announced &&
           channel->stripes[joining->number - 1] < 0 &&
           ath_ticket_check(&channel->ticket, joining->number, joining->proof,
                            sizeof joining->proof);
}

/* All that were announced, or none. */
static void take_stripes(struct channel *channel, size_t announced)
{
    uint64_t deadline_ms = ath_now_ms() + JOIN_MS;
    struct ath_doors *doors = channel->server->doors;
    struct ath_joining joining;
    size_t count = 0;
    int fd;
    for (size_t i = 0; i < announced; i++)
        channel->stripes[i] = -1;
    while (count < announced && !ath_doors_take(doors, deadline_ms, &joining, &fd)) {
        if (fd >= 0 && is_welcome(channel, &joining, announced)) {
            channel->stripes[joining.number - 1] = fd;
            count++;
            continue;
        }
        ath_record(ATH_RECORD_WARNING, "connection-refused", "peer", channel->entry->peer, "reason",
                   "it has no right to join this session", NULL);
        if (fd >= 0)
            close(fd);
    }
    if (count == announced) {
        channel->stripe_count = count;
        return;
    }
    ath_record(ATH_RECORD_WARNING, "connections-missing", "peer", channel->entry->peer, "reason",
               "large copies go by one alone", NULL);
    for (size_t i = 0; i < announced; i++)
        if (channel->stripes[i] >= 0)
            close(channel->stripes[i]);
}

static void make_tcp(struct channel *channel, uint32_t announced)
{
    channel->stream = ath_tcp_stream(channel->fd);
    if (!channel->stream)
        fail(channel, "out of memory");
    if (channel->server->doors && announced && announced < ATH_STRIPES_MAX)
        take_stripes(channel, announced);
    if (channel->server->doors)
        ath_doors_close(channel->server->doors);
    if (ath_tcp_add_stripes(channel->stream, channel->stripes, channel->stripe_count))
        fail(channel, "out of memory");
}

static void make_stream(struct channel *channel, uint32_t announced, int *out_memory)
{
    if (channel->transport == ATH_CONTROL_TRANSPORT_TCP) {
        make_tcp(channel, announced);
        return;
    }
    if (channel->transport != ATH_CONTROL_TRANSPORT_SHM)
        fail(channel, "this transport is not served by this version");
    if (!is_unix(channel->fd))
        fail(channel, "shared memory needs the unix socket");
    int status = ath_shm_make(channel->fd, out_memory, &channel->stream);
    if (status)
        fail(channel, strerror(-status));
    channel->shared.find = find_shared;
    channel->session.shared = &channel->shared;
}

/* Every program asks for it before anything else, and it may be asked for before cuInit(). */
static uint32_t driver_version(const struct ath_cuda_driver *driver)
{
    int version;
    return driver->cuDriverGetVersion && !driver->cuDriverGetVersion(&version) && version > 0
               ? (uint32_t)version
               : 0;
}

static void say_open(struct channel *channel, int memory)
{
    struct ath_control_channel_builder answer =
        ath_control_message_init_channel(ath_control_message_start(&channel->answer));
    size_t length;
    int status;
    struct ath_err err;

    ath_control_channel_set_transport(answer, channel->transport);
    ath_control_channel_set_devices(answer, (uint32_t)channel->device_count);
    ath_control_channel_set_stripes(answer, (uint32_t)channel->stripe_count);
    ath_control_channel_set_driver_version(answer, driver_version(&channel->driver));
    const uint8_t *bytes = ath_wire_finish(&channel->answer, &length, &status);
    if (bytes)
        status = ath_frame_write(channel->fd, bytes, length,
                                 ath_now_ms() + (uint64_t)channel->server->answer_ms, &err);
    if (!status && memory >= 0)
        status = ath_shm_send(channel->fd, "", 1, memory);
    if (status)
        end(channel, status);
}

static void record_open(const struct channel *channel, struct ath_control_open_channel question)
{
    const char *program = ath_control_open_channel_program(question);
    ath_auto_free char *devices = ath_xasprintf("%zu", channel->device_count);
    ath_auto_free char *connections = ath_xasprintf("%zu", 1 + channel->stripe_count);
    ath_auto_free char *id =
        ath_xasprintf("%llu", (unsigned long long)atomic_load(&channel->entry->id));
    ath_record(ATH_RECORD_INFO, "session-opened", "peer", channel->entry->peer, "session", id,
               "connections", connections, "transport",
               ath_control_transport_word(channel->transport), "devices", devices, "program",
               *program ? program : NULL, "disabled",
               ath_switches_off ? variable(question, "AITHERION_DISABLE") : NULL, NULL);
}

/* ---- whether the client is still there ---- */

/* What the connections beside the first one say; 0: nothing. */
static int look_at_stripes(const struct channel *channel)
{
    for (size_t i = 0; i < channel->stripe_count; i++) {
        struct pollfd one = { .fd = channel->stripes[i], .events = POLLRDHUP };
        if (poll(&one, 1, 0) > 0)
            return -ECONNRESET;
        if (ath_tcp_is_dead(channel->stripes[i]))
            return -ETIMEDOUT;
    }
    return 0;
}

/* The calls' threads may be waiting for the GPU when it goes. */
static void *watch(void *argument)
{
    struct channel *channel = argument;
    bool is_shm = channel->transport == ATH_CONTROL_TRANSPORT_SHM;
    /* A TCP peer that ends the connection hangs up one way; both ways are for one that was cut off
     * (tcp_poll() in the kernel). A unix socket's always hangs up both. */
    short cut_off = (short)(POLLERR | POLLNVAL | (is_unix(channel->fd) ? 0 : POLLHUP));
    struct pollfd one = { .fd = channel->fd, .events = POLLRDHUP };
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
            status = ath_shm_serve_share(channel->stream);
        else if (ath_tcp_is_dead(channel->fd))
            status = -ETIMEDOUT;
        else
            status = look_at_stripes(channel);
        if (status)
            end(channel, status);
    }
}

void ath_channel_serve(int fd, const struct ath_server *server, struct ath_board_entry *entry,
                       const struct ath_ticket *ticket)
{
    static struct channel channel; /* outlives every thread: the process has one session */
    struct ath_control_open_channel question;
    ath_auto_close int memory = -1;
    pthread_t watcher;

    channel = (struct channel){ .fd = fd,
                                .server = server,
                                .entry = entry,
                                .ticket = *ticket,
                                .answer.max_bytes = ATH_CONTROL_ANSWER_FRAME_BYTES,
                                .end_lock = PTHREAD_MUTEX_INITIALIZER };
    read_question(&channel, &question);
    channel.transport = ath_control_open_channel_transport(question);
    snprintf(entry->program, sizeof entry->program, "%s",
             ath_control_open_channel_program(question));
    take_environment(&channel, question);
    load_driver(&channel);
    make_stream(&channel, ath_control_open_channel_stripes(question), &memory);
    record_open(&channel, question);
    say_open(&channel, memory);
    channel.calls.stream = channel.stream;
    channel.calls.session = &channel.session;
    channel.calls.over = calls_over;
    if (pthread_create(&watcher, NULL, watch, &channel))
        end(&channel, -EAGAIN);
    ath_calls_serve(&channel.calls);
}
