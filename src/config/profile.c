/* Reads profiles, which are files in a folder. */
#include "config.h"

#include "config/profile.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/paths.h"
#include "config/forms.h"
#include "config/yaml.h"

static const char suffix[] = "_topology.yaml";

static char *folder_or_ours(const char *folder)
{
    return folder ? ath_xstrdup(folder) : ath_path_share("aitherion/profiles");
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void ath_profile_list(const char *folder, struct ath_texts *out)
{
    ath_auto_free char *path = folder_or_ours(folder);
    ath_auto_closedir DIR *dir = path ? opendir(path) : NULL;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        size_t length = strlen(entry->d_name);
        if (length < sizeof suffix || *entry->d_name == '.' ||
            strcmp(entry->d_name + length - (sizeof suffix - 1), suffix))
            continue;
        ath_auto_free char *name =
            ath_xasprintf("%.*s", (int)(length - (sizeof suffix - 1)), entry->d_name);
        ath_texts_add(out, name);
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare);
}

static int report_unknown(const char *folder, const char *name, struct ath_err *err)
{
    ATH_AUTO(ath_texts) names = { 0 };
    ATH_AUTO(ath_text) list = { 0 };

    ath_profile_list(folder, &names);
    for (size_t i = 0; i < names.count; i++)
        ath_text_add(&list, ", %s", names.items[i]);
    ath_err_set(err, -ENOENT, ATH_E_PROFILE_UNKNOWN,
                _("there is no profile '%s'; there are: auto%s"), name, list.data ? list.data : "");
    return ath_err_hint(err, -ENOENT, "aitherion init --profile auto");
}

int ath_profile_read(const char *folder, const char *name, char **out, struct ath_err *err)
{
    ath_auto_free char *ours = folder_or_ours(folder);
    ath_auto_free char *path = ours && ath_form_fits(ATH_FORM_NAME, name)
                                   ? ath_xasprintf("%s/%s%s", ours, name, suffix)
                                   : NULL;
    size_t length;
    int status = path ? ath_file_read(path, ATH_YAML_BYTES_MAX, out, &length, err) : -ENOENT;

    return status == -ENOENT ? report_unknown(folder, name, err) : status;
}
