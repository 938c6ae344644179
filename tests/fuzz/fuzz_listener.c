/*
 * Fuzzes what the listening process does with bytes of others: an input is a sequence of steps.
 * Unproven clients connect and send their first bytes, in pieces; processes of sessions, which
 * attackers have taken over, send reports and questions of any content; sessions end, and
 * connections wait.
 *
 * In spite of them a process stays who it said it was at first, and changes, finds and holds only
 * what belongs to its own identity.
 */
#include "config.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "proto/control.h"
#include "runtime/attempts.h"
#include "runtime/first_message.h"
#include "runtime/process_table.h"
#include "runtime/session_request.h"
#include "runtime/waiting_room.h"

#include "fuzz.h"

enum { STEPS_MAX = 200, PIECES_MAX = 4, WAYS = 2, SOURCES = 3 };

static struct ath_process_table table;
static struct ath_share_table shares;
static struct ath_sandbox_users users;
static struct ath_attempts attempts;
static struct ath_waiting_room room;
static struct fuzz_input input;

static struct ath_source take_source(void)
{
    return (struct ath_source){ ATH_SOURCE_IPV4, fuzz_take(&input, 1) % SOURCES };
}

/* ---- unproven clients ---- */

/* Looks at the first message while its bytes come. Returns what is known at their end. */
static struct ath_first_message look(int server, int client)
{
    struct ath_first_message first = { .kind = ATH_FIRST_MESSAGE_INCOMPLETE };
    for (int i = 0; i < PIECES_MAX && first.kind == ATH_FIRST_MESSAGE_INCOMPLETE; i++) {
        struct fuzz_input piece = fuzz_part(&input, (size_t)fuzz_take(&input, 2) % 5000);
        (void)!send(client, piece.at, fuzz_left(&piece), MSG_DONTWAIT | MSG_NOSIGNAL);
        first = ath_first_message_look(server);
    }
    return first;
}

static void check_first(int server, const struct ath_first_message *first)
{
    uint8_t bytes[ATH_CONTROL_HELLO_FRAME_BYTES];
    insist(first->kind <= ATH_FIRST_MESSAGE_JOIN, "a first message has a kind");
    if (first->kind == ATH_FIRST_MESSAGE_HELLO)
        insist(recv(server, bytes, sizeof bytes, MSG_DONTWAIT) > 0, "a hello stays in its socket");
}

static void meet_client(void)
{
    int ends[2];
    insist(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "there are sockets");
    struct ath_waiting waiting = { .fd = ends[0],
                                   .way = (int)(fuzz_take(&input, 1) % WAYS),
                                   .source = take_source(),
                                   .since_ms = fuzz_take(&input, 2) };
    struct ath_first_message first = look(ends[0], ends[1]);
    close(ends[1]);
    check_first(ends[0], &first);
    if (first.kind == ATH_FIRST_MESSAGE_JOIN) {
        waiting.session = first.session;
        waiting.joining = first.joining;
    }
    bool may_wait =
        first.kind == ATH_FIRST_MESSAGE_INCOMPLETE ||
        (first.kind == ATH_FIRST_MESSAGE_JOIN && first.session &&
         ath_process_table_find(&table, first.session) &&
         ath_waiting_room_joins(&room, waiting.source, first.session) < ATH_WAITING_MOST_JOINS);
    if (may_wait)
        ath_waiting_room_add(&room, &waiting, (uint32_t)fuzz_take(&input, 4));
    else
        close(ends[0]);
    insist(room.count <= ATH_WAITING_MOST, "the room has a fixed number of seats");
}

static void let_one_out(void)
{
    uint64_t which = fuzz_take(&input, 1);
    if (room.count)
        close(ath_waiting_room_take(&room, which % room.count).fd);
    insist(room.count || ath_waiting_room_first_ms(&room) == UINT64_MAX, "an empty room is empty");
}

/* ---- sessions ---- */

static void admit_client(void)
{
    struct ath_process *process = NULL, *leaves = NULL;
    struct ath_newcomer newcomer = { .peer = "10.0.0.1:2", .source = take_source() };
    uint64_t kind = fuzz_take(&input, 1);
    newcomer.way = (int)(kind % WAYS);
    newcomer.is_trusted = !(kind >> 1 & 15);
    if (!newcomer.is_trusted && !ath_attempts_take(&attempts, newcomer.source, ath_now_ms()))
        return;
    enum ath_place place =
        ath_process_table_add(&table, &newcomer, (uint32_t)fuzz_take(&input, 4), &process, &leaves);
    insist((place == ATH_PLACE_GIVEN) == (process != NULL), "a place is a process");
    if (process)
        process->is_admin = process->is_trusted;
}

static void forget(struct ath_process *process)
{
    size_t slot = ath_process_table_slot(&table, process);
    ath_share_table_drop_all(&shares, slot);
    for (size_t i = 0; i < ATH_DEVICES_MAX; i++)
        insist(!atomic_load(&table.board->known[slot].shared_bytes[i]),
               "a session that has ended pays for nothing");
    ath_process_table_remove(&table, process);
}

static struct ath_process *take_process(void)
{
    size_t slot = (size_t)fuzz_take(&input, 1) % 8;
    return table.items[slot].session ? &table.items[slot] : NULL;
}

/* A report with any content; the ids of shares and sessions are likely ones. */
static struct ath_session_report take_report(uint64_t last_share)
{
    static const char *const names[] = { "alice", "bob", "", "default" };
    struct ath_session_report report;
    uint64_t kind = fuzz_take(&input, 1);
    fuzz_fill(&input, &report, offsetof(struct ath_session_report, identity));
    memset(report.identity, 0, sizeof report.identity);
    if (kind & 1)
        fuzz_fill(&input, report.identity, sizeof report.identity);
    else
        snprintf(report.identity, sizeof report.identity, "%s", names[kind >> 1 & 3]);
    memset(&report.version, 0, sizeof report.version);
    if (kind & 8)
        report.asks %= ATH_ASK_SHARE_DROP + 2;
    if (kind & 16)
        report.object = last_share;
    if (kind & 32)
        report.object %= 8;
    report.device %= kind & 64 ? ATH_DEVICES_MAX : UINT32_MAX;
    return report;
}

static int64_t limit_of(size_t slot, size_t device)
{
    return atomic_load(&ath_session_board_at(table.board, slot)->limit_bytes[device]);
}

/* Answers, and checks that no other identity's limits, share or shares have changed or become
 * known. */
static uint64_t answer(const struct ath_process *asker, const struct ath_session_report *question)
{
    struct ath_process *other =
        question->object ? ath_process_table_find(&table, question->object) : NULL;
    size_t device = question->device % ATH_DEVICES_MAX;
    size_t slot = other ? ath_process_table_slot(&table, other) : 0;
    int64_t before = limit_of(slot, device);
    double fraction = atomic_load(&table.board->vram_fraction);
    uint64_t given = ath_session_request_answer(&table, &shares, &users, asker, question);
    bool is_own = other && asker->is_proven && !strcmp(other->identity, asker->identity);
    if (other && !is_own && !asker->is_admin)
        insist(before == limit_of(slot, device), "only an administrator limits other identities");
    if (!asker->is_trusted)
        insist(fraction == atomic_load(&table.board->vram_fraction),
               "only the owner sets the share");
    if (!asker->is_proven && question->asks != ATH_ASK_USER)
        insist(!given, "a process asks for nothing before it is proven");
    if (given && (question->asks == ATH_ASK_SHARE_FIND || question->asks == ATH_ASK_SHARE_HOLD)) {
        uint64_t id = question->asks == ATH_ASK_SHARE_FIND ? given : question->object;
        size_t at = (size_t)(id & 0xffff);
        insist(at && at <= shares.used && !strcmp(shares.items[at - 1].identity, asker->identity),
               "an identity finds and holds its own shares only");
    }
    return given;
}

/* Sends a message of the right length, or one that is not. */
static int pass_report(const struct ath_session_report *sent, struct ath_session_report *out)
{
    int ends[2];
    uint64_t cut = fuzz_take(&input, 1);
    insist(!ath_session_report_pair(ends), "there is a pair");
    size_t length = cut < 0xf0 ? sizeof *sent : (size_t)(cut - 0xf0);
    insist(send(ends[1], sent, length, MSG_NOSIGNAL) == (ssize_t)length, "a report is sent");
    int status = ath_session_report_take(ends[0], out);
    insist(!status == (length == sizeof *sent) || status == -EBADMSG, "a report is whole");
    close(ends[0]);
    close(ends[1]);
    return status;
}

static void take_report_of(struct ath_process *process)
{
    static uint64_t last_share;
    struct ath_session_report report, sent = take_report(last_share);
    char identity[ATH_KEY_NAME_BYTES];
    bool was_proven = process->is_proven;
    memcpy(identity, process->identity, sizeof identity);
    if (pass_report(&sent, &report))
        return;
    insist(strnlen(report.identity, sizeof report.identity) < sizeof report.identity,
           "the text of a report ends");
    if (report.asks) {
        uint64_t given = answer(process, &report);
        if (report.asks == ATH_ASK_SHARE && given)
            last_share = given;
    } else if (report.ends) {
        struct ath_process *other = ath_process_table_find(&table, report.ends);
        if (other && ath_session_request_may_change(process, other))
            insist(process->is_proven &&
                       (process->is_admin || !strcmp(process->identity, other->identity)),
                   "only an administrator ends sessions of other identities");
    } else {
        insist(ath_process_table_note(process, &report) == !was_proven, "the first report counts");
        ath_process_table_judge(&table, process);
    }
    insist(!was_proven || !memcmp(identity, process->identity, sizeof identity),
           "a process stays who it is");
}

/* ---- steps ---- */

static void step(void)
{
    uint64_t which = fuzz_take(&input, 1);
    struct ath_process *process = which % 8 >= 4 ? take_process() : NULL;
    switch (which % 8) {
    case 0:
    case 1:
        meet_client();
        break;
    case 2:
        let_one_out();
        break;
    case 3:
        admit_client();
        break;
    case 4:
        if (process && which & 8)
            forget(process);
        break;
    default:
        if (process)
            take_report_of(process);
    }
}

static void begin(void)
{
    struct ath_session_board *board = table.board ? table.board : ath_session_board_make();
    insist(board != NULL, "there is a board");
    table = (struct ath_process_table){ .board = board,
                                        .most_of_source = 4,
                                        .limits_identities = true };
    shares.board = board;
    attempts = (struct ath_attempts){ .seed = 7 };
    ath_sandbox_users_init(&users, "0 0 4294967295\n");
}

static void end(void)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (table.items[i].session)
            forget(&table.items[i]);
    for (size_t i = 0; i < shares.used; i++)
        insist(!shares.items[i].id, "a share ends with its last holder");
    memset(shares.items, 0, shares.used * sizeof *shares.items);
    shares.used = shares.first_free = 0;
    memset(shares.paid, 0, sizeof shares.paid);
    ath_waiting_room_clear(&room);
    ath_sandbox_users_free(&users);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = (struct fuzz_input){ data, data + size };
    begin();
    for (int i = 0; i < STEPS_MAX && fuzz_left(&input); i++)
        step();
    end();
    return 0;
}
