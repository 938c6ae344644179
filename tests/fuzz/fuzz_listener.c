/*
 * Fuzzes the listening process with bytes of others: an input is a sequence of steps. Clients
 * without a key connect and send their first bytes, in pieces, and hang up. Processes of sessions,
 * which attackers have taken over, send reports, questions and orders of any content. Sessions end.
 *
 * Two functions are replaced here (ld --wrap): ath_clients_start(), which would fork the process of
 * a session, and kill(). In spite of all steps a process stays who it said it was at first, and
 * changes, ends, finds and holds only what belongs to its own identity.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/clients.h"
#include "runtime/event_log.h"
#include "runtime/joins.h"
#include "runtime/newcomers.h"
#include "runtime/reports.h"
#include "runtime/session_report.h"

#include "fuzz.h"

enum { STEPS_MAX = 200, CLIENTS = 4, SOURCES = 3, SLOTS = 8 };

void __wrap_ath_clients_start(struct ath_listener *listener, int fd, size_t which,
                              struct ath_source source, bool trusts);
int __wrap_kill(pid_t pid, int signal);

static struct ath_listener listener;
static struct fuzz_input input;
static int clients[CLIENTS]; /* the clients' ends of connections; -1: none */
static int inner[SLOTS];     /* the sessions' ends of the pairs for reports */
static uint64_t last_share;
static const struct ath_process *speaker; /* the process whose report is taken */

static struct ath_source take_source(void)
{
    return (struct ath_source){ ATH_SOURCE_IPV4, fuzz_take(&input, 1) % SOURCES };
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- processes of sessions ---- */

int __wrap_kill(pid_t pid, int signal)
{
    const struct ath_process *ended = ath_process_table_find_pid(&listener.processes, pid);
    insist(ended && signal == SIGTERM, "a session is ended by its process id");
    if (speaker && speaker != ended)
        insist(speaker->is_proven &&
                   (speaker->is_admin || !strcmp(speaker->identity, ended->identity)),
               "only an administrator ends sessions of other identities");
    return 0;
}

/* Starts no process: this target speaks for all of them. */
void __wrap_ath_clients_start(struct ath_listener *from, int fd, size_t which,
                              struct ath_source source, bool trusts)
{
    const struct ath_newcomer newcomer = {
        .peer = "10.0.0.1:2", .source = source, .way = (int)which, .is_trusted = trusts
    };
    struct ath_process *process = NULL, *leaves = NULL;
    char byte;
    insist(recv(fd, &byte, 1, MSG_DONTWAIT) == 1, "a first message stays in its socket");
    if (ath_process_table_add(&from->processes, &newcomer, (uint32_t)fuzz_take(&input, 4), &process,
                              &leaves) != ATH_PLACE_GIVEN)
        return;
    size_t slot = ath_process_table_slot(&from->processes, process);
    if (slot >= SLOTS) {
        ath_process_table_remove(&from->processes, process);
        return;
    }
    process->pid = (pid_t)slot + 1000;
    ath_fd_passing_add(&from->fd_passing, slot);
    ath_fd_passing_keep_outer(&from->fd_passing);
    inner[slot] = ath_reports_open(from, process);
    insist(inner[slot] >= 0, "there is a pair");
}

static void forget(struct ath_process *process)
{
    size_t slot = ath_process_table_slot(&listener.processes, process);
    speaker = process;
    ath_reports_take_of(&listener, process);
    speaker = NULL;
    ath_reports_close(&listener, process);
    ath_joins_let_in(&listener, process, false);
    ath_fd_passing_remove(&listener.fd_passing, slot);
    ath_share_table_drop_all(listener.shares, slot);
    for (size_t i = 0; i < ATH_DEVICES_MAX; i++)
        insist(!atomic_load(&listener.server.board->known[slot].shared_bytes[i]),
               "a session that has ended pays for nothing");
    ath_process_table_remove(&listener.processes, process);
    close_end(&inner[slot]);
}

static struct ath_process *take_process(void)
{
    size_t slot = (size_t)fuzz_take(&input, 1) % SLOTS;
    return listener.processes.items[slot].session ? &listener.processes.items[slot] : NULL;
}

/* A report with any content; the ids of shares and sessions are likely ones. */
static struct ath_session_report take_report(void)
{
    static const char *const names[] = { "alice", "bob", "", "default" };
    struct ath_session_report report;
    uint64_t kind = fuzz_take(&input, 1);
    fuzz_fill(&input, &report, offsetof(struct ath_session_report, identity));
    memset((char *)&report + offsetof(struct ath_session_report, identity), 0,
           sizeof report - offsetof(struct ath_session_report, identity));
    if (kind & 1)
        fuzz_fill(&input, report.identity, sizeof report.identity);
    else
        snprintf(report.identity, sizeof report.identity, "%s", names[kind >> 1 & 3]);
    if (kind & 8)
        report.asks %= ATH_ASK_SHARE_DROP + 2;
    if (kind & 16)
        report.object = last_share;
    if (kind & 32) {
        report.object %= SLOTS;
        report.ends %= SLOTS;
        report.purpose &= 1;
    }
    if (kind & 64)
        report.device %= ATH_DEVICES_MAX;
    return report;
}

/* ---- promises ---- */

/* The facts that a report of one process must leave as they are in the others. */
struct known {
    char identity[ATH_KEY_NAME_BYTES];
    bool is_proven;
    int64_t limit_bytes;
};

static struct known know(size_t slot, size_t device)
{
    const struct ath_process *process = &listener.processes.items[slot];
    struct known known = {
        .is_proven = process->is_proven,
        .limit_bytes =
            atomic_load(&ath_session_board_at(listener.server.board, slot)->limit_bytes[device])
    };
    memcpy(known.identity, process->identity, sizeof known.identity);
    return known;
}

static void check_other(size_t slot, size_t device, const struct known *before)
{
    struct known now = know(slot, device);
    const struct ath_process *other = &listener.processes.items[slot];
    bool is_own =
        speaker == other || (speaker->is_proven && !strcmp(speaker->identity, other->identity));
    insist(speaker == other || before->is_proven == now.is_proven, "a process proves itself only");
    insist(!before->is_proven || !memcmp(before->identity, now.identity, sizeof now.identity),
           "a process stays who it is");
    insist(is_own || speaker->is_admin || before->limit_bytes == now.limit_bytes,
           "only an administrator limits other identities");
}

static void check_share(const struct ath_session_report *report, uint64_t given)
{
    uint64_t id = report->asks == ATH_ASK_SHARE_HOLD ? report->object : given;
    size_t at = (size_t)(id & 0xffff);
    insist(at && at <= listener.shares->used &&
               !strcmp(listener.shares->items[at - 1].identity, speaker->identity),
           "an identity makes, finds and holds its own shares only");
    if (report->asks == ATH_ASK_SHARE)
        last_share = given;
}

static void check_answer(const struct ath_session_report *report, int fd)
{
    uint64_t given = 0;
    if (recv(fd, &given, sizeof given, MSG_DONTWAIT) != sizeof given || !given)
        return;
    insist(speaker->is_proven || report->asks == ATH_ASK_USER,
           "a process asks for nothing before it is proven");
    insist(report->asks != ATH_ASK_FRACTION || speaker->is_trusted,
           "only the owner sets the share");
    if (report->asks >= ATH_ASK_SHARE && report->asks <= ATH_ASK_SHARE_HOLD &&
        report->asks != ATH_ASK_SHARE_NAME)
        check_share(report, given);
}

/* Has a process say something, whole or not. */
static void report(struct ath_process *process)
{
    struct ath_session_report sent = take_report();
    struct known before[SLOTS];
    size_t own = ath_process_table_slot(&listener.processes, process);
    size_t device = sent.device % ATH_DEVICES_MAX;
    uint64_t cut = fuzz_take(&input, 1);
    for (size_t i = 0; i < SLOTS; i++)
        before[i] = know(i, device);
    (void)!send(inner[own], &sent, cut < 0xf0 ? sizeof sent : (size_t)(cut - 0xf0),
                MSG_NOSIGNAL | MSG_DONTWAIT);
    speaker = process;
    ath_reports_take(&listener);
    check_answer(&sent, inner[own]);
    for (size_t i = 0; i < SLOTS; i++)
        check_other(i, device, &before[i]);
    speaker = NULL;
}

/* ---- clients without a key ---- */

/* Tells the listening process about its connections, as poll(2) does. */
static void attend(short events)
{
    static struct pollfd polls[ATH_WAITING_MOST];
    size_t count = listener.waiting.count;
    for (size_t i = 0; i < count; i++)
        polls[i] = (struct pollfd){ .fd = listener.waiting.items[i].fd, .revents = events };
    ath_newcomers_attend(&listener, polls, count);
    insist(listener.waiting.count <= ATH_WAITING_MOST, "the room has a fixed number of seats");
}

static void connect_client(void)
{
    int *client = &clients[fuzz_take(&input, 1) % CLIENTS], ends[2];
    close_end(client);
    insist(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "there are sockets");
    *client = ends[1];
    const struct ath_waiting waiting = { .fd = ends[0],
                                         .way = fuzz_take(&input, 1) % 8 ? ATH_POLL_TCP
                                                                         : ATH_POLL_UNIX,
                                         .source = take_source(),
                                         .since_ms = ath_now_ms() };
    ath_waiting_room_add(&listener.waiting, &waiting, (uint32_t)fuzz_take(&input, 4));
}

static void send_piece(void)
{
    int client = clients[fuzz_take(&input, 1) % CLIENTS];
    struct fuzz_input piece = fuzz_part(&input, (size_t)fuzz_take(&input, 2) % 5000);
    if (client >= 0)
        (void)!send(client, piece.at, fuzz_left(&piece), MSG_DONTWAIT | MSG_NOSIGNAL);
    attend(POLLIN);
}

static void hang_up(void)
{
    close_end(&clients[fuzz_take(&input, 1) % CLIENTS]);
    attend(POLLIN | POLLRDHUP);
}

/* ---- steps ---- */

static void step(void)
{
    uint64_t which = fuzz_take(&input, 1);
    struct ath_process *process = which % 8 >= 4 ? take_process() : NULL;
    switch (which % 8) {
    case 0:
        connect_client();
        break;
    case 1:
    case 2:
        send_piece();
        break;
    case 3:
        if (which & 8)
            hang_up();
        else
            connect_client();
        break;
    case 4:
        if (process && which & 8)
            forget(process);
        break;
    default:
        if (process)
            report(process);
    }
}

/* ---- the listening process ---- */

static void make_listener(void)
{
    static struct ath_share_table shares;
    struct ath_err err;
    listener.server.board = ath_session_board_make();
    insist(listener.server.board != NULL, "there is a board");
    listener.server.report_fd = -1;
    listener.server.turns_fd = -1;
    listener.arbiter.pipe_fd = -1;
    listener.server.handshake_ms = 5000;
    listener.shares = &shares;
    listener.shares->board = listener.processes.board = listener.server.board;
    listener.processes.most_of_source = 4;
    listener.processes.limits_identities = true;
    ath_fd_passing_init(&listener.fd_passing);
    for (size_t i = 0; i < ATH_POLL_COUNT; i++)
        listener.polls[i].fd = -1;
    listener.polls[ATH_POLL_REPORTS].fd = epoll_create1(EPOLL_CLOEXEC);
    insist(
        !ath_identities_parse("alice sessions=2\nroot admin\n", &listener.access.identities, &err),
        "rows are right");
    ath_event_log_to(open("/dev/null", O_WRONLY | O_CLOEXEC));
    memset(clients, -1, sizeof clients);
    memset(inner, -1, sizeof inner);
}

static void end(void)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (listener.processes.items[i].session)
            forget(&listener.processes.items[i]);
    for (size_t i = 0; i < listener.shares->used; i++)
        insist(!listener.shares->items[i].id, "a share ends with its last holder");
    listener.shares->used = listener.shares->first_free = 0;
    ath_waiting_room_clear(&listener.waiting);
    ath_sandbox_users_free(&listener.users);
    for (size_t i = 0; i < CLIENTS; i++)
        close_end(&clients[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = (struct fuzz_input){ data, data + size };
    if (!listener.server.board)
        make_listener();
    listener.processes.last_session = 0;
    listener.attempts = (struct ath_attempts){ .seed = 7 };
    ath_sandbox_users_init(&listener.users, "0 0 4294967295\n");
    for (int i = 0; i < STEPS_MAX && fuzz_left(&input); i++)
        step();
    end();
    return 0;
}
