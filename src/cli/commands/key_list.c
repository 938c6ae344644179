/* aitherion key list: the names of the keys. */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/key_name.h"
#include "cli/commands/commands.h"
#include "cli/nodes.h"
#include "cli/output/key.h"
#include "config/key_folder.h"
#include "container/image/digest.h"
#include "remote/wire/secret.h"

static char *fingerprint_of(const struct ath_secret *secret)
{
    struct ath_digest digest;
    char text[ATH_DIGEST_TEXT];
    if (ath_digest_begin(&digest, NULL))
        return NULL;
    ath_digest_add(&digest, secret->bytes, secret->length);
    ath_digest_end(&digest, text);
    return ath_xstrdup(text);
}

static char *group_of(const char *file)
{
    struct stat status;
    if (stat(file, &status) || !(status.st_mode & 040))
        return NULL;
    const struct group *found = getgrgid(status.st_gid);
    return found ? ath_xstrdup(found->gr_name) : ath_xasprintf("%u", status.st_gid);
}

/* Takes file over. */
static void add(struct ath_key_list *list, const char *name, char *file)
{
    struct ath_key_item *item = ath_push(&list->items, &list->count, sizeof *item);
    ATH_AUTO(ath_secret) secret = { 0 };
    struct ath_err err = { 0 };

    *item =
        (struct ath_key_item){ .name = ath_xstrdup(name), .file = file, .group = group_of(file) };
    int status = ath_secret_load(file, &secret, &err);
    if (!status) {
        item->fingerprint = fingerprint_of(&secret);
        status = ath_secret_check_file(file, &secret, &err);
    }
    if (status && status != -EACCES) /* which tells nothing about the runtimes' user */
        item->problem = ath_xstrdup(err.message);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    ATH_AUTO(ath_nodes) nodes = { 0 };
    ATH_AUTO(ath_key_list) list = { 0 };
    struct ath_texts names = { 0 };

    (void)data;
    int status = ath_nodes_open(cli, false, &nodes, err);
    if (status)
        return status;
    list.path = nodes.key_path;
    list.is_folder = ath_key_folder_is(nodes.key_path);
    if (list.is_folder)
        status = ath_key_folder_list(nodes.key_path, &names, err);
    else if (nodes.has_key)
        add(&list, ATH_KEY_NAME_DEFAULT, ath_xstrdup(nodes.key_path));
    for (size_t i = 0; i < names.count; i++)
        add(&list, names.items[i], ath_key_folder_file(nodes.key_path, names.items[i]));
    ath_texts_free(&names);
    return status ? status : ath_cli_show(cli, &ath_key_list_view, &list, ath_cli_format(cli), err);
}

static const struct ath_example examples[] = {
    { "aitherion key list", N_("show the names of the keys") },
    { .command = NULL },
};

const struct ath_command ath_command_key_list = {
    .name = "list",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("show the names of the keys"),
    .description =
        N_("Shows the keys of the folder key_file: names, the groups of users that may "
           "read them, the beginnings of their fingerprints, and keys that runtimes refuse."),
    .examples = examples,
    .run = run,
};
