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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"

/* Adds the hint that fits status to a filled err. Returns status. */
static int hint_refused(int status, struct ath_err *err)
{
    if (status == -EACCES || status == -EPERM)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    if (status == -EROFS)
        return ath_err_hint(err, status,
                            _("the file system is mounted read-only: choose another place, or "
                              "mount -o remount,rw it"));
    if (status == -EISDIR)
        return ath_err_hint(err, status, "%s", _("name a file in this folder"));
    return status;
}

/* Opens a regular file, or standard input for "-". Other file types are refused: opening a FIFO or
 * a device could hang us. */
static int open_to_read(const char *path, struct ath_err *err)
{
    struct stat status;

    if (!strcmp(path, "-"))
        return dup(STDIN_FILENO);
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status))
        return hint_refused(ath_err_system(err, -errno, _("cannot read '%s'"), path), err);
    if (S_ISREG(status.st_mode))
        return ath_steal_fd(&fd);
    if (!S_ISDIR(status.st_mode))
        return ath_err_set(err, -EINVAL, ATH_E_IO, _("cannot read '%s': it is not a regular file"),
                           path);
    ath_err_set(err, -EISDIR, ATH_E_IO, _("cannot read '%s': it is a folder"), path);
    return hint_refused(-EISDIR, err);
}

int ath_file_read(const char *path, size_t max_bytes, char **out, size_t *out_length,
                  struct ath_err *err)
{
    ath_auto_close int fd = open_to_read(path, err);
    if (fd < 0)
        return fd;

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

/* Returns "FOLDER/.NAMEsuffix" for path; the caller frees it. */
static char *sibling(const char *path, const char *suffix)
{
    ath_auto_free char *copy = ath_xstrdup(path);
    const char *slash = strrchr(copy, '/');
    const char *name = slash ? slash + 1 : copy;
    return ath_xasprintf("%.*s.%s%s", (int)(name - copy), copy, name, suffix);
}

int ath_file_write_all(int fd, const char *data, size_t length)
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

/* True for an errno that chown() or chmod() gives to users who may not keep the owner: plain users,
 * root in a container whose user ids are mapped, and file systems without owners. */
static bool is_refusal(int status)
{
    return status == EPERM || status == EINVAL || status == ENOTSUP || status == ENOSYS;
}

/* Gives the new file the owner and the mode of the old one, if the system allows it. */
static int keep_attributes(int fd, const char *path)
{
    struct stat old, new;
    bool has_old = !stat(path, &old);
    mode_t mode = has_old ? old.st_mode & 07777 : 0644;

    if (fstat(fd, &new))
        return -errno;
    if (has_old && (new.st_uid != old.st_uid || new.st_gid != old.st_gid) &&
        fchown(fd, old.st_uid, old.st_gid) && !is_refusal(errno))
        return -errno;
    if ((new.st_mode & 07777) != mode && fchmod(fd, mode) && !is_refusal(errno))
        return -errno;
    return 0;
}

static int open_folder_of(const char *path)
{
    ath_auto_free char *copy = ath_xstrdup(path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The bytes to save, fetched piece by piece. */
struct source {
    ath_file_next *next;
    void *context;
    struct ath_err *err; /* the error argument of next */
    bool has_failed;     /* next has failed and filled err */
};

static int write_source(int fd, struct source *source)
{
    enum { PIECE_BYTES = 256 * 1024 };
    ath_auto_free char *piece = ath_xalloc(PIECE_BYTES);
    ssize_t got;
    int status = 0;

    while (!status && (got = source->next(source->context, piece, PIECE_BYTES, source->err)) != 0) {
        source->has_failed = got < 0;
        status = got < 0 ? (int)got : ath_file_write_all(fd, piece, (size_t)got);
    }
    return status;
}

static int write_new(const char *new_path, const char *path, struct source *source)
{
    unlink(new_path); /* left by a crash, perhaps another user's */
    ath_auto_close int fd =
        open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int status = write_source(fd, source);
    if (!status)
        status = keep_attributes(fd, path);
    if (!status && fsync(fd))
        status = -errno;
    return status;
}

/* Writes to a device or a pipe (/dev/stdout), which cannot be replaced by rename(). */
static int write_special(const char *path, struct source *source)
{
    ath_auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -errno : write_source(fd, source);
}

/* Saves source under a temporary name and renames it to target. The folder is opened before
 * anything changes, so that the rename can be synced afterwards. */
static int replace(const char *target, struct source *source)
{
    ath_auto_free char *new_path = sibling(target, ".new");
    ath_auto_close int folder = open_folder_of(target);
    if (folder < 0)
        return folder;
    int status = write_new(new_path, target, source);
    if (!status && rename(new_path, target))
        status = -errno;
    if (status) {
        unlink(new_path);
        return status;
    }
    if (fsync(folder) && errno != EINVAL) /* EINVAL: the file system cannot sync folders */
        ath_log(ATH_LOG_NORMAL, _("'%s' is saved, but its folder cannot be synced: %s"), target,
                strerror(errno));
    return 0;
}

/* Follows links and returns the path of the file itself, which may not exist yet: a dangling link
 * names the file that it leads to. The caller frees the path. */
static char *final_path(const char *path)
{
    char *resolved = realpath(path, NULL);
    char link[PATH_MAX];
    ssize_t length = resolved ? -1 : readlink(path, link, sizeof link - 1);

    if (resolved || length <= 0)
        return resolved ? resolved : ath_xstrdup(path);
    link[length] = '\0';
    const char *slash = link[0] == '/' ? NULL : strrchr(path, '/');
    return ath_xasprintf("%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, link);
}

int ath_file_save_stream(const char *path, ath_file_next *next, void *context, struct ath_err *err)
{
    ath_auto_free char *target = final_path(path);
    struct source source = { .next = next, .context = context, .err = err };
    struct stat status_of;
    bool is_special = !stat(target, &status_of) && !S_ISREG(status_of.st_mode);

    int status = is_special ? write_special(target, &source) : replace(target, &source);
    if (!status || source.has_failed)
        return status;
    hint_refused(ath_err_system(err, status, _("cannot save '%s'"), path), err);
    if (status == -EBUSY)
        ath_err_hint(err, status,
                     _("a file that is mounted by itself, as with docker run -v, cannot be "
                       "replaced: mount its folder"));
    if (status == -ENOENT) {
        ath_auto_free char *folder = ath_xstrdup(target);
        ath_err_hint(err, status, "mkdir -p '%s'", dirname(folder));
    }
    return status;
}

struct piece {
    const char *data;
    size_t length;
};

static ssize_t next_of_piece(void *context, char *buffer, size_t size, struct ath_err *err)
{
    struct piece *rest = context;
    size_t length = rest->length < size ? rest->length : size;

    (void)err;
    if (length)
        memcpy(buffer, rest->data, length);
    rest->data += length;
    rest->length -= length;
    return (ssize_t)length;
}

int ath_file_save(const char *path, const char *data, size_t length, struct ath_err *err)
{
    struct piece all = { data, length };
    return ath_file_save_stream(path, next_of_piece, &all, err);
}

static int make_folders(const char *path, struct ath_err *err)
{
    ath_auto_free char *copy = ath_xstrdup(path);

    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0755) && errno != EEXIST)
            return hint_refused(ath_err_system(err, -errno, _("cannot make the folder '%s'"), copy),
                                err);
        *slash = '/';
    }
    return 0;
}

/* Opens the lock file. flock() needs no right to write, so any of several users who may change a
 * document can take the lock of another user's lock file. */
static int open_lock(const char *lock_path)
{
    int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    int status = fd < 0 ? -errno : 0;
    if (status == -EACCES)
        fd = open(lock_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? status : fd;
}

/* Tries to take the lock until timeout_ms is over, and reports once that it waits. Returns 0,
 * -EAGAIN on timeout, or another negative errno. */
static int wait_for_lock(int fd, const char *path, int timeout_ms)
{
    enum { STEP_MS = 20, PATIENCE_MS = 1000 };

    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB); waited += STEP_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        if (waited >= timeout_ms)
            return -EAGAIN;
        if (waited == PATIENCE_MS)
            ath_log(ATH_LOG_NORMAL, _("waiting for another aitherion that is changing '%s'"), path);
        nanosleep(&(struct timespec){ .tv_nsec = STEP_MS * 1000000L }, NULL);
    }
    return 0;
}

int ath_file_lock(const char *path, int timeout_ms, int *out_fd, struct ath_err *err)
{
    ath_auto_free char *target = final_path(path);
    ath_auto_free char *lock_path = sibling(target, ".lock");
    int status = make_folders(lock_path, err);
    if (status)
        return status;
    ath_auto_close int fd = open_lock(lock_path);
    if (fd == -ENOENT) /* /proc and the like */
        return ath_err_system(err, fd, _("cannot write '%s': its folder takes no files"), path);
    if (fd < 0)
        return hint_refused(ath_err_system(err, fd,
                                           _("cannot change '%s': its lock '%s' cannot be taken"),
                                           path, lock_path),
                            err);

    status = wait_for_lock(fd, path, timeout_ms);
    if (status == -EAGAIN) {
        ath_err_set(err, status, ATH_E_LOCKED,
                    _("cannot change '%s': another aitherion is changing it"), path);
        return ath_err_hint(
            err, status,
            _("close the other menu or wait for it, then try again; fuser '%s' shows its process"),
            lock_path);
    }
    if (status)
        return ath_err_system(err, status, _("cannot lock '%s'"), path);
    *out_fd = ath_steal_fd(&fd);
    return 0;
}

char *ath_file_copy_name(const char *path)
{
    char *name = ath_xasprintf("%s.bak", path);
    for (int i = 1; !access(name, F_OK); i++) {
        free(name);
        name = ath_xasprintf("%s.bak.%d", path, i);
    }
    return name;
}

/* Linux before 5.9 has no close_range(). */
void ath_close_from(int first)
{
    enum { FILES_MOST = 1 << 20 };
    struct rlimit limit;
    if (!syscall(SYS_close_range, (unsigned int)first, ~0u, 0) || getrlimit(RLIMIT_NOFILE, &limit))
        return;
    for (int fd = first; fd < FILES_MOST && (rlim_t)fd < limit.rlim_cur; fd++)
        close(fd);
}
