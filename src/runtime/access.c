/* Watches keys and rows. */
#include "config.h"

#include "runtime/access.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/i18n.h"
#include "runtime/event_log.h"

enum { PATH_BYTES = 4096 };

static int watch(struct ath_access *access, const char *folder, uint32_t events,
                 struct ath_err *err)
{
    if (inotify_add_watch(access->watch_fd, folder, events) < 0)
        return ath_err_system(err, -errno, _("cannot watch '%s'"), folder);
    return 0;
}

static int watch_rows(struct ath_access *access, struct ath_err *err)
{
    char copy[PATH_BYTES];
    if (!access->identities_path)
        return 0;
    snprintf(copy, sizeof copy, "%s", access->identities_path);
    return watch(access, dirname(copy), IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE | IN_DELETE,
                 err);
}

int ath_access_open(const char *key_folder, const char *identities_path, struct ath_access *out,
                    struct ath_err *err)
{
    int status = 0;
    out->watch_fd = -1;
    out->identities_path = identities_path;
    if (!key_folder && !identities_path)
        return 0;
    out->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (out->watch_fd < 0)
        return ath_err_system(err, -errno, "%s", _("cannot watch for changes of keys"));
    /* watched before they are read, so that no change is missed */
    if (key_folder)
        status = watch(out, key_folder,
                       IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE | IN_DELETE | IN_ATTRIB |
                           IN_DELETE_SELF | IN_MOVE_SELF,
                       err);
    if (!status)
        status = watch_rows(out, err);
    if (!status && identities_path)
        status = ath_identities_load(identities_path, &out->identities, err);
    if (status) {
        close(out->watch_fd);
        out->watch_fd = -1;
    }
    return status;
}

void ath_access_take_changes(struct ath_access *access)
{
    char events[PATH_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
    struct ath_err err;
    while (read(access->watch_fd, events, sizeof events) > 0)
        continue; /* the names do not matter: all keys are checked */
    if (access->identities_path &&
        ath_identities_load(access->identities_path, &access->identities, &err))
        ath_event_log(ATH_EVENT_WARNING, "identities-unusable", "reason", err.message, NULL);
}
