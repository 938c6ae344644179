/* Each frame is one write, so the recording is complete even if the program is killed. */
#include "config.h"

#include "cuda/client/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/i18n.h"
#include "remote/transport/size_limit.h"

enum { PATH_BYTES = 4096 };

/* Replaces each "%p" by the process id. */
static bool expand(const char *pattern, char out[PATH_BYTES])
{
    size_t length = 0;
    for (const char *at = pattern; *at; at++) {
        bool is_id = at[0] == '%' && at[1] == 'p';
        int added = is_id ? snprintf(out + length, PATH_BYTES - length, "%d", (int)getpid())
                          : snprintf(out + length, PATH_BYTES - length, "%c", *at);
        length += (size_t)added;
        if (length >= PATH_BYTES)
            return false;
        at += is_id;
    }
    return true;
}

static void complain(const char *path, int error)
{
    fprintf(stderr, _("aitherion: the calls are not recorded: '%s': %s\n"), path, strerror(error));
}

struct ath_recording ath_recording_of(const char *variable)
{
    struct ath_recording recording = { .fd = -1 };
    const char *pattern = getenv(variable);
    char path[PATH_BYTES] = "";

    if (!pattern || !*pattern)
        return recording;
    errno = ENAMETOOLONG;
    if (expand(pattern, path))
        recording.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (recording.fd < 0)
        complain(pattern, errno);
    return recording;
}

void ath_recording_add(struct ath_recording *recording, const uint8_t *frame, size_t length)
{
    while (recording->fd >= 0 && length) {
        sigset_t mask;
        ath_size_limit_hold(&mask);
        ssize_t written = write(recording->fd, frame, length);
        ath_size_limit_release(&mask);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            fprintf(stderr, _("aitherion: recording stops: %s\n"), strerror(errno));
            ath_recording_free(recording);
            return;
        }
        frame += written;
        length -= (size_t)written;
    }
}

void ath_recording_free(struct ath_recording *recording)
{
    if (recording->fd >= 0)
        close(recording->fd);
    recording->fd = -1;
}
