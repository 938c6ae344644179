/* The table of metrics, and their HTTP answer. */
#include "config.h"

#include "runtime/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/unknown.h"
#include "proto/gpu-control.h"
#include "remote/wire/frame.h"
#include "runtime/quota/quota.h"

enum { REQUEST_BYTES_MAX = 4096 };

static uint64_t uptime_s(const struct ath_server *server)
{
    return (ath_now_ms() - server->started_ms) / 1000;
}

static uint64_t devices(const struct ath_server *server)
{
    return server->devices.count;
}

static uint64_t faults(const struct ath_server *server)
{
    uint64_t count = 0;
    for (size_t i = 0; i < server->devices.problem_count; i++)
        count += server->devices.problems[i].is_fault;
    return count;
}

static uint64_t sessions(const struct ath_server *server)
{
    uint64_t count = 0;
    struct ath_session_board_entry entry;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        count += ath_session_board_read(server->board, i, &entry) && entry.is_proven;
    return count;
}

static uint64_t accepted(const struct ath_server *server)
{
    return atomic_load(&server->board->accepted);
}

static uint64_t refused(const struct ath_server *server)
{
    return ath_session_board_refused(server->board);
}

static uint64_t broken(const struct ath_server *server)
{
    return ath_session_board_broken(server->board);
}

static const struct {
    const char *name, *type, *help;
    uint64_t (*value)(const struct ath_server *server);
} metrics[] = {
    { "aitherion_runtime_uptime_seconds", "gauge", "Time since the server started.", uptime_s },
    { "aitherion_runtime_devices", "gauge", "Devices that the server has.", devices },
    { "aitherion_runtime_faults", "gauge", "Faults that health reports.", faults },
    { "aitherion_runtime_sessions", "gauge", "Sessions whose handshake is over.", sessions },
    { "aitherion_runtime_connections_total", "counter", "Connections accepted.", accepted },
    { "aitherion_runtime_refused_total", "counter", "Sessions refused (wrong key, bad message).",
      refused },
    { "aitherion_runtime_broken_total", "counter", "Sessions cut off, timed out or malformed.",
      broken },
};

static int64_t memory_total(const struct ath_server *server, size_t device)
{
    return server->devices.items[device].memory_total_bytes;
}

static int64_t memory_used(const struct ath_server *server, size_t device)
{
    return ath_session_board_memory(server->board, device, NULL);
}

static int64_t memory_limit(const struct ath_server *server, size_t device)
{
    int64_t limit_bytes = ath_quota_limit(server, device);
    return limit_bytes == ATH_UNKNOWN ? memory_total(server, device) : limit_bytes;
}

static int64_t sessions_of(const struct ath_server *server, size_t device)
{
    uint32_t count;
    ath_session_board_memory(server->board, device, &count);
    return count;
}

/* Metrics of each device. Unknown values are left out. */
static const struct {
    const char *name, *help;
    int64_t (*value)(const struct ath_server *server, size_t device);
} device_metrics[] = {
    { "aitherion_runtime_device_memory_total_bytes", "Memory of the device.", memory_total },
    { "aitherion_runtime_device_memory_limit_bytes",
      "Device memory that all sessions together may have.", memory_limit },
    { "aitherion_runtime_device_memory_used_bytes", "Device memory that all sessions have.",
      memory_used },
    { "aitherion_runtime_device_sessions", "Sessions that have memory of the device.",
      sessions_of },
};

static void write_devices(const struct ath_server *server, size_t metric, struct ath_text *body)
{
    const char *name = device_metrics[metric].name;
    ath_text_add(body, "# HELP %s %s\n# TYPE %s gauge\n", name, device_metrics[metric].help, name);
    for (size_t i = 0; i < server->devices.count; i++) {
        int64_t value = device_metrics[metric].value(server, i);
        if (value != ATH_UNKNOWN)
            ath_text_add(body, "%s{device=\"%zu\",uuid=\"%s\",pci=\"%s\"} %" PRId64 "\n", name, i,
                         server->devices.items[i].uuid, server->devices.items[i].pci, value);
    }
}

/* ---- identities ---- */

/* The entries of programs. */
struct users {
    struct ath_session_board_entry entries[ATH_SESSION_BOARD_MAX];
    size_t count;
};

static bool is_first_of_identity(const struct users *users, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(users->entries[i].identity, users->entries[at].identity))
            return false;
    return true;
}

static void write_sessions_of(const struct users *users, size_t first, struct ath_text *body)
{
    size_t count = 0;
    for (size_t i = first; i < users->count; i++)
        count += !strcmp(users->entries[i].identity, users->entries[first].identity);
    ath_text_add(body, "aitherion_runtime_identity_sessions{identity=\"%s\"} %zu\n",
                 users->entries[first].identity, count);
}

static void write_memory_of(const struct ath_server *server, const struct users *users,
                            size_t first, struct ath_text *body)
{
    for (size_t device = 0; device < server->devices.count; device++) {
        int64_t bytes = 0;
        for (size_t i = first; i < users->count; i++)
            if (!strcmp(users->entries[i].identity, users->entries[first].identity))
                bytes += atomic_load(&users->entries[i].used_bytes[device]);
        ath_text_add(body,
                     "aitherion_runtime_identity_memory_used_bytes{identity=\"%s\",device=\"%zu\","
                     "uuid=\"%s\"} %" PRId64 "\n",
                     users->entries[first].identity, device, server->devices.items[device].uuid,
                     bytes);
    }
}

/* Without keys there are no identities, and the label is empty. */
static void write_identities(const struct ath_server *server, struct ath_text *body)
{
    static struct users users; /* of this process, which has one thread */
    users.count = 0;
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        struct ath_session_board_entry *entry = &users.entries[users.count];
        users.count += ath_session_board_read(server->board, i, entry) && entry->is_proven &&
                       entry->purpose == ATH_GPU_PURPOSE_CUDA;
    }
    if (!users.count)
        return;
    ath_text_add(body, "# HELP aitherion_runtime_identity_sessions Sessions of programs by the "
                       "name of their key.\n# TYPE aitherion_runtime_identity_sessions gauge\n");
    for (size_t i = 0; i < users.count; i++)
        if (is_first_of_identity(&users, i))
            write_sessions_of(&users, i, body);
    ath_text_add(body, "# HELP aitherion_runtime_identity_memory_used_bytes Device memory that "
                       "sessions have, by the name of their key.\n# TYPE "
                       "aitherion_runtime_identity_memory_used_bytes gauge\n");
    for (size_t i = 0; i < users.count; i++)
        if (is_first_of_identity(&users, i))
            write_memory_of(server, &users, i, body);
}

static void write_body(const struct ath_server *server, struct ath_text *body)
{
    for (size_t i = 0; i < ATH_COUNT(metrics); i++)
        ath_text_add(body, "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", metrics[i].name,
                     metrics[i].help, metrics[i].name, metrics[i].type, metrics[i].name,
                     metrics[i].value(server));
    for (size_t i = 0; i < ATH_COUNT(device_metrics); i++)
        write_devices(server, i, body);
    write_identities(server, body);
}

/* Reads the head of a request, which an empty line ends. Returns false if it does not come in
 * time. */
static bool read_request(int fd, uint64_t deadline_ms, char out[REQUEST_BYTES_MAX + 1])
{
    size_t length = 0;
    for (uint64_t now_ms; length < REQUEST_BYTES_MAX && (now_ms = ath_now_ms()) < deadline_ms;) {
        struct pollfd one = { .fd = fd, .events = POLLIN };
        ssize_t got = 0;
        if (poll(&one, 1, (int)(deadline_ms - now_ms)) > 0)
            got = recv(fd, out + length, REQUEST_BYTES_MAX - length, MSG_DONTWAIT);
        if (got <= 0)
            return false;
        length += (size_t)got;
        out[length] = '\0';
        if (strstr(out, "\r\n\r\n") || strstr(out, "\n\n"))
            return true;
    }
    return false;
}

void ath_metrics_serve(int fd, const struct ath_server *server)
{
    uint64_t deadline_ms = ath_now_ms() + (uint64_t)server->handshake_ms;
    char request[REQUEST_BYTES_MAX + 1];
    ATH_AUTO(ath_text) body = { 0 }, answer = { 0 };
    struct ath_err err;

    if (!read_request(fd, deadline_ms, request))
        return;
    bool is_known = ath_starts_with(request, "GET /metrics ");
    if (is_known)
        write_body(server, &body);
    else
        ath_text_add(&body, "only GET /metrics is answered here\n");
    ath_text_add(&answer,
                 "HTTP/1.0 %s\r\nContent-Type: text/plain; version=0.0.4\r\n"
                 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                 is_known ? "200 OK" : "404 Not Found", body.length, body.data);
    (void)ath_frame_write(fd, (const uint8_t *)answer.data, answer.length, deadline_ms, &err);
}
