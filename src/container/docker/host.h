/* The address of a Docker daemon, and how to talk to it. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

#define ATH_DOCKER_HOST_DEFAULT "unix:///var/run/docker.sock"

struct ath_docker_host {
    char *text;            /* as given: "unix:///var/run/docker.sock" */
    char *socket;          /* path of the socket; NULL for a host on the network */
    char *base;            /* start of a request's URL: "https://10.0.0.1:2376" */
    bool is_tls;           /* the daemon's certificate is always verified */
    char *ca, *cert, *key; /* PEM files; NULL: the system's authorities, no certificate of ours */
};

/*
 * Chooses the address: flag, then DOCKER_HOST in the environment, then the document's
 * engine.docker_host, then the default. NULL and "" mean not given.
 *
 * Allowed are unix:///PATH, tcp://HOST[:PORT] (2375, with TLS 2376), http://HOST[:PORT] and
 * https://HOST[:PORT]. As with Docker's own client, DOCKER_TLS_VERIFY turns TLS on for tcp:// and
 * http://, with ca.pem, cert.pem and key.pem from DOCKER_CERT_PATH or ~/.docker. https:// always
 * uses TLS, with those files if DOCKER_CERT_PATH or DOCKER_TLS_VERIFY is set.
 *
 * Returns 0, or a negative errno with err "value-invalid" (the message names the source of the
 * address), or the error of reading a certificate. *out is released with ath_docker_host_free().
 */
int ath_docker_host_find(const char *flag, const char *document, struct ath_docker_host *out,
                         struct ath_err *err);
void ath_docker_host_free(struct ath_docker_host *host);
