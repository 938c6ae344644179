/* Needs of a start before it begins: the shared key, a certificate that containers can read, the
 * image. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "cli/commands/image_docker.h"
#include "cli/commands/start_work.h"
#include "cli/output/image.h"
#include "cli/watch.h"
#include "config/key_file.h"
#include "remote/tls/tls.h"

static int check_key(struct ath_start_work *work, const struct ath_secret *secret,
                     struct ath_err *err)
{
    const char *path = work->nodes.key_path;
    int status = ath_secret_check_file(path, secret, err);
    if (!status && ath_nodes_is_key_open(&work->nodes))
        ath_log(ath_nodes_log_level(&work->nodes),
                _("other users may read the shared key '%s', and so use the GPUs: chmod 600 %s"),
                path, path);
    return status;
}

int ath_start_need_key(struct ath_start_work *work, struct ath_err *err)
{
    ATH_AUTO(ath_secret) secret = { 0 };
    unsigned char key[ATH_KEY_BYTES];
    const char *path = work->nodes.key_path;
    int status = 0;

    if (!work->nodes.has_key) {
        status = ath_key_make(key, err);
        if (!status)
            status = ath_key_file_write(path, key, sizeof key, false, err);
        explicit_bzero(key, sizeof key);
        work->is_key_new = !status;
        if (status == -EEXIST) /* another process made the key first */
            status = 0;
        work->nodes.has_key = !status;
    }
    if (!status)
        status = ath_secret_load(path, &secret, err);
    if (!status)
        return check_key(work, &secret, err);
    if (status == -EACCES || status == -EPERM)
        return ath_err_hint(err, status, _("run the same command as root, with sudo in front"));
    return status;
}

/* Checks that the user of the containers may read a file: root in a container has no right to read
 * the files of other users. A runtime of the process engine runs as this user. If the plan names no
 * user, containers of a user other than root may be rootless Docker's, whose root is another user.
 */
static int check_reader(const struct ath_start_work *work, const char *path, struct ath_err *err)
{
    const char *user = work->plan.node_count ? work->plan.nodes[0].user : NULL;
    char *rest = NULL;
    struct stat file;
    if (work->plan.is_process || (!user && geteuid()) || stat(path, &file))
        return 0;
    unsigned long uid = user ? strtoul(user, &rest, 10) : 0;
    unsigned long gid = user && *rest == ':' ? strtoul(rest + 1, NULL, 10) : 0;
    if (file.st_uid == uid || file.st_mode & S_IROTH ||
        (file.st_gid == gid && file.st_mode & S_IRGRP))
        return 0;
    ath_err_set(err, -EACCES, ATH_E_NO_ACCESS,
                _("the containers run as user %lu and could not read '%s'"), uid, path);
    return ath_err_hint(err, -EACCES, "chown %lu %s", uid, path);
}

/* Without GnuTLS on the host the certificate is not checked: containers have a GnuTLS of their own,
 * and the runtime reports a wrong certificate. */
int ath_start_need_certificate(const struct ath_start_work *work, struct ath_err *err)
{
    const struct ath_document *document = work->nodes.document;
    const struct ath_tls_certificate files = { document->tls_certificate, document->tls_key };
    int status = files.file ? ath_tls_certificate_check(&files, 0, err) : 0;
    if (status && err->code != ATH_E_LIBRARY)
        return status;
    status = files.file ? check_reader(work, files.file, err) : 0;
    return status || !files.file ? status : check_reader(work, files.key_file, err);
}

static int build_image(struct ath_start_work *work, struct ath_err *err)
{
    ath_auto_docker struct ath_docker *docker = NULL;
    ath_auto_image struct ath_image *image = NULL;
    struct ath_image_bar bar = { .bar = ath_cli_bar(work->cli) };
    const struct ath_image_watch watch = { .progress = ath_image_bar_show, .context = &bar };
    const struct ath_image_recipe recipe = { .tag = work->plan.image };

    if (!bar.bar.is_silent)
        ath_log(ATH_LOG_NORMAL, _("Docker does not have the image '%s' yet: building it"),
                work->plan.image);
    int status = ath_image_make(&recipe, &image, err);
    if (!status)
        status = ath_image_docker(work->nodes.document, &docker, err);
    if (!status)
        status = ath_image_load(docker, image, &watch, err);
    ath_bar_end(&bar.bar);
    work->is_image_built = !status;
    return status;
}

int ath_start_need_image(struct ath_start_work *work, struct ath_err *err)
{
    if (work->plan.is_process)
        return 0;
    int status = ath_engine_check_image(work->engine, work->plan.image, err);
    if (status && err->code == ATH_E_IMAGE_MISSING && ath_engine_is_own_image(work->plan.image))
        return build_image(work, err);
    return status;
}
