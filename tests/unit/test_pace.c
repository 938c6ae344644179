/* The choice of the connection that takes the next piece, and the figures of UDP channels. */
#include "config.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "remote/transport/pace.h"
#include "unit.h"

enum { UNIT = 65536, MOST = 4, MS = 1000000 };

/* Connections whose bytes that wait are those of their rows: nothing is written to the sockets. */
static struct ath_pace paces[MOST];
static struct ath_udp_row *rows[MOST];
static int far_ends[MOST];

static const union ath_udp_address near_address = { .in = { .sin_family = AF_INET } };

static struct ath_udp_row *take(int fd)
{
    return ath_udp_row_take(fd, &near_address.any, &near_address.any);
}

static void hold(size_t which, uint64_t bytes)
{
    ath_udp_row_write(rows[which], bytes, &(struct ath_udp_figures){ 0 });
}

static void setup(void)
{
    for (size_t i = 0; i < MOST; i++) {
        int ends[2];
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        rows[i] = take(ends[0]);
        far_ends[i] = ends[1];
        ck_assert_ptr_nonnull(rows[i]);
        ath_pace_init(&paces[i], ends[0]);
    }
}

static void teardown(void)
{
    for (size_t i = 0; i < MOST; i++) {
        ath_udp_row_leave(rows[i]);
        close(far_ends[i]);
        if (paces[i].fd >= 0)
            close(paces[i].fd);
    }
}

FIXTURE(setup, teardown);

/* ---- the next piece ---- */

static size_t room(size_t count, size_t which, size_t left)
{
    return ath_pace_room(paces, count, which, left, UNIT);
}

TEST(takes_all_while_a_speed_is_unknown)
{
    paces[0].rate = 1000;
    hold(0, 100 * UNIT);
    ck_assert_uint_eq(room(2, 0, 5 * UNIT), 5 * UNIT);
    ck_assert_uint_eq(room(2, 1, 5 * UNIT), 5 * UNIT);
}

TEST(takes_half_of_its_part)
{
    paces[0].rate = 1000;
    paces[1].rate = 3000;
    ck_assert_uint_eq(room(2, 0, 80 * UNIT), 10 * UNIT);
    ck_assert_uint_eq(room(2, 1, 80 * UNIT), 30 * UNIT);
    hold(1, 20 * UNIT);
    ck_assert_uint_eq(room(2, 1, 80 * UNIT), 20 * UNIT);
    ck_assert_uint_eq(room(2, 0, 80 * UNIT), 10 * UNIT);
    hold(1, 59 * UNIT); /* its part has room for a unit more */
    ck_assert_uint_eq(room(2, 1, 80 * UNIT), UNIT);
}

TEST(leaves_the_end_to_faster_ones)
{
    paces[0].rate = 1000;
    paces[1].rate = 4000;
    ck_assert_uint_eq(room(2, 0, 3 * UNIT), 0);
    ck_assert_uint_eq(room(2, 1, 3 * UNIT), 3 * UNIT * 4 / 5 / 2);
    ck_assert_uint_eq(room(2, 0, 4 * UNIT), 0); /* the other one needs as long for these */
    ck_assert_uint_eq(room(2, 0, 4 * UNIT + 3 * UNIT / 4), UNIT);
    hold(1, 7 * UNIT / 4);
    ck_assert_uint_eq(room(2, 0, 3 * UNIT), UNIT);
    hold(1, 5 * UNIT / 4);
    ck_assert_uint_eq(room(2, 0, 3 * UNIT), 0);
    hold(1, 8 * UNIT); /* what it writes just now counts as well */
    paces[0].pending = 3 * UNIT;
    ck_assert_uint_eq(room(2, 1, UNIT), UNIT);
    paces[0].pending = 0;
    ck_assert_uint_eq(room(2, 1, UNIT), 0);
    ck_assert_uint_eq(room(2, 0, UNIT), UNIT);
}

TEST(equal_ones_take_the_last_unit)
{
    for (size_t i = 0; i < 3; i++)
        paces[i].rate = 1000;
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(room(3, i, UNIT), UNIT);
        ck_assert_uint_eq(room(3, i, UNIT / 2), UNIT / 2);
    }
    hold(0, 1);
    ck_assert_uint_eq(room(3, 0, UNIT), 0);
    ck_assert_uint_eq(room(3, 2, UNIT), UNIT);
}

TEST(counts_no_lost_connection)
{
    for (size_t i = 0; i < 3; i++)
        paces[i].rate = 1000;
    close(paces[1].fd);
    paces[1].fd = -1;
    ck_assert_uint_eq(room(3, 0, 40 * UNIT), 10 * UNIT);
    close(paces[2].fd);
    paces[2].fd = -1;
    hold(0, 1000 * UNIT);
    ck_assert_uint_eq(room(3, 0, UNIT), UNIT);
}

TEST(tells_the_time_for_more_bytes)
{
    ck_assert_uint_eq(ath_pace_ns(&paces[0], UNIT), 0);
    paces[0].rate = 1000000;
    ck_assert_uint_eq(ath_pace_ns(&paces[0], 3000), 3 * MS);
    hold(0, 2000);
    ck_assert_uint_eq(ath_pace_ns(&paces[0], 3000), 5 * MS);
}

/* ---- the speed ---- */

static void pass(long ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * MS }, NULL);
}

/* One piece of which so many bytes wait at its end. */
static void write_piece(size_t bytes, uint64_t left)
{
    ath_pace_begin_piece(&paces[0], bytes);
    ck_assert_uint_eq(paces[0].pending, bytes);
    hold(0, left);
    ath_pace_end_piece(&paces[0], bytes);
    ck_assert_uint_eq(paces[0].pending, 0);
}

TEST(a_window_without_progress_counts)
{
    const uint64_t begin_ns = ath_now_ns();
    ath_pace_begin_frame(&paces[0]);
    pass(5);
    write_piece(4 * UNIT, 4 * UNIT);
    ck_assert_uint_eq(paces[0].rate, 0);
    pass(20);
    write_piece(UNIT, 4 * UNIT);
    const double most = UNIT / 0.025, least = UNIT * 1e9 / (double)(ath_now_ns() - begin_ns);
    ck_assert_double_le((double)paces[0].rate, most);
    ck_assert_double_ge((double)paces[0].rate, least - 1);
}

TEST(measures_in_windows_of_some_milliseconds)
{
    ath_pace_begin_frame(&paces[0]);
    const uint64_t since_ns = ath_now_ns();
    paces[0].since_ns = since_ns;
    write_piece(4 * UNIT, UNIT);
    const bool is_soon = ath_now_ns() - since_ns < 4 * MS;
    ck_assert(!is_soon || paces[0].rate == 0);
}

TEST(an_empty_socket_tells_no_lower_speed)
{
    ath_pace_begin_frame(&paces[0]);
    pass(5);
    write_piece(100 * UNIT, 1);
    const uint64_t rate = paces[0].rate;
    ck_assert_uint_gt(rate, 0);
    pass(5);
    write_piece(1, 0);
    pass(50);
    write_piece(1, 0);
    ck_assert_uint_eq(paces[0].rate, rate);
}

/* ---- rows of channels ---- */

TEST(finds_the_row_in_another_process)
{
    struct ath_udp_place place;
    struct ath_udp_figures figures = { .sent = 1,
                                       .received = 2,
                                       .sent_again = 3,
                                       .lost = 4,
                                       .duplicates = 5,
                                       .damaged = 6 },
                           read;
    ath_udp_row_write(rows[1], 7, &figures);
    const int copy = dup(paces[1].fd);
    pid_t child = fork();
    if (!child) {
        bool is_right = ath_udp_place_find(copy, &place) && ath_udp_place_read(&place, &read) &&
                        !memcmp(&read, &figures, sizeof read) && ath_udp_place_waiting(&place) == 7;
        _exit(is_right ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    close(copy);
}

TEST(sockets_without_a_row_have_no_figures)
{
    struct ath_udp_place place;
    struct ath_udp_figures figures;
    const int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(!ath_udp_place_find(tcp, &place));
    ck_assert(!ath_udp_place_find(far_ends[0], &place));
    ck_assert_uint_eq(ath_udp_place_waiting(&place), 0);
    ck_assert(!ath_udp_place_read(&place, &figures));
    ck_assert(!ath_udp_place_find(-1, &place));
    close(tcp);
}

TEST(a_row_that_was_left_tells_nothing)
{
    struct ath_udp_place place;
    struct ath_udp_figures figures;
    hold(0, 5);
    ck_assert(ath_udp_place_find(paces[0].fd, &place));
    ck_assert_uint_eq(ath_udp_place_waiting(&place), 5);
    ath_udp_row_leave(rows[0]);
    ck_assert_uint_eq(ath_udp_place_waiting(&place), 0);
    ck_assert(!ath_udp_place_read(&place, &figures));
    ck_assert(!ath_udp_place_find(paces[0].fd, &place));
    rows[0] = NULL;
    ath_udp_row_leave(NULL);
    ath_udp_row_write(NULL, 1, &figures);
}

TEST(a_table_may_be_full_and_cleared)
{
    static struct ath_udp_row three[3];
    struct ath_udp_place place;
    ath_udp_rows_use(three, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_ptr_nonnull(take(paces[i].fd));
    ck_assert_ptr_null(take(paces[3].fd));
    for (size_t i = 0; i < 3; i++)
        ck_assert(ath_udp_place_find(paces[i].fd, &place) && place.row >= three &&
                  place.row < three + 3);
    ck_assert(!ath_udp_place_find(paces[3].fd, &place));
    ath_udp_rows_clear();
    ck_assert(!ath_udp_place_find(paces[0].fd, &place));
    ck_assert_ptr_nonnull(take(paces[3].fd));
    ath_udp_rows_clear();
    ath_udp_rows_use(NULL, 0);
    ck_assert(ath_udp_place_find(paces[0].fd, &place));
}

TEST(rows_have_addresses)
{
    struct sockaddr_in local = { .sin_family = AF_INET,
                                 .sin_port = htons(5555),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 peer = { .sin6_family = AF_INET6,
                                 .sin6_port = htons(7),
                                 .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    ath_udp_row_leave(rows[2]);
    rows[2] = ath_udp_row_take(paces[2].fd, (struct sockaddr *)&local, (struct sockaddr *)&peer);
    ck_assert_int_eq(memcmp(&rows[2]->local.in, &local, sizeof local), 0);
    ck_assert_int_eq(memcmp(&rows[2]->peer.in6, &peer, sizeof peer), 0);
}
