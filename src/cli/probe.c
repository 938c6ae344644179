/* Opening a session with a runtime to see whether it answers. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/nodes.h"
#include "remote/session/open.h"

int ath_probe_server(const struct ath_probe *probe, const char *server,
                     struct ath_runtime_health *out, struct ath_err *err)
{
    ATH_AUTO(ath_secret) secret = { 0 };
    ATH_AUTO(ath_session) session = { .fd = -1 };
    ATH_AUTO(ath_runtime_health) unwanted = { 0 };
    struct ath_endpoint endpoint;
    struct ath_encryption encryption;

    int status = ath_endpoint_parse(server, &endpoint, err);
    if (!status)
        status = ath_client_encryption(&encryption, err);
    if (!status && probe->key_path)
        status = ath_secret_load(probe->key_path, &secret, err);
    if (!status)
        status = ath_session_open(&endpoint, secret.length ? &secret : NULL, encryption, NULL,
                                  probe->timeout_ms, &session, err);
    return status ? status : ath_session_health(&session, out ? out : &unwanted, err);
}

/* Returns -EAGAIN if the runtime may answer later. Docker's proxy accepts connections before the
 * container listens and then closes them, so a closed connection is not final either. */
static int probe(const struct ath_probe *context, const char *server, struct ath_err *err)
{
    int status = ath_probe_server(context, server, NULL, err);
    bool is_final = err->code == ATH_E_KEY_REFUSED || err->code == ATH_E_KEY_FILE ||
                    err->code == ATH_E_NO_ACCESS || err->code == ATH_E_NOT_FOUND;
    return status && !is_final ? -EAGAIN : status;
}

/* The socket exists as soon as the runtime does, whatever its network. Only users who may open it
 * can ask there. */
int ath_probe_node(void *context, const struct ath_plan_node *node, struct ath_err *err)
{
    ath_auto_free char *local = ath_xasprintf("unix:%s", node->socket);
    ath_auto_free char *network = ath_nodes_server(node);

    if (!access(node->socket, W_OK) || !network)
        return probe(context, local, err);
    /* The folder exists on this machine but the socket does not: the runtime has not
     * begun to listen, and the port belongs to another program. */
    if (errno == ENOENT && !access(node->folder, F_OK))
        return ath_err_set(err, -EAGAIN, ATH_E_NOT_FOUND, _("the socket '%s' does not exist yet"),
                           node->socket);
    return probe(context, network, err);
}
