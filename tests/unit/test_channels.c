/* Frames by channels of which some fail: cut off at any byte or silent, for good or until another
 * connection takes their place. */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "remote/transport/channels.h"
#include "remote/transport/stream.h"
#include "unit.h"

SECONDS(20);

enum { MOST = 4, UNIT = 65536, FRAME_MAX = 32 * 1024 * 1024, ALL_FRAMES = 3 };

/* ---- a path that fails ---- */

enum cut { CUT_CLOSES, CUT_IS_SILENT, CUTS };

/* Moves the bytes of a connection, both ways together up to a number of them. */
struct path {
    int near, far;        /* the path's ends of two pairs */
    atomic_ullong budget; /* bytes until the cut */
    enum cut cut;
    atomic_ullong moved;
    atomic_bool is_over;
    pthread_t thread;
};

static void cut_off(struct path *path)
{
    if (path->cut == CUT_CLOSES) {
        shutdown(path->near, SHUT_RDWR);
        shutdown(path->far, SHUT_RDWR);
    }
    while (!path->is_over)
        usleep(1000);
}

/* Returns whether the path goes on. */
static bool move_some(struct path *path, int from, int to)
{
    static _Thread_local uint8_t bytes[16384];
    unsigned long long left = path->budget - path->moved;
    ssize_t got =
        left ? recv(from, bytes, left < sizeof bytes ? left : sizeof bytes, MSG_DONTWAIT) : -1;
    if (!got)
        shutdown(to, SHUT_WR);
    for (ssize_t sent = 0, one; sent < got; sent += one)
        if ((one = send(to, bytes + sent, (size_t)(got - sent), MSG_NOSIGNAL)) < 0)
            return false;
    path->moved += got > 0 ? (unsigned long long)got : 0;
    return left && got;
}

static void *move_all(void *argument)
{
    struct path *path = argument;
    struct pollfd ends[] = { { .fd = path->near, .events = POLLIN },
                             { .fd = path->far, .events = POLLIN } };
    bool goes_on = path->budget > 0;
    while (goes_on && !path->is_over && path->moved < path->budget) {
        poll(ends, 2, 10);
        if (ends[0].revents)
            goes_on = move_some(path, path->near, path->far);
        if (goes_on && ends[1].revents)
            goes_on = move_some(path, path->far, path->near);
    }
    cut_off(path);
    return NULL;
}

/* Begins a path, and returns its two ends for the streams. */
static void path_begin(struct path *path, unsigned long long budget, enum cut cut, int out[2])
{
    int near[2], far[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, near), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, far), 0);
    path->near = near[1];
    path->far = far[1];
    path->cut = cut;
    atomic_init(&path->budget, budget);
    atomic_init(&path->moved, 0);
    atomic_init(&path->is_over, false);
    out[0] = near[0];
    out[1] = far[0];
    ck_assert_int_eq(pthread_create(&path->thread, NULL, move_all, path), 0);
}

static void path_end(struct path *path)
{
    path->is_over = true;
    shutdown(path->near, SHUT_RDWR);
    shutdown(path->far, SHUT_RDWR);
    pthread_join(path->thread, NULL);
    close(path->near);
    close(path->far);
}

/* ---- two streams ---- */

struct line {
    struct ath_stream *ends[2];
    struct path paths[MOST];
    size_t count;
    atomic_uint lost[2]; /* channels that each end has taken out: a bit for each */
    int back;            /* the second end's descriptor of the verdicts */
    int calls;           /* and that of the calls */
};

static void note_lost(void *context, size_t slot)
{
    atomic_uint *lost = context;
    atomic_fetch_or(lost, 1u << slot);
}

/* budgets: bytes until each path is cut; UINT64_MAX: never. */
static void line_make(struct line *line, size_t count, const unsigned long long *budgets,
                      enum cut cut)
{
    struct ath_socket sockets[2][MOST + 1] = { 0 };
    int pair[2];
    *line = (struct line){ .count = count };
    for (size_t i = 0; i < count; i++) {
        path_begin(&line->paths[i], budgets[i], cut, pair);
        for (int end = 0; end < 2; end++)
            sockets[end][i].fd = pair[end];
    }
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    line->back = pair[1];
    for (int end = 0; end < 2; end++)
        sockets[end][count].fd = pair[end];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    line->calls = pair[1];
    for (int end = 0; end < 2; end++) {
        line->ends[end] = ath_tcp_stream((struct ath_socket){ .fd = pair[end] });
        ck_assert_int_eq(
            ath_tcp_add_stripes(line->ends[end], ATH_STRIPES_PIECES, sockets[end], count + 1), 0);
        ath_channels_watch(
            ath_tcp_channels(line->ends[end]),
            &(struct ath_channels_watcher){ .lost = note_lost, .context = &line->lost[end] });
    }
}

static void line_free(struct line *line)
{
    for (int end = 0; end < 2; end++)
        line->ends[end]->ops->shut(line->ends[end]);
    for (size_t i = 0; i < line->count; i++)
        path_end(&line->paths[i]);
    for (int end = 0; end < 2; end++)
        line->ends[end]->ops->close(line->ends[end]);
}

static uint8_t *frame_of(size_t words, size_t *out_length)
{
    uint32_t head[2] = { 0, htole32((uint32_t)words) };
    uint8_t *bytes = malloc(sizeof head + words * 8);
    memcpy(bytes, head, sizeof head);
    for (size_t i = 0; i < words * 8; i++)
        bytes[sizeof head + i] = (uint8_t)(i * 31 + i / 257 + i / UNIT + words);
    *out_length = sizeof head + words * 8;
    return bytes;
}

/* The sizes of the frames: one is not a number of units, one is the least that is divided. */
static const size_t words[ALL_FRAMES] = { 700001, 131071, 400000 };

struct writer {
    struct ath_stream *stream;
    size_t frames;
    int status;
};

static void *write_frames(void *argument)
{
    struct writer *writer = argument;
    for (size_t i = 0; i < writer->frames && !writer->status; i++) {
        size_t length;
        ath_auto_free uint8_t *frame = frame_of(words[i % ALL_FRAMES], &length);
        struct iovec parts[ATH_FRAME_PARTS] = { { frame, 5000 }, { frame + 5000, length - 5000 } };
        writer->status = ath_stream_write_frame(writer->stream, (struct iovec){ 0 }, parts);
        memset(frame, 0xee, length); /* the memory is the writer's own again */
    }
    return NULL;
}

/* Sends frames from one end to the other, and checks each. */
static void send_frames(struct line *line, int from, size_t frames)
{
    struct writer writer = { .stream = line->ends[from], .frames = frames };
    ATH_AUTO(ath_frame) frame = { 0 };
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, write_frames, &writer), 0);
    for (size_t i = 0; i < frames; i++) {
        size_t length;
        ath_auto_free uint8_t *wanted = frame_of(words[i % ALL_FRAMES], &length);
        ck_assert_int_eq(ath_stream_read_frame(line->ends[!from], FRAME_MAX, &frame), 0);
        ck_assert_uint_eq(frame.length, length);
        ck_assert_int_eq(memcmp(frame.bytes, wanted, length), 0);
    }
    pthread_join(thread, NULL);
    ck_assert_int_eq(writer.status, 0);
}

/* ---- one of several fails ---- */

/* Before its first head, within that, behind it, within a unit, between two, in a later piece, in a
 * later frame. */
static const unsigned long long points[] = { 0,       3,      8, 8 + 100, 8 + UNIT, 2 * UNIT + 21,
                                             2000000, 3000000 };
enum { POINTS = sizeof points / sizeof *points };

LOOP_TEST(one_of_three_is_cut_off, 0, POINTS *CUTS)
{
    enum { ROUNDS = 20 /* for a path that the others leave little */ };
    const unsigned long long budgets[] = { UINT64_MAX, points[_i / CUTS], UINT64_MAX };
    struct line line;
    line_make(&line, 3, budgets, (enum cut)(_i % CUTS));
    for (int i = 0; i < ROUNDS && line.paths[1].moved < budgets[1]; i++)
        send_frames(&line, 0, ALL_FRAMES);
    send_frames(&line, 0, ALL_FRAMES);
    ck_assert_uint_eq(line.paths[1].moved, budgets[1]);
    ck_assert_uint_eq(line.lost[0] & 2u, 2); /* on a busy machine others may be late, too */
    ck_assert_uint_eq(line.lost[1] & 2u, 2);
    send_frames(&line, 1, ALL_FRAMES); /* the other way round, too */
    line_free(&line);
}

/* A channel that is silent costs less than half a second. */
TEST(silence_does_not_last)
{
    const unsigned long long budgets[] = { 1000000, UINT64_MAX };
    struct line line;
    line_make(&line, 2, budgets, CUT_IS_SILENT);
    uint64_t begin_ms = ath_now_ms();
    send_frames(&line, 0, ALL_FRAMES);
    ck_assert_uint_eq(line.lost[1] & 1u, 1);
    ck_assert_uint_le(ath_now_ms() - begin_ms, 5000); /* on a busy machine */
    line_free(&line);
}

/* ---- each fails ---- */

/* One after the other; the rest goes by the connection of the calls. */
LOOP_TEST(all_are_cut_off, 0, 4)
{
    const unsigned long long budgets[] = { 100000, _i % 2 ? 100000 : 3000000, 700000 };
    struct line line;
    line_make(&line, 3, budgets, CUT_CLOSES);
    send_frames(&line, _i / 2, 3 * (size_t)ALL_FRAMES);
    ck_assert_uint_eq(line.lost[0], 7);
    ck_assert_uint_eq(line.lost[1], 7);
    send_frames(&line, !(_i / 2), ALL_FRAMES);
    line_free(&line);
}

/* The bytes of the first frame by a single channel, with all heads. */
static unsigned long long bytes_of_one(void)
{
    const unsigned long long never = UINT64_MAX;
    struct line line;
    line_make(&line, 1, &never, CUT_CLOSES);
    send_frames(&line, 0, 1);
    unsigned long long bytes = line.paths[0].moved;
    line_free(&line);
    return bytes;
}

/* A single channel: around the end of the first frame, before the verdict about it and behind. */
LOOP_TEST(a_single_one_is_cut_off, 0, 12)
{
    unsigned long long budget = bytes_of_one() + 3 - (unsigned long long)_i;
    struct line line;
    line_make(&line, 1, &budget, CUT_CLOSES);
    send_frames(&line, 0, ALL_FRAMES);
    ck_assert_uint_eq(line.paths[0].moved, budget);
    ck_assert_uint_eq(line.lost[1], 1);
    line_free(&line);
}

/* ---- taken back ---- */

static void offer(struct line *line, int end, size_t slot, uint32_t generation, int fd)
{
    ck_assert_int_eq(ath_channels_offer(ath_tcp_channels(line->ends[end]), slot, generation,
                                        (struct ath_socket){ .fd = fd }),
                     0);
}

static struct ath_stripe_state state_of(const struct line *line, size_t slot)
{
    struct ath_stripe_state state;
    ck_assert(ath_tcp_stripe_state(line->ends[0], slot, &state));
    return state;
}

static uint64_t sent_by(const struct line *line, size_t slot)
{
    return state_of(line, slot).sent_bytes;
}

TEST(a_lost_one_is_taken_back)
{
    const unsigned long long budgets[] = { 500000, UINT64_MAX };
    struct line line;
    struct path again[2];
    int fds[2];
    line_make(&line, 2, budgets, CUT_CLOSES);
    send_frames(&line, 0, ALL_FRAMES);
    ck_assert_uint_eq(line.lost[0] & 1u, 1);
    ck_assert(state_of(&line, 0).is_lost);
    ck_assert(!state_of(&line, 1).is_lost);
    uint64_t before = sent_by(&line, 0);
    send_frames(&line, 0, ALL_FRAMES);
    ck_assert_uint_eq(sent_by(&line, 0), before);
    for (uint8_t i = 0; i < 2; i++) { /* the second time without a loss before */
        path_begin(&again[i], UINT64_MAX, CUT_CLOSES, fds);
        for (int end = 0; end < 2; end++)
            offer(&line, end, 0, (uint8_t)(i + 2), fds[end]);
        ck_assert(!state_of(&line, 0).is_lost);
        send_frames(&line, 0, ALL_FRAMES);
        ck_assert_uint_gt(sent_by(&line, 0), before);
        before = sent_by(&line, 0);
        send_frames(&line, 1, ALL_FRAMES);
    }
    ck_assert_uint_eq(line.lost[0] & 1u, 1);
    line_free(&line);
    for (int i = 0; i < 2; i++)
        path_end(&again[i]);
}

/* A frame names a generation by a byte. */
TEST(one_is_taken_back_very_often)
{
    const unsigned long long budgets[] = { UINT64_MAX, UINT64_MAX };
    static const uint32_t generations[] = { 128, 255, 256, 257, 511, 512 };
    enum { TIMES = sizeof generations / sizeof *generations };
    struct line line;
    struct path again[TIMES];
    int fds[2];
    line_make(&line, 2, budgets, CUT_CLOSES);
    send_frames(&line, 0, ALL_FRAMES);
    for (size_t i = 0; i < TIMES; i++) {
        uint64_t before = sent_by(&line, 0);
        path_begin(&again[i], UINT64_MAX, CUT_CLOSES, fds);
        for (int end = 0; end < 2; end++)
            offer(&line, end, 0, generations[i], fds[end]);
        send_frames(&line, 0, ALL_FRAMES);
        ck_assert_uint_gt(sent_by(&line, 0), before);
    }
    ck_assert_uint_eq(line.lost[0] & 1u, 0);
    line_free(&line);
    for (size_t i = 0; i < TIMES; i++)
        path_end(&again[i]);
}

struct late {
    struct line *line;
    int fd;
};

static void *offer_late(void *argument)
{
    const struct late *late = argument;
    usleep(100 * 1000);
    offer(late->line, 1, 0, 2, late->fd);
    return NULL;
}

/* The reader has it a little later than the writer. */
TEST(it_is_taken_back_at_one_end_first)
{
    const unsigned long long budgets[] = { 500000, UINT64_MAX };
    struct line line;
    struct path again;
    int fds[2];
    pthread_t thread;
    line_make(&line, 2, budgets, CUT_CLOSES);
    send_frames(&line, 0, ALL_FRAMES);
    path_begin(&again, UINT64_MAX, CUT_CLOSES, fds);
    offer(&line, 0, 0, 2, fds[0]);
    struct late late = { &line, fds[1] };
    ck_assert_int_eq(pthread_create(&thread, NULL, offer_late, &late), 0);
    send_frames(&line, 0, ALL_FRAMES);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(line.lost[0] & 1u, 1);
    line_free(&line);
    path_end(&again);
}

/* The reader never gets it: the writer goes on with the others. */
TEST(it_is_taken_back_at_one_end_only)
{
    const unsigned long long budgets[] = { 500000, UINT64_MAX };
    struct line line;
    struct path again;
    int fds[2];
    line_make(&line, 2, budgets, CUT_CLOSES);
    send_frames(&line, 0, ALL_FRAMES);
    path_begin(&again, UINT64_MAX, CUT_CLOSES, fds);
    offer(&line, 0, 0, 2, fds[0]);
    atomic_store(&line.lost[0], 0);
    send_frames(&line, 0, ALL_FRAMES);
    ck_assert_uint_eq(line.lost[0] & 1u, 1);
    line_free(&line);
    path_end(&again);
    close(fds[1]);
}

TEST(offers_that_are_refused)
{
    const unsigned long long never = UINT64_MAX;
    struct line line;
    int pair[2];
    line_make(&line, 1, &never, CUT_CLOSES);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    struct ath_channels *channels = ath_tcp_channels(line.ends[0]);
    const struct ath_socket socket = { .fd = pair[0] };
    ck_assert_int_eq(ath_channels_offer(channels, 1, 2, socket), -EINVAL); /* the verdicts' */
    ck_assert_int_eq(ath_channels_offer(channels, 0, 1, socket), -EINVAL); /* old */
    ck_assert_int_eq(ath_channels_offer(channels, 0, 0, socket), -EINVAL);
    line.ends[0]->ops->shut(line.ends[0]);
    ck_assert(ath_channels_are_shut(channels));
    ck_assert_int_eq(ath_channels_offer(channels, 0, 2, socket), -EINVAL);
    ck_assert_int_eq(write(pair[0], "x", 1), 1); /* it is still the caller's */
    line_free(&line);
    close(pair[0]);
    close(pair[1]);
}

/* ---- a reader whose writer is this test ---- */

struct hand {
    int calls, channel;
    uint32_t loss; /* that the end has */
};

/* A frame in one piece. */
static void *write_by_hand(void *argument)
{
    enum { UNITS = 16 };
    static const uint8_t bytes[UNITS * UNIT];
    const struct hand *hand = argument;
    const uint32_t head[] = { 0, htole32(sizeof bytes / 8), htole32(1), 0 /* the generation */ };
    const uint32_t piece[] = { 0, htole32(UNITS) }, end[] = { htole32(hand->loss), 0 };
    bool is_whole = send(hand->calls, head, sizeof head, 0) == sizeof head &&
                    send(hand->channel, piece, sizeof piece, 0) == sizeof piece &&
                    send(hand->channel, bytes, sizeof bytes, 0) == sizeof bytes &&
                    send(hand->channel, end, sizeof end, 0) == sizeof end;
    return is_whole ? argument : NULL;
}

struct heard {
    unsigned int losses, moved;
    double part;
};

static void note_loss(void *context, enum ath_channels_way way, size_t slot, double part)
{
    struct heard *heard = context;
    ck_assert_int_eq(way, ATH_CHANNELS_READ);
    ck_assert_uint_eq(slot, 0);
    heard->losses++;
    heard->part = part;
}

static void note_moved(void *context, enum ath_channels_way way)
{
    struct heard *heard = context;
    ck_assert_int_eq(way, ATH_CHANNELS_READ);
    heard->moved++;
}

/* One of an older version says nothing. */
TEST(a_writer_says_which_part_a_line_loses)
{
    enum { CALLS, CHANNEL, BACK, ALL };
    static const struct {
        uint32_t said;
        unsigned int losses;
        double part;
    } cases[] = { { 0, 0, 0 }, { 130, 1, 0.013 }, { 0, 1, 0.013 }, { UINT32_MAX, 2, 1 } };
    int pairs[ALL][2];
    struct heard heard = { 0 };
    ATH_AUTO(ath_frame) frame = { 0 };
    for (int i = 0; i < ALL; i++)
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
    struct ath_stream *stream = ath_tcp_stream((struct ath_socket){ .fd = pairs[CALLS][0] });
    const struct ath_socket sockets[] = { { .fd = pairs[CHANNEL][0] }, { .fd = pairs[BACK][0] } };
    ck_assert_int_eq(ath_tcp_add_stripes(stream, ATH_STRIPES_PIECES, sockets, 2), 0);
    struct ath_channels *channels = ath_tcp_channels(stream);
    ath_channels_watch(channels, &(struct ath_channels_watcher){
                                     .loses = note_loss, .moved = note_moved, .context = &heard });
    for (unsigned int i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hand hand = { pairs[CALLS][1], pairs[CHANNEL][1], cases[i].said };
        void *is_whole;
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, write_by_hand, &hand), 0);
        ck_assert_int_eq(ath_stream_read_frame(stream, FRAME_MAX, &frame), 0);
        pthread_join(thread, &is_whole);
        ck_assert_ptr_nonnull(is_whole);
        ck_assert_uint_eq(heard.moved, i + 1);
        ck_assert_uint_eq(heard.losses, cases[i].losses);
        ck_assert_double_eq(heard.part, cases[i].part);
    }
    ck_assert_uint_gt(ath_channels_bytes_per_s(channels, ATH_CHANNELS_READ), 0);
    ck_assert_uint_eq(ath_channels_bytes_per_s(channels, ATH_CHANNELS_WRITTEN), 0);
    stream->ops->close(stream);
    for (int i = 0; i < ALL; i++)
        close(pairs[i][1]);
}

/* ---- a writer whose reader is this test ---- */

struct drain {
    int fd;
    size_t at_once;
    unsigned int pause_us;
    atomic_bool is_over;
    pthread_t thread;
};

static void *drain(void *argument)
{
    struct drain *drain = argument;
    static _Thread_local uint8_t bytes[UNIT];
    while (!drain->is_over) {
        struct pollfd one = { .fd = drain->fd, .events = POLLIN };
        if (poll(&one, 1, 1) > 0)
            (void)!recv(drain->fd, bytes, drain->at_once, MSG_DONTWAIT);
        usleep(drain->pause_us);
    }
    return NULL;
}

static void tell(int back, uint32_t number, uint32_t out, uint32_t missing)
{
    const uint32_t verdict[] = { htole32(number), htole32(out), htole32(missing), 0 };
    const uint8_t bits[256] = { 0 };
    ck_assert_int_eq(write(back, verdict, sizeof verdict), sizeof verdict);
    if (missing)
        ck_assert_int_gt(write(back, bits, (missing + 63) / 64 * 8), 0);
}

static void read_whole(int fd, size_t bytes)
{
    static uint8_t unused[FRAME_MAX];
    ck_assert_int_eq(recv(fd, unused, bytes, MSG_WAITALL), (ssize_t)bytes);
}

static size_t waiting_at(int fd)
{
    int bytes = 0;
    ck_assert_int_eq(ioctl(fd, FIONREAD, &bytes), 0);
    return (size_t)bytes;
}

static void make_pair(int pair[2])
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &(int){ 4 * UNIT }, sizeof(int));
}

/* A slow channel waits for its turn, as its socket has bytes already. No thread will read them: the
 * other channel fails, and the reader gives up both. */
TEST(a_channel_is_given_up_while_it_waits_for_its_turn)
{
    enum { CALLS, FAST, SLOW, BACK, ALL };
    int pairs[ALL][2];
    struct ath_socket sockets[ALL - 1];
    struct writer writer = { .frames = ALL_FRAMES };
    struct drain drains[2];
    pthread_t thread;
    size_t length;
    for (int i = 0; i < ALL; i++)
        make_pair(pairs[i]);
    for (int i = FAST; i < ALL; i++)
        sockets[i - FAST] = (struct ath_socket){ .fd = pairs[i][0] };
    writer.stream = ath_tcp_stream((struct ath_socket){ .fd = pairs[CALLS][0] });
    ck_assert_int_eq(ath_tcp_add_stripes(writer.stream, ATH_STRIPES_PIECES, sockets, ALL - 1), 0);
    free(frame_of(words[0], &length));
    /* The first frames teach the writer how fast they are. */
    for (uint32_t i = 1; i <= ALL_FRAMES; i++)
        tell(pairs[BACK][1], i, 0, 0);
    drains[0] = (struct drain){ .fd = pairs[FAST][1], .at_once = UNIT };
    drains[1] = (struct drain){ .fd = pairs[SLOW][1], .at_once = 4096, .pause_us = 5000 };
    for (int i = 0; i < 2; i++)
        pthread_create(&drains[i].thread, NULL, drain, &drains[i]);
    ck_assert_ptr_null(write_frames(&writer));
    ck_assert_int_eq(writer.status, 0);
    read_whole(pairs[CALLS][1], ALL_FRAMES * (size_t)16);
    for (int i = 0; i < 2; i++) {
        drains[i].is_over = true;
        pthread_join(drains[i].thread, NULL);
        while (waiting_at(drains[i].fd))
            (void)!recv(drains[i].fd, (uint8_t[4096]){ 0 }, 4096, 0);
    }
    setsockopt(pairs[FAST][0], SOL_SOCKET, SO_SNDBUF, &(int){ UNIT }, sizeof(int));
    writer.frames = 1;
    pthread_create(&thread, NULL, write_frames, &writer);
    while (!waiting_at(pairs[SLOW][1]))
        usleep(1000);
    usleep(100 * 1000);
    close(pairs[FAST][1]);
    usleep(100 * 1000);
    uint32_t units = (uint32_t)((length - 8 + UNIT - 1) / UNIT);
    tell(pairs[BACK][1], ALL_FRAMES + 1, 3, units);
    read_whole(pairs[CALLS][1], 16 + length - 8); /* all of it where the calls go */
    tell(pairs[BACK][1], ALL_FRAMES + 1, 0, 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(writer.status, 0);
    writer.stream->ops->close(writer.stream);
    close(pairs[CALLS][1]);
    close(pairs[SLOW][1]);
    close(pairs[BACK][1]);
}

/* ---- both ways at once ---- */

static void *read_all(void *argument)
{
    struct writer *reader = argument;
    ATH_AUTO(ath_frame) frame = { 0 };
    for (size_t i = 0; i < reader->frames; i++) {
        size_t length;
        ath_auto_free uint8_t *wanted = frame_of(words[i % ALL_FRAMES], &length);
        ck_assert_int_eq(ath_stream_read_frame(reader->stream, FRAME_MAX, &frame), 0);
        ck_assert_int_eq(memcmp(frame.bytes, wanted, length), 0);
    }
    return NULL;
}

LOOP_TEST(frames_go_both_ways, 0, CUTS)
{
    enum { FRAMES = 4 * ALL_FRAMES };
    const unsigned long long budgets[] = { UINT64_MAX, 9000000, 4000000 };
    struct line line;
    struct writer writers[2] = { 0 }, readers[2] = { 0 };
    pthread_t threads[4];
    line_make(&line, 3, budgets, (enum cut)_i);
    for (int end = 0; end < 2; end++) {
        writers[end] = readers[end] = (struct writer){ line.ends[end], FRAMES, 0 };
        pthread_create(&threads[end], NULL, write_frames, &writers[end]);
        pthread_create(&threads[2 + end], NULL, read_all, &readers[end]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(writers[0].status | writers[1].status, 0);
    line_free(&line);
}

/* ---- the end of the stream, and nonsense ---- */

static void *shut_soon(void *argument)
{
    struct ath_stream *stream = argument;
    usleep(50 * 1000);
    stream->ops->shut(stream);
    return NULL;
}

/* A writer that waits for room, or for the verdict, returns when the stream is shut at an end. */
LOOP_TEST(a_write_ends_with_the_stream, 0, 4)
{
    const unsigned long long budgets[] = { _i / 2 ? UINT64_MAX : 0, UINT64_MAX };
    struct line line;
    line_make(&line, 2, budgets, CUT_IS_SILENT);
    struct writer writer = { .stream = line.ends[0], .frames = 1 };
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, write_frames, &writer);
    pthread_create(&threads[1], NULL, shut_soon, line.ends[_i % 2]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_lt(writer.status, 0);
    line_free(&line);
}

static const struct {
    uint32_t number, out, missing;
    uint64_t seen;
} verdicts[] = {
    { 2, 0, 0, 0 },      /* of another frame */
    { 1, 0, 1, 0x7fff }, /* nothing is out, and units are missing */
    { 1, 1, 2, 0x7fff }, /* a wrong number of them */
    { 1, 2, 1, 0x7fff }, /* what is out is no channel */
};

LOOP_TEST(nonsense_as_a_verdict, 0, sizeof verdicts / sizeof *verdicts)
{
    const unsigned long long budget = 0; /* which closes it, so that the writer does not wait */
    struct line line;
    line_make(&line, 1, &budget, CUT_CLOSES);
    const uint32_t head[] = { htole32(verdicts[_i].number), htole32(verdicts[_i].out),
                              htole32(verdicts[_i].missing), 0 };
    const uint64_t seen = htole64(verdicts[_i].seen);
    ck_assert_int_eq(write(line.back, head, sizeof head), sizeof head);
    ck_assert_int_eq(write(line.back, &seen, sizeof seen), sizeof seen);
    size_t length;
    ath_auto_free uint8_t *frame = frame_of(131072, &length);
    struct iovec parts[ATH_FRAME_PARTS] = { { frame, length } };
    ck_assert_int_eq(ath_stream_write_frame(line.ends[0], (struct iovec){ 0 }, parts), -EBADMSG);
    line_free(&line);
}

/* All channels say that they are done, but bytes are missing. */
TEST(a_frame_with_a_hole)
{
    struct ath_stream *stream;
    struct ath_socket further[3] = { 0 };
    int calls[2], pairs[3][2];
    ATH_AUTO(ath_frame) frame = { 0 };
    const uint32_t head[] = { 0, htole32(131072), htole32(0x0101), 0 };
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, calls), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
        further[i].fd = pairs[i][0];
    }
    stream = ath_tcp_stream((struct ath_socket){ .fd = calls[0] });
    ck_assert_int_eq(ath_tcp_add_stripes(stream, ATH_STRIPES_PIECES, further, 3), 0);
    ck_assert_int_eq(write(calls[1], head, sizeof head), sizeof head);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(write(pairs[i][1], "\0\0\0\0\0\0\0\0", 8), 8);
    ck_assert_int_eq(ath_stream_read_frame(stream, FRAME_MAX, &frame), -EBADMSG);
    stream->ops->close(stream);
    for (int i = 0; i < 3; i++)
        close(pairs[i][1]);
    close(calls[1]);
}
