/* The run folder's parts: made, listed, removed, and doubted. */
#include "config.h"

#include "container/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
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

/* Of "numa0"; ATH_UNKNOWN for what is no node's folder. */
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

int ath_run_folder_check(const char *path, struct ath_err *err)
{
    struct stat link, status;

    if (lstat(path, &link) || stat(path, &status))
        return errno == ENOENT ? 0 : ath_err_system(err, -errno, _("cannot look at '%s'"), path);
    if (!is_trusted(link.st_uid) || !is_trusted(status.st_uid)) {
        ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                    _("the run folder '%s' belongs to user %u, who could put anything there"), path,
                    (unsigned int)(is_trusted(link.st_uid) ? status.st_uid : link.st_uid));
        return ath_err_hint(err, -EPERM, _("choose another: export AITHERION_RUN_FOLDER=/PATH"));
    }
    if (!S_ISDIR(status.st_mode))
        return ath_err_set(err, -EPERM, ATH_E_FOREIGN, _("the run folder '%s' is no folder"), path);
    if (!(status.st_mode & (S_IWGRP | S_IWOTH)))
        return 0;
    ath_err_set(err, -EPERM, ATH_E_FOREIGN,
                _("others may write to the run folder '%s', and could put anything there"), path);
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

/* Adds the nodes of which there is a folder; false where something else is there, too. */
static bool list_nodes(const char *path, const char *const *others, struct ath_idset *ids)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    struct ath_err unused;
    char **names;
    size_t count;
    bool is_ours = true;

    if (ath_root_open(path, &root, &unused))
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

/* A link is not followed, whoever made it. */
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

/* Only what we put there: a file that is not ours keeps its folder. */
int ath_run_folder_remove(const char *folder, int id, struct ath_err *err)
{
    /* An earlier aitherion kept a node's state beside its socket. */
    static const char *const node_files[] = {
        "runtime.sock",     "state.json", ".state.json.new", "runtime.log", "runtime.log.old",
        ".supervisor.lock", NULL
    };
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
