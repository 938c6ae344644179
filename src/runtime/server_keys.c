/* Finds the keys of clients. */
#include "config.h"

#include "runtime/server_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/i18n.h"
#include "runtime/event_log.h"

enum { PATH_BYTES = 4096 };

bool ath_server_wants_key(const struct ath_server *server)
{
    return server->secret.length || server->key_folder;
}

static int copy_single(const struct ath_secret *single, struct ath_secret *out, struct ath_err *err)
{
    uint8_t *bytes = malloc(single->length);
    if (!bytes)
        return ath_err_system(err, -ENOMEM, "out of memory");
    memcpy(bytes, single->bytes, single->length);
    *out = (struct ath_secret){ .bytes = bytes, .length = single->length };
    return 0;
}

static int make_unknown(struct ath_secret *out, struct ath_err *err)
{
    uint8_t *bytes = malloc(ATH_NONCE_BYTES);
    if (!bytes)
        return ath_err_system(err, -ENOMEM, "out of memory");
    *out = (struct ath_secret){ .bytes = bytes, .length = ATH_NONCE_BYTES };
    int status = ath_nonce_make(bytes, err);
    if (status)
        ath_secret_free(out);
    return status;
}

static int version_of(const char *path, struct ath_key_version *out)
{
    struct stat file;
    if (stat(path, &file))
        return -errno;
    *out = (struct ath_key_version){ .inode = file.st_ino,
                                     .bytes = (uint64_t)file.st_size,
                                     .changed_s = file.st_mtim.tv_sec,
                                     .changed_ns = file.st_mtim.tv_nsec };
    return 0;
}

/* A key that a server must not use is no key. The version is taken first, so a key that is replaced
 * meanwhile counts as replaced. */
static int read_named(const char *folder, const char *name, struct ath_secret *out,
                      struct ath_key_version *out_version, struct ath_err *err)
{
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return -ENAMETOOLONG;
    int status = version_of(path, out_version);
    if (status == -ENOENT)
        return status;
    if (!status)
        status = ath_secret_load(path, out, err);
    if (!status)
        status = ath_secret_check_file(path, out, err);
    if (status)
        ath_secret_free(out);
    if (status)
        ath_event_log(ATH_EVENT_WARNING, "key-unusable", "key", name, "reason", err->message, NULL);
    return status;
}

int ath_server_keys_find(const struct ath_server *server, const char *name, struct ath_secret *out,
                         char out_identity[ATH_KEY_NAME_BYTES], struct ath_key_version *out_version,
                         struct ath_err *err)
{
    const char *identity = server->key_folder && *name ? name : ATH_KEY_NAME_DEFAULT;
    bool is_valid = ath_key_name_is_valid(identity);

    snprintf(out_identity, ATH_KEY_NAME_BYTES, "%s", is_valid ? identity : "?");
    *out_version = (struct ath_key_version){ 0 };
    if (!server->key_folder)
        return copy_single(&server->secret, out, err);
    if (is_valid && !read_named(server->key_folder, identity, out, out_version, err))
        return 0;
    return make_unknown(out, err);
}

void ath_server_keys_forget(const struct ath_server *server)
{
    if (server->secret.length)
        explicit_bzero(server->secret.bytes, server->secret.length);
}

bool ath_server_keys_has(const struct ath_server *server, const char *identity,
                         const struct ath_key_version *version)
{
    char path[PATH_BYTES];
    struct ath_key_version now = { 0 };
    if (!server->key_folder)
        return true;
    snprintf(path, sizeof path, "%s/%s", server->key_folder, identity);
    return !version_of(path, &now) && now.inode == version->inode && now.bytes == version->bytes &&
           now.changed_s == version->changed_s && now.changed_ns == version->changed_ns;
}

int ath_server_keys_open(const char *path, struct ath_server *server, struct ath_err *err)
{
    struct stat file;
    if (!stat(path, &file) && S_ISDIR(file.st_mode)) {
        server->key_folder = path;
        if (!(file.st_mode & 022))
            return 0;
        ath_err_set(err, -EPERM, ATH_E_KEY_FILE,
                    _("other users may change the folder of keys '%s', and so add keys"), path);
        return ath_err_hint(err, -EPERM, "chmod go-w %s", path);
    }
    int status = ath_secret_load(path, &server->secret, err);
    if (status)
        return ath_err_hint(err, status, "%s",
                            _("name the shared key with --key FILE, or use --no-auth"));
    return ath_secret_check_file(path, &server->secret, err);
}
