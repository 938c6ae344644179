/* Makes and reads folders of keys. */
#include "config.h"

#include "config/key_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/key_name.h"
#include "config/key_file.h"

bool ath_key_folder_is(const char *path)
{
    struct stat file;
    return !stat(path, &file) && S_ISDIR(file.st_mode);
}

char *ath_key_folder_file(const char *path, const char *name)
{
    return ath_xasprintf("%s/%s", path, name);
}

static int cannot_make(const char *path, struct ath_err *err)
{
    return ath_err_system(err, -errno, _("cannot make the folder of keys '%s'"), path);
}

/* Puts a folder with the key in the place of the key. */
static int exchange(const char *key, const char *folder, struct ath_err *err)
{
    ath_auto_free char *inside = ath_key_folder_file(folder, ATH_KEY_NAME_DEFAULT);
    if (chmod(folder, 0755) || link(key, inside))
        return cannot_make(key, err);
    if (!renameat2(AT_FDCWD, folder, AT_FDCWD, key, RENAME_EXCHANGE)) {
        unlink(folder); /* the key's old name */
        return 0;
    }
    return cannot_make(key, err);
}

static int convert(const char *path, struct ath_err *err)
{
    ath_auto_free char *real = realpath(path, NULL);
    const char *key = real ? real : path;
    ath_auto_free char *folder = ath_xasprintf("%s.XXXXXX", key);
    if (!mkdtemp(folder))
        return cannot_make(path, err);
    int status = exchange(key, folder, err);
    if (status) {
        ath_auto_free char *inside = ath_key_folder_file(folder, ATH_KEY_NAME_DEFAULT);
        unlink(inside);
        rmdir(folder);
    }
    return status;
}

int ath_key_folder_make(const char *path, bool *out_has_moved, struct ath_err *err)
{
    *out_has_moved = false;
    if (ath_key_folder_is(path))
        return 0;
    if (!access(path, F_OK)) {
        int status = convert(path, err);
        *out_has_moved = !status;
        return status;
    }
    int status = ath_key_file_make_folders(path, err);
    if (!status && mkdir(path, 0755))
        status = cannot_make(path, err);
    if (!status)
        chmod(path, 0755); /* whatever the umask: others may look for keys that they may read */
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int ath_key_folder_list(const char *path, struct ath_texts *out, struct ath_err *err)
{
    ath_auto_closedir DIR *open = opendir(path);
    if (!open)
        return ath_err_system(err, -errno, _("cannot read the folder of keys '%s'"), path);
    for (const struct dirent *entry; (entry = readdir(open));)
        if (ath_key_name_is_valid(entry->d_name))
            ath_texts_add(out, entry->d_name);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_name);
    return 0;
}

int ath_key_folder_share(const char *file, const char *group, struct ath_err *err)
{
    const struct group *found = getgrnam(group);
    if (!found)
        return ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("there is no group '%s'"), group);
    if (chown(file, (uid_t)-1, found->gr_gid) || chmod(file, 0640))
        return ath_err_system(err, -errno, _("cannot give the key '%s' to a group"), file);
    return 0;
}
