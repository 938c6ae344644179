/* A test of the network ends, however long its server waits. */
#include "config.h"

#include "remote/net_test/limit.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"
#include "unit.h"

SECONDS(PATIENCE_MS / 1000);

static struct ath_net_limit limit;
static struct ath_lane lanes[2];
static int peers[2];

static void setup(void)
{
    for (int i = 0; i < 2; i++) {
        int ends[2];
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        lanes[i] = (struct ath_lane){ .socket = { .fd = ends[0] } };
        peers[i] = ends[1];
    }
    lanes[0].stream = ath_tcp_stream(lanes[0].socket);
    ck_assert_ptr_nonnull(lanes[0].stream);
    ck_assert_int_eq(ath_net_limit_begin(&limit, lanes, 2), 0);
}

static void teardown(void)
{
    ath_net_limit_end(&limit);
    ath_net_limit_end(&limit); /* does nothing */
    lanes[0].stream->ops->close(lanes[0].stream);
    close(lanes[1].socket.fd);
    close(peers[0]);
    close(peers[1]);
}

FIXTURE(setup, teardown);

TEST(a_silent_server_ends_a_step)
{
    char byte;
    ath_net_limit_set(&limit, 20);
    int status = lanes[0].stream->ops->read(lanes[0].stream, &byte, 1);
    ck_assert_int_ne(status, 0);
    ck_assert_int_eq(ath_net_limit_judge(&limit, status), -ETIMEDOUT);
    ck_assert_int_eq(ath_net_limit_judge(&limit, 0), 0);
    ck_assert_int_eq(recv(lanes[1].socket.fd, &byte, 1, 0), 0); /* all connections are shut */
}

TEST(a_step_that_ends_in_time_may_be_followed_by_a_long_one)
{
    char byte = 0;
    ath_net_limit_set(&limit, 1);
    ath_net_limit_set(&limit, 0);
    usleep(50000);
    ck_assert_int_eq(send(peers[0], "b", 1, 0), 1);
    ck_assert_int_eq(lanes[0].stream->ops->read(lanes[0].stream, &byte, 1), 0);
    ck_assert_int_eq(byte, 'b');
    ck_assert_int_eq(ath_net_limit_judge(&limit, -EBADMSG), -EBADMSG);
}
