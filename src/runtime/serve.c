/*
 * The listening process: it accepts connections, forks one process for each client, and reaps them.
 *
 * Signals come through a descriptor. They are blocked, so the kernel does not drop them if this is
 * process 1 of a container (signal(7), init). A session's process ends with this one, by
 * PR_SET_PDEATHSIG, and by SIGTERM at a clean end.
 */
#include "config.h"

#include "runtime/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/root.h"
#include "base/text.h"
#include "proto/control.h"
#include "runtime/access.h"
#include "runtime/attempts.h"
#include "runtime/event_log.h"
#include "runtime/first_message.h"
#include "runtime/listen_address.h"
#include "runtime/lock_in.h"
#include "runtime/metrics.h"
#include "runtime/process_table.h"
#include "runtime/refusal_log.h"
#include "runtime/server_keys.h"
#include "runtime/session.h"
#include "runtime/session_report.h"
#include "runtime/session_request.h"
#include "runtime/trial.h"
#include "runtime/waiting_room.h"

enum {
    HANDSHAKE_MS = 5000,
    IDLE_MS = 30000,
    ANSWER_MS = 10000,
    ACCEPTS_AT_ONCE = 64,
    REPORTS_AT_ONCE = 64,
    USER_MAP_BYTES_MAX = 64 << 10, /* 340 lines (user_namespaces(7)) */
    SESSIONS_PER_SOURCE = ATH_SESSION_BOARD_MAX / 2,
    /* Further connections that one session is given: from its own source, and from others. */
    JOINS_OWN = 16,
    JOINS_FOREIGN = 4,
};

#define HOST_FRACTION 0.5

enum { POLL_SIGNALS, POLL_REPORTS, POLL_ACCESS, POLL_TCP, POLL_UNIX, POLL_METRICS, POLL_COUNT };

struct serve {
    struct ath_server server;
    struct ath_fd_passing fd_passing;
    struct ath_sandbox sandbox;
    struct ath_sandbox_users users;
    struct ath_share_table *shares;
    struct ath_process_table processes;
    struct ath_access access; /* its watch_fd is of polls */
    struct ath_waiting_room waiting;
    struct ath_attempts attempts;
    struct ath_refusal_log refusals;
    struct pollfd polls[POLL_COUNT]; /* fd -1: unused; POLL_REPORTS is an epoll of slots */
    char *identities_path;           /* NULL: an option names it, or there is none */
    char *socket_path;               /* to remove at the end; NULL: none */
    sigset_t old_signals;
    bool is_over;
};

static void serve_free(struct serve *serve)
{
    for (size_t i = 0; i < POLL_COUNT; i++)
        if (serve->polls[i].fd >= 0)
            close(serve->polls[i].fd);
    if (serve->socket_path)
        unlink(serve->socket_path);
    free(serve->socket_path);
    ath_sandbox_free(&serve->sandbox);
    ath_sandbox_users_free(&serve->users);
    free(serve->shares);
    free(serve->identities_path);
    ath_secret_free(&serve->server.secret);
}

/* ---- what the server is ---- */

static int parse_gpus(const char *text, struct ath_pci **out, size_t *out_count,
                      struct ath_err *err)
{
    ath_auto_free char *copy = ath_xstrdup(text);
    char *rest = copy, *word;
    while (rest && (word = strsep(&rest, ","))) {
        struct ath_pci address;
        if (!*word)
            continue;
        if (ath_pci_parse(word, &address))
            return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                               _("'%s' is no PCI address like 0004:04:00.0, nor none alone"), word);
        struct ath_pci *added = ath_push(out, out_count, sizeof **out);
        *added = address;
    }
    return 0;
}

static int find_devices(const struct ath_runtime_options *options, struct ath_server *server,
                        struct ath_err *err)
{
    ath_auto_free struct ath_pci *wanted = NULL;
    size_t count = 0;
    bool is_none = options->gpus && strcmp(options->gpus, "none") == 0;
    int status = options->gpus && !is_none ? parse_gpus(options->gpus, &wanted, &count, err) : 0;
    if (status)
        return status;
    server->is_simulated = options->is_sim;
    if (is_none)
        return 0; /* the user asked for no GPU; this is no fault, unlike a machine without one */
    ath_devices_find(options->is_sim, wanted, count, &server->devices);
    return 0;
}

static int parse_fraction(const char *text, double value, double *out, struct ath_err *err)
{
    if (text && (ath_parse_double(text, &value) || value <= 0 || value > 1))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'%s' is no fraction above 0 and at most 1"), text);
    *out = value;
    return 0;
}

static int parse_sessions(const char *text, unsigned int *out, struct ath_err *err)
{
    int value = SESSIONS_PER_SOURCE;
    if (text && ath_parse_int(text, 1, ATH_SESSION_BOARD_MAX, &value))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'%s' is no number of sessions from 1 to %d"), text,
                           ATH_SESSION_BOARD_MAX);
    *out = (unsigned int)value;
    return 0;
}

static void find_host(struct ath_server *server)
{
    struct ath_root root = { .fd = -1 };
    struct ath_err err;
    struct stat status;
    const char *node = getenv("AITHERION_NUMA");

    gethostname(server->hostname, sizeof server->hostname - 1);
    snprintf(server->node, sizeof server->node, "%s", node ? node : "");
    if (!stat("/proc/self/ns/net", &status))
        server->net_namespace = status.st_ino;
    if (ath_root_open("/", &root, &err))
        return;
    ath_auto_free char *boot_id = ath_root_read(&root, "proc/sys/kernel/random/boot_id");
    snprintf(server->boot_id, sizeof server->boot_id, "%s", boot_id ? boot_id : "");
    ath_root_free(&root);
}

/* GnuTLS is loaded here, once for all sessions' processes. */
static int choose_encryption(const char *text, struct ath_server *server, struct ath_err *err)
{
    if (ath_encrypt_parse(text, &server->encrypt))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not auto, on or off"), text);
    if (ath_server_wants_key(server))
        return server->encrypt == ATH_ENCRYPT_OFF ? 0 : ath_tls_load(err);
    if (server->encrypt != ATH_ENCRYPT_ON)
        return 0;
    ath_err_set(err, -ENOKEY, ATH_E_KEY_FILE,
                _("'--encrypt on' needs a key, and this server has none"));
    return ath_err_hint(err, -ENOKEY, "aitherion key --new --yes");
}

static int know_itself(const struct ath_runtime_options *options, struct ath_server *server,
                       struct ath_err *err)
{
    *server = (struct ath_server){ .started_ms = ath_now_ms(),
                                   .report_fd = -1,
                                   .owner = geteuid(),
                                   .handshake_ms = HANDSHAKE_MS,
                                   .idle_ms = IDLE_MS,
                                   .answer_ms = ANSWER_MS };
    int status = parse_fraction(options->vram_fraction, 1, &server->vram_fraction, err);
    if (!status)
        status = parse_fraction(options->host_fraction, HOST_FRACTION, &server->host_fraction, err);
    if (!status)
        status = options->is_no_auth
                     ? 0
                     : ath_server_keys_open(ath_listen_address_key_path(options), server, err);
    if (!status)
        status = choose_encryption(options->encrypt, server, err);
    if (!status)
        status = find_devices(options, server, err);
    if (status)
        return status;
    if (!ath_server_wants_key(server))
        ath_devices_add_problem(
            &server->devices, false, "no-auth", "",
            N_("sessions need no key: any process that reaches the server may use it"));
    server->only_counts = options->is_no_enforce;
    if (server->only_counts)
        ath_devices_add_problem(
            &server->devices, false, "not-enforced", "",
            N_("limits of GPU memory are counted only: sessions may go beyond them"));
    find_host(server);
    server->board = ath_session_board_make();
    if (server->board)
        return 0;
    status = ath_err_system(err, -errno, "%s", _("no memory for sessions"));
    return status == -EFBIG ? ath_err_hint(err, status, "ulimit -f unlimited") : status;
}

/* The rows of identities lie beside the socket if no option names them. */
static int open_access(struct serve *serve, const struct ath_runtime_options *options,
                       struct ath_err *err)
{
    const char *slash = options->socket ? strrchr(options->socket, '/') : NULL;
    const char *path = options->identities;
    if (!path && slash)
        path = serve->identities_path =
            ath_xasprintf("%.*s/identities", (int)(slash - options->socket), options->socket);
    int status = ath_access_open(serve->server.key_folder, path, &serve->access, err);
    serve->polls[POLL_ACCESS].fd = serve->access.watch_fd;
    serve->server.identities = &serve->access.identities;
    return status;
}

/* ---- listening ---- */

static void say_listening(int fd)
{
    char text[ATH_ENDPOINT_TEXT];
    printf("listening on %s\n", ath_endpoint_of_socket(fd, false, text));
    fflush(stdout);
    ath_event_log(ATH_EVENT_INFO, "listening", "address", text, NULL);
}

static int listen_at(struct serve *serve, const struct ath_endpoint *endpoint, size_t which,
                     struct ath_err *err)
{
    /* With a key any user may try the socket. Without a key only the user that runs the server
     * may. */
    unsigned int mode = ath_server_wants_key(&serve->server) ? 0666 : 0600;
    return ath_endpoint_listen(endpoint, mode, &serve->polls[which].fd, err);
}

static int listen_everywhere(struct serve *serve, const struct ath_runtime_options *options,
                             struct ath_err *err)
{
    struct ath_endpoint endpoint;
    int status = ath_listen_address_find(options->listen, &endpoint, err);
    if (!status)
        status = listen_at(serve, &endpoint, POLL_TCP, err);
    if (!status)
        ath_endpoint_of_socket(serve->polls[POLL_TCP].fd, false, serve->server.address);
    if (!status && options->socket) {
        status = ath_endpoint_of_path(options->socket, &endpoint, err);
        if (!status)
            status = listen_at(serve, &endpoint, POLL_UNIX, err);
        if (!status)
            serve->socket_path = ath_xstrdup(options->socket);
    }
    if (!status && options->metrics) {
        status = ath_endpoint_parse(options->metrics, &endpoint, err);
        if (!status)
            status = listen_at(serve, &endpoint, POLL_METRICS, err);
    }
    return status;
}

/* Raises a limit to its hard limit. */
static void raise_limit(unsigned int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
}

/* Memory shared with programs and the output of kernels are files for the kernel, each exported
 * piece of memory is a descriptor, and sessions have no right to lock more memory or make more
 * threads than the limits.
 */
static void raise_limits(void)
{
    signal(SIGXFSZ, SIG_IGN); /* shared memory counts as a file: EFBIG is enough */
    raise_limit(RLIMIT_FSIZE);
    raise_limit(RLIMIT_NOFILE);
    raise_limit(RLIMIT_MEMLOCK);
    raise_limit(RLIMIT_NPROC);
}

static int take_signals(struct serve *serve, struct ath_err *err)
{
    sigset_t wanted;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGCHLD);
    sigprocmask(SIG_BLOCK, &wanted, &serve->old_signals);
    signal(SIGPIPE, SIG_IGN); /* the server goes on if the reader of its log ends */
    signal(SIGCHLD, SIG_DFL); /* a parent may have left it ignored, which leaves nothing to reap */
    serve->polls[POLL_SIGNALS].fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    serve->polls[POLL_REPORTS].fd = epoll_create1(EPOLL_CLOEXEC);
    if (serve->polls[POLL_SIGNALS].fd < 0 || serve->polls[POLL_REPORTS].fd < 0)
        return ath_err_system(err, -errno, "%s", _("cannot wait for signals"));
    return 0;
}

/* ---- connections that are turned away, and joins ---- */

static uint32_t random_number(void)
{
    uint32_t number = 0;
    (void)!getrandom(&number, sizeof number, GRND_NONBLOCK);
    return number;
}

/* Logs that a connection ended or was ended before its client had a session. */
static void log_broken(struct serve *serve, int fd, const char *reason)
{
    char peer[ATH_ENDPOINT_TEXT], rest[64];
    (void)!recv(fd, rest, sizeof rest, MSG_DONTWAIT); /* unread bytes would reset the connection */
    atomic_fetch_add(&serve->server.board->broken, 1);
    ath_refusal_log(&serve->refusals, "session-broken", ath_endpoint_of_socket(fd, true, peer),
                    reason, NULL);
}

/* Tells a client why it gets no session, if that needs no waiting. */
static void turn_away(struct serve *serve, int fd, size_t which, enum ath_control_reason reason,
                      const char *message)
{
    char peer[ATH_ENDPOINT_TEXT];
    atomic_fetch_add(&serve->server.board->refused, 1);
    ath_refusal_log(&serve->refusals, "session-refused", ath_endpoint_of_socket(fd, true, peer),
                    ath_control_reason_word(reason), message);
    if (which != POLL_METRICS)
        ath_session_turn_away(fd, reason, message);
}

static void refuse_join(struct serve *serve, int fd, const char *reason)
{
    char peer[ATH_ENDPOINT_TEXT];
    ath_refusal_log(&serve->refusals, "connection-refused", ath_endpoint_of_socket(fd, true, peer),
                    reason, NULL);
}

static bool is_own(const struct ath_process *process, const struct ath_waiting *waiting)
{
    return ath_source_is(process->source, waiting->source);
}

/* Passes a connection to the process of a proven session, which checks the proof. Others than the
 * session's own source can take none of the places of those. */
static void pass_join(struct serve *serve, struct ath_process *process,
                      const struct ath_waiting *waiting)
{
    unsigned int *joins = is_own(process, waiting) ? &process->own_joins : &process->foreign_joins;
    unsigned int most = is_own(process, waiting) ? JOINS_OWN : JOINS_FOREIGN;
    if (*joins >= most ||
        ath_fd_passing_pass(&serve->fd_passing, ath_process_table_slot(&serve->processes, process),
                            &waiting->joining, waiting->fd))
        refuse_join(serve, waiting->fd, "the session takes no connection");
    else
        ++*joins;
}

/* Lets out the connections that wait for a session: into it, or away. */
static void let_joins_in(struct serve *serve, struct ath_process *process, bool is_open)
{
    for (size_t i = serve->waiting.count; i-- > 0;) {
        if (serve->waiting.items[i].session != process->session)
            continue;
        const struct ath_waiting waiting = ath_waiting_room_take(&serve->waiting, i);
        if (is_open)
            pass_join(serve, process, &waiting);
        else
            refuse_join(serve, waiting.fd, "there is no session to join");
        close(waiting.fd);
    }
}

/* Decides about a connection that wants to join a session. Returns whether it must wait until the
 * session's client is proven, because its connections come at the same time as its proof. */
static bool join(struct serve *serve, struct ath_waiting *waiting,
                 const struct ath_first_message *first)
{
    struct ath_process *process =
        first->session ? ath_process_table_find(&serve->processes, first->session) : NULL;
    waiting->joining = first->joining;
    if (!process || process->way != POLL_TCP || process->is_ending ||
        (process->is_proven && process->purpose != ATH_GPU_PURPOSE_CUDA))
        refuse_join(serve, waiting->fd, "there is no session to join");
    else if (!is_own(process, waiting) &&
             !ath_attempts_take(&serve->attempts, waiting->source, ath_now_ms()))
        refuse_join(serve, waiting->fd, "too many failed attempts from this address");
    else if (process->is_proven)
        pass_join(serve, process, waiting);
    else if (ath_waiting_room_joins(&serve->waiting, waiting->source, first->session) >=
             ATH_WAITING_MOST_JOINS)
        refuse_join(serve, waiting->fd, "too many connections wait for this session");
    else
        waiting->session = first->session;
    return waiting->session;
}

/* ---- what sessions report ---- */

static const char *identity_of(const struct ath_process *process)
{
    return *process->identity ? process->identity : NULL;
}

static void close_report(struct serve *serve, struct ath_process *process)
{
    if (process->report_fd < 0)
        return;
    epoll_ctl(serve->polls[POLL_REPORTS].fd, EPOLL_CTL_DEL, process->report_fd, NULL);
    close(process->report_fd);
    process->report_fd = -1;
}

/* Makes the pair of a session's process. Returns the end for that process, or a negative errno. */
static int open_report(struct serve *serve, struct ath_process *process)
{
    struct epoll_event event = {
        .events = EPOLLIN,
        .data.u32 = (uint32_t)ath_process_table_slot(&serve->processes, process),
    };
    int pair[2];
    int status = ath_session_report_pair(pair);
    if (status)
        return status;
    if (epoll_ctl(serve->polls[POLL_REPORTS].fd, EPOLL_CTL_ADD, pair[0], &event)) {
        status = -errno;
        close(pair[0]);
        close(pair[1]);
        return status;
    }
    process->report_fd = pair[0];
    return pair[1];
}

static void end_process(struct ath_process *process, const char *reason, const char *by)
{
    ath_event_log(ATH_EVENT_INFO, "session-ended", "peer", process->peer, "identity",
                  identity_of(process), "reason", reason, "by", by, NULL);
    process->is_ending = true;
    kill(process->pid, SIGTERM);
}

static void follow_order(struct serve *serve, const struct ath_process *process, uint64_t session)
{
    struct ath_process *other = ath_process_table_find(&serve->processes, session);
    if (!other)
        return;
    if (!ath_session_request_may_change(process, other)) {
        ath_event_log(ATH_EVENT_WARNING, "order-refused", "peer", process->peer, "identity",
                      identity_of(process), "reason", "it may not end this session", NULL);
        return;
    }
    end_process(other, "asked for", identity_of(process));
}

/* Ends a session whose key is gone: it may have been removed since the process read it. */
static void check_key(const struct serve *serve, struct ath_process *process)
{
    if (process->is_proven && !process->is_ending &&
        !ath_server_keys_has(&serve->server, process->identity, &process->version))
        end_process(process, "its key was removed or replaced", NULL);
}

/* Gives a session what the row of its identity says now. */
static void take_row(struct serve *serve, struct ath_process *process)
{
    const struct ath_identity *row =
        ath_identities_find(&serve->access.identities, process->identity);
    struct ath_session_board_known *known =
        &serve->server.board->known[ath_process_table_slot(&serve->processes, process)];

    process->is_admin = process->is_trusted || (row && row->is_admin);
    for (size_t i = 0; i < serve->server.devices.count; i++)
        atomic_store(
            &known->identity_limit_bytes[i],
            ath_identity_limit_bytes(row, serve->server.devices.items[i].memory_total_bytes));
}

/* Two sessions may have come at the same time, when each still had a place. */
static void check_newcomer(struct serve *serve, struct ath_process *process)
{
    const struct ath_identity *row =
        ath_identities_find(&serve->access.identities, process->identity);
    check_key(serve, process);
    if (row && row->sessions != ATH_UNKNOWN && process->purpose == ATH_GPU_PURPOSE_CUDA &&
        !process->is_ending &&
        ath_process_table_count(&serve->processes, process->identity) > row->sessions)
        end_process(process, "its identity has too many sessions", NULL);
}

/* Keys or rows have changed. */
static void follow_access(struct serve *serve)
{
    ath_access_take_changes(&serve->access);
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        struct ath_process *process = &serve->processes.items[i];
        if (!process->session || !process->is_proven)
            continue;
        take_row(serve, process);
        check_key(serve, process);
    }
}

static int note_report(struct serve *serve, struct ath_process *process,
                       const struct ath_session_report *report)
{
    if (!ath_process_table_note(process, report))
        return -EBADMSG;
    if (!process->is_trusted)
        ath_attempts_give(&serve->attempts, process->source, ath_now_ms());
    let_joins_in(serve, process,
                 process->purpose == ATH_GPU_PURPOSE_CUDA &&
                     ath_process_table_judge(&serve->processes, process) == ATH_VERDICT_GO_ON);
    ath_session_board_note(serve->server.board, ath_process_table_slot(&serve->processes, process),
                           process->purpose, process->identity);
    take_row(serve, process);
    check_newcomer(serve, process);
    return 0;
}

/* A session's process that does not read its answers is not heard any more, either. */
static int answer_question(struct serve *serve, const struct ath_process *process,
                           const struct ath_session_report *question)
{
    return ath_session_report_answer(process->report_fd,
                                     ath_session_request_answer(&serve->processes, serve->shares,
                                                                &serve->users, process, question));
}

/* A session's process that breaks the rules is not heard any more. */
static void take_reports_of(struct serve *serve, struct ath_process *process)
{
    struct ath_session_report report;
    int status = 0;
    while (process->report_fd >= 0 && !status) {
        status = ath_session_report_take(process->report_fd, &report);
        if (!status && report.asks)
            status = answer_question(serve, process, &report);
        else if (!status && report.ends)
            follow_order(serve, process, report.ends);
        else if (!status)
            status = note_report(serve, process, &report);
    }
    if (status && status != -EAGAIN)
        close_report(serve, process);
}

static void take_reports(struct serve *serve)
{
    struct epoll_event events[REPORTS_AT_ONCE];
    int count = epoll_wait(serve->polls[POLL_REPORTS].fd, events, REPORTS_AT_ONCE, 0);
    for (int i = 0; i < count; i++)
        take_reports_of(serve, &serve->processes.items[events[i].data.u32]);
}

/* ---- clients ---- */

/* Leaves a session's process without the other sessions' pairs. */
static void close_reports(const struct ath_process_table *processes)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (processes->items[i].session && processes->items[i].report_fd >= 0)
            close(processes->items[i].report_fd);
}

static void serve_metrics(struct serve *serve, int fd, struct ath_session_board_entry *entry)
{
    struct ath_err err = { 0 };
    if (ath_lock_in_find_user(&serve->server) || ath_lock_in(&serve->server, entry, fd, NULL, &err))
        ath_event_log(ATH_EVENT_ERROR, "session-failed", "peer", entry->peer, "reason", err.message,
                      NULL);
    else
        ath_metrics_serve(fd, &serve->server);
}

/* Runs a session in the child process, with the signal mask of the start. */
static void run_client(struct serve *serve, int fd, size_t which,
                       struct ath_session_board_entry *entry, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_SETMASK, &serve->old_signals, NULL);
    if (getppid() != parent)
        _exit(0);
    for (size_t i = 0; i < POLL_COUNT; i++)
        if (serve->polls[i].fd >= 0)
            close(serve->polls[i].fd);
    close_reports(&serve->processes);
    if (ath_session_board_confine(serve->server.board, entry))
        _exit(EXIT_FAILURE);
    ath_event_log_count_in(&entry->missing_lines);
    ath_waiting_room_clear(&serve->waiting);
    ath_fd_passing_keep_inner(&serve->fd_passing);
    if (which == POLL_METRICS)
        serve_metrics(serve, fd, entry);
    else
        ath_session_serve(fd, &serve->server, entry);
    close(fd);
    _exit(0);
}

/* A process that could end the server (same user or root) is trusted, so that unproven clients
 * never keep it out (unix(7), SO_PEERCRED). */
static bool is_trusted(int fd, size_t which)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return which == POLL_UNIX && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
           (peer.uid == 0 || peer.uid == geteuid());
}

/* Ends a client that has been unproven for long, in favour of a new one. */
static void send_away(struct ath_process *process)
{
    ath_event_log(ATH_EVENT_WARNING, "session-ended", "peer", process->peer, "reason",
                  "it has proven no key, and other clients wait", NULL);
    kill(process->pid, SIGTERM);
}

static void forget(struct serve *serve, struct ath_process *process)
{
    take_reports_of(serve, process);
    close_report(serve, process);
    let_joins_in(serve, process, false);
    ath_fd_passing_remove(&serve->fd_passing, ath_process_table_slot(&serve->processes, process));
    ath_share_table_drop_all(serve->shares, ath_process_table_slot(&serve->processes, process));
    ath_process_table_remove(&serve->processes, process);
}

/* Gives a client a slot in the table. Returns NULL if it gets none, and tells it why. */
static struct ath_process *admit(struct serve *serve, int fd, size_t which,
                                 const struct ath_newcomer *newcomer)
{
    static const char *const reasons[] = {
        [ATH_PLACE_FULL] = "too many sessions",
        [ATH_PLACE_SOURCE_FULL] = "too many sessions from this address",
        [ATH_PLACE_CROWDED] = "too many clients have not proven a key yet",
    };
    struct ath_process *process, *leaves;
    if (!newcomer->is_trusted &&
        !ath_attempts_take(&serve->attempts, newcomer->source, ath_now_ms())) {
        turn_away(serve, fd, which, ATH_CONTROL_REASON_BUSY,
                  "too many failed attempts from this address");
        return NULL;
    }
    take_reports(serve); /* so that no proven client counts as unproven */
    enum ath_place place =
        ath_process_table_add(&serve->processes, newcomer, random_number(), &process, &leaves);
    if (leaves)
        send_away(leaves);
    if (place == ATH_PLACE_GIVEN)
        return process;
    if (!newcomer->is_trusted)
        ath_attempts_give(&serve->attempts, newcomer->source, ath_now_ms());
    turn_away(serve, fd, which, ATH_CONTROL_REASON_BUSY, reasons[place]);
    return NULL;
}

static void start_client(struct serve *serve, int fd, size_t which, struct ath_source source,
                         bool trusts)
{
    char peer[ATH_ENDPOINT_TEXT];
    pid_t parent = getpid();
    const struct ath_newcomer newcomer = { .peer = ath_endpoint_of_socket(fd, true, peer),
                                           .source = source,
                                           .way = (int)which,
                                           .is_trusted = trusts };
    struct ath_process *process = admit(serve, fd, which, &newcomer);
    if (!process)
        return;
    size_t slot = ath_process_table_slot(&serve->processes, process);
    if (which == POLL_TCP)
        ath_fd_passing_add(&serve->fd_passing, slot);
    ath_auto_close int report_fd = open_report(serve, process);
    if (report_fd < 0)
        errno = -report_fd;
    pid_t child = report_fd < 0 ? -1 : fork();
    if (!child) {
        serve->server.report_fd = report_fd;
        run_client(serve, fd, which, ath_session_board_at(serve->server.board, slot), parent);
    }
    int forked = errno;
    ath_fd_passing_keep_outer(&serve->fd_passing);
    process->pid = child;
    if (child < 0) {
        ath_event_log(ATH_EVENT_ERROR, "no-process", "peer", peer, "reason", strerror(forked),
                      NULL);
        forget(serve, process);
    }
}

/* ---- connections that wait for their first message ---- */

/* Looks at a connection, whose peer may have hung up. Returns whether it must wait. Otherwise its
 * descriptor is not needed any more. */
static bool attend(struct serve *serve, struct ath_waiting *waiting, bool is_over)
{
    size_t which = (size_t)waiting->way;
    if (waiting->session)
        return !is_over;
    const struct ath_first_message first = which == POLL_TCP ? ath_first_message_look(waiting->fd)
                                                             : ath_first_message_any(waiting->fd);
    switch (first.kind) {
    case ATH_FIRST_MESSAGE_HELLO:
        start_client(serve, waiting->fd, which, waiting->source, false);
        return false;
    case ATH_FIRST_MESSAGE_JOIN:
        return join(serve, waiting, &first);
    case ATH_FIRST_MESSAGE_WRONG:
        turn_away(serve, waiting->fd, which, ATH_CONTROL_REASON_BAD_MESSAGE,
                  "the message is not valid here");
        return false;
    case ATH_FIRST_MESSAGE_INCOMPLETE:
        if (!is_over)
            return true;
        break;
    case ATH_FIRST_MESSAGE_GONE:
        break;
    }
    log_broken(serve, waiting->fd, "the peer ended the connection");
    return false;
}

/* Lets a connection wait, or deals with it. Owns its descriptor. */
static void receive(struct serve *serve, struct ath_waiting *waiting, bool is_over)
{
    if (!attend(serve, waiting, is_over))
        close(waiting->fd);
    else if (ath_waiting_room_add(&serve->waiting, waiting, random_number()))
        atomic_fetch_add(&serve->server.board->broken, 1);
}

/* The polls behind the fixed ones belong to the room's connections. While one is dealt with, others
 * may leave, and then others have their index. */
static void attend_waiting(struct serve *serve, const struct pollfd *polls, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        if (!polls[i].revents || i >= serve->waiting.count ||
            serve->waiting.items[i].fd != polls[i].fd)
            continue;
        struct ath_waiting waiting = ath_waiting_room_take(&serve->waiting, i);
        receive(serve, &waiting, polls[i].revents & (POLLRDHUP | POLLHUP | POLLERR));
    }
}

/* Ends connections that have waited for too long. */
static void end_waiting(struct serve *serve)
{
    uint64_t now_ms = ath_now_ms(), most_ms = (uint64_t)serve->server.handshake_ms;
    for (size_t i = serve->waiting.count; i-- > 0;) {
        if (now_ms - serve->waiting.items[i].since_ms < most_ms)
            continue;
        const struct ath_waiting waiting = ath_waiting_room_take(&serve->waiting, i);
        log_broken(serve, waiting.fd, "it was silent for too long");
        close(waiting.fd);
    }
}

/* Owns the descriptor of a new connection. An administrator's never waits. */
static void welcome(struct serve *serve, int fd, size_t which)
{
    struct ath_waiting waiting = {
        .fd = fd, .way = (int)which, .source = ath_source_of_socket(fd), .since_ms = ath_now_ms()
    };
    if (which != POLL_METRICS)
        atomic_fetch_add(&serve->server.board->accepted, 1);
    if (is_trusted(fd, which)) {
        start_client(serve, fd, which, waiting.source, true);
        close(fd);
        return;
    }
    receive(serve, &waiting, false);
}

static void accept_clients(struct serve *serve, size_t which)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = accept4(serve->polls[which].fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            welcome(serve, fd, which);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            ath_event_log(ATH_EVENT_ERROR, "cannot-accept", "reason", strerror(errno), NULL);
            nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
        }
        if (errno != ECONNABORTED && errno != EINTR)
            return;
    }
}

/* Describes an unexpected end of a session's process; NULL for an expected one. The process
 * always exits with 0. */
static const char *crash_of(int status)
{
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGTERM ? NULL : strsignal(WTERMSIG(status));
    return WEXITSTATUS(status) ? "exit code" : NULL;
}

/* Process 1 of a container also gets orphans, which are no sessions. */
static void reap(struct serve *serve)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        struct ath_process *process = ath_process_table_find_pid(&serve->processes, pid);
        if (!process)
            continue;
        forget(serve, process);
        const char *crash = crash_of(status);
        ath_auto_free char *number = ath_xasprintf("%d", (int)pid);
        if (crash)
            ath_event_log(ATH_EVENT_ERROR, "session-crashed", "pid", number, "reason", crash, NULL);
    }
}

static void take_signal(struct serve *serve)
{
    struct signalfd_siginfo info;
    while (read(serve->polls[POLL_SIGNALS].fd, &info, sizeof info) == sizeof info)
        serve->is_over = serve->is_over || info.ssi_signo != SIGCHLD;
    reap(serve);
}

static void end_sessions(const struct ath_process_table *processes)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (processes->items[i].session)
            kill(processes->items[i].pid, SIGTERM);
}

/* Milliseconds until a connection has waited for too long, or a log line is due; -1: none. */
static int patience_ms(const struct serve *serve)
{
    uint64_t first_ms = ath_waiting_room_first_ms(&serve->waiting), now_ms = ath_now_ms();
    int patience = serve->refusals.left_out ? 1000 : -1;
    if (first_ms == UINT64_MAX)
        return patience;
    uint64_t end_ms = first_ms + (uint64_t)serve->server.handshake_ms;
    int left_ms = end_ms > now_ms ? (int)(end_ms - now_ms) : 0;
    return patience >= 0 && patience < left_ms ? patience : left_ms;
}

/* Waits for events of the fixed polls and of the connections that wait. Returns how many of these
 * there are. */
static size_t await_events(struct serve *serve, struct pollfd polls[])
{
    size_t count = serve->waiting.count;
    memcpy(polls, serve->polls, sizeof serve->polls);
    for (size_t i = 0; i < count; i++) {
        const struct ath_waiting *waiting = &serve->waiting.items[i];
        polls[POLL_COUNT + i] =
            (struct pollfd){ .fd = waiting->fd,
                             .events = (short)(POLLRDHUP | (waiting->session ? 0 : POLLIN)) };
    }
    if (poll(polls, POLL_COUNT + count, patience_ms(serve)) < 0)
        for (size_t i = 0; i < POLL_COUNT + count; i++)
            polls[i].revents = 0;
    return count;
}

static void serve_clients(struct serve *serve)
{
    struct pollfd polls[POLL_COUNT + ATH_WAITING_MOST];
    while (!serve->is_over) {
        size_t waiting = await_events(serve, polls);
        if (polls[POLL_SIGNALS].revents)
            take_signal(serve);
        if (polls[POLL_REPORTS].revents)
            take_reports(serve);
        if (polls[POLL_ACCESS].revents)
            follow_access(serve);
        attend_waiting(serve, polls + POLL_COUNT, waiting);
        end_waiting(serve);
        ath_refusal_log_settle(&serve->refusals);
        for (size_t i = POLL_TCP; i < POLL_COUNT && !serve->is_over; i++)
            if (polls[i].revents)
                accept_clients(serve, i);
    }
    end_sessions(&serve->processes);
}

static void record_start(const struct ath_server *server)
{
    ath_auto_free char *count = ath_xasprintf("%zu", server->devices.count);
    ath_event_log(ATH_EVENT_INFO, "started", "version", PACKAGE_VERSION, "node",
                  *server->node ? server->node : NULL, "devices", count, "simulated",
                  server->is_simulated ? "true" : "false", "key",
                  ath_server_wants_key(server) ? "wanted" : "none", "encrypt",
                  ath_encrypt_word(server->encrypt), NULL);
    for (size_t i = 0; i < server->devices.problem_count; i++) {
        const struct ath_problem *problem = &server->devices.problems[i];
        ath_event_log(problem->is_fault ? ATH_EVENT_WARNING : ATH_EVENT_INFO, "problem", "code",
                      problem->code, "object", *problem->object ? problem->object : NULL, "message",
                      problem->message, NULL);
    }
}

static void prepare_sandbox(struct serve *serve)
{
    ath_auto_free char *map = NULL;
    size_t length;
    struct ath_err err;
    int status = ath_file_read("/proc/self/uid_map", USER_MAP_BYTES_MAX, &map, &length, &err);
    ath_sandbox_users_init(&serve->users, status ? "" : map);
    ath_sandbox_prepare(&serve->sandbox, serve->users.count, &serve->server.devices);
    ath_sandbox_try(&serve->server, ath_sandbox_users_find(&serve->users, ATH_KEY_NAME_DEFAULT),
                    &serve->sandbox, &serve->server.devices);
}

int ath_serve(const struct ath_runtime_options *options, struct ath_err *err)
{
    __attribute__((cleanup(serve_free))) struct serve serve = { 0 };
    for (size_t i = 0; i < POLL_COUNT; i++)
        serve.polls[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
    raise_limits();
    ath_fd_passing_init(&serve.fd_passing);
    int status = know_itself(options, &serve.server, err);
    serve.server.fd_passing = &serve.fd_passing;
    serve.server.sandbox = &serve.sandbox;
    serve.shares = ath_xalloc(sizeof *serve.shares);
    serve.shares->board = serve.server.board;
    if (!status)
        prepare_sandbox(&serve);
    serve.processes.board = serve.server.board;
    serve.processes.limits_identities = serve.server.key_folder;
    (void)!getrandom(&serve.attempts.seed, sizeof serve.attempts.seed, 0);
    if (!status)
        status = parse_sessions(options->sessions_per_source, &serve.processes.most_of_source, err);
    if (!status)
        status = open_access(&serve, options, err);
    if (!status)
        status = take_signals(&serve, err);
    if (!status)
        status = listen_everywhere(&serve, options, err);
    if (status)
        return status;
    setlocale(LC_MESSAGES, "C"); /* from here on the text goes to logs */
    ath_event_log_count_in(&serve.server.board->missing_lines);
    record_start(&serve.server);
    for (size_t i = POLL_TCP; i <= POLL_UNIX; i++)
        if (serve.polls[i].fd >= 0)
            say_listening(serve.polls[i].fd);
    if (serve.polls[POLL_METRICS].fd >= 0) {
        char text[ATH_ENDPOINT_TEXT];
        ath_event_log(ATH_EVENT_INFO, "metrics", "address",
                      ath_endpoint_of_socket(serve.polls[POLL_METRICS].fd, false, text), NULL);
    }
    serve_clients(&serve);
    ath_event_log(ATH_EVENT_INFO, "stopped", NULL);
    return ATH_RUNTIME_DONE;
}
