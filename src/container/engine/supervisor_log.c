/* The log of a runtime that a supervisor runs. */
#include "config.h"

#include "container/engine/supervisor_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "container/engine/kinds.h"
#include "container/engine/process_facts.h"

enum {
    LOG_MOST_BYTES = 4 << 20,
    LOG_KEPT_BYTES = 1 << 20,
    LOG_TAIL_BYTES = 16 << 10,
};

static char *log_path(const char *folder)
{
    return ath_xasprintf("%s/" ATH_SUPERVISOR_LOG, folder);
}

int ath_supervisor_open_log(const char *folder)
{
    ath_auto_free char *path = log_path(folder);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
}

void ath_supervisor_log_end(const char *folder, const struct ath_process_state *state, int wait_ms)
{
    ath_auto_close int log = ath_supervisor_open_log(folder);
    ath_auto_free char *now = ath_time_text((int64_t)time(NULL));
    if (log >= 0)
        dprintf(log, "time=%s level=error event=ended exit_code=%d restart_in_ms=%d\n", now,
                state->exit_code, wait_ms);
}

static void copy_end(int from, off_t size, int to)
{
    char bytes[65536];
    ssize_t got;
    for (off_t at = size > LOG_KEPT_BYTES ? size - LOG_KEPT_BYTES : 0;
         (got = pread(from, bytes, sizeof bytes, at)) > 0 && write(to, bytes, (size_t)got) == got;)
        at += got;
}

void ath_supervisor_trim_log(const char *folder)
{
    ath_auto_free char *path = log_path(folder);
    ath_auto_free char *old_path = ath_xasprintf("%s/" ATH_SUPERVISOR_OLD_LOG, folder);
    struct stat status;

    if (stat(path, &status) || status.st_size <= LOG_MOST_BYTES)
        return;
    ath_auto_close int log = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ath_auto_close int old =
        open(old_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
    if (log < 0)
        return;
    if (old >= 0)
        copy_end(log, status.st_size, old);
    if (ftruncate(log, 0))
        return; /* the next look tries again */
}

void ath_supervisor_log_tail(const char *folder, struct ath_texts *out)
{
    ath_auto_free char *path = log_path(folder);
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char text[LOG_TAIL_BYTES];
    struct stat status;

    if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
        return;
    off_t from = status.st_size > (off_t)sizeof text ? status.st_size - (off_t)sizeof text : 0;
    ssize_t got = pread(fd, text, sizeof text, from);
    if (got > 0)
        ath_log_tail(text, (size_t)got, ATH_ENGINE_LOG_LINES, out);
}
