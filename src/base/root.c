/* Reads facts from a live or captured file system. */
#include "config.h"

#include "base/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

enum { FILE_MAX_BYTES = 1 << 20, PATH_MAX_BYTES = 4096 };
enum { LINKS_MAX = 40 }; /* the kernel's limit: path_resolution(7) */

static int refuse_to_open(const char *path, int status, struct ath_err *err)
{
    ath_err_system(err, status, _("cannot read the root '%s'"), path);
    return status == -EACCES
               ? ath_err_hint(err, status, _("run the same command as root, with sudo in front"))
               : status;
}

int ath_root_open(const char *path, struct ath_root *out, struct ath_err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return refuse_to_open(path, -errno, err);
    *out = (struct ath_root){ .fd = fd, .is_live = !strcmp(path, "/"), .path = ath_xstrdup(path) };
    return 0;
}

void ath_root_free(struct ath_root *root)
{
    if (!root || !root->path)
        return;
    close(root->fd);
    free(root->path);
    *root = (struct ath_root){ .fd = -1 };
}

/* Opens a path with openat2(). EAGAIN means that something was renamed or mounted, anywhere on the
 * machine, while ".." was followed (openat2(2)). A busy machine renames often, so eight tries were
 * too few. The limit only keeps a storm of renames from holding the caller forever. */
static int open_scoped(const struct ath_root *root, const char *path, int flags)
{
    enum { TRIES_MAX = 10000 };
    struct open_how how = { .flags = (unsigned int)flags, .resolve = RESOLVE_IN_ROOT };
    long fd = -1;

    for (int tries = 0; tries < TRIES_MAX; tries++) {
        fd = syscall(SYS_openat2, root->fd, path, &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return (int)fd;
}

/* Reads the target of a link; returns false if path is not a link. */
static bool read_link(const struct ath_root *root, const char *path, char target[PATH_MAX_BYTES])
{
    ssize_t length = readlinkat(root->fd, path, target, PATH_MAX_BYTES - 1);
    target[length < 0 ? 0 : length] = '\0';
    return length >= 0;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

static int need_folder(const struct ath_root *root, const char *path)
{
    struct stat status;
    if (fstatat(root->fd, path, &status, AT_SYMLINK_NOFOLLOW))
        return -1;
    return S_ISDIR(status.st_mode) ? 0 : fail(ENOTDIR);
}

/*
 * Does the same without openat2(). `gone` is the part walked so far; it never holds a link, so it
 * cannot lead outside. `ahead` is the part still to walk. Unlike openat2(), this does not notice
 * folders that are moved during the walk; captures do not change.
 */
static int open_step_by_step(const struct ath_root *root, const char *path, int flags)
{
    char gone[PATH_MAX_BYTES] = ".", target[PATH_MAX_BYTES];
    ath_auto_free char *text = ath_xstrdup(path);
    char *ahead = text, *name;
    int links = 0;

    while ((name = strsep(&ahead, "/"))) {
        size_t length = strlen(gone), left = sizeof gone - length;
        if (!name[0] || !strcmp(name, ".") || !strcmp(name, "..")) {
            if (need_folder(root, gone))
                return -1;
            if (name[0] && name[1] && length > 1)
                *strrchr(gone, '/') = '\0';
            continue;
        }
        if ((size_t)snprintf(&gone[length], left, "/%s", name) >= left)
            return fail(ENAMETOOLONG);
        if ((!ahead && flags & O_NOFOLLOW) || !read_link(root, gone, target))
            continue;
        if (++links > LINKS_MAX)
            return fail(ELOOP);
        gone[target[0] == '/' ? 1 : length] = '\0';
        char *longer = ath_xasprintf("%s%s%s", target, ahead ? "/" : "", ahead ? ahead : "");
        free(text);
        text = ahead = longer;
    }
    return openat(root->fd, gone, flags | O_NOFOLLOW);
}

/* Opens a path without leaving the root. EPERM counts as ENOSYS: old seccomp filters of container
 * engines answer it for calls that they do not know. */
static int open_inside(const struct ath_root *root, const char *path, int flags)
{
    flags |= O_CLOEXEC;
    if (!(flags & O_PATH)) /* openat2() refuses these together with O_PATH */
        flags |= O_NONBLOCK | O_NOCTTY;
    if (root->is_live)
        return openat(root->fd, path, flags);
    int fd = open_scoped(root, path, flags);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
    return open_step_by_step(root, path, flags);
}

int ath_root_open_file(const struct ath_root *root, const char *path)
{
    ath_auto_close int fd = open_inside(root, path, O_RDONLY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status))
        return -errno;
    return S_ISREG(status.st_mode) ? ath_steal_fd(&fd) : -EINVAL;
}

/* Reads until the end or FILE_MAX_BYTES; returns NULL with errno set on failure. */
static char *read_all(const struct ath_root *root, const char *path, size_t *out_length)
{
    ath_auto_close int fd = ath_root_open_file(root, path);
    if (fd < 0) {
        errno = -fd;
        return NULL;
    }

    struct ath_text text = { 0 };
    char chunk[8192];
    ssize_t got;
    while (text.length < FILE_MAX_BYTES && (got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int saved = errno;
            ath_text_free(&text);
            errno = saved;
            return NULL;
        }
        ath_text_add_bytes(&text, chunk, (size_t)got);
    }
    *out_length = text.length;
    return ath_text_take(&text);
}

#define FORMAT_PATH(path, format)                                                                  \
    char path[PATH_MAX_BYTES];                                                                     \
    do {                                                                                           \
        va_list args_;                                                                             \
        va_start(args_, format);                                                                   \
        vsnprintf(path, sizeof(path), format, args_);                                              \
        va_end(args_);                                                                             \
    } while (0)

static char *read_trimmed(const struct ath_root *root, const char *path)
{
    size_t length;
    char *text = read_all(root, path, &length);
    if (!text)
        return NULL;
    for (size_t i = 0; i < length; i++)
        if (!text[i])
            text[i] = ' ';
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    return text;
}

char *ath_root_read(const struct ath_root *root, const char *format, ...)
{
    FORMAT_PATH(path, format);
    return read_trimmed(root, path);
}

uint8_t *ath_root_read_bytes(const struct ath_root *root, const char *path, size_t *out_length)
{
    return (uint8_t *)read_all(root, path, out_length);
}

int64_t ath_root_read_number(const struct ath_root *root, int64_t missing, const char *format, ...)
{
    FORMAT_PATH(path, format);
    ath_auto_free char *text = read_trimmed(root, path);
    uint64_t value;

    if (!text)
        return missing;
    bool is_negative = text[0] == '-';
    if (ath_parse_u64(text + is_negative, 0, &value) || value > INT64_MAX)
        return missing;
    return is_negative ? -(int64_t)value : (int64_t)value;
}

bool ath_root_exists(const struct ath_root *root, const char *format, ...)
{
    FORMAT_PATH(path, format);
    ath_auto_close int fd = open_inside(root, path, O_PATH);
    return fd >= 0;
}

char *ath_root_link(const struct ath_root *root, const char *format, ...)
{
    FORMAT_PATH(path, format);
    char target[PATH_MAX_BYTES];
    ath_auto_close int fd = open_inside(root, path, O_PATH | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    ssize_t length = readlinkat(fd, "", target, sizeof target - 1);
    if (length < 0)
        return NULL;
    target[length] = '\0';
    return ath_xstrdup(target);
}

static int compare_names(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

int ath_root_list(const struct ath_root *root, const char *path, char ***out, size_t *out_count)
{
    *out = NULL;
    *out_count = 0;
    int fd = open_inside(root, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return -errno;
    ath_auto_closedir DIR *dir = fdopendir(fd);
    if (!dir) {
        int status = -errno;
        close(fd);
        return status;
    }

    char **names = NULL;
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            *(char **)ath_push(&names, &count, sizeof *names) = ath_xstrdup(entry->d_name);
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    *out = names;
    *out_count = count;
    return 0;
}

void ath_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}
