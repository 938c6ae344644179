/*
 * Chooses the transport and opens the link over it: the client's way to its server.
 *
 * A program's session begins with openChannel (proto/control.capnp).
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cuda/client/client.h"
#include "cuda/client/instance.h"
#include "cuda/client/link.h"
#include "cuda/client/path_words.h"
#include "cuda/common/open_result.h"
#include "remote/session/open.h"
#include "remote/session/program_channel.h"
#include "remote/session/wishes.h"

/* Variables that the driver reads, and the list of switched off optimisations. The first is the
 * list of visible devices. */
static const char *const passed_on[] = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",        "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",  "CUDA_MODULE_DATA_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_FORCE_PTX_JIT",   "CUDA_DISABLE_PTX_JIT",     "CUDA_FORCE_JIT",
    "CUDA_DISABLE_JIT",     "CUDA_AUTO_BOOST",          "CUDA_SCALE_LAUNCH_QUEUES",
    "AITHERION_DISABLE",
};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

static int choose_transport(const struct ath_session *session, enum ath_control_transport *out,
                            struct ath_err *err)
{
    const struct ath_path_facts *paths = &session->paths;
    char text[ATH_ENDPOINT_TEXT];
    *out = ath_path_choose(paths);
    if (ath_path_is_wanted(ATH_CONTROL_TRANSPORT_SHM, paths) && !paths->is_unix)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("the transport 'shm' needs the server's unix socket, not '%s'"),
                           ath_endpoint_of_socket(session->fd, true, text));
    return 0;
}

/* With several servers each one shows all its devices: CUDA_VISIBLE_DEVICES applies to the whole
 * list. */
static void put_environment(struct ath_control_open_channel_builder to)
{
    const size_t left_out = ath_instance_server() ? 1 : 0;
    ath_wishes_put_environment(to, passed_on + left_out, PASSED_ON - left_out);
}

/* Sends the program's first question. *context is the transport, which this function chooses. */
static int send_question(struct ath_session *session, void *context, struct ath_err *err)
{
    enum ath_control_transport *transport = context;
    const struct ath_stripes_owner owner = ath_session_as_owner(session);
    int status = choose_transport(session, transport, err);
    if (status)
        return status;
    struct ath_control_open_channel_builder question =
        ath_control_message_init_open_channel(ath_session_begin(session));
    ath_control_open_channel_set_transport(question, *transport);
    ath_control_open_channel_set_stripes(question, (uint32_t)session->stripes.count);
    ath_control_open_channel_set_program(question, program_invocation_short_name);
    put_environment(question);
    status = ath_wishes_put(question, err);
    if (!status)
        status = ath_session_send(session, err);
    /* The answer tells how many connections have joined. */
    if (!status)
        (void)ath_stripes_join(&session->stripes, &owner);
    return status;
}

/* On success the link owns the session's sockets. */
static int make_link(struct ath_session *session, enum ath_control_transport transport,
                     struct ath_cuda_link **out, struct ath_err *err)
{
    const struct ath_stripes_owner owner = ath_session_as_owner(session);
    struct ath_stream *stream;
    int status = ath_program_channel_stream(session, transport, &stream, err);
    if (status)
        return status;
    status = ath_program_channel_spread(stream, &session->stripes, &owner, err);
    if (!status) {
        *out = ath_link_open(stream);
        if (*out)
            return 0;
        status = ath_err_system(err, -ENOMEM, "%s", _("cannot begin to speak with the server"));
    }
    stream->ops->close(stream);
    return status;
}

static void say_which(const struct ath_session *session, enum ath_control_transport transport,
                      uint32_t devices, bool is_encrypted)
{
    ath_log(ATH_LOG_VERBOSE, "server=%s transport=%s encrypted=%s session=%llu devices=%u",
            ath_instance_server() ? ath_instance_server() : ath_client_variable("AITHERION_SERVER"),
            ath_control_transport_word(transport), is_encrypted ? "yes" : "no",
            (unsigned long long)session->id, devices);
}

/* Tells by which connections large copies go. */
static void say_channels(const struct ath_stripes *stripes)
{
    char from[ATH_ENDPOINT_TEXT], to[ATH_ENDPOINT_TEXT];
    const size_t count = stripes->count - stripes->has_back;
    const char *way = stripes->way == ATH_STRIPES_PIECES ? "data" : "control";
    for (size_t i = 0; i < count && ath_log_has(ATH_LOG_VERBOSE); i++) {
        const struct ath_data_path *path = &stripes->paths[stripes->path_of[i]];
        const int fd = stripes->sockets[i].fd;
        if (path->is_udp)
            ath_log(ATH_LOG_VERBOSE, "channel=%zu from=%s to=%s way=%s/udp", i + 1,
                    *path->link ? path->link : "*", ath_data_path_text(path, to), way);
        else
            ath_log(ATH_LOG_VERBOSE, "channel=%zu from=%s to=%s way=%s", i + 1,
                    ath_endpoint_of_socket(fd, false, from), ath_endpoint_of_socket(fd, true, to),
                    way);
    }
}

static void say_plan(const struct ath_session *session)
{
    ath_path_say_plan(session);
    say_channels(&session->stripes);
}

/* The server tells the fingerprint, and could tell that of another server's driver. */
static void note_driver(const struct ath_session *session, struct ath_control_channel channel,
                        struct ath_cuda_link *link)
{
    const struct ath_wire_bytes told = ath_control_channel_driver_fingerprint(channel);
    struct ath_fingerprint print = ATH_FINGERPRINT_START;
    if (told.length != sizeof link->driver_fingerprint)
        return;
    ath_fingerprint_add(&print, told.data, told.length);
    ath_fingerprint_add(&print, &session->trace, sizeof session->trace);
    link->driver_fingerprint = ath_fingerprint_end(&print);
}

static int open_link(struct ath_cuda_link **out_link, struct ath_err *err)
{
    ATH_AUTO(ath_session) session = { .fd = -1 };
    enum ath_control_transport transport = ATH_CONTROL_TRANSPORT_TCP;
    const struct ath_session_first first = { .send = send_question,
                                             .context = &transport,
                                             .transport =
                                                 ath_client_variable("AITHERION_TRANSPORT") };
    struct ath_control_channel channel;
    struct ath_cuda_link *link = NULL;

    int status = ath_client_open(ath_instance_server(), &first, &session, err);
    if (!status)
        status = ath_program_channel_await(&session, transport, &channel, err);
    bool is_encrypted = session.tls != NULL;
    if (!status)
        say_plan(&session);
    if (!status)
        status = make_link(&session, transport, &link, err);
    if (!link)
        return status;
    link->driver_version = (int)ath_control_channel_driver_version(channel);
    link->device_count = (int)ath_control_channel_devices(channel);
    note_driver(&session, channel, link);
    *out_link = link;
    say_which(&session, transport, ath_control_channel_devices(channel), is_encrypted);
    return 0;
}

static CUresult open_server(struct ath_cuda_link **out_link)
{
    struct ath_err err = { 0 };
    int status = open_link(out_link, &err);
    if (!status)
        return CUDA_SUCCESS;
    if (!ath_client_is_disabled())
        ath_client_complain(&err);
    return ath_cuda_result_of_open(status);
}

/* Registers the opener when the library is loaded. */
__attribute__((constructor)) static void set_opener(void)
{
    ath_cuda_set_opener(open_server);
}
