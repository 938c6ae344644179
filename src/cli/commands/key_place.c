/* Finds the files of keys by their names. */
#include "config.h"

#include "cli/commands/key_place.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "base/key_name.h"
#include "config/key_folder.h"
#include "remote/wire/secret.h"

void ath_key_place_free(struct ath_key_place *place)
{
    free(place->file);
    *place = (struct ath_key_place){ 0 };
}

int ath_key_name_check(const char *name, struct ath_err *err)
{
    if (ath_key_name_is_valid(name))
        return 0;
    return ath_err_set(
        err, -EINVAL, ATH_E_USAGE,
        _("'%s' is not the name of a key: 1 to %d letters, digits, '.', '-' and '_'"), name,
        ATH_KEY_NAME_BYTES - 1);
}

static int find_usual(struct ath_key_place *out, struct ath_err *err)
{
    char file[PATH_MAX];
    int status = ath_secret_find(out->base, file, sizeof file, err);
    if (status)
        return status;
    out->file = ath_xstrdup(file);
    out->name = strrchr(out->file, '/') + 1;
    return 0;
}

static int report_missing(const struct ath_key_place *place, const char *name, struct ath_err *err)
{
    ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND,
                place->is_in_folder ? _("there is no key '%s' in '%s'")
                                    : _("there is no key '%s': '%s' is one key for all"),
                name, place->base);
    return ath_err_hint(err, -ENOENT,
                        place->is_in_folder ? "aitherion key list" : "aitherion key add NAME");
}

int ath_key_place_find(const struct ath_nodes *nodes, const char *name, bool is_new,
                       struct ath_key_place *out, struct ath_err *err)
{
    bool is_folder = ath_key_folder_is(nodes->key_path);
    bool is_named = *name && strcmp(name, ATH_KEY_NAME_DEFAULT) != 0;
    int status = *name ? ath_key_name_check(name, err) : 0;

    out->base = nodes->key_path;
    out->is_in_folder = is_folder || (is_new && is_named);
    if (status)
        return status;
    if (is_folder && !*name && !is_new)
        return (out->is_there = !(status = find_usual(out, err))) ? 0 : status;
    if (out->is_in_folder) {
        out->name = *name ? name : ATH_KEY_NAME_DEFAULT;
        out->file = ath_key_folder_file(out->base, out->name);
    } else if (is_named)
        return report_missing(out, name, err);
    else
        out->file = ath_xstrdup(out->base);
    out->is_there = !access(out->file, F_OK) || errno == EACCES;
    return *name && !is_new && !out->is_there ? report_missing(out, name, err) : 0;
}

int ath_key_place_open(struct ath_cli *cli, const char *name, bool is_new, struct ath_nodes *nodes,
                       struct ath_key_place *out, struct ath_err *err)
{
    struct ath_cli without_words = *cli;
    without_words.argument_count = 0;
    int status = ath_nodes_open(&without_words, false, nodes, err);
    cli->faults = without_words.faults;
    nodes->cli = cli;
    if (!status)
        status = ath_key_name_check(name, err);
    return status ? status : ath_key_place_find(nodes, name, is_new, out, err);
}
