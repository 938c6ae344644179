/* The order: first what needs the server's rights. */
#include "config.h"

#include "runtime/lock_in.h"

#include <errno.h>

#include "base/alloc.h"
#include "runtime/driver_library.h"
#include "runtime/session_report.h"

static uid_t user = (uid_t)-1; /* of this process's one session */

int ath_lock_in_find_user(const struct ath_server *server)
{
    static const struct ath_session_report question = { .asks = ATH_ASK_USER };
    uint64_t answer = (uid_t)-1;
    int status =
        server->sandbox ? ath_session_report_ask(server->report_fd, &question, &answer) : 0;
    user = (uid_t)answer;
    return status;
}

int ath_lock_in(const struct ath_server *server, const struct ath_session_board_entry *entry,
                int fd, const char *library, struct ath_err *err)
{
    if (!server->sandbox)
        return 0;
    const int kept[] = { fd,
                         server->report_fd,
                         server->fd_passing ? server->fd_passing->inner : -1,
                         server->turns_fd,
                         library ? ath_driver_library_keep(server->is_simulated, library) : -1,
                         ath_driver_library_keep_gpu(server->is_simulated) };
    const struct ath_sandbox_plan plan = { .sandbox = server->sandbox,
                                           .user = user,
                                           .identity = entry->identity,
                                           .kept = kept,
                                           .kept_count = ATH_COUNT(kept) };
    if (user == (uid_t)-1 && server->sandbox->changes_user)
        return ath_err_system(err, -ENOSPC, "%s", "no user is left for the session's identity");
    return ath_sandbox_enter(&plan, err);
}
