/* Comparing and changing the share of GPU memory of a running runtime. */
#include "config.h"

#include "cli/share.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/reach.h"

/* A runtime takes its share from its own user and from root, by its socket. */
static bool may_set(const struct ath_node_status *status, const struct ath_reach_server *server)
{
    struct stat file;
    return ath_starts_with(server->server, "unix:") &&
           (!geteuid() || (!stat(status->socket, &file) && file.st_uid == geteuid()));
}

int ath_share_set(const struct ath_nodes *nodes, const struct ath_node_status *status,
                  double fraction, bool is_dry_run, struct ath_err *err)
{
    ATH_AUTO(ath_session) session = { .fd = -1 };
    ATH_AUTO(ath_runtime_health) health = { 0 };
    ATH_AUTO(ath_reach) reach = { .key = ath_xstrdup(nodes->has_key ? nodes->key_path : "") };
    struct ath_reach_server *server = ath_push(&reach.items, &reach.count, sizeof *reach.items);

    ath_reach_node(status, false, server);
    if (ath_reach_session(&reach, server, &session, err) ||
        ath_session_health(&session, &health, err) || ath_share_is(&health, fraction))
        return ATH_SHARE_SAME;
    if (!may_set(status, server))
        return ATH_SHARE_FIXED;
    int failed = is_dry_run ? 0 : ath_session_limit_server(&session, fraction, err);
    return failed ? failed : ATH_SHARE_CHANGED;
}
