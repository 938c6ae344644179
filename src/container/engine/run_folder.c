/* Makes, lists, checks and removes the parts of the run folder. */
#include "config.h"

#include "container/engine/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/idset.h"
#include "base/root.h"
#include "base/text.h"
#include "base/unknown.h"

/* ---- names ---- */

char *ath_run_folder_node(const char *folder, int id)
{
    return ath_xasprintf("%s/numa%d", folder, id);
}

char *ath_run_folder_states(const char *folder)
{
    return ath_xasprintf("%s/" ATH_RUN_STATE, folder);
}

char *ath_run_folder_state(const char *folder, int id)
{
    return ath_xasprintf("%s/" ATH_RUN_STATE "/numa%d", folder, id);
}

/* Returns 0 for "numa0"; ATH_UNKNOWN for a name that is no node's folder. */
static int id_of(const char *name)
{
    int id;
    if (!ath_starts_with(name, "numa") || ath_parse_int(name + 4, 0, ATH_ID_MAX, &id))
        return ATH_UNKNOWN;
    return id;
}

/* ---- trust ---- */

static bool is_trusted(uid_t owner)
{
    return owner == geteuid() || owner == 0;
}

/* After `su USER`, XDG_RUNTIME_DIR may still name the folder of the first user. */
static int refuse_to_look(const char *path, int status, struct ath_err *err)
{
    ath_err_system(err, status, _("cannot examine '%s'"), path);
    return ath_err_hint(err, status,
                        _("unset XDG_RUNTIME_DIR if it names another user's folder, or choose "
                          "another folder: export AITHERION_RUN_FOLDER=/PATH"));
}

int ath_run_folder_check(const char *path, struct ath_err *err)
{
    struct stat link, status;

    if (lstat(path, &link) || stat(path, &status))
        return errno == ENOENT ? 0 : refuse_to_look(path, -errno, err);
    if (!is_trusted(link.st_uid) || !is_trusted(status.st_uid)) {
        ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                    _("the run folder '%s' belongs to user %u, who could put any file there"), path,
                    (unsigned int)(is_trusted(link.st_uid) ? status.st_uid : link.st_uid));
        return ath_err_hint(err, -EPERM,
                            _("choose another folder: export AITHERION_RUN_FOLDER=/PATH"));
    }
    if (!S_ISDIR(status.st_mode))
        return ath_err_set(err, -EPERM, ATH_E_FOREIGN, _("the run folder '%s' is not a folder"),
                           path);
    if (!(status.st_mode & (S_IWGRP | S_IWOTH)))
        return 0;
    ath_err_set(err, -EPERM, ATH_E_FOREIGN, _("other users may write to the run folder '%s'"),
                path);
    return ath_err_hint(err, -EPERM, "chmod go-w '%s'", path);
}

/* ---- making and listing ---- */

int ath_run_folder_make(const char *path)
{
    if (mkdir(path, 0755))
        return errno == EEXIST ? 0 : -errno;
    return chmod(path, 0755) ? -errno : 0;
}

int ath_run_folder_make_state(const char *folder, int id, struct ath_err *err)
{
    ath_auto_free char *states = ath_run_folder_states(folder);
    ath_auto_free char *state = ath_run_folder_state(folder, id);

    int status = ath_run_folder_make(states);
    if (!status)
        status = ath_run_folder_make(state);
    if (status)
        return ath_err_system(err, status, _("cannot make the folder '%s'"), state);
    status = ath_run_folder_check(states, err);
    return status ? status : ath_run_folder_check(state, err);
}

#define MEMORY_FILE "memory_percent"
#define MEMORY_FILE_NEW ".memory_percent.new"

char *ath_run_folder_memory(const char *folder, int id)
{
    ath_auto_free char *state = ath_run_folder_state(folder, id);
    ATH_AUTO(ath_root) root = { .fd = -1 };

    if (ath_run_folder_check(state, NULL) || ath_root_open(state, &root, NULL))
        return NULL;
    return ath_root_read(&root, MEMORY_FILE);
}

void ath_run_folder_set_memory(const char *folder, int id, const char *percent)
{
    ath_auto_free char *state = ath_run_folder_state(folder, id);
    ath_auto_free char *path = ath_xasprintf("%s/" MEMORY_FILE, state);

    unlink(path); /* a save would follow a link, and wait at a pipe */
    if (percent && !ath_run_folder_make_state(folder, id, NULL))
        ath_file_save(path, percent, strlen(percent), NULL);
}

/* Adds the nodes that have a folder. Returns false if path contains anything else than those and
 * others. */
static bool list_nodes(const char *path, const char *const *others, struct ath_idset *ids)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    char **names;
    size_t count;
    bool is_ours = true;

    if (ath_root_open(path, &root, NULL))
        return true;
    ath_root_list(&root, ".", &names, &count);
    for (size_t i = 0; i < count; i++) {
        const char *const *other = others;
        int id = id_of(names[i]);
        while (*other && strcmp(*other, names[i]) != 0)
            other++;
        if (id != ATH_UNKNOWN)
            ath_idset_add(ids, id, id);
        is_ours &= id != ATH_UNKNOWN || *other;
    }
    ath_names_free(names, count);
    return is_ours;
}

void ath_run_folder_ids(const char *folder, int **out, size_t *out_count, bool *out_is_ours)
{
    static const char *const shared[] = { ATH_RUN_STATE, ATH_RUN_LOCK_FILE, ".network.lock",
                                          ATH_RUN_MARK, NULL };
    ATH_AUTO(ath_idset) ids = { 0 };
    ath_auto_free char *states = ath_run_folder_states(folder);

    *out = NULL;
    *out_count = 0;
    *out_is_ours = list_nodes(folder, shared, &ids);
    *out_is_ours &= list_nodes(states, (const char *const[]){ NULL }, &ids);
    for (int id = ath_idset_next(&ids, -1); id >= 0; id = ath_idset_next(&ids, id))
        *(int *)ath_push(out, out_count, sizeof id) = id;
}

/* ---- removing ---- */

/* Never follows a symbolic link. */
static int remove_one(const char *path, const char *const *files, struct ath_err *err)
{
    ath_auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT
                   ? 0
                   : ath_err_system(err, -errno, _("cannot remove the folder '%s'"), path);
    for (; *files; files++)
        if (unlinkat(fd, *files, 0) && errno != ENOENT)
            return ath_err_system(err, -errno, _("cannot remove '%s/%s'"), path, *files);
    if (!rmdir(path) || errno == ENOENT)
        return 0;
    return ath_err_system(err, -errno, _("cannot remove the folder '%s'"), path);
}

/* Removes only our own files: a foreign file keeps its folder. */
int ath_run_folder_remove(const char *folder, int id, struct ath_err *err)
{
    /* An earlier aitherion kept a node's state beside its socket. */
    static const char *const node_files[] = { "runtime.sock",
                                              "identities",
                                              ".identities.new",
                                              "state.json",
                                              ".state.json.new",
                                              "runtime.log",
                                              "runtime.log.old",
                                              ".supervisor.lock",
                                              MEMORY_FILE,
                                              MEMORY_FILE_NEW,
                                              NULL };
    static const char *const shared[] = { ATH_RUN_LOCK_FILE, ".network.lock", ATH_RUN_MARK, NULL };
    ath_auto_free char *states = ath_run_folder_states(folder);
    ath_auto_free char *node = ath_run_folder_node(folder, id);
    ath_auto_free char *state = ath_run_folder_state(folder, id);

    int status = id == ATH_UNKNOWN ? 0 : remove_one(node, node_files, err);
    if (!status && id != ATH_UNKNOWN)
        status = remove_one(state, node_files, err);
    if (!status && rmdir(states) && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
        return ath_err_system(err, -errno, _("cannot remove the folder '%s'"), states);
    return status || id != ATH_UNKNOWN ? status : remove_one(folder, shared, err);
}
