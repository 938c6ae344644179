/* The address of the API server, and the proof of who asks: from the files of a pod, or a
 * kubeconfig. */
#pragma once
#include "base/err.h"

/* Owns its texts. Files are named by their paths; a zeroed struct is empty. */
struct ath_kube_server {
    char *url;                         /* "https://10.96.0.1:443", without a slash at the end */
    char *ca_file;                     /* NULL: the system's authorities */
    char *token_file;                  /* read again every minute, as kubelet replaces it */
    char *token;                       /* instead of a file */
    char *certificate_file, *key_file; /* of the client; both or none */
};

void ath_kube_server_free(struct ath_kube_server *server);

/* Reads what kubelet gives to a pod: KUBERNETES_SERVICE_HOST and _PORT, and the folder of the
 * service account. Returns 0, or -ENOENT with err outside a pod. */
int ath_kube_server_of_pod(const char *folder, struct ath_kube_server *out, struct ath_err *err);

/*
 * Reads a kubeconfig: the cluster and the user of its current context. Known are server,
 * certificate-authority, token, tokenFile, client-certificate and client-key; the forms with -data
 * and plugins that make tokens are refused. Paths begin at the folder of the file. Returns 0, or a
 * negative errno with err.
 */
int ath_kube_server_of_config(const char *path, struct ath_kube_server *out, struct ath_err *err);
