/* Opens and frees the sockets, the limits and the signals of the listening process. */
#include "config.h"

#include "runtime/listener.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "base/text.h"
#include "runtime/event_log.h"
#include "runtime/listen_address.h"
#include "runtime/metrics.h"
#include "runtime/server_keys.h"
#include "runtime/session.h"

enum { SESSIONS_PER_SOURCE = ATH_SESSION_BOARD_MAX / 2 };

void ath_listener_free(struct ath_listener *listener)
{
    for (size_t i = 0; i < ATH_POLL_COUNT; i++)
        if (listener->polls[i].fd >= 0)
            close(listener->polls[i].fd);
    if (listener->socket_path)
        unlink(listener->socket_path);
    ath_datagrams_close(&listener->datagrams);
    free(listener->socket_path);
    ath_sandbox_free(&listener->sandbox);
    ath_sandbox_users_free(&listener->users);
    free(listener->shares);
    free(listener->identities_path);
    ath_secret_free(&listener->server.secret);
}

/* ---- whom it lets in ---- */

/* Sets the most sessions of one source. */
static int set_places(struct ath_listener *listener, const char *text, struct ath_err *err)
{
    int value = SESSIONS_PER_SOURCE;
    if (text && ath_parse_int(text, 1, ATH_SESSION_BOARD_MAX, &value))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'%s' is no number of sessions from 1 to %d"), text,
                           ATH_SESSION_BOARD_MAX);
    listener->processes.most_of_source = (unsigned int)value;
    return 0;
}

/* The rows of identities lie beside the socket if no option names them. */
int ath_listener_open_access(struct ath_listener *listener,
                             const struct ath_runtime_options *options, struct ath_err *err)
{
    const char *slash = options->socket ? strrchr(options->socket, '/') : NULL;
    const char *path = options->identities;
    int status = set_places(listener, options->sessions_per_source, err);
    if (status)
        return status;
    if (!path && slash)
        path = listener->identities_path =
            ath_xasprintf("%.*s/identities", (int)(slash - options->socket), options->socket);
    status = ath_access_open(listener->server.key_folder, path, &listener->access, err);
    listener->polls[ATH_POLL_ACCESS].fd = listener->access.watch_fd;
    listener->server.identities = &listener->access.identities;
    return status;
}

/* ---- where it listens ---- */

static int listen_at(struct ath_listener *listener, const struct ath_endpoint *endpoint,
                     size_t which, struct ath_err *err)
{
    /* With a key any user may try the socket. Without a key only the user that runs the server
     * may. */
    unsigned int mode = ath_server_wants_key(&listener->server) ? 0666 : 0600;
    return ath_endpoint_listen(endpoint, mode, &listener->polls[which].fd, err);
}

int ath_listener_listen(struct ath_listener *listener, const struct ath_runtime_options *options,
                        struct ath_err *err)
{
    struct ath_endpoint endpoint;
    bool is_silent = options->listen && !strcmp(options->listen, "none");
    if (is_silent && !options->socket)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, "%s", _("'--listen none' needs --socket"));
    int status = is_silent ? 0 : ath_listen_address_find(options->listen, &endpoint, err);
    if (!status && !is_silent)
        status = listen_at(listener, &endpoint, ATH_POLL_TCP, err);
    if (!status && !is_silent)
        ath_endpoint_of_socket(listener->polls[ATH_POLL_TCP].fd, false, listener->server.address);
    if (!status && options->socket) {
        status = ath_endpoint_of_path(options->socket, &endpoint, err);
        if (!status)
            status = listen_at(listener, &endpoint, ATH_POLL_UNIX, err);
        if (!status)
            listener->socket_path = ath_xstrdup(options->socket);
    }
    if (!status && options->metrics) {
        listener->metrics_web = options->metrics_web;
        status = ath_metrics_prepare(options->metrics_web, err);
        if (!status)
            status = ath_endpoint_parse(options->metrics, &endpoint, err);
        if (!status)
            status = listen_at(listener, &endpoint, ATH_POLL_METRICS, err);
    }
    return status;
}

static void say_listening(int fd)
{
    char text[ATH_ENDPOINT_TEXT];
    printf("listening on %s\n", ath_endpoint_of_socket(fd, false, text));
    fflush(stdout);
    ath_event_log(ATH_EVENT_INFO, "listening", "address", text, NULL);
}

void ath_listener_announce(const struct ath_listener *listener)
{
    int metrics_fd = listener->polls[ATH_POLL_METRICS].fd;
    char text[ATH_ENDPOINT_TEXT];
    for (size_t i = ATH_POLL_TCP; i <= ATH_POLL_UNIX; i++)
        if (listener->polls[i].fd >= 0)
            say_listening(listener->polls[i].fd);
    if (listener->datagrams.port) {
        snprintf(text, sizeof text, "%d", listener->datagrams.port);
        ath_event_log(ATH_EVENT_INFO, "udp", "port", text, NULL);
    }
    if (metrics_fd >= 0)
        ath_event_log(ATH_EVENT_INFO, "metrics", "address",
                      ath_endpoint_of_socket(metrics_fd, false, text), NULL);
    for (size_t i = ATH_POLL_DATA; i < ATH_POLL_COUNT; i++)
        if (listener->polls[i].fd >= 0)
            ath_event_log(ATH_EVENT_INFO, "listening-for-data", "address",
                          ath_endpoint_of_socket(listener->polls[i].fd, false, text), "by",
                          listener->datagrams.is_data ? "tcp,udp" : NULL, NULL);
}

/* ---- limits and signals ---- */

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
 * threads than the limits. */
void ath_listener_raise_limits(void)
{
    signal(SIGXFSZ, SIG_IGN); /* shared memory counts as a file: EFBIG is enough */
    raise_limit(RLIMIT_FSIZE);
    raise_limit(RLIMIT_NOFILE);
    raise_limit(RLIMIT_MEMLOCK);
    raise_limit(RLIMIT_NPROC);
}

int ath_listener_take_signals(struct ath_listener *listener, struct ath_err *err)
{
    sigset_t wanted;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGCHLD);
    sigprocmask(SIG_BLOCK, &wanted, &listener->old_signals);
    signal(SIGPIPE, SIG_IGN); /* the server goes on if the reader of its log ends */
    signal(SIGCHLD, SIG_DFL); /* a parent may have left it ignored, which leaves nothing to reap */
    listener->polls[ATH_POLL_SIGNALS].fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    listener->polls[ATH_POLL_REPORTS].fd = epoll_create1(EPOLL_CLOEXEC);
    if (listener->polls[ATH_POLL_SIGNALS].fd < 0 || listener->polls[ATH_POLL_REPORTS].fd < 0)
        return ath_err_system(err, -errno, "%s", _("cannot wait for signals"));
    return 0;
}

/* ---- connections that get no session ---- */

uint32_t ath_listener_random(void)
{
    uint32_t number = 0;
    (void)!getrandom(&number, sizeof number, GRND_NONBLOCK);
    return number;
}

void ath_listener_log_broken(struct ath_listener *listener, int fd, const char *reason)
{
    char peer[ATH_ENDPOINT_TEXT], rest[64];
    (void)!recv(fd, rest, sizeof rest, MSG_DONTWAIT); /* unread bytes would reset the connection */
    atomic_fetch_add(&listener->server.board->broken, 1);
    ath_refusal_log(&listener->refusals, "session-broken", ath_endpoint_of_socket(fd, true, peer),
                    reason, NULL);
}

void ath_listener_turn_away(struct ath_listener *listener, int fd, size_t which,
                            enum ath_control_reason reason, const char *message)
{
    char peer[ATH_ENDPOINT_TEXT];
    atomic_fetch_add(&listener->server.board->refused[reason], 1);
    ath_refusal_log(&listener->refusals, "session-refused", ath_endpoint_of_socket(fd, true, peer),
                    ath_control_reason_word(reason), message);
    if (which != ATH_POLL_METRICS)
        ath_session_turn_away(fd, reason, message);
}
