/* Finding and ending what still runs of a container. */
#include "config.h"

#include "container/engine/docker_remains.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "container/engine/process_facts.h"

#define SHIM "containerd-shim" /* containerd-shim-runc-v2 and others; comm keeps 15 bytes */

/* The shim of a container that ended properly ends by itself a moment after the removal. */
enum { ID_LENGTH = 64, SHIM_GRACE_MS = 500, TIMEOUT_MS = 10 * 1000, POLL_MS = 5 };

/* Only a whole id names a container without doubt. */
static bool is_whole_id(const char *id)
{
    return strlen(id) == ID_LENGTH && strspn(id, "0123456789abcdef") == ID_LENGTH;
}

static bool is_alive(int pid)
{
    ATH_AUTO(ath_process) process = { 0 };
    return !ath_process_read(pid, &process);
}

/* A shim's command line is "containerd-shim-runc-v2 -namespace moby -id ID -address ...". With
 * "delete" it is containerd's own clean-up after a shim that was killed. */
static bool is_shim(int pid, const char *id)
{
    return ath_process_is_named(pid, SHIM) && ath_process_has_argument(pid, id) &&
           !ath_process_has_argument(pid, "delete");
}

/* Counts the processes of a container, with its shim if asked, and sends them a signal (0: none).
 * *out_status is set to a negative errno if a process may not be signalled. */
static size_t signal_all(const char *id, bool with_shim, int number, int *out_status)
{
    ath_auto_free int *pids = NULL;
    size_t count, found = 0;

    ath_process_ids(&pids, &count);
    for (size_t i = 0; i < count; i++) {
        if (!(ath_process_is_in_container(pids[i], id) || (with_shim && is_shim(pids[i], id))) ||
            !is_alive(pids[i]))
            continue;
        found++;
        if (number && kill(pids[i], number) && errno != ESRCH)
            *out_status = -errno;
    }
    return found;
}

bool ath_docker_has_remains(const struct ath_docker_container *container)
{
    int unused;
    return !container->is_running && is_whole_id(container->id) &&
           signal_all(container->id, false, 0, &unused);
}

int ath_docker_end_remains(const char *container_id, struct ath_err *err)
{
    uint64_t start_ms = ath_now_ms(), past_ms;
    int status = 0;

    if (!is_whole_id(container_id))
        return 0;
    do {
        past_ms = ath_now_ms() - start_ms;
        bool is_grace_over = past_ms > SHIM_GRACE_MS;
        signal_all(container_id, is_grace_over, SIGKILL, &status);
        if (!signal_all(container_id, true, 0, NULL))
            return 0;
        nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
    } while (past_ms < TIMEOUT_MS);
    ath_err_system(err, status ? status : -ETIMEDOUT,
                   _("cannot end what still runs of the container '%.12s', which Docker has "
                     "removed"),
                   container_id);
    return status ? ath_err_hint(err, status, _("run the same command as root, with sudo in front"))
                  : -ETIMEDOUT;
}
