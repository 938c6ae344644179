/* Opens the session, finds its paths, and measures one after the other. */
#include "config.h"

#include "remote/net_test/net_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "remote/net_test/lanes.h"
#include "remote/net_test/limit.h"
#include "remote/net_test/talk.h"
#include "remote/session/program_channel.h"

enum {
    LANES_MAX = 1 + ATH_STRIPES_MAX,
    ANSWER_MS = 120 * 1000, /* what the sockets hold may be on its way when an answer is awaited */
    MOVE_LEAST_MS = 60 * 1000, /* for a round, and ten times what all rounds are to take */
};

/* A path that is measured, or all together (lanes 0). */
struct measured {
    unsigned int lanes; /* a bit for each, as in NetTest */
    size_t count;
};

struct work {
    const char *server;
    const struct ath_net_plan *plan;
    struct ath_net_test *test;
    struct ath_stripes *stripes;
    struct ath_net_talk talk;
    struct ath_net_limit limit;
    struct ath_lane lanes[LANES_MAX]; /* by the numbers of the connections */
    unsigned int lanes_of[ATH_NET_PATHS_MAX];
    size_t step, steps;
};

static void work_free(struct work *work)
{
    ath_net_limit_end(&work->limit);
    if (work->talk.stream)
        work->talk.stream->ops->close(work->talk.stream);
    ath_net_talk_free(&work->talk);
}

/* ---- the session ---- */

static enum ath_control_transport transport_of(const struct ath_session *session)
{
    return session->stripes.is_udp ? ATH_CONTROL_TRANSPORT_UDP : ATH_CONTROL_TRANSPORT_TCP;
}

static int send_question(struct ath_session *session, void *context, struct ath_err *err)
{
    const struct ath_stripes_owner owner = ath_session_as_owner(session);
    struct ath_control_open_channel_builder question =
        ath_control_message_init_open_channel(ath_session_begin(session));
    (void)context;
    ath_control_open_channel_set_transport(question, transport_of(session));
    ath_control_open_channel_set_stripes(question, (uint32_t)session->stripes.count);
    ath_control_open_channel_set_program(question, "aitherion net test");
    ath_control_open_channel_set_is_net_test(question, true);
    int status = ath_session_send(session, err);
    /* The answer tells how many connections have joined. */
    if (!status)
        (void)ath_stripes_join(&session->stripes, &owner);
    return status;
}

void ath_net_test_first(bool wants_udp, struct ath_session_first *out)
{
    *out =
        (struct ath_session_first){ .send = send_question, .transport = wants_udp ? "udp" : "tcp" };
}

static int open_stream(struct work *work, struct ath_session *session, struct ath_err *err)
{
    const enum ath_control_transport transport = transport_of(session);
    struct ath_control_channel channel;
    int status = ath_program_channel_await(session, transport, &channel, err);
    if (status)
        return status;
    if (!ath_control_channel_is_net_test(channel)) {
        ath_err_set(err, -ENOTSUP, ATH_E_UNSUPPORTED,
                    _("the server '%s' knows no tests of the network: its version is older than "
                      "this one"),
                    work->server);
        return ath_err_hint(err, -ENOTSUP,
                            _("install the same version of aitherion on both machines"));
    }
    work->lanes[0].socket = (struct ath_socket){ session->fd, session->tls };
    status = ath_program_channel_stream(session, transport, &work->talk.stream, err);
    if (status)
        return status;
    work->lanes[0].stream = work->talk.stream;
    work->talk.stream->patience_us = ath_stream_patience_us(ATH_STREAM_BUSY);
    for (size_t i = 0; i < session->stripes.count; i++) {
        work->lanes[1 + i].socket = session->stripes.sockets[i];
        ath_tcp_tune(session->stripes.sockets[i].fd);
    }
    status = ath_net_limit_begin(&work->limit, work->lanes, 1 + session->stripes.count);
    return status ? ath_err_system(err, status, "%s", _("cannot begin to speak with the server"))
                  : 0;
}

/* ---- the paths ---- */

static struct ath_net_path *add_path(struct ath_net_test *test, const struct ath_data_path *path)
{
    struct ath_net_path *added = &test->paths[test->count++];
    added->number = test->count;
    added->is_udp = path->is_udp;
    ath_data_path_source(path, added->from);
    ath_data_path_text(path, added->to);
    snprintf(added->link, sizeof added->link, "%s", path->link);
    return added;
}

static void find_paths(struct work *work)
{
    const struct ath_stripes *stripes = work->stripes;
    struct ath_net_test *test = work->test;
    struct ath_net_path *calls = &test->paths[test->count++];
    const size_t data = stripes->count - stripes->has_back;
    struct ath_data_path own = { .to.ss_family = AF_UNSPEC };
    *calls = (struct ath_net_path){ .number = 1, .is_calls = true, .connections = 1 };
    own.length = sizeof own.to;
    if (!getpeername(work->lanes[0].socket.fd, (struct sockaddr *)&own.to, &own.length))
        ath_data_path_source(&own, calls->from);
    ath_endpoint_of_socket(work->lanes[0].socket.fd, true, calls->to);
    work->lanes_of[0] = 1;
    for (size_t path = 0; path < stripes->path_count; path++) {
        unsigned int lanes = 0;
        for (size_t i = 0; i < data; i++)
            lanes |= stripes->path_of[i] == path ? 2u << i : 0;
        if (!lanes)
            continue;
        work->lanes_of[test->count] = lanes;
        add_path(test, &stripes->paths[path])->connections = (size_t)__builtin_popcount(lanes);
    }
    for (size_t i = 0; i < stripes->left_out_count; i++)
        add_path(test, &stripes->left_out[i])->left_out = stripes->left_out_why[i];
    test->has_data_addresses = data && stripes->way == ATH_STRIPES_PIECES;
    test->together.connections = data + (data && !test->has_data_addresses);
}

/* ---- questions ---- */

static int await_done(struct work *work, struct ath_control_net_test_done *out)
{
    struct ath_control_message message;
    ath_net_limit_set(&work->limit, ANSWER_MS);
    int status = ath_net_talk_await(&work->talk, ATH_CONTROL_MESSAGE_NET_TEST_DONE, &message);
    if (!status)
        *out = ath_control_message_net_test_done(message);
    return status;
}

/* Asks for a test, and waits until the server is ready. */
static int ask(struct work *work, enum ath_control_net_test_kind kind,
               const struct measured *measured, uint64_t bytes, size_t count)
{
    struct ath_control_net_test_done ready;
    struct ath_control_net_test_builder question =
        ath_control_message_init_net_test(ath_net_talk_begin(&work->talk));
    ath_control_net_test_set_kind(question, kind);
    ath_control_net_test_set_connections(question, measured->lanes);
    ath_control_net_test_set_bytes(question, bytes);
    ath_control_net_test_set_count(question, (uint32_t)count);
    int status = ath_net_talk_send(&work->talk);
    return status ? status : await_done(work, &ready);
}

/* Fills out with the lanes that are measured. */
static void choose_lanes(const struct work *work, const struct measured *measured,
                         struct ath_lane out[LANES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < LANES_MAX; i++)
        if (measured->lanes >> i & 1u)
            out[count++] = work->lanes[i];
}

/* ---- round trips ---- */

static int compare(const void *one, const void *other)
{
    const uint64_t *left = one, *right = other;
    return (*left > *right) - (*left < *right);
}

static int ping(struct work *work, const struct measured *measured, size_t count, uint64_t *out_ns)
{
    struct ath_lane lanes[LANES_MAX];
    struct ath_control_net_test_done done;
    choose_lanes(work, measured, lanes);
    int status = ask(work, ATH_CONTROL_NET_TEST_KIND_ECHO, measured, ATH_NET_TRIP_BYTES, count);
    if (!status)
        status = ath_lane_ping(&lanes[0], ATH_NET_TRIP_BYTES, count, out_ns);
    return status ? status : await_done(work, &done);
}

/* A few at first; then as many as half of the time allows. */
static int measure_trips(struct work *work, const struct measured *path, struct ath_net_trips *out)
{
    enum { FIRST = 10, MOST = 5000 };
    const struct measured one = { path->lanes & -path->lanes, 1 };
    uint64_t times_ns[FIRST + MOST];
    uint64_t begin_ns = ath_now_ns();
    int status = ping(work, &one, FIRST, times_ns);
    const uint64_t took_ns = ath_now_ns() - begin_ns + 1;
    const uint64_t half_ns = work->plan->time_ms * 1000 * 1000 / 2;
    uint64_t more = half_ns > took_ns ? (half_ns - took_ns) / (took_ns / FIRST + 1) : 0;
    more = more < MOST ? more : MOST;
    if (!status && more)
        status = ping(work, &one, (size_t)more, times_ns + FIRST);
    if (status)
        return status;
    const size_t count = FIRST + (size_t)more;
    qsort(times_ns, count, sizeof *times_ns, compare);
    *out = (struct ath_net_trips){ .is_known = true,
                                   .count = count,
                                   .bytes = ATH_NET_TRIP_BYTES,
                                   .least_ns = times_ns[0],
                                   .median_ns = times_ns[count / 2],
                                   .p99_ns = times_ns[(count * 99 + 99) / 100 - 1] };
    return 0;
}

/* ---- speeds ---- */

static int move(struct work *work, const struct measured *measured, bool is_sent, uint64_t bytes,
                struct ath_lane_rate *out)
{
    struct ath_stream *stream = work->talk.stream;
    struct ath_lane lanes[LANES_MAX];
    choose_lanes(work, measured, lanes);
    ath_net_limit_set(&work->limit,
                      work->plan->bytes ? 0 : MOVE_LEAST_MS + 10 * work->plan->time_ms);
    return !measured->lanes ? is_sent ? ath_lane_send_frames(stream, bytes)
                                      : ath_lane_receive_frames(stream, bytes, out)
           : is_sent ? ath_lanes_send(lanes, measured->count, bytes)
                            : ath_lanes_receive(lanes, measured->count, bytes, out);
}

/* Takes the server's figures of bytes that this side has sent in a time. The server may say
 * anything: it cannot have got more, or for a longer time. The clocks may differ a little. */
static int take_rate(struct ath_control_net_test_done done, uint64_t sent, uint64_t took_ns,
                     struct ath_lane_rate *out)
{
    *out = (struct ath_lane_rate){ ath_control_net_test_done_bytes(done),
                                   ath_control_net_test_done_time_ns(done) };
    return out->bytes > sent || out->time_ns > took_ns + took_ns / 8 ? -EBADMSG : 0;
}

/* bytes: on each lane, or of all large frames. */
static int move_once(struct work *work, const struct measured *measured, bool is_sent,
                     uint64_t bytes, struct ath_lane_rate *out)
{
    const uint64_t begin_ns = ath_now_ns();
    struct ath_control_net_test_done done;
    int status = ask(
        work, is_sent ? ATH_CONTROL_NET_TEST_KIND_TO_SERVER : ATH_CONTROL_NET_TEST_KIND_FROM_SERVER,
        measured, bytes, 0);
    if (!status)
        status = move(work, measured, is_sent, bytes, out);
    if (!status)
        status = await_done(work, &done);
    if (!status && is_sent)
        status = take_rate(done, measured->lanes ? bytes * measured->count : bytes,
                           ath_now_ns() - begin_ns, out);
    return status;
}

/* The segments that the sender has sent again so far. */
static int look(struct work *work, const struct measured *measured, bool is_sent, int64_t *out)
{
    struct ath_lane lanes[LANES_MAX];
    struct ath_control_net_test_done done;
    int status = ask(work, ATH_CONTROL_NET_TEST_KIND_LOOK, measured, 0, 0);
    if (!status)
        status = await_done(work, &done);
    if (status)
        return status;
    choose_lanes(work, measured, lanes);
    *out = !is_sent           ? ath_control_net_test_done_sent_again(done)
           : !measured->lanes ? ath_lane_frames_sent_again(&work->lanes[0])
                              : ath_lanes_sent_again(lanes, measured->count);
    return 0;
}

/* More bytes each time, until most of the time is spent: the largest round gives the speed, so that
 * a pause in a small one does not count. */
static int move_for_time(struct work *work, const struct measured *measured, bool is_sent,
                         uint64_t bytes, struct ath_lane_rate *out)
{
    enum { GROWTH_MOST = 16 };
    const uint64_t time_ns = work->plan->time_ms * 1000 * 1000;
    for (uint64_t spent_ns = 0;;) {
        struct ath_lane_rate rate = { 0 };
        const uint64_t begin_ns = ath_now_ns();
        int status = move_once(work, measured, is_sent, bytes, &rate);
        const uint64_t took_ns = ath_now_ns() - begin_ns + 1;
        spent_ns += took_ns;
        if (rate.bytes > out->bytes)
            *out = rate;
        if (status || work->plan->bytes || spent_ns >= time_ns / 4 * 3)
            return status;
        const uint64_t left_ns = time_ns - spent_ns;
        bytes = left_ns / took_ns >= GROWTH_MOST
                    ? bytes * GROWTH_MOST
                    : (uint64_t)((double)bytes * (double)left_ns / (double)took_ns) + 1;
    }
}

/* The bytes to begin with: on each lane of a path, or what all paths together should carry in the
 * time, in at least two frames. */
static uint64_t first_bytes(const struct work *work, const struct measured *measured, bool is_sent)
{
    enum { FIRST = 64 * 1024 };
    const uint64_t least = 2 * (uint64_t)ATH_STRIPED_BYTES;
    const struct ath_net_test *test = work->test;
    double speed = 0, moved = 0;
    if (work->plan->bytes)
        return measured->lanes ? (work->plan->bytes + measured->count - 1) / measured->count
                               : work->plan->bytes;
    if (measured->lanes)
        return FIRST;
    for (size_t i = 1; i < test->count; i++) {
        const struct ath_net_speed *one =
            is_sent ? &test->paths[i].to_server : &test->paths[i].from_server;
        speed += one->bytes_per_s;
        moved += (double)one->bytes;
    }
    /* The server may tell any speed. In the longest round of each path about half of the bytes or
     * more went that it has time for. */
    const double wanted = speed * (double)work->plan->time_ms / 1000, most = 2 * moved;
    const uint64_t bytes = (uint64_t)(wanted < most ? wanted : most);
    return bytes > least ? bytes : least;
}

static int measure_speed(struct work *work, const struct measured *measured, bool is_sent,
                         struct ath_net_speed *out)
{
    struct ath_lane_rate rate = { 0 };
    int64_t before = 0, after = 0;
    int status = look(work, measured, is_sent, &before);
    if (!status)
        status =
            move_for_time(work, measured, is_sent, first_bytes(work, measured, is_sent), &rate);
    if (!status)
        status = look(work, measured, is_sent, &after);
    if (status)
        return status;
    out->is_known = rate.time_ns > 0;
    out->bytes = rate.bytes;
    out->time_ns = rate.time_ns;
    out->bytes_per_s = rate.time_ns ? (double)rate.bytes * 1e9 / (double)rate.time_ns : 0;
    out->sent_again = before < 0 || after < before ? -1 : after - before;
    return 0;
}

/* ---- all ---- */

static void say_step(struct work *work, const struct ath_net_path *path)
{
    const struct ath_net_step step = { ++work->step, work->steps, path };
    if (work->plan->step)
        work->plan->step(work->plan->context, &step);
}

static int report(struct work *work, const struct ath_net_path *path, int status,
                  struct ath_err *err)
{
    status = ath_net_limit_judge(&work->limit, status);
    const char *reason = strerror(status == -ENODATA ? ECONNRESET : -status);
    if (path)
        ath_err_set(err, status, ATH_E_PEER_FAILED,
                    _("the path from '%s' to '%s' broke while it was measured: %s"), path->from,
                    path->to, reason);
    else
        ath_err_set(err, status, ATH_E_PEER_FAILED,
                    _("the session with '%s' broke while all paths were measured: %s"),
                    work->server, reason);
    return ath_err_hint(err, status,
                        _("look for the event session-broken in the runtime's log (`aitherion "
                          "logs`), and for a link that is down (`ip -s link`)"));
}

static int measure_path(struct work *work, size_t which, struct ath_err *err)
{
    struct ath_net_path *path = &work->test->paths[which];
    const struct measured measured = { work->lanes_of[which], path->connections };
    say_step(work, path);
    int status = measure_trips(work, &measured, &path->trips);
    if (!status)
        status = measure_speed(work, &measured, true, &path->to_server);
    if (!status)
        status = measure_speed(work, &measured, false, &path->from_server);
    return status ? report(work, path, status, err) : 0;
}

static int measure_all(struct work *work, const struct ath_stripes_owner *owner,
                       struct ath_err *err)
{
    const struct measured all = { 0 };
    say_step(work, NULL);
    /* Both sides turn to large frames with this question. */
    int status = ask(work, ATH_CONTROL_NET_TEST_KIND_LOOK, &all, 0, 0);
    struct ath_control_net_test_done done;
    if (!status)
        status = await_done(work, &done);
    if (status)
        return report(work, NULL, status, err);
    ath_net_limit_set(&work->limit, 0);
    work->limit.count = 1; /* the connections are the stream's from here on */
    status = ath_program_channel_spread(work->talk.stream, work->stripes, owner, err);
    if (status)
        return status;
    status = measure_speed(work, &all, true, &work->test->together.to_server);
    if (!status)
        status = measure_speed(work, &all, false, &work->test->together.from_server);
    return status ? report(work, NULL, status, err) : 0;
}

int ath_net_test_run(struct ath_session *session, const char *server,
                     const struct ath_net_plan *plan, struct ath_net_test *out, struct ath_err *err)
{
    ATH_AUTO(work)
    work = { .server = server, .plan = plan, .test = out, .stripes = &session->stripes };
    const struct ath_stripes_owner owner = ath_session_as_owner(session);
    *out = (struct ath_net_test){ .session = session->id, .is_encrypted = session->tls != NULL };
    if (ath_path_is_wanted(ATH_CONTROL_TRANSPORT_UDP, &session->paths))
        (void)ath_path_reason(ATH_CONTROL_TRANSPORT_UDP, &session->paths, out->why_tcp);
    int status = open_stream(&work, session, err);
    if (status)
        return status;
    find_paths(&work);
    if (plan->only_finds)
        return 0;
    for (size_t i = 0; i < out->count; i++)
        work.steps += !out->paths[i].left_out;
    work.steps += out->together.connections > 0;
    for (size_t i = 0; i < out->count && !status; i++)
        if (!out->paths[i].left_out)
            status = measure_path(&work, i, err);
    return status || !out->together.connections ? status : measure_all(&work, &owner, err);
}
