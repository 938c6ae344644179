/* The session of a test of the network: it answers the tests of proto/control.capnp, NetTest. */
#include "config.h"

#include <errno.h>

#include "remote/net_test/lanes.h"
#include "remote/net_test/talk.h"
#include "runtime/program_session_state.h"

enum { LANES_MAX = 1 + ATH_STRIPES_MAX };

struct work {
    struct ath_program_session *program;
    struct ath_net_talk talk;
    bool is_spread; /* the connections carry large frames alone */
};

/* Fills out with the lanes that a test names. Returns their number; 0: there are no such lanes. */
static size_t choose_lanes(const struct work *work, uint32_t connections,
                           struct ath_lane out[LANES_MAX])
{
    const struct ath_program_session *program = work->program;
    const size_t known = 1 + program->stripes.count;
    size_t count = 0;
    if (work->is_spread || connections >> known)
        return 0;
    for (size_t i = 0; i < known; i++) {
        if (!(connections >> i & 1u))
            continue;
        out[count++] =
            i ? (struct ath_lane){ .socket = program->stripes.sockets[i - 1] }
              : (struct ath_lane){ .stream = program->stream, .socket = program->socket };
    }
    return count;
}

static int answer(struct work *work, const struct ath_lane_rate *rate, int64_t sent_again)
{
    struct ath_control_net_test_done_builder done =
        ath_control_message_init_net_test_done(ath_net_talk_begin(&work->talk));
    ath_control_net_test_done_set_bytes(done, rate->bytes);
    ath_control_net_test_done_set_time_ns(done, rate->time_ns);
    ath_control_net_test_done_set_sent_again(done, sent_again);
    return ath_net_talk_send(&work->talk);
}

/* Moves the bytes of large frames, or on the lanes. */
static int move(struct work *work, struct ath_control_net_test test, const struct ath_lane *lanes,
                size_t count, struct ath_lane_rate *out)
{
    struct ath_stream *stream = work->program->stream;
    const uint64_t bytes = ath_control_net_test_bytes(test);
    switch (ath_control_net_test_kind(test)) {
    case ATH_CONTROL_NET_TEST_KIND_LOOK:
        return 0;
    case ATH_CONTROL_NET_TEST_KIND_ECHO:
        return count == 1
                   ? ath_lane_echo(&lanes[0], (size_t)bytes, ath_control_net_test_count(test))
                   : -EBADMSG;
    case ATH_CONTROL_NET_TEST_KIND_TO_SERVER:
        return count ? ath_lanes_receive(lanes, count, bytes, out)
                     : ath_lane_receive_frames(stream, bytes, out);
    case ATH_CONTROL_NET_TEST_KIND_FROM_SERVER:
        return count ? ath_lanes_send(lanes, count, bytes) : ath_lane_send_frames(stream, bytes);
    default:
        return -EBADMSG;
    }
}

static int serve_one(struct work *work)
{
    struct ath_control_message message;
    struct ath_lane lanes[LANES_MAX];
    struct ath_lane_rate rate = { 0 };
    int status = ath_net_talk_await(&work->talk, ATH_CONTROL_MESSAGE_NET_TEST, &message);
    if (status)
        return status;
    const struct ath_control_net_test test = ath_control_message_net_test(message);
    const uint32_t connections = ath_control_net_test_connections(test);
    const size_t count = choose_lanes(work, connections, lanes);
    if (connections && !count)
        return -EBADMSG;
    if (!connections && !work->is_spread) {
        ath_program_session_spread(work->program);
        ath_program_session_begin_watch(work->program);
        work->is_spread = true;
    }
    status = answer(work, &rate, -1);
    if (!status)
        status = move(work, test, lanes, count, &rate);
    const struct ath_lane calls = { work->program->stream, work->program->socket };
    const int64_t again =
        count ? ath_lanes_sent_again(lanes, count) : ath_lane_frames_sent_again(&calls);
    return status ? status : answer(work, &rate, again);
}

void ath_program_session_serve_net_test(struct ath_program_session *program)
{
    struct work work = { .program = program, .talk.stream = program->stream };
    int status = 0;
    program->stream->patience_us = ath_stream_patience_us(ATH_STREAM_BUSY);
    for (size_t i = 0; i < program->stripes.count; i++)
        ath_tcp_tune(program->stripes.sockets[i].fd);
    while (!status)
        status = serve_one(&work);
    ath_program_session_end(program, status);
}
