/* Finds the keys of clients. */
#include "config.h"

#include "runtime/server_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/event_log.h"

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

/* A key that a server must not use is no key. */
static int read_named(const char *folder, const char *name, struct ath_secret *out,
                      struct ath_err *err)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return -ENAMETOOLONG;
    int status = ath_secret_load(path, out, err);
    if (!status)
        status = ath_secret_check_file(path, out, err);
    if (status)
        ath_secret_free(out);
    if (status && status != -ENOENT)
        ath_event_log(ATH_EVENT_WARNING, "key-unusable", "key", name, "reason", err->message, NULL);
    return status;
}

int ath_server_keys_find(const struct ath_server *server, const char *name, struct ath_secret *out,
                         char out_identity[ATH_KEY_NAME_BYTES], struct ath_err *err)
{
    const char *identity = server->key_folder && *name ? name : ATH_KEY_NAME_DEFAULT;
    bool is_valid = ath_key_name_is_valid(identity);

    snprintf(out_identity, ATH_KEY_NAME_BYTES, "%s", is_valid ? identity : "?");
    if (!server->key_folder)
        return copy_single(&server->secret, out, err);
    if (is_valid && !read_named(server->key_folder, identity, out, err))
        return 0;
    return make_unknown(out, err);
}

void ath_server_keys_forget(const struct ath_server *server)
{
    if (server->secret.length)
        explicit_bzero(server->secret.bytes, server->secret.length);
}
