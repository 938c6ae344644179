/* Finds the key's file, and writes it so that no other user can ever read it. */
#include "config.h"

#include "config/key_file.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"

char *ath_key_file_own(void)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (base && *base == '/') /* the XDG specification says to ignore a relative path */
        return ath_xasprintf("%s/aitherion/key", base);
    return home && *home == '/' ? ath_xasprintf("%s/.config/aitherion/key", home) : NULL;
}

/* True if the file exists. A file in a folder that cannot be searched counts as existing: an error
 * about reading it helps the user more than a second key. */
static bool is_there(const char *path)
{
    return !access(path, F_OK) || errno == EACCES;
}

bool ath_key_file_is_writable(const char *path)
{
    ath_auto_free char *copy = ath_xstrdup(path);

    for (char *folder = dirname(copy); *folder; folder = dirname(folder)) {
        if (!access(folder, W_OK))
            return true;
        if (errno != ENOENT || !strcmp(folder, "/") || !strcmp(folder, "."))
            return false;
    }
    return false;
}

char *ath_key_file_find(const char *document_key_file, bool *out_is_there)
{
    ath_auto_free char *own = ath_key_file_own();

    *out_is_there = true;
    if (own && is_there(own))
        return ath_steal(&own);
    *out_is_there = is_there(document_key_file);
    if (*out_is_there || !own || ath_key_file_is_writable(document_key_file))
        return ath_xstrdup(document_key_file);
    return ath_steal(&own);
}

int ath_key_make(unsigned char out[ATH_KEY_BYTES], struct ath_err *err)
{
    for (size_t done = 0; done < ATH_KEY_BYTES;) {
        ssize_t got = getrandom(out + done, ATH_KEY_BYTES - done, 0);
        if (got < 0 && errno != EINTR)
            return ath_err_system(err, -errno, "%s", _("cannot get random bytes from the kernel"));
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

int ath_key_file_make_folders(const char *path, struct ath_err *err)
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

/* Writes the key into a temporary file beside its place. mkstemp() makes it with mode 0600. */
static int write_beside(char *temporary, const void *key, size_t length)
{
    ath_auto_close int fd = mkstemp(temporary);
    if (fd < 0)
        return -errno;
    int status = ath_file_write_all(fd, key, length);
    if (!status && fsync(fd))
        status = -errno;
    if (status)
        unlink(temporary);
    return status;
}

/* link() fails if the file exists, so that only one of two simultaneous first starts makes the
 * key. */
static int put_in_place(const char *temporary, const char *path, bool may_replace)
{
    int status = (may_replace ? rename(temporary, path) : link(temporary, path)) ? -errno : 0;
    if (!may_replace || status)
        unlink(temporary);
    return status;
}

int ath_key_file_keep(const char *path, char **out_copy, struct ath_err *err)
{
    ath_auto_free char *resolved = realpath(path, NULL);
    ath_auto_free char *copy = ath_file_copy_name(resolved ? resolved : path);

    if (link(resolved ? resolved : path, copy))
        return ath_err_system(err, -errno, _("cannot keep a copy of the key as '%s'"), copy);
    chmod(copy, 0600); /* the key may have been open to others */
    *out_copy = ath_steal(&copy);
    return 0;
}

int ath_key_file_write(const char *path, const void *key, size_t length, bool may_replace,
                       struct ath_err *err)
{
    ath_auto_free char *resolved = may_replace ? realpath(path, NULL) : NULL;
    const char *target = resolved ? resolved : path; /* follows a link, which stays */
    const char *slash = strrchr(target, '/');
    const char *name = slash ? slash + 1 : target;
    /* hidden, because each other file in a folder of keys is a key */
    ath_auto_free char *temporary =
        ath_xasprintf("%.*s.%s.XXXXXX", (int)(name - target), target, name);

    int status = ath_key_file_make_folders(target, err);
    if (status)
        return status;
    status = write_beside(temporary, key, length);
    if (!status)
        status = put_in_place(temporary, target, may_replace);
    if (status == -EEXIST)
        return ath_err_set(err, status, ATH_E_EXISTS, _("there is already a key in '%s'"), path);
    return status ? ath_err_system(err, status, _("cannot write the key '%s'"), path) : 0;
}
