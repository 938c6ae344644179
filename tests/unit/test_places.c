/* Slots for sessions: attempts and slots of each source, unproven clients, the waiting
 * room, and first messages. */
#include "config.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "proto/control.h"
#include "runtime/attempts.h"
#include "runtime/first_message.h"
#include "runtime/process_table.h"
#include "runtime/waiting_room.h"
#include "unit.h"

static const struct ath_source alice = { ATH_SOURCE_IPV4, 1 }, bob = { ATH_SOURCE_IPV4, 2 },
                               user_1 = { ATH_SOURCE_USER, 1 };

/* ---- attempts ---- */

static struct ath_attempts attempts;

static void forget_attempts(void)
{
    attempts = (struct ath_attempts){ .seed = 7 };
}

FIXTURE(forget_attempts, forget_attempts);

static int take_all(struct ath_source source, uint64_t now_ms)
{
    int count = 0;
    while (ath_attempts_take(&attempts, source, now_ms))
        count++;
    return count;
}

TEST(counts_attempts_of_each_source)
{
    ck_assert_int_eq(take_all(alice, 1000), ATH_ATTEMPTS_MOST);
    ck_assert_int_eq(take_all(user_1, 1000), ATH_ATTEMPTS_MOST); /* the same number, another kind */
    ck_assert_int_eq(take_all(bob, 1000), ATH_ATTEMPTS_MOST);
    ck_assert_int_eq(take_all(alice, 1019), 0); /* one comes back in 20 ms */
    ck_assert_int_eq(take_all(alice, 1020), 1);
    ck_assert_int_eq(take_all(alice, 2020), ATH_ATTEMPTS_EACH_SECOND);
    ck_assert_int_eq(take_all(alice, UINT64_MAX), ATH_ATTEMPTS_MOST); /* and not more */
}

TEST(gives_attempts_back_to_proven_clients)
{
    ck_assert_int_eq(take_all(alice, 1000), ATH_ATTEMPTS_MOST);
    ath_attempts_give(&attempts, alice, 1000);
    ck_assert_int_eq(take_all(alice, 1000), 1);
    ath_attempts_give(&attempts, bob, 1000); /* not known: it has all */
    ck_assert_int_eq(take_all(bob, 1000), ATH_ATTEMPTS_MOST);
    ath_attempts_give(&attempts, bob, 9000);
    ck_assert_int_eq(take_all(bob, 9000), ATH_ATTEMPTS_MOST);
}

/* Sources with many attempts left make room, so that a source without any cannot be washed out by
 * a few others. */
TEST(keeps_the_sources_that_have_least)
{
    struct ath_source other = { ATH_SOURCE_IPV6, 0 };
    ck_assert_int_eq(take_all(alice, 1000), ATH_ATTEMPTS_MOST);
    for (other.number = 0; other.number < 8 * ATH_ATTEMPTS_ROWS * ATH_ATTEMPTS_WAYS; other.number++)
        ck_assert(ath_attempts_take(&attempts, other, 1000));
    ck_assert_int_eq(take_all(alice, 1000), 0);
}

/* ---- slots ---- */

static struct ath_process_table processes;
static struct ath_process *added, *leaves;

static void setup(void)
{
    processes =
        (struct ath_process_table){ .board = ath_session_board_make(), .most_of_source = 256 };
    ck_assert_ptr_nonnull(processes.board);
}

static void teardown(void)
{
    ath_session_board_free(processes.board);
    processes = (struct ath_process_table){ .board = NULL };
}

static enum ath_place add(struct ath_source source, bool is_trusted)
{
    const struct ath_newcomer newcomer = {
        .peer = "peer", .source = source, .way = 2, .is_trusted = is_trusted
    };
    added = NULL;
    return ath_process_table_add(&processes, &newcomer, 0, &added, &leaves);
}

static void add_proven(struct ath_source source, const char *identity, int count)
{
    struct ath_session_report report = { .purpose = ATH_GPU_PURPOSE_CUDA };
    snprintf(report.identity, sizeof report.identity, "%s", identity);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(add(source, false), ATH_PLACE_GIVEN);
        ck_assert(ath_process_table_note(added, &report));
    }
}

FIXTURE(setup, teardown);

TEST(gives_a_source_its_share)
{
    add_proven(alice, "", 256);
    ck_assert_int_eq(add(alice, false), ATH_PLACE_SOURCE_FULL);
    ck_assert_int_eq(add(alice, true), ATH_PLACE_GIVEN);
    add_proven(bob, "", 1);
    ath_process_table_remove(&processes, &processes.items[5]);
    add_proven(alice, "", 0);
    ck_assert_int_eq(add(alice, false),
                     ATH_PLACE_SOURCE_FULL); /* the administrator's counts, too */
    ath_process_table_remove(&processes, &processes.items[6]);
    ck_assert_int_eq(add(alice, false), ATH_PLACE_GIVEN);
}

TEST(keeps_slots_for_administrators)
{
    add_proven(alice, "", 256);
    add_proven(bob, "", 512 - 16 - 256);
    ck_assert_int_eq(add(user_1, false), ATH_PLACE_FULL);
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(add(user_1, true), ATH_PLACE_GIVEN);
        ck_assert(added->is_kept);
    }
    ck_assert_int_eq(add(user_1, true), ATH_PLACE_FULL);
    ath_process_table_remove(&processes, added = &processes.items[0]);
    ck_assert_int_eq(add(user_1, true), ATH_PLACE_GIVEN);
    ck_assert(!added->is_kept);
}

TEST(counts_sessions_of_an_identity)
{
    processes.most_of_source = 3;
    processes.limits_identities = true;
    add_proven(alice, "alice", 2);
    add_proven(bob, "bob", 1);
    add_proven(user_1, "alice", 1);
    ck_assert_int_eq(ath_process_table_judge(&processes, added), ATH_VERDICT_GO_ON);
    add_proven(user_1, "alice", 1);
    ck_assert_int_eq(ath_process_table_judge(&processes, added), ATH_VERDICT_IDENTITY_FULL);
    add_proven(bob, "bob", 1);
    ck_assert_int_eq(ath_process_table_judge(&processes, added), ATH_VERDICT_GO_ON);
    added->is_kept = true;
    ck_assert_int_eq(ath_process_table_judge(&processes, added), ATH_VERDICT_FULL);
    added->is_kept = false;
    add_proven(user_1, "alice", 1);
    processes.limits_identities = false; /* all clients have the same key */
    ck_assert_int_eq(ath_process_table_judge(&processes, added), ATH_VERDICT_GO_ON);
}

/* Makes the processes that are there look old. */
static void age(void)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        processes.items[i].started_ms -= ATH_SESSION_BOARD_UNPROVEN_MS;
}

TEST(bounds_unproven_clients_of_a_source)
{
    for (int i = 0; i < 32; i++)
        ck_assert_int_eq(add(alice, false), ATH_PLACE_GIVEN);
    ck_assert_int_eq(add(alice, false), ATH_PLACE_CROWDED);
    ck_assert_ptr_null(leaves);
    ck_assert_int_eq(add(bob, false), ATH_PLACE_GIVEN);
    age();
    ck_assert_int_eq(add(alice, false), ATH_PLACE_GIVEN); /* in place of the oldest of its source */
    ck_assert_ptr_eq(leaves, &processes.items[0]);
    ck_assert(leaves->is_ending);
    ck_assert_int_eq(add(alice, true), ATH_PLACE_GIVEN);
    ck_assert_ptr_null(leaves);
}

TEST(bounds_unproven_clients_of_all_sources)
{
    for (uint64_t i = 0; i < 128; i++)
        ck_assert_int_eq(add((struct ath_source){ ATH_SOURCE_IPV6, i }, false), ATH_PLACE_GIVEN);
    ck_assert_int_eq(add(alice, false), ATH_PLACE_CROWDED);
    age();
    ck_assert_int_eq(add(alice, false), ATH_PLACE_GIVEN);
    ck_assert_ptr_eq(leaves, &processes.items[0]);
}

/* From half of the slots on, a source with several unproven clients is refused at random. */
TEST(drops_newcomers_early)
{
    const struct ath_newcomer more = { .peer = "peer", .source = alice, .way = 2 };
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(add(alice, false), ATH_PLACE_GIVEN);
    for (uint64_t i = 4; i < 64; i++)
        ck_assert_int_eq(add((struct ath_source){ ATH_SOURCE_IPV6, i }, false), ATH_PLACE_GIVEN);
    ck_assert_int_eq(add(alice, false), ATH_PLACE_CROWDED); /* random 0 */
    ck_assert_int_eq(add(bob, false), ATH_PLACE_GIVEN);
    ck_assert_int_eq(ath_process_table_add(&processes, &more, 1, &added, &leaves),
                     ATH_PLACE_CROWDED);
    ck_assert_int_eq(ath_process_table_add(&processes, &more, 2, &added, &leaves), ATH_PLACE_GIVEN);
}

FIXTURE(NULL, NULL);

/* ---- the waiting room ---- */

static struct ath_waiting_room room;

static bool wait_in_room(struct ath_source source, uint64_t since_ms, uint64_t session,
                         uint32_t random)
{
    const struct ath_waiting waiting = {
        .fd = dup(0), .source = source, .since_ms = since_ms, .session = session
    };
    return ath_waiting_room_add(&room, &waiting, random);
}

TEST(bounds_waiting_connections_of_a_source)
{
    for (uint64_t i = 0; i < 64; i++)
        ck_assert(!wait_in_room(alice, i, 0, 0));
    ck_assert(!wait_in_room(bob, 64, 0, 0));
    ck_assert_uint_eq(ath_waiting_room_first_ms(&room), 0);
    const int first = room.items[0].fd;
    ck_assert(wait_in_room(alice, 65, 0, 64)); /* in place of the first, which is closed */
    ck_assert_int_ne(room.items[0].fd, first);
    ck_assert_int_lt(fcntl(first, F_GETFD), 0);
    ck_assert_uint_eq(room.count, 65);
    ck_assert_uint_eq(ath_waiting_room_first_ms(&room), 1);
    ck_assert_uint_eq(room.items[0].since_ms, 65);
    ck_assert_uint_eq(room.items[64].since_ms, 64); /* bob's stays */
    ath_waiting_room_clear(&room);
    ck_assert_uint_eq(ath_waiting_room_first_ms(&room), UINT64_MAX);
}

TEST(bounds_all_waiting_connections)
{
    for (uint64_t i = 0; i < 256; i++)
        ck_assert(!wait_in_room((struct ath_source){ ATH_SOURCE_IPV6, i / 64 }, i, 0, 0));
    ck_assert(wait_in_room(alice, 256, 0, 255));
    ck_assert_uint_eq(room.items[255].since_ms, 256);
    struct ath_waiting taken = ath_waiting_room_take(&room, 3);
    ck_assert_uint_eq(taken.since_ms, 3);
    ck_assert_uint_eq(room.items[3].since_ms, 256);
    close(taken.fd);
    ath_waiting_room_clear(&room);
}

TEST(counts_joins)
{
    wait_in_room(alice, 0, 5, 0);
    wait_in_room(alice, 0, 5, 0);
    wait_in_room(alice, 0, 6, 0);
    wait_in_room(bob, 0, 5, 0);
    ck_assert_uint_eq(ath_waiting_room_joins(&room, alice, 5), 2);
    ck_assert_uint_eq(ath_waiting_room_joins(&room, bob, 6), 0);
    ath_waiting_room_clear(&room);
}

/* ---- sources ---- */

/* Makes a connection between two addresses of the loopback, and returns its source. */
static struct ath_source source_of(const char *address)
{
    struct sockaddr_in own = { .sin_family = AF_INET }, peer = { .sin_family = AF_INET };
    socklen_t length = sizeof own;
    int listening = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, "127.0.0.1", &own.sin_addr);
    inet_pton(AF_INET, address, &peer.sin_addr);
    ck_assert_int_eq(bind(listening, (struct sockaddr *)&own, sizeof own), 0);
    ck_assert_int_eq(listen(listening, 1), 0);
    getsockname(listening, (struct sockaddr *)&own, &length);
    ck_assert_int_eq(bind(client, (struct sockaddr *)&peer, sizeof peer), 0);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&own, sizeof own), 0);
    int accepted = accept(listening, NULL, NULL);
    struct ath_source source = ath_source_of_socket(accepted);
    close(accepted), close(client), close(listening);
    return source;
}

TEST(finds_the_source_of_a_connection)
{
    char text[ATH_SOURCE_TEXT];
    int pair[2];
    ck_assert_str_eq(ath_source_format(source_of("127.0.0.9"), text), "127.0.0.9");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert(ath_source_is(ath_source_of_socket(pair[0]),
                            (struct ath_source){ ATH_SOURCE_USER, geteuid() }));
    ck_assert_int_eq(ath_source_of_socket(-1).kind, ATH_SOURCE_UNKNOWN);
    ck_assert_str_eq(
        ath_source_format((struct ath_source){ ATH_SOURCE_IPV6, 0x20010db800000001 }, text),
        "2001:db8:0:1::/64");
    ck_assert_str_eq(ath_source_format(user_1, text), "user 1");
}

/* An ordinary user has all addresses of the loopback, and is one source. */
TEST(knows_the_users_of_this_host)
{
    if (geteuid()) {
        fprintf(stderr,
                "skipped test: knows_the_users_of_this_host: only root can be another user\n");
        return;
    }
    struct sockaddr_in own = { .sin_family = AF_INET };
    socklen_t length = sizeof own;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, "127.0.0.1", &own.sin_addr);
    ck_assert_int_eq(bind(listening, (struct sockaddr *)&own, sizeof own), 0);
    ck_assert_int_eq(listen(listening, 1), 0);
    getsockname(listening, (struct sockaddr *)&own, &length);
    ck_assert_int_eq(seteuid(65534), 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&own, sizeof own), 0);
    ck_assert_int_eq(seteuid(0), 0);
    int accepted = accept(listening, NULL, NULL);
    struct ath_source source = ath_source_of_socket(accepted);
    close(accepted), close(client), close(listening);
    if (source.kind == ATH_SOURCE_IPV4) {
        fprintf(stderr,
                "skipped test: knows_the_users_of_this_host: the kernel has no inet_diag\n");
        return;
    }
    ck_assert(ath_source_is(source, (struct ath_source){ ATH_SOURCE_USER, 65534 }));
}

/* ---- first messages ---- */

static int pair[2];

static enum ath_first_message_kind look_at(const void *bytes, size_t length)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(send(pair[1], bytes, length, 0), (ssize_t)length);
    enum ath_first_message_kind kind = ath_first_message_look(pair[0]).kind;
    char left[8192];
    ck_assert_int_eq(recv(pair[0], left, sizeof left, MSG_DONTWAIT),
                     (ssize_t)length); /* all stays */
    close(pair[0]), close(pair[1]);
    return kind;
}

static const uint8_t *finish(struct ath_wire_builder *builder, size_t *out_length)
{
    int status;
    const uint8_t *bytes = ath_wire_finish(builder, out_length, &status);
    ck_assert_ptr_nonnull(bytes);
    return bytes;
}

TEST(looks_at_first_messages)
{
    struct ath_wire_builder builder = { .max_bytes = ATH_CONTROL_HELLO_FRAME_BYTES };
    size_t length;
    const uint8_t *bytes;
    static const uint8_t http[] = "GET / HTTP/1.1", tls[] = { 0x16 },
                         huge[] = { 0, 0, 0, 0, 0, 2, 0, 0 }, empty[8] = { 0 };

    ath_control_message_init_hello(ath_control_message_start(&builder));
    bytes = finish(&builder, &length);
    ck_assert_int_eq(look_at(bytes, length), ATH_FIRST_MESSAGE_HELLO);
    ck_assert_int_eq(look_at(bytes, length - 1), ATH_FIRST_MESSAGE_INCOMPLETE);
    ck_assert_int_eq(look_at(bytes, 1), ATH_FIRST_MESSAGE_INCOMPLETE);
    ck_assert_int_eq(look_at(tls, sizeof tls), ATH_FIRST_MESSAGE_HELLO);
    ck_assert_int_eq(look_at(http, sizeof http), ATH_FIRST_MESSAGE_WRONG);
    ck_assert_int_eq(look_at(huge, sizeof huge),
                     ATH_FIRST_MESSAGE_WRONG); /* 512 words and a head */
    ck_assert_int_eq(look_at(empty, sizeof empty), ATH_FIRST_MESSAGE_WRONG);
    ath_control_message_set_done(ath_control_message_start(&builder));
    bytes = finish(&builder, &length);
    ck_assert_int_eq(look_at(bytes, length), ATH_FIRST_MESSAGE_WRONG);
    ath_wire_builder_free(&builder);
}

TEST(reads_a_join)
{
    struct ath_wire_builder builder = { .max_bytes = ATH_CONTROL_HELLO_FRAME_BYTES };
    uint8_t proof[ATH_PROOF_BYTES + 1] = { 1, 2, [31] = 3 };
    for (size_t proof_bytes = 31; proof_bytes <= 33; proof_bytes++) {
        size_t length;
        struct ath_control_join_builder join =
            ath_control_message_init_join(ath_control_message_start(&builder));
        ath_control_join_set_session(join, 77);
        ath_control_join_set_number(join, 2);
        ath_control_join_set_mac(join, (struct ath_wire_bytes){ proof, proof_bytes });
        const uint8_t *bytes = finish(&builder, &length);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        ck_assert_int_eq(send(pair[1], bytes, length, 0), (ssize_t)length);
        ck_assert_int_eq(send(pair[1], "share", 5, 0), 5); /* the session's first bytes follow */
        const struct ath_first_message first = ath_first_message_look(pair[0]);
        char left[4096];
        ssize_t got = recv(pair[0], left, sizeof left, MSG_DONTWAIT);
        ck_assert_int_eq(got, first.kind == ATH_FIRST_MESSAGE_JOIN ? 5 : (ssize_t)length + 5);
        close(pair[0]), close(pair[1]);
        ck_assert_int_eq(first.kind,
                         proof_bytes == 32 ? ATH_FIRST_MESSAGE_JOIN : ATH_FIRST_MESSAGE_WRONG);
        if (proof_bytes != 32)
            continue;
        ck_assert_uint_eq(first.session, 77);
        ck_assert_uint_eq(first.joining.number, 2);
        ck_assert_mem_eq(first.joining.proof, proof, 32);
    }
    ath_wire_builder_free(&builder);
}

TEST(sees_that_a_peer_is_gone)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(ath_first_message_look(pair[0]).kind, ATH_FIRST_MESSAGE_INCOMPLETE);
    ck_assert_int_eq(ath_first_message_any(pair[0]).kind, ATH_FIRST_MESSAGE_INCOMPLETE);
    ck_assert_int_eq(send(pair[1], "x", 1, 0), 1);
    ck_assert_int_eq(ath_first_message_any(pair[0]).kind, ATH_FIRST_MESSAGE_HELLO);
    close(pair[1]);
    ck_assert_int_eq(recv(pair[0], &(char){ 0 }, 1, 0), 1);
    ck_assert_int_eq(ath_first_message_look(pair[0]).kind, ATH_FIRST_MESSAGE_GONE);
    ck_assert_int_eq(ath_first_message_any(pair[0]).kind, ATH_FIRST_MESSAGE_GONE);
    close(pair[0]);
}
