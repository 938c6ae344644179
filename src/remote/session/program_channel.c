/* Waits for the answer to openChannel, makes the stream, and adds the connections that joined. */
#include "config.h"

#include "remote/session/program_channel.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "remote/session/recovery.h"
#include "remote/transport/shm.h"

enum { OPEN_TIMEOUT_MS = 60000 /* loading the driver may take long */ };

int ath_program_channel_await(struct ath_session *session, enum ath_control_transport transport,
                              struct ath_control_channel *out, struct ath_err *err)
{
    struct ath_control_message answer;
    session->timeout_ms = OPEN_TIMEOUT_MS;
    int status = ath_session_await(session, ATH_CONTROL_MESSAGE_CHANNEL, &answer, err);
    if (status)
        return status;
    *out = ath_control_message_channel(answer);
    if (ath_control_channel_transport(*out) != transport)
        return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL,
                           _("the server answers with another transport"));
    if (ath_control_channel_stripes(*out) != session->stripes.count)
        ath_stripes_free(&session->stripes);
    if (session->stripes.count &&
        ath_control_channel_has_pieces(*out) != (session->stripes.way == ATH_STRIPES_PIECES))
        return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL,
                           _("the server divides large copies in another way"));
    return ath_stripes_finish(&session->stripes, ath_now_ms() + OPEN_TIMEOUT_MS, err);
}

static int take_rings(struct ath_session *session, struct ath_stream **out)
{
    char byte;
    ath_auto_close int memory = -1;
    int status = ath_shm_receive(session->fd, &byte, sizeof byte, &memory);
    return status ? status : ath_shm_take(session->fd, memory, out);
}

static int report(int status, struct ath_err *err)
{
    return ath_err_system(err, status, "%s", _("cannot begin to speak with the server"));
}

int ath_program_channel_stream(struct ath_session *session, enum ath_control_transport transport,
                               struct ath_stream **out, struct ath_err *err)
{
    struct ath_stream *stream = NULL;
    int status = 0;
    if (transport == ATH_CONTROL_TRANSPORT_SHM)
        status = take_rings(session, &stream);
    else if (!(stream = ath_tcp_stream((struct ath_socket){ session->fd, session->tls })))
        status = -ENOMEM;
    if (status)
        return report(status, err);
    session->fd = -1;
    session->tls = NULL;
    if (transport != ATH_CONTROL_TRANSPORT_SHM)
        stream->cost.latency_ns = session->round_trip_ns;
    *out = stream;
    return 0;
}

int ath_program_channel_spread(struct ath_stream *stream, struct ath_stripes *stripes,
                               const struct ath_stripes_owner *owner, struct ath_err *err)
{
    int status = ath_tcp_add_stripes(stream, stripes->way, stripes->sockets, stripes->count);
    if (!status && stripes->count) {
        status = ath_recovery_begin(ath_tcp_channels(stream), stripes, owner);
        stripes->count = 0;
    }
    return status ? report(status, err) : 0;
}
