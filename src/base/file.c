/* Atomic saves under a lock. */
#include "config.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

int ath_file_read(const char *path, size_t max_bytes, char **out, size_t *out_length,
                  struct ath_err *err)
{
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status))
        return ath_err_system(err, -errno, _("cannot read '%s'"), path);
    if (!S_ISREG(status.st_mode))
        return ath_err_set(err, -EINVAL, ATH_E_IO, _("cannot read '%s': not a regular file"), path);

    ATH_AUTO(ath_text) text = { 0 };
    char chunk[65536];
    ssize_t got;
    while ((got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ath_err_system(err, -errno, _("cannot read '%s'"), path);
        ath_text_add_bytes(&text, chunk, (size_t)got);
        if (text.length > max_bytes)
            return ath_err_set(err, -EFBIG, ATH_E_IO,
                               _("cannot read '%s': it is larger than %zu KiB"), path,
                               max_bytes / 1024);
    }
    *out_length = text.length;
    *out = ath_text_take(&text);
    return 0;
}

/* "FOLDER/.NAMEsuffix" for path; the caller frees it. */
static char *sibling(const char *path, const char *suffix)
{
    ath_auto_free char *copy = ath_xstrdup(path);
    const char *slash = strrchr(copy, '/');
    const char *name = slash ? slash + 1 : copy;
    return ath_xasprintf("%.*s.%s%s", (int)(name - copy), copy, name, suffix);
}

static int write_all(int fd, const char *data, size_t length)
{
    while (length) {
        ssize_t done = write(fd, data, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        data += done;
        length -= (size_t)done;
    }
    return 0;
}

/* Gives the new file what the old one had; a plain user may not be able to keep the owner. */
static int keep_attributes(int fd, const char *path)
{
    struct stat old;
    if (stat(path, &old))
        return fchmod(fd, 0644) ? -errno : 0;
    if (fchown(fd, old.st_uid, old.st_gid) && errno != EPERM)
        return -errno;
    return fchmod(fd, old.st_mode & 07777) ? -errno : 0;
}

static int sync_folder_of(const char *path)
{
    ath_auto_free char *copy = ath_xstrdup(path);
    ath_auto_close int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return fsync(fd) && errno != EINVAL ? -errno
                                        : 0; /* EINVAL: a file system that cannot sync folders */
}

static int write_new(const char *new_path, const char *path, const char *data, size_t length)
{
    ath_auto_close int fd =
        open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int status = write_all(fd, data, length);
    if (!status)
        status = keep_attributes(fd, path);
    if (!status && fsync(fd))
        status = -errno;
    return status;
}

/* A device or a pipe (/dev/stdout) cannot be replaced; it is written to. */
static int write_special(const char *path, const char *data, size_t length)
{
    ath_auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -errno : write_all(fd, data, length);
}

static int replace(const char *target, const char *data, size_t length)
{
    ath_auto_free char *new_path = sibling(target, ".new");
    int status = write_new(new_path, target, data, length);
    if (!status && rename(new_path, target))
        status = -errno;
    if (status)
        unlink(new_path);
    return status;
}

int ath_file_save(const char *path, const char *data, size_t length, struct ath_err *err)
{
    ath_auto_free char *resolved = realpath(path, NULL);
    const char *target = resolved ? resolved : path;
    struct stat status_of;
    bool is_special = !stat(path, &status_of) && !S_ISREG(status_of.st_mode);

    int status = is_special ? write_special(path, data, length) : replace(target, data, length);
    if (status)
        return ath_err_system(err, status, _("cannot save '%s'"), path);
    status = is_special ? 0 : sync_folder_of(target);
    if (status)
        return ath_err_system(err, status, _("saved '%s', but cannot sync its folder"), path);
    return 0;
}

int ath_file_make_folders(const char *path, struct ath_err *err)
{
    ath_auto_free char *copy = ath_xstrdup(path);

    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0755) && errno != EEXIST)
            return ath_err_system(err, -errno, _("cannot make the folder '%s'"), copy);
        *slash = '/';
    }
    return 0;
}

int ath_file_lock(const char *path, int timeout_ms, int *out_fd, struct ath_err *err)
{
    enum { STEP_MS = 20 };
    ath_auto_free char *resolved = realpath(path, NULL);
    ath_auto_free char *lock_path = sibling(resolved ? resolved : path, ".lock");
    int status = ath_file_make_folders(lock_path, err);
    if (status)
        return status;
    int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return ath_err_system(err, -errno, _("cannot lock '%s'"), path);

    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB); waited += STEP_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            status = ath_err_system(err, -errno, _("cannot lock '%s'"), path);
        } else if (waited >= timeout_ms) {
            status = ath_err_set(err, -EAGAIN, ATH_E_LOCKED,
                                 _("cannot change '%s': another aitherion is changing it"), path);
            ath_err_hint(
                err, status,
                _("close the other menu or wait for it, then try again (fuser '%s' names it)"),
                lock_path);
        } else {
            nanosleep(&(struct timespec){ .tv_nsec = STEP_MS * 1000000L }, NULL);
            continue;
        }
        close(fd);
        return status;
    }
    *out_fd = fd;
    return 0;
}
