/* Jobs of several threads, frames that go by several connections, and names of what is off. */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "remote/switches.h"
#include "remote/transport/pieces.h"
#include "remote/transport/stream.h"
#include "remote/transport/team.h"
#include "tree.h"
#include "unit.h"

static struct ath_err err;

/* ---- teams ---- */

static void count_part(void *job, size_t part)
{
    atomic_uint *times = job;
    times[part]++;
}

LOOP_TEST(does_each_part_once, 1, ATH_TEAM_MAX + 1)
{
    enum { ROUNDS = 500 /* on a busy machine a round may cost a thread's whole turn */ };
    struct ath_team *team = ath_team_make((size_t)_i);
    atomic_uint times[ATH_TEAM_MAX] = { 0 };
    ck_assert_ptr_nonnull(team);
    for (int i = 0; i < ROUNDS; i++)
        ath_team_do(team, (size_t)_i, count_part, times);
    for (int i = 0; i < ATH_TEAM_MAX; i++)
        ck_assert_uint_eq(times[i], i < _i ? ROUNDS : 0);
    ath_team_free(team);
}

TEST(does_parts_without_enough_threads)
{
    struct ath_team *team = ath_team_make(2);
    atomic_uint times[ATH_TEAM_MAX] = { 0 };
    ath_team_do(team, ATH_TEAM_MAX, count_part, times);
    ath_team_do(NULL, ATH_TEAM_MAX, count_part, times);
    for (int i = 0; i < ATH_TEAM_MAX; i++)
        ck_assert_uint_eq(times[i], 2);
    ath_team_free(team);
    ath_team_free(NULL);
}

struct seen {
    atomic_uchar strides[64];
    atomic_size_t bytes, shares;
};

static void see_share(void *job, size_t begin, size_t end)
{
    struct seen *seen = job;
    ck_assert_uint_eq(begin % ATH_TEAM_STRIDE, 0);
    ck_assert_uint_lt(begin, end);
    for (size_t i = begin / ATH_TEAM_STRIDE; i * ATH_TEAM_STRIDE < end; i++)
        seen->strides[i]++;
    seen->bytes += end - begin;
    seen->shares++;
}

/* Each byte is in one share; memory of half a MiB and more has a share for each thread. */
LOOP_TEST(divides_memory, 0, 12)
{
    const size_t least = (size_t)512 * 1024;
    const size_t sizes[] = { 0,         1,         ATH_TEAM_STRIDE,    least - 1,
                             least,     least + 1, 3 * least + 4711,   4 * least - 1,
                             4 * least, 5 * least, 8 * least - 123456, 8 * least };
    const size_t bytes = sizes[_i];
    struct ath_team *team = ath_team_make(4);
    struct seen seen = { .bytes = 0 };
    ath_team_divide(team, bytes, see_share, &seen);
    ck_assert_uint_eq(seen.bytes, bytes);
    for (size_t i = 0; i * ATH_TEAM_STRIDE < bytes; i++)
        ck_assert_uint_eq(seen.strides[i], 1);
    ck_assert_uint_ge(seen.shares, !bytes ? 0 : bytes < least ? 1 : 3);
    ck_assert_uint_le(seen.shares, !bytes ? 0 : bytes < least ? 1 : 4);
    ath_team_free(team);
}

/* A job that the helpers do alone. While it lasts, the caller does other jobs itself. */
LOOP_TEST(divides_memory_aside, 0, ATH_TEAM_MAX + 1)
{
    const size_t bytes = (size_t)3 * 512 * 1024 + 4711;
    struct ath_team *team = _i ? ath_team_make((size_t)_i) : NULL;
    for (int round = 0; round < 100; round++) {
        struct seen aside = { .bytes = 0 }, beside = { .bytes = 0 };
        bool is_begun = ath_team_begin(team, bytes, see_share, &aside);
        ck_assert_int_eq(is_begun, _i > 1);
        ck_assert_int_eq(is_begun && ath_team_begin(team, bytes, see_share, &beside), false);
        ath_team_divide(team, bytes, see_share, &beside);
        ck_assert_uint_eq(beside.bytes, bytes);
        if (is_begun)
            ath_team_finish(team);
        ck_assert_uint_eq(aside.bytes, is_begun ? bytes : 0);
        for (size_t i = 0; is_begun && i * ATH_TEAM_STRIDE < bytes; i++)
            ck_assert_uint_eq(aside.strides[i], 1);
    }
    struct seen few = { .bytes = 0 };
    ck_assert(!ath_team_begin(team, ATH_TEAM_STRIDE, see_share, &few));
    ath_team_free(team);
}

/* Several threads give jobs to one team at the same time. */
static void *copy_often(void *argument)
{
    enum { BYTES = 3 * 1024 * 1024 + 1, ROUNDS = 20 };
    ath_auto_free uint8_t *from = malloc(BYTES), *to = calloc(1, BYTES);
    for (int i = 0; i < ROUNDS; i++) {
        memset(from, i + 1, BYTES);
        ath_team_copy(argument, to, from, BYTES - (size_t)i);
        ck_assert_int_eq(memcmp(from, to, BYTES - (size_t)i), 0);
    }
    return NULL;
}

/* The first difference, wherever it lies, and however many there are behind it. */
LOOP_TEST(compares, 0, ATH_TEAM_MAX + 1)
{
    enum { STRIDES = 40, TAIL = 100 };
    const size_t bytes = (size_t)STRIDES * ATH_TEAM_STRIDE + TAIL;
    struct ath_team *team = _i ? ath_team_make((size_t)_i) : NULL;
    uint8_t *one = calloc(1, bytes), *other = calloc(1, bytes);
    ck_assert_uint_eq(ath_team_compare(team, one, other, bytes), bytes);
    ck_assert_uint_eq(ath_team_compare(team, one, other, 0), 0);
    for (size_t stride = STRIDES + 1; stride-- > 0;) {
        size_t begin = stride * ATH_TEAM_STRIDE;
        other[stride == STRIDES ? bytes - 1 : begin + stride % ATH_TEAM_STRIDE] = 1;
        ck_assert_uint_eq(ath_team_compare(team, one, other, bytes), begin);
        ck_assert_uint_eq(ath_team_compare(team, one, other, begin), begin);
    }
    free(one);
    free(other);
    ath_team_free(team);
}

TEST(copies_for_several_threads)
{
    struct ath_team *team = ath_team_make(4);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, copy_often, team), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    ath_team_free(team);
}

/* ---- frames ---- */

enum { PAIRS = 4, FRAME_MAX = 16 * 1024 * 1024, SOON_NS = 50 * 1000 * 1000 };

struct line {
    struct ath_stream *ends[2];
};

static struct line line_make(size_t connections, enum ath_stripes_way way)
{
    struct line line;
    int fds[PAIRS][2];
    struct ath_socket others[2][PAIRS] = { 0 };
    for (size_t i = 0; i < connections; i++) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]), 0);
        for (int end = 0; i && end < 2; end++)
            others[end][i - 1].fd = fds[i][end];
    }
    for (int end = 0; end < 2; end++) {
        line.ends[end] = ath_tcp_stream((struct ath_socket){ .fd = fds[0][end] });
        ck_assert_ptr_nonnull(line.ends[end]);
        ck_assert_int_eq(ath_tcp_add_stripes(line.ends[end], way, others[end], connections - 1), 0);
    }
    return line;
}

static void line_free(struct line *line)
{
    for (int end = 0; end < 2; end++)
        line->ends[end]->ops->close(line->ends[end]);
}

/* Frames of these many words, cut into parts anywhere, with small ones ahead of some. */
static const size_t words[] = { 1,      131070, 131071, 131072, 131073,
                                131074, 262147, 7,      400001, 1000003 };
enum { FRAMES = sizeof words / sizeof *words, SEED = 5 };

static uint8_t *frame_of(size_t count, size_t *out_length)
{
    uint32_t head[2] = { 0, htole32((uint32_t)count) };
    uint8_t *bytes = malloc(sizeof head + count * 8);
    memcpy(bytes, head, sizeof head);
    for (size_t i = 0; i < count * 8; i++)
        bytes[sizeof head + i] = (uint8_t)(i * 31 + i / 257 + count);
    *out_length = sizeof head + count * 8;
    return bytes;
}

static void *write_frames(void *argument)
{
    unsigned int seed = SEED;
    for (size_t i = 0; i < FRAMES; i++) {
        size_t length, small_length;
        ath_auto_free uint8_t *frame = frame_of(words[i], &length);
        ath_auto_free uint8_t *small = frame_of(3, &small_length);
        size_t first = 8 + (size_t)rand_r(&seed) % (length - 7);
        size_t second = (size_t)rand_r(&seed) % (length - first + 1);
        struct iovec parts[ATH_FRAME_PARTS] = { { frame, first },
                                                { frame + first, second },
                                                { frame + first + second,
                                                  length - first - second } };
        struct iovec ahead = { small, i % 2 ? small_length : 0 };
        ck_assert_int_eq(ath_stream_write_frame(argument, ahead, parts), 0);
    }
    return NULL;
}

static void read_frame(struct ath_stream *stream, struct ath_frame *frame, size_t count)
{
    size_t length;
    ath_auto_free uint8_t *wanted = frame_of(count, &length);
    ck_assert_int_eq(ath_stream_read_frame(stream, FRAME_MAX, frame), 0);
    ck_assert_uint_eq(frame->length, length);
    ck_assert_int_eq(memcmp(frame->bytes, wanted, length), 0);
}

static void check_whole(struct line *line)
{
    ATH_AUTO(ath_frame) frame = { 0 };
    pthread_t thread;
    pthread_create(&thread, NULL, write_frames, line->ends[0]);
    for (size_t i = 0; i < FRAMES; i++) {
        if (i % 2)
            read_frame(line->ends[1], &frame, 3);
        read_frame(line->ends[1], &frame, words[i]);
    }
    pthread_join(thread, NULL);
    line_free(line);
}

LOOP_TEST(frames_arrive_whole, 1, PAIRS + 1)
{
    struct line line = line_make((size_t)_i, ATH_STRIPES_EQUAL);
    check_whole(&line);
}

LOOP_TEST(frames_arrive_whole_in_pieces, 3, PAIRS + 1)
{
    struct line line = line_make((size_t)_i, ATH_STRIPES_PIECES);
    check_whole(&line);
}

/* Both directions at once, each with its own threads. */
LOOP_TEST(frames_go_both_ways, 0, 2)
{
    struct line line = line_make(PAIRS, _i ? ATH_STRIPES_PIECES : ATH_STRIPES_EQUAL);
    ATH_AUTO(ath_frame) frame = { 0 };
    pthread_t threads[2];
    for (int end = 0; end < 2; end++)
        pthread_create(&threads[end], NULL, write_frames, line.ends[end]);
    for (size_t i = 0; i < FRAMES; i++)
        for (int end = 0; end < 2; end++) {
            if (i % 2)
                read_frame(line.ends[end], &frame, 3);
            read_frame(line.ends[end], &frame, words[i]);
        }
    for (int end = 0; end < 2; end++)
        pthread_join(threads[end], NULL);
    line_free(&line);
}

static void *shut_soon(void *argument)
{
    struct ath_stream *stream = argument;
    nanosleep(&(struct timespec){ .tv_nsec = SOON_NS }, NULL);
    stream->ops->shut(stream);
    return NULL;
}

/* No thread writes the shares; threads that wait for them return. */
LOOP_TEST(a_wait_for_shares_ends_with_the_stream, 0, 4)
{
    struct line line = line_make(PAIRS, _i / 2 ? ATH_STRIPES_PIECES : ATH_STRIPES_EQUAL);
    ATH_AUTO(ath_frame) frame = { 0 };
    const uint32_t head[4] = { 0, htole32(262144), htole32(0x010101), 0 };
    struct iovec part = { (void *)(uintptr_t)head, sizeof head };
    pthread_t thread;
    ck_assert_int_eq(line.ends[0]->ops->write(line.ends[0], &part, 1), 0);
    pthread_create(&thread, NULL, shut_soon, line.ends[_i % 2]);
    ck_assert_int_ne(ath_stream_read_frame(line.ends[1], FRAME_MAX, &frame), 0);
    pthread_join(thread, NULL);
    line_free(&line);
}

/* ---- pieces ---- */

/* Every byte is in one piece, and the pieces come back from their heads. */
LOOP_TEST(pieces_cover_a_frame, 0, 8)
{
    static const size_t lengths[] = { 1,
                                      65535,
                                      65536,
                                      65537,
                                      (size_t)1 << 20,
                                      ((size_t)8 << 20) + 8,
                                      (size_t)1 << 30,
                                      ((size_t)5 << 30) + 24 };
    static struct ath_pieces writer, reader;
    struct ath_piece piece, found;
    uint8_t head[ATH_PIECE_HEAD];
    size_t at = 0;
    ath_pieces_init(&writer, lengths[_i]);
    ath_pieces_init(&reader, lengths[_i]);
    while (ath_pieces_take(&writer, 3, SIZE_MAX, &piece)) {
        ck_assert_uint_gt(ath_pieces_missing(&reader), 0);
        ck_assert_uint_eq(piece.begin, at);
        ck_assert_uint_gt(piece.end, at);
        ath_piece_write_head(&piece, head);
        ck_assert_int_eq(ath_pieces_place(&reader, head, &found), 0);
        ck_assert_uint_eq(found.begin, piece.begin);
        ck_assert_uint_eq(found.end, piece.end);
        ck_assert(ath_pieces_see(&reader, &found, found.end - found.begin));
        ck_assert_int_eq(ath_pieces_place(&reader, head, &found), -EBADMSG); /* once only */
        ck_assert(!ath_pieces_see(&reader, &piece, piece.end - piece.begin));
        at = piece.end;
    }
    ck_assert_uint_eq(at, lengths[_i]);
    ck_assert_uint_eq(ath_pieces_missing(&reader), 0);
}

TEST(pieces_beyond_a_frame)
{
    static const uint32_t wrong[][2] = { { 16, 1 },         { 15, 2 },         { 0, 17 },
                                         { UINT32_MAX, 1 }, { 1, UINT32_MAX }, { 16, UINT32_MAX } };
    static struct ath_pieces pieces;
    struct ath_piece found;
    uint8_t head[ATH_PIECE_HEAD];
    ath_pieces_init(&pieces, (size_t)1024 * 1024);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ath_piece_write_head(&(struct ath_piece){ .first = wrong[i][0], .count = wrong[i][1] },
                             head);
        ck_assert_int_eq(ath_pieces_place(&pieces, head, &found), -EBADMSG);
    }
    ath_piece_write_head(&(struct ath_piece){ .first = 99 }, head); /* the end */
    ck_assert_int_eq(ath_pieces_place(&pieces, head, &found), 0);
    ck_assert_uint_eq(found.count, 0);
    ck_assert_uint_eq(ath_pieces_missing(&pieces), 16);
}

/* Units that are whole count, those that came in part do not; the next round has the rest. */
TEST(pieces_that_came_in_part)
{
    static struct ath_pieces writer, reader;
    const size_t each = 65536;
    uint64_t bits[ATH_PIECES_UNITS_MAX / 64];
    struct ath_piece piece;
    ath_pieces_init(&writer, 70 * each + 5);
    ath_pieces_init(&reader, 70 * each + 5);
    while (ath_pieces_take(&writer, 3, SIZE_MAX, &piece))
        ck_assert(
            ath_pieces_see(&reader, &piece, piece.first ? piece.end - piece.begin : each + 9));
    uint32_t missing = ath_pieces_missing(&reader);
    ck_assert_uint_gt(missing, 3);
    ath_pieces_put_seen(&reader, bits);
    ck_assert_uint_eq(ath_pieces_take_seen(&writer, bits), missing);
    for (uint32_t first = 1; ath_pieces_take(&writer, 1, 2 * each, &piece); first += piece.count) {
        ck_assert_uint_eq(piece.first, first);
        ck_assert_uint_le(piece.count, 2);
        ck_assert(ath_pieces_see(&reader, &piece, piece.end - piece.begin));
    }
    ck_assert_uint_eq(ath_pieces_left(&writer), 0); /* although the last units came before */
    ck_assert_uint_eq(ath_pieces_missing(&reader), 0);
}

/* A call that waits for a dead peer ends each second, so that the peer is looked at. */
TEST(a_call_of_a_socket_waits_for_a_second)
{
    static const int options[] = { SO_RCVTIMEO, SO_SNDTIMEO };
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    struct ath_stream *stream = ath_tcp_stream((struct ath_socket){ .fd = pair[0] });
    for (size_t i = 0; i < ATH_COUNT(options); i++) {
        struct timeval time = { 0 };
        socklen_t size = sizeof time;
        ck_assert_int_eq(getsockopt(pair[0], SOL_SOCKET, options[i], &time, &size), 0);
        ck_assert_int_eq(time.tv_sec, 1);
    }
    ck_assert_int_eq(fcntl(pair[0], F_GETFL) & O_NONBLOCK, 0);
    stream->ops->close(stream);
    close(pair[1]);
}

TEST(limits_the_number_of_connections)
{
    int pair[2];
    struct ath_socket none[ATH_STRIPES_MAX] = { 0 };
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    struct ath_stream *stream = ath_tcp_stream((struct ath_socket){ .fd = pair[0] });
    ck_assert_int_eq(ath_tcp_add_stripes(stream, ATH_STRIPES_EQUAL, none, ATH_STRIPES_MAX),
                     -EINVAL);
    ck_assert_int_eq(ath_tcp_add_stripes(stream, ATH_STRIPES_PIECES, none, ATH_STRIPES_MAX),
                     -EINVAL);
    ck_assert_uint_eq(stream->large_bytes, 0);
    stream->ops->close(stream);
    close(pair[1]);
}

/* ---- what is off ---- */

static const struct {
    const char *text;
    uint32_t off;
    const char *hint; /* NULL: the names are right */
} lists[] = {
    { NULL, 0, NULL },
    { "", 0, NULL },
    { "0", 0, NULL },
    { "1", 1u << ATH_SWITCH_GPU, NULL },
    { "gpu", 1u << ATH_SWITCH_GPU, NULL },
    { "all", (1u << ATH_SWITCH_GPU) - 1, NULL },
    { "all,gpu", (1u << ATH_SWITCHES) - 1, NULL },
    { "stripes", 1u << ATH_SWITCH_STRIPES, NULL },
    { "rests,,shared-memory,rests,", 1u << ATH_SWITCH_RESTS | 1u << ATH_SWITCH_SHARED_MEMORY,
      NULL },
    { " rests ,\tcaches, ", 1u << ATH_SWITCH_RESTS | 1u << ATH_SWITCH_CACHES, NULL },
    { "strips", 0, "did you mean 'stripes'?" },
    { "caches,stageing", 1u << ATH_SWITCH_CACHES, "did you mean 'staging'?" },
    { "Stripes?%s", 0, "" },
};

LOOP_TEST(reads_the_optimisations_to_switch_off, 0, (sizeof lists / sizeof *lists))
{
    uint32_t off = 77;
    int status = ath_switches_read(lists[_i].text, &off, &err);
    if (!lists[_i].hint) {
        ck_assert_int_eq(status, 0);
        ck_assert_uint_eq(off, lists[_i].off);
        return;
    }
    ck_assert_int_eq(status, -EINVAL);
    ck_assert_uint_eq(off, 77);
    ck_assert_ptr_nonnull(strstr(err.message, strrchr(lists[_i].text, ',')
                                                  ? strrchr(lists[_i].text, ',') + 1
                                                  : lists[_i].text));
    ck_assert_ptr_nonnull(strstr(err.hint, lists[_i].hint));
    ck_assert_int_eq(ath_switches_read(lists[_i].text, &off, NULL), 0);
    ck_assert_uint_eq(off, lists[_i].off);
}
