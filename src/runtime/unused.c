/* Tries to lock the file alone; three successes in a row mean that no program uses the server. */
#include "config.h"

#include "runtime/unused.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/i18n.h"

enum { PERIOD_MS = 900, LOOKS = 3 };

int ath_unused_open(const char *path, struct ath_unused *out, struct ath_err *err)
{
    *out = (struct ath_unused){ .fd = -1 };
    if (!path)
        return 0;
    out->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return out->fd < 0 ? ath_err_system(err, -errno, _("cannot open '%s'"), path) : 0;
}

/* A user that comes between two looks begins them again, so only the last one keeps the lock. */
bool ath_unused_is_over(struct ath_unused *unused, bool has_sessions)
{
    uint64_t now_ms = ath_now_ms();
    if (unused->fd < 0 || now_ms < unused->since_ms + PERIOD_MS)
        return false;
    unused->since_ms = now_ms;
    if (has_sessions || flock(unused->fd, LOCK_EX | LOCK_NB)) {
        unused->looks = 0;
        return false;
    }
    if (++unused->looks >= LOOKS)
        return true;
    flock(unused->fd, LOCK_UN);
    return false;
}
