/* Writing the text: families in the order of the table, with the series of all servers in each. */
#include "config.h"

#include "watch/page.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "watch/metric.h"

enum { MICROSECONDS = 1000000, DIGITS_OF_FRACTION = 9, NUMBER_BYTES = 40 };
static const uint64_t smallest = 1000000000; /* of a unit: its part that has a digit */

/* The subject of a line. Members that do not apply are NULL. */
struct subject {
    const struct ath_watch_server *server;
    const struct ath_watch_port *port;
    const struct ath_watch_copies *copies;
    const struct ath_runtime_session *session;
    const char *identity, *transport, *address;
    const char *extra, *extra_value; /* a further label */
    size_t device;                   /* NO_DEVICE: none */
};
static const size_t no_device = SIZE_MAX;

/* One family on its way to the page. */
struct family {
    const struct ath_metric *metric;
    enum ath_metrics_format format;
    struct ath_text *out;
    bool is_begun; /* its head is written */
};

/* ---- numbers ---- */

/* Writes value / divisor, a power of ten up to a thousand million, as a decimal fraction without
 * needless digits. */
static const char *decimal(int64_t value, int64_t divisor, char out[NUMBER_BYTES])
{
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    uint64_t rest = size % (uint64_t)divisor * (smallest / (uint64_t)divisor);
    int length = snprintf(out, NUMBER_BYTES, "%s%" PRIu64 ".%0*" PRIu64, value < 0 ? "-" : "",
                          size / (uint64_t)divisor, DIGITS_OF_FRACTION, rest);
    while (out[length - 1] == '0')
        out[--length] = '\0';
    if (out[length - 1] == '.')
        out[--length] = '\0';
    return out;
}

/* ---- lines ---- */

/* Writes the head of a family in front of its first line, so a family without lines has none. */
static void begin(struct family *family)
{
    const struct ath_metric *metric = family->metric;
    const char *ending = family->format == ATH_METRICS_OPEN ? "" : ath_metric_ending(metric);
    if (family->is_begun)
        return;
    family->is_begun = true;
    ath_text_add(family->out, "# HELP %s%s %s.\n# TYPE %s%s %s\n", metric->name, ending,
                 metric->help, metric->name, ending, ath_metric_type_word(metric->type));
    if (family->format == ATH_METRICS_OPEN && *metric->unit)
        ath_text_add(family->out, "# UNIT %s %s\n", metric->name, metric->unit);
}

/* Adds a label, except one without a value. Newlines and other control characters do not pass
 * ath_clean(). */
static void add_label(struct ath_text *out, bool *has_any, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    ath_auto_free char *clean = ath_clean(value, true);
    ath_text_add(out, "%s%s=\"", *has_any ? "," : "{", name);
    *has_any = true;
    for (const char *at = clean; *at;) {
        size_t plain = strcspn(at, "\"\\");
        ath_text_add_bytes(out, at, plain);
        at += plain;
        if (*at)
            ath_text_add(out, "\\%c", *at++);
    }
    ath_text_add(out, "\"");
}

static void add_number_label(struct ath_text *out, bool *has_any, const char *name, uint64_t value)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%" PRIu64, value);
    add_label(out, has_any, name, text);
}

static void add_session_labels(struct ath_text *out, bool *has_any,
                               const struct ath_runtime_session *session)
{
    add_number_label(out, has_any, "session", session->id);
    add_label(out, has_any, "identity", session->identity);
    add_label(out, has_any, "program", session->program);
    add_label(out, has_any, "host", session->host);
    if (session->process)
        add_number_label(out, has_any, "process", session->process);
}

static void add_labels(struct ath_text *out, const struct subject *subject)
{
    bool has_any = false;
    if (subject->server) {
        add_label(out, &has_any, "server", subject->server->server);
        add_label(out, &has_any, "node", subject->server->node);
    }
    if (subject->port) {
        add_label(out, &has_any, "port", subject->port->port);
        add_label(out, &has_any, "rdma", subject->port->rdma);
    }
    if (subject->copies) {
        add_label(out, &has_any, "from", subject->copies->from);
        add_label(out, &has_any, "to", subject->copies->to);
    }
    if (subject->session)
        add_session_labels(out, &has_any, subject->session);
    add_label(out, &has_any, "identity", subject->identity);
    add_label(out, &has_any, "address", subject->address);
    add_label(out, &has_any, "transport", subject->transport);
    if (subject->device != no_device) {
        add_number_label(out, &has_any, "device", subject->device);
        if (subject->device < (size_t)subject->server->device_count) {
            add_label(out, &has_any, "uuid", subject->server->devices[subject->device].uuid);
            add_label(out, &has_any, "pci", subject->server->devices[subject->device].pci);
        }
    }
    add_label(out, &has_any, subject->extra, subject->extra_value);
    if (has_any)
        ath_text_add(out, "}");
}

static void add_line(struct family *family, const struct subject *subject, const char *ending,
                     int64_t value, int64_t divisor)
{
    char number[NUMBER_BYTES];
    begin(family);
    ath_text_add(family->out, "%s%s", family->metric->name, ending);
    add_labels(family->out, subject);
    ath_text_add(family->out, " %s\n", decimal(value, divisor, number));
}

/* Adds the value that stands in a struct of the metric's scope. */
static void add_member(struct family *family, const struct subject *subject, const void *values)
{
    const struct ath_metric *metric = family->metric;
    int64_t value;
    memcpy(&value, (const char *)values + metric->offset, sizeof value);
    if (value == ATH_UNKNOWN || __builtin_mul_overflow(value, metric->factor, &value))
        return;
    add_line(family, subject, ath_metric_ending(metric), value, metric->divisor);
}

/* ---- scopes ---- */

static void write_refusals(struct family *family, const struct ath_watch_server *server)
{
    const struct ath_figures *figures = server->figures;
    struct subject subject = { .server = server, .device = no_device, .extra = "reason" };
    for (unsigned int i = 0; figures && i < ATH_REFUSAL_REASONS; i++) {
        subject.extra_value = ath_control_reason_word(i);
        if (figures->refused[i] != ATH_UNKNOWN)
            add_line(family, &subject, "_total", figures->refused[i], 1);
    }
}

static void write_throttle(struct family *family, struct subject *subject,
                           const struct ath_device_figures *device)
{
    if (device->throttle_reasons == ATH_UNKNOWN)
        return;
    subject->extra = "reason";
    for (size_t i = 0; i < ath_throttle_reason_count; i++) {
        subject->extra_value = ath_throttle_reasons[i].name;
        add_line(family, subject, "", !!(device->throttle_reasons & ath_throttle_reasons[i].bit),
                 1);
    }
}

static void write_devices(struct family *family, const struct ath_watch_server *server)
{
    const struct ath_figures *figures = server->figures;
    for (size_t i = 0; figures && i < figures->device_count; i++) {
        struct subject subject = { .server = server, .device = i };
        if (family->metric->scope == ATH_METRIC_OF_THROTTLE)
            write_throttle(family, &subject, &figures->devices[i]);
        else
            add_member(family, &subject, &figures->devices[i]);
    }
}

/* The bounds have their decimal point in both formats, so that a change of the format makes no new
 * series. */
static void write_waits(struct family *family, struct subject *subject,
                        const struct ath_session_figures *figures)
{
    static const int64_t bounds_us[] = ATH_WAIT_BOUNDS_US;
    int64_t count = 0;
    for (size_t i = 0; i <= ATH_WAIT_BUCKETS; i++)
        if (figures->waits[i] < 0)
            return;
    subject->extra = "le";
    for (size_t i = 0; i <= ATH_WAIT_BUCKETS; i++) {
        char bound[NUMBER_BYTES] = "+Inf";
        if (i < ATH_WAIT_BUCKETS) {
            decimal(bounds_us[i], MICROSECONDS, bound);
            if (!strchr(bound, '.'))
                strcat(bound, ".0");
        }
        subject->extra_value = bound;
        count += figures->waits[i];
        add_line(family, subject, "_bucket", count, 1);
    }
    subject->extra = subject->extra_value = NULL;
    if (figures->waited_us >= 0)
        add_line(family, subject, "_sum", figures->waited_us, MICROSECONDS);
    add_line(family, subject, "_count", count, 1);
}

static const struct ath_session_figures *figures_of(const struct ath_watch_server *server,
                                                    uint64_t id)
{
    for (size_t i = 0; server->figures && i < server->figures->session_count; i++)
        if (server->figures->sessions[i].id == id)
            return &server->figures->sessions[i];
    return NULL;
}

/* ---- channels ---- */

/* The length of an address without its port. */
static size_t host_length(const char *address)
{
    const char *port = address ? strrchr(address, ':') : NULL;
    return port ? (size_t)(port - address) : 0;
}

/* Returns whether two channels reach the server at one address. A client chooses its own port. */
static bool is_beside(const struct ath_runtime_channel *a, const struct ath_runtime_channel *b)
{
    size_t length = host_length(a->local);
    return length == host_length(b->local) && (!length || !strncmp(a->local, b->local, length)) &&
           !strcmp(a->transport ? a->transport : "", b->transport ? b->transport : "");
}

static void add_value(int64_t *sum, int64_t value)
{
    *sum = *sum < 0 || value < 0 ? ATH_UNKNOWN : *sum + value;
}

/* Writes the sum of the channels beside this one, of which it must be the first. */
static void write_channels(struct family *family, struct subject subject,
                           const struct ath_runtime_session *session, size_t first)
{
    const struct ath_runtime_channel *channel = &session->channels[first];
    struct ath_watch_channel_values values = { 0 };
    for (size_t i = 0; i < session->channel_count; i++) {
        const struct ath_runtime_channel *one = &session->channels[i];
        if (!is_beside(channel, one))
            continue;
        if (i < first)
            return;
        values.connections++;
        add_value(&values.sent_bytes, one->sent_bytes);
        add_value(&values.received_bytes, one->received_bytes);
        add_value(&values.sent_again, one->sent_again);
#define X(name) add_value(&values.datagrams_##name, one->datagrams_##name);
        ATH_UDP_CHANNEL_COUNTS(X)
#undef X
    }
    ath_auto_free char *address = ath_xasprintf("%.*s", (int)host_length(channel->local),
                                                channel->local ? channel->local : "");
    subject.address = address;
    subject.transport = channel->transport;
    add_member(family, &subject, &values);
}

static void write_datagrams(struct family *family, const struct ath_watch_server *server)
{
    for (size_t i = 0; server->figures && i < server->figures->datagram_count; i++) {
        const struct ath_datagram_figures *one = &server->figures->datagrams[i];
        const struct subject subject = { .server = server,
                                         .device = no_device,
                                         .address = one->address };
        add_member(family, &subject, one);
    }
}

static void write_session(struct family *family, const struct ath_watch_server *server,
                          const struct ath_runtime_session *session)
{
    struct subject subject = { .server = server, .session = session, .device = no_device };
    const struct ath_session_figures *figures = figures_of(server, session->id);
    const struct ath_time_claim *claim = &session->turn.claim;
    const struct ath_watch_session_values values = {
        .age_ms = (int64_t)session->age_ms,
        .share_percent = claim->priority ? claim->share_percent : ATH_UNKNOWN,
    };

    if (family->metric->scope == ATH_METRIC_OF_SESSION)
        add_member(family, &subject, &values);
    if (family->metric->scope == ATH_METRIC_OF_FIGURES && figures) {
        subject.transport = figures->transport;
        if (family->metric->type == ATH_METRIC_HISTOGRAM)
            write_waits(family, &subject, figures);
        else
            add_member(family, &subject, figures);
    }
    for (size_t i = 0;
         family->metric->scope == ATH_METRIC_OF_CHANNELS && i < session->channel_count; i++)
        write_channels(family, subject, session, i);
    for (size_t i = 0; family->metric->scope == ATH_METRIC_OF_USE && i < session->use_count; i++) {
        subject.device = session->uses[i].device;
        add_member(family, &subject, &session->uses[i]);
    }
}

static void write_sessions(struct family *family, const struct ath_watch_server *server)
{
    for (size_t i = 0; server->sessions && i < server->sessions->count; i++)
        write_session(family, server, &server->sessions->items[i]);
}

/* ---- identities ---- */

static const char *identity_of(const struct ath_runtime_sessions *sessions, size_t at)
{
    return sessions->items[at].identity ? sessions->items[at].identity : "";
}

/* Sums up the sessions of the identity of the session at `first`, with their memory of a device. */
static struct ath_watch_identity_values values_of(const struct ath_runtime_sessions *sessions,
                                                  size_t first, size_t device)
{
    struct ath_watch_identity_values values = { 0 };
    for (size_t i = first; i < sessions->count; i++) {
        const struct ath_runtime_session *session = &sessions->items[i];
        if (strcmp(identity_of(sessions, i), identity_of(sessions, first)) != 0)
            continue;
        values.sessions++;
        for (size_t k = 0; k < session->use_count; k++)
            if (session->uses[k].device == device && session->uses[k].memory_used_bytes > 0)
                values.memory_used_bytes += session->uses[k].memory_used_bytes;
    }
    return values;
}

static bool is_first(const struct ath_runtime_sessions *sessions, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(identity_of(sessions, i), identity_of(sessions, at)))
            return false;
    return true;
}

static void write_identity(struct family *family, const struct ath_watch_server *server,
                           size_t first)
{
    struct subject subject = { .server = server,
                               .identity = identity_of(server->sessions, first),
                               .device = no_device };
    if (family->metric->scope == ATH_METRIC_OF_IDENTITY) {
        struct ath_watch_identity_values values = values_of(server->sessions, first, no_device);
        add_member(family, &subject, &values);
        return;
    }
    for (int64_t i = 0; i < server->device_count; i++) {
        subject.device = (size_t)i;
        struct ath_watch_identity_values values =
            values_of(server->sessions, first, subject.device);
        add_member(family, &subject, &values);
    }
}

/* Without keys there are no identities, and their label is left out. */
static void write_identities(struct family *family, const struct ath_watch_server *server)
{
    for (size_t i = 0; server->sessions && i < server->sessions->count; i++)
        if (is_first(server->sessions, i))
            write_identity(family, server, i);
}

static void write_server(struct family *family, const struct ath_watch_server *server)
{
    const struct subject subject = { .server = server, .device = no_device };
    if (family->metric->scope == ATH_METRIC_OF_SERVER)
        add_member(family, &subject, server);
    else if (server->figures)
        add_member(family, &subject, server->figures);
}

static void (*const writers[ATH_METRIC_SCOPES])(struct family *family,
                                                const struct ath_watch_server *server) = {
    [ATH_METRIC_OF_SERVER] = write_server,       [ATH_METRIC_OF_COUNTS] = write_server,
    [ATH_METRIC_OF_REFUSALS] = write_refusals,   [ATH_METRIC_OF_DEVICE] = write_devices,
    [ATH_METRIC_OF_THROTTLE] = write_devices,    [ATH_METRIC_OF_SESSION] = write_sessions,
    [ATH_METRIC_OF_FIGURES] = write_sessions,    [ATH_METRIC_OF_USE] = write_sessions,
    [ATH_METRIC_OF_CHANNELS] = write_sessions,   [ATH_METRIC_OF_DATAGRAMS] = write_datagrams,
    [ATH_METRIC_OF_IDENTITY] = write_identities, [ATH_METRIC_OF_IDENTITY_USE] = write_identities,
};

/* ---- the machine ---- */

static void write_host(struct family *family, const struct ath_watch_host *host)
{
    struct subject subject = { .device = no_device };

    if (family->metric->scope == ATH_METRIC_OF_HOST)
        add_member(family, &subject, host);
    for (size_t i = 0; family->metric->scope == ATH_METRIC_OF_PORT && i < host->port_count; i++) {
        subject.port = &host->ports[i];
        add_member(family, &subject, subject.port);
    }
    for (size_t i = 0; family->metric->scope == ATH_METRIC_OF_COPIES && i < host->copies_count;
         i++) {
        subject.copies = &host->copies[i];
        add_member(family, &subject, subject.copies);
    }
}

/* ---- the page ---- */

enum ath_metrics_format ath_metrics_format_of(const char *accept)
{
    return accept && strstr(accept, "application/openmetrics-text") ? ATH_METRICS_OPEN
                                                                    : ATH_METRICS_TEXT;
}

const char *ath_metrics_content_type(enum ath_metrics_format format)
{
    return format == ATH_METRICS_OPEN ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                      : "text/plain; version=0.0.4; charset=utf-8";
}

void ath_metrics_write(const struct ath_watch_server *servers, size_t count,
                       const struct ath_watch_host *host, enum ath_metrics_format format,
                       struct ath_text *out)
{
    for (size_t i = 0; i < ath_metric_count; i++) {
        struct family family = { .metric = &ath_metrics[i], .format = format, .out = out };
        bool is_of_host = ath_metric_is_of_host(ath_metrics[i].scope);
        if (is_of_host && host)
            write_host(&family, host);
        for (size_t k = 0; !is_of_host && k < count; k++)
            writers[ath_metrics[i].scope](&family, &servers[k]);
    }
    if (format == ATH_METRICS_OPEN)
        ath_text_add(out, "# EOF\n");
}
