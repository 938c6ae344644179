/* Writes the messages of `aitherion run -v` about the paths of a session. */
#include "config.h"

#include "cuda/client/path_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "base/log.h"

enum { LINE_BYTES = 1024, WORD_BYTES = 32 };

/* Adds to a line; what has no room is left out. */
__attribute__((format(printf, 2, 3))) static void add(char line[LINE_BYTES], const char *format,
                                                      ...)
{
    const size_t length = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + length, LINE_BYTES - length, format, arguments);
    va_end(arguments);
}

static const char *separator(const char *line)
{
    return *line ? ", " : "";
}

/* The address and the round trip of the calls. */
static void add_calls(const struct ath_session *session, char line[LINE_BYTES])
{
    char to[ATH_ENDPOINT_TEXT];
    if (ath_path_choose(&session->paths) == ATH_CONTROL_TRANSPORT_SHM) {
        add(line, "shm");
        return;
    }
    if (session->paths.is_unix)
        add(line, "%s", _("tcp over the unix socket"));
    else
        add(line, "tcp %s", ath_endpoint_of_socket(session->fd, true, to));
    add(line, ", %.2f ms", (double)session->round_trip_ns / 1e6);
}

/* The connections of large copies by each path. That of the calls carries a share if all are of
 * one path. */
static void add_copies(const struct ath_stripes *stripes, char line[LINE_BYTES])
{
    const size_t count = stripes->count - stripes->has_back;
    char to[ATH_ENDPOINT_TEXT];
    for (size_t path = 0; path < stripes->path_count; path++) {
        size_t connections = stripes->way == ATH_STRIPES_EQUAL && !stripes->is_udp;
        for (size_t i = 0; i < count; i++)
            connections += stripes->path_of[i] == path;
        if (connections)
            add(line, "%s%zu x %s %s", separator(line), connections,
                stripes->paths[path].is_udp ? "udp" : "tcp",
                ath_data_path_text(&stripes->paths[path], to));
        if (connections && *stripes->paths[path].link)
            add(line, _(" from %s"), stripes->paths[path].link);
    }
    if (stripes->way == ATH_STRIPES_EQUAL && stripes->is_udp)
        add(line, _(", and a share by that of the calls"));
}

static void add_refused(const struct ath_path_facts *facts, char line[LINE_BYTES])
{
    char reason[ATH_PATH_REASON_BYTES];
    for (size_t i = 0; i < ATH_PATHS; i++)
        if (ath_path_reason(ath_paths[i], facts, reason))
            add(line, "%s%s (%s)", separator(line), ath_control_transport_word(ath_paths[i]),
                reason);
}

void ath_path_say_plan(const struct ath_session *session)
{
    char calls[LINE_BYTES] = "", copies[LINE_BYTES] = "", refused[LINE_BYTES] = "";
    if (!ath_log_has(ATH_LOG_VERBOSE))
        return;
    add_calls(session, calls);
    if (session->stripes.count)
        add_copies(&session->stripes, copies);
    add_refused(&session->paths, refused);
    if (*copies) {
        ath_log(ATH_LOG_VERBOSE, _("calls and copies below 1 MiB: %s"), calls);
        ath_log(ATH_LOG_VERBOSE, _("copies from 1 MiB: %s"), copies);
    } else {
        ath_log(ATH_LOG_VERBOSE, _("calls and copies: %s"), calls);
    }
    if (*refused)
        ath_log(ATH_LOG_VERBOSE, _("paths not used: %s"), refused);
}

static const char *speed_words(uint64_t bytes_per_s, char out[WORD_BYTES])
{
    const bool is_fast = bytes_per_s >= UINT64_C(1000000000);
    snprintf(out, WORD_BYTES, is_fast ? "%.2f GB/s" : "%.1f MB/s",
             (double)bytes_per_s / (is_fast ? 1e9 : 1e6));
    return out;
}

/* A line for each further connection: its carrier, its bytes, and what the network did to them. */
static void say_channel(size_t number, const struct ath_stripe_state *state)
{
    const double mib = 1 << 20;
    char line[LINE_BYTES] = "";
    add(line, _("%.1f MiB sent, %.1f MiB received"), (double)state->sent_bytes / mib,
        (double)state->received_bytes / mib);
    if (state->is_udp)
        add(line, _(", %lld of %llu datagrams sent again, %llu lost, %llu damaged"),
            (long long)state->sent_again, (unsigned long long)state->datagrams.sent,
            (unsigned long long)state->datagrams.lost,
            (unsigned long long)state->datagrams.damaged);
    else if (state->sent_again >= 0)
        add(line, _(", %lld segments sent again"), (long long)state->sent_again);
    ath_log(ATH_LOG_VERBOSE, _("channel %zu, %s %s: %s"), number, state->is_udp ? "udp" : "tcp",
            state->is_lost ? _("(lost)") : state->peer, line);
}

void ath_path_say_cost(const struct ath_cuda_link *link)
{
    enum { EXAMPLE_MIB = 64 };
    const struct ath_stream *stream = link ? link->stream : NULL;
    const uint64_t time_ns =
        stream ? ath_path_cost_ns(&stream->cost, (uint64_t)EXAMPLE_MIB << 20) : 0;
    struct ath_stripe_state state;
    char speed[WORD_BYTES];
    if (time_ns)
        ath_log(ATH_LOG_VERBOSE,
                _("copies from 1 MiB went to the server at %s: %d MiB in about %.1f ms"),
                speed_words(stream->cost.bytes_per_s, speed), EXAMPLE_MIB, (double)time_ns / 1e6);
    if (!stream || !stream->large_bytes || !ath_log_has(ATH_LOG_VERBOSE))
        return;
    for (size_t i = 0; ath_tcp_stripe_state(stream, i, &state); i++)
        if (state.sent_bytes || state.received_bytes)
            say_channel(i + 1, &state);
}
