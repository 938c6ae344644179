/* Gathers what the page tells: the board's sessions, and the figures. */
#include "config.h"

#include "runtime/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "runtime/claims.h"
#include "runtime/figures.h"
#include "watch/http.h"

enum { CONNECTION_MS = 10 * 60 * 1000 };

/* The texts and numbers that a page points to. */
struct sources {
    const struct ath_session_board *board;
    struct ath_watch_device devices[ATH_DEVICES_MAX];
    struct ath_session_board_entry entries[ATH_SESSION_BOARD_MAX];
    struct ath_runtime_session items[ATH_SESSION_BOARD_MAX];
    struct ath_runtime_use uses[ATH_SESSION_BOARD_MAX][ATH_DEVICES_MAX];
    struct ath_runtime_channel channels[ATH_SESSION_BOARD_MAX][ATH_STRIPES_MAX - 1];
    struct ath_runtime_sessions sessions;
    struct ath_figures figures;
};

static void gather_uses(const struct ath_session_board_entry *entry, struct ath_runtime_use *uses,
                        struct ath_runtime_session *session)
{
    uint64_t devices = atomic_load(&entry->devices);
    session->uses = uses;
    for (uint32_t i = 0; i < ATH_DEVICES_MAX; i++) {
        int64_t limit_bytes = atomic_load(&entry->limit_bytes[i]);
        if (devices >> i & 1)
            uses[session->use_count++] = (struct ath_runtime_use){
                .device = i,
                .memory_used_bytes = atomic_load(&entry->used_bytes[i]),
                .memory_limit_bytes = limit_bytes < 0 ? ATH_UNKNOWN : limit_bytes,
            };
    }
}

static void gather_channels(struct ath_session_board_entry *entry,
                            struct ath_runtime_channel *channels,
                            struct ath_runtime_session *session)
{
    session->channels = channels;
    session->channel_count = entry->channel_count;
    for (size_t i = 0; i < session->channel_count; i++)
        channels[i] = (struct ath_runtime_channel){
            .local = entry->channels[i].local,
            .transport = (char *)ath_control_transport_word(
                entry->channels[i].is_udp ? ATH_CONTROL_TRANSPORT_UDP : ATH_CONTROL_TRANSPORT_TCP),
            .sent_bytes = entry->channels[i].sent_bytes,
            .received_bytes = entry->channels[i].received_bytes,
            .sent_again = entry->channels[i].sent_again,
#define X(name) .datagrams_##name = entry->channels[i].datagrams_##name,
            ATH_UDP_CHANNEL_COUNTS(X)
#undef X
        };
}

static struct ath_time_claim gather_claim(const struct ath_session_board *board, size_t slot)
{
    struct ath_session_claim claim;
    ath_session_claim_read(board, slot, &claim);
    uint32_t percent = claim.share_percent ? claim.share_percent : claim.identity_share_percent;
    return (struct ath_time_claim){ .share_percent = (int)percent,
                                    .priority = (enum ath_time_priority)claim.priority };
}

/* Takes a session of the figures. */
static void gather_session(void *context, size_t slot, const struct ath_session_board_entry *read)
{
    struct sources *sources = context;
    size_t number = sources->sessions.count++;
    struct ath_session_board_entry *entry = &sources->entries[number];
    struct ath_runtime_session *out = &sources->items[number];

    *entry = *read;
    *out = (struct ath_runtime_session){ .id = atomic_load(&entry->id),
                                         .program = entry->program,
                                         .identity = entry->identity,
                                         .peer = entry->peer,
                                         .host = entry->host,
                                         .process = entry->process,
                                         .age_ms = ath_now_ms() - entry->started_ms,
                                         .turn.claim = gather_claim(sources->board, slot) };
    gather_uses(entry, sources->uses[number], out);
    gather_channels(entry, sources->channels[number], out);
}

/* Makes the sums of the devices those of the sessions on the same page: a session may have begun,
 * ended or taken memory while the figures were collected. */
static void add_up(struct sources *sources)
{
    struct ath_figures *figures = &sources->figures;
    for (size_t i = 0; i < figures->device_count; i++)
        figures->devices[i].memory_used_bytes = figures->devices[i].sessions = 0;
    for (size_t i = 0; i < sources->sessions.count; i++) {
        const struct ath_runtime_session *session = &sources->items[i];
        for (size_t j = 0; j < session->use_count; j++) {
            const struct ath_runtime_use *use = &session->uses[j];
            if (use->device >= figures->device_count)
                continue;
            figures->devices[use->device].memory_used_bytes += use->memory_used_bytes;
            figures->devices[use->device].sessions++;
        }
    }
}

static int64_t faults_of(const struct ath_server *server)
{
    int64_t count = 0;
    for (size_t i = 0; i < server->devices.problem_count; i++)
        count += server->devices.problems[i].is_fault;
    return count;
}

static int make(void *context, enum ath_metrics_format format, struct ath_text *out)
{
    const struct ath_server *server = context;
    ath_auto_free struct sources *sources = ath_xalloc(sizeof *sources);
    for (size_t i = 0; i < server->devices.count; i++)
        sources->devices[i] = (struct ath_watch_device){ .uuid = server->devices.items[i].uuid,
                                                         .pci = server->devices.items[i].pci };
    sources->board = server->board;
    sources->sessions.items = sources->items;
    ath_figures_collect_with(server, gather_session, sources, &sources->figures);
    add_up(sources);
    const struct ath_watch_server watched = {
        .node = server->node,
        .up = 1,
        .uptime_ms = (int64_t)(ath_now_ms() - server->started_ms),
        .device_count = (int64_t)server->devices.count,
        .faults = faults_of(server),
        .programs = (int64_t)sources->sessions.count,
        .devices = sources->devices,
        .sessions = &sources->sessions,
        .figures = &sources->figures,
    };
    ath_metrics_write(&watched, 1, NULL, format, out);
    ath_figures_free(&sources->figures);
    return 0;
}

int ath_metrics_read_web(const char *web_path, struct ath_metrics_web *out, struct ath_err *err)
{
    int status = web_path ? ath_metrics_web_load(web_path, out, err) : 0;
    return status ? status : ath_metrics_http_load(out, err);
}

/* Reads the file in the child, and reports its error. Does not return. */
static void try_web(const char *web_path, int report)
{
    struct ath_metrics_web web = { 0 };
    struct ath_err err = { 0 };
    int status = ath_metrics_read_web(web_path, &web, &err);
    if (status)
        (void)!write(report, &err, sizeof err);
    _exit(status ? EXIT_FAILURE : EXIT_SUCCESS);
}

int ath_metrics_prepare(const char *web_path, struct ath_err *err)
{
    struct ath_metrics_web none = { 0 };
    struct ath_err reported = { 0 };
    int ends[2], ended = 0, status = ath_metrics_http_load(&none, err);
    if (status || !web_path)
        return status;
    pid_t child = pipe2(ends, O_CLOEXEC) ? -1 : fork();
    if (child < 0)
        return ath_err_system(err, -errno, "%s", _("cannot make a process"));
    if (!child)
        try_web(web_path, ends[1]);
    close(ends[1]);
    ssize_t got = read(ends[0], &reported, sizeof reported);
    close(ends[0]);
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(ended) && !WEXITSTATUS(ended))
        return 0;
    if (got != sizeof reported)
        return ath_err_set(err, -EINVAL, ATH_E_WEB, _("'%s' cannot be read"), web_path);
    ath_err_copy(err, &reported);
    return -EINVAL;
}

void ath_metrics_serve(int fd, const struct ath_server *server, const struct ath_metrics_web *web)
{
    const struct ath_metrics_http http = { .make = make,
                                           .context = (void *)server,
                                           .web = web,
                                           .request_ms = server->handshake_ms,
                                           .idle_ms = server->idle_ms,
                                           .answer_ms = server->answer_ms,
                                           .connection_ms = CONNECTION_MS };
    ath_metrics_http_serve(fd, &http);
}
