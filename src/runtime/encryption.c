/* Checks the options of encryption. */
#include "config.h"

#include "runtime/encryption.h"

#include <errno.h>

#include "base/i18n.h"
#include "runtime/server_keys.h"

/* Returns 0 if all options fit each other. */
static int check_options(const struct ath_runtime_options *options, const struct ath_server *server,
                         struct ath_err *err)
{
    if (!options->tls_certificate != !options->tls_key)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'--tls-certificate' and '--tls-key' need each other"));
    if (options->tls_certificate && server->encrypt == ATH_ENCRYPT_OFF)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'--encrypt off' leaves no use for '--tls-certificate'"));
    if (ath_server_wants_key(server))
        return 0;
    if (options->tls_certificate)
        ath_err_set(err, -ENOKEY, ATH_E_KEY_FILE,
                    _("'--tls-certificate' needs a key as well, and this server has none"));
    else if (server->encrypt == ATH_ENCRYPT_ON)
        ath_err_set(err, -ENOKEY, ATH_E_KEY_FILE,
                    _("'--encrypt on' needs a key, and this server has none"));
    else
        return 0;
    return ath_err_hint(err, -ENOKEY, "aitherion key --new --yes");
}

int ath_server_encryption_choose(const struct ath_runtime_options *options,
                                 struct ath_server *server, struct ath_err *err)
{
    if (ath_encrypt_parse(options->encrypt, &server->encrypt))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not auto, on or off"),
                           options->encrypt);
    int status = check_options(options, server, err);
    if (status || !ath_server_wants_key(server) || server->encrypt == ATH_ENCRYPT_OFF)
        return status;
    server->certificate =
        (struct ath_tls_certificate){ options->tls_certificate, options->tls_key };
    return options->tls_certificate ? ath_tls_certificate_check(&server->certificate, 0, err)
                                    : ath_tls_load(err);
}
