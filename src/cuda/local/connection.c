/* Opens the session at the node's runtime, asks and tells, and handles fork and the runtime's
 * end. */
#include "config.h"

#include "cuda/local/connection.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/time_claim.h"
#include "base/uncancelled.h"
#include "cuda/local/local.h"
#include "remote/session/open.h"
#include "remote/session/wishes.h"
#include "remote/transport/shm.h"
#include "remote/wire/endpoint.h"

/* The runtime's process of the session may be kept from running for a while; that is no end. */
enum { OPEN_TIMEOUT_MS = 60000, ANSWER_TIMEOUT_MS = 60000, PAUSE_MS = 200, COUNT_MS = 1000 };

/* Variables by which the runtime chooses the devices. */
static const char *const passed_on[] = { "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER" };
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

/* Tells a runtime from one that was started after it. */
struct identity {
    pid_t pid;    /* of the process that listens; 0: another namespace's */
    ino_t socket; /* its file */
};

static struct {
    pthread_mutex_t lock; /* of what follows */
    struct ath_session session;
    struct identity runtime;
    bool is_there;     /* it is open and has not been lost */
    bool takes_counts; /* the runtime does; constant once it is there */
    bool is_child;     /* this process has forked from the one that opened it */
} connection = { .lock = PTHREAD_MUTEX_INITIALIZER, .session.fd = -1 };

/* ---- opening ---- */

/* Another variable than AITHERION_SERVER, which names the server of programs without a driver. */
static const char *runtime(void)
{
    const char *value = ath_client_variable("AITHERION_LOCAL");
    return value ? value : "";
}

static int find_runtime(struct ath_err *err)
{
    if (*runtime())
        return 0;
    ath_err_set(err, -ENODEV, ATH_E_NOT_FOUND, "%s",
                _("AITHERION_LOCAL does not name the runtime that keeps this program's books"));
    return ath_err_hint(err, -ENODEV, "aitherion run --local");
}

static int send_question(struct ath_session *session, void *context, struct ath_err *err)
{
    (void)context;
    ath_stripes_free(&session->stripes);
    struct ath_control_open_channel_builder question =
        ath_control_message_init_open_channel(ath_session_begin(session));
    ath_control_open_channel_set_transport(question, ATH_CONTROL_TRANSPORT_LOCAL);
    ath_control_open_channel_set_program(question, program_invocation_short_name);
    ath_wishes_put_environment(question, passed_on, PASSED_ON);
    int status = ath_wishes_put(question, err);
    return status ? status : ath_session_send(session, err);
}

/* The pipe's reading end stays open: writing then never meets a pipe without readers. */
static int take_turns(struct ath_local_grant *out, struct ath_err *err)
{
    int read_fd, *const fds[] = { &out->turns_memory, &read_fd, &out->turns_fd };
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        char byte;
        int status = ath_shm_receive(connection.session.fd, &byte, sizeof byte, fds[i]);
        if (status || *fds[i] < 0)
            return ath_err_system(err, status ? status : -EBADMSG, "%s",
                                  _("cannot begin to speak with the server"));
    }
    return 0;
}

static int take_grant(struct ath_control_channel channel, struct ath_local_grant *out,
                      struct ath_err *err)
{
    struct ath_wire_list numbers = ath_control_channel_device_numbers(channel);
    const char *visible = ath_control_channel_visible_devices(channel);
    if (ath_control_channel_transport(channel) != ATH_CONTROL_TRANSPORT_LOCAL ||
        numbers.count > ATH_DEVICES_MAX || strlen(visible) >= sizeof out->visible)
        return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL,
                           _("the server answers with another transport"));
    snprintf(out->visible, sizeof out->visible, "%s", visible);
    out->count = numbers.count;
    out->turns_memory = out->turns_fd = -1;
    out->session = connection.session.id;
    for (uint32_t i = 0; i < numbers.count; i++) {
        out->devices[i] = ath_wire_u32(ath_wire_item(numbers, i), 0, 0);
        if (out->devices[i] >= ATH_DEVICES_MAX)
            return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL, "%s",
                               _("the server sent a message that is not valid here"));
    }
    out->only_counts = ath_control_channel_only_counts(channel);
    connection.takes_counts = ath_control_channel_takes_counts(channel);
    uint32_t percent = ath_control_channel_sm_percent(channel);
    out->sm_percent = percent <= ATH_SHARE_PERCENT_MAX ? (int)percent : 0;
    return ath_control_channel_has_turns(channel) ? take_turns(out, err) : 0;
}

/* ---- a lost session ---- */

/* A session whose answer is only late has not been ended. */
static bool is_closed(void)
{
    struct pollfd one = { .fd = connection.session.fd, .events = POLLRDHUP };
    return poll(&one, 1, 0) == 1;
}

static struct identity identity_of(int fd)
{
    struct identity found = { 0 };
    struct ucred peer;
    socklen_t length = sizeof peer;
    struct ath_endpoint endpoint;
    struct stat file;
    struct ath_err err;
    if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
        found.pid = peer.pid;
    if (!ath_endpoint_parse(runtime(), &endpoint, &err) && endpoint.is_unix &&
        !stat(endpoint.host, &file))
        found.socket = file.st_ino;
    return found;
}

/* Returns whether the runtime that listens now had this program's session. */
static bool is_same_runtime(void)
{
    struct ath_endpoint endpoint;
    struct ath_err err;
    int fd;
    if (ath_endpoint_parse(runtime(), &endpoint, &err) ||
        ath_endpoint_connect(&endpoint, ath_now_ms() + PAUSE_MS, &fd, &err))
        return false;
    struct identity now = identity_of(fd);
    close(fd);
    return now.pid ? now.pid == connection.runtime.pid : now.socket == connection.runtime.socket;
}

/* A runtime that answers has ended this session; it is asked by its own words. */
static void say_loss(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = (long)PAUSE_MS * 1000000 }, NULL);
    if (is_closed() && is_same_runtime() && ath_client_answers(runtime())) {
        ath_local_end();
        ath_log(ATH_LOG_NORMAL,
                _("the runtime '%s' has ended this program's session; its CUDA calls fail from "
                  "here on"),
                runtime());
        return;
    }
    ath_log(ATH_LOG_NORMAL,
            _("the runtime '%s' is gone; the program goes on with the GPU memory that it has, and "
              "gets no more"),
            runtime());
}

/* The first thread that sees the loss says it, and others wait for that. */
static void note_loss(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!connection.is_child)
        pthread_once(&once, say_loss);
}

static bool send_books(const struct ath_local_question *question);

/* The caller has the lock. */
static void tell_counts(void)
{
    static uint64_t told; /* calls */
    const struct ath_local_counts counts = ath_local_counts_sum();
    if (counts.calls == told || !connection.takes_counts)
        return;
    told = counts.calls;
    (void)send_books(&(struct ath_local_question){ .asks = ATH_CONTROL_BOOKS_ASK_COUNT,
                                                   .object = counts.calls,
                                                   .bytes = (int64_t)counts.to_gpu_bytes,
                                                   .name = counts.from_gpu_bytes });
}

/* Tells the calls since the last second. exit() may have come in a call of a thread that has the
 * lock. */
static __attribute__((destructor)) void tell_last_counts(void)
{
    if (pthread_mutex_trylock(&connection.lock))
        return;
    if (connection.is_there && !connection.is_child)
        tell_counts();
    pthread_mutex_unlock(&connection.lock);
}

/* Waits for the end of the connection, and tells the calls each second. */
static void *watch(void *argument)
{
    int fd = *(const int *)argument, count;
    struct pollfd one = { .fd = fd, .events = POLLRDHUP };
    while ((count = poll(&one, 1, connection.takes_counts ? COUNT_MS : -1)) <= 0) {
        if (count && errno != EINTR)
            break;
        pthread_mutex_lock(&connection.lock);
        tell_counts();
        pthread_mutex_unlock(&connection.lock);
    }
    pthread_mutex_lock(&connection.lock);
    connection.is_there = false;
    pthread_mutex_unlock(&connection.lock);
    note_loss();
    return NULL;
}

/* Without the thread, the next question notices the loss. */
static void begin_watch(void)
{
    (void)ath_thread_start(NULL, watch, &connection.session.fd);
}

/* ---- a process that forks ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&connection.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&connection.lock);
}

/* The child must not keep its parent's session. The driver does not work in it either. */
static void in_child(void)
{
    if (connection.session.fd >= 0)
        close(connection.session.fd);
    connection.session.fd = -1;
    connection.is_there = false;
    connection.is_child = true;
    pthread_mutex_unlock(&connection.lock);
    ath_local_forked();
}

int ath_local_connect(struct ath_local_grant *out, struct ath_err *err)
{
    ath_uncancelled int cancel = ath_uncancel();
    const struct ath_session_first first = { .send = send_question };
    struct ath_session *session = &connection.session;
    struct ath_control_message answer;
    pthread_atfork(before_fork, after_fork, in_child); /* another thread may fork meanwhile */
    pthread_mutex_lock(&connection.lock);
    int status = find_runtime(err);
    if (!status)
        status = ath_client_open(runtime(), &first, session, err);
    if (!status) {
        session->timeout_ms = OPEN_TIMEOUT_MS;
        status = ath_session_await(session, ATH_CONTROL_MESSAGE_CHANNEL, &answer, err);
    }
    if (!status)
        status = take_grant(ath_control_message_channel(answer), out, err);
    if (!status)
        connection.runtime = identity_of(session->fd);
    session->timeout_ms = ANSWER_TIMEOUT_MS;
    connection.is_there = !status;
    if (status && session->fd >= 0)
        ath_session_free(session);
    pthread_mutex_unlock(&connection.lock);
    if (status)
        return status;
    begin_watch();
    ath_log(ATH_LOG_VERBOSE, "server=%s transport=local session=%llu devices=%zu", runtime(),
            (unsigned long long)session->id, out->count);
    return 0;
}

/* ---- questions ---- */

static void put_part(const struct ath_books_part *part, struct ath_control_books_part_builder to)
{
    ath_control_books_part_set_groups(to, part->groups);
    ath_control_books_part_set_wanted(to, part->wanted);
    ath_control_books_part_set_processors(to, part->processors);
    ath_control_books_part_set_total(to, part->total);
}

/* The caller has the lock. */
static bool send_books(const struct ath_local_question *question)
{
    struct ath_err err;
    if (!connection.is_there)
        return false;
    struct ath_control_books_question_builder to =
        ath_control_message_init_books(ath_session_begin(&connection.session));
    ath_control_books_question_set_asks(to, question->asks);
    ath_control_books_question_set_device(to, (uint32_t)question->device);
    ath_control_books_question_set_bytes(to, question->bytes);
    ath_control_books_question_set_object(to, question->object);
    ath_control_books_question_set_name(to, question->name);
    if (question->asks == ATH_CONTROL_BOOKS_ASK_TAKE_PART)
        put_part(&question->part, ath_control_books_question_init_part(to));
    connection.is_there = !ath_session_send(&connection.session, &err);
    return connection.is_there;
}

bool ath_local_ask(const struct ath_local_question *question,
                   void (*read)(struct ath_control_books_answer answer, void *context),
                   void *context)
{
    ath_uncancelled int cancel = ath_uncancel();
    struct ath_control_message answer;
    struct ath_err err;
    pthread_mutex_lock(&connection.lock);
    bool is_answered = send_books(question);
    if (is_answered)
        is_answered = connection.is_there = !ath_session_await(
            &connection.session, ATH_CONTROL_MESSAGE_BOOKS_ANSWER, &answer, &err);
    if (is_answered)
        read(ath_control_message_books_answer(answer), context);
    pthread_mutex_unlock(&connection.lock);
    if (!is_answered)
        note_loss();
    return is_answered;
}

void ath_local_tell(const struct ath_local_question *question)
{
    ath_uncancelled int cancel = ath_uncancel();
    pthread_mutex_lock(&connection.lock);
    (void)send_books(question);
    pthread_mutex_unlock(&connection.lock);
}
