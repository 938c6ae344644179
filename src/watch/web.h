/*
 * The file that Prometheus' exporters take as --web.config.file: a certificate and users with
 * passwords (prometheus.io/docs/prometheus/latest/configuration/https). These keys are known; any
 * other key is refused with its line.
 *
 *     tls_server_config:
 *       cert_file, key_file: PEM; relative paths start at the file's folder
 *       client_ca_file, client_auth_type: NoClientCert or RequireAndVerifyClientCert
 *       min_version: TLS12 or TLS13
 *     basic_auth_users:
 *       NAME: hash of the password by bcrypt ("$2y$...")
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct ath_metrics_user {
    char *name, *hash;
};

/* Everything is secret. A zeroed struct asks for no password and does not encrypt. */
struct ath_metrics_web {
    char *certificate, *key; /* PEM texts; NULL: no TLS */
    char *authorities;       /* that sign the clients' certificates; NULL: clients need none */
    bool needs_tls13;
    struct ath_metrics_user *users;
    size_t user_count;
};

/* Reads the file and those that it names, and loads the library that passwords need. Returns 0, or
 * a negative errno with err. The caller releases *out. */
int ath_metrics_web_load(const char *path, struct ath_metrics_web *out, struct ath_err *err);

/* Wipes and releases the secrets. */
void ath_metrics_web_free(struct ath_metrics_web *web);

/* Returns whether the password is the user's. The file has users. Takes as long for a user that
 * does not exist. */
bool ath_metrics_web_knows(const struct ath_metrics_web *web, const char *user,
                           const char *password);
