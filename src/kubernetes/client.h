/* The API server, by libcurl: the ops of api.h for the program. */
#pragma once
#include "kubernetes/api.h"
#include "kubernetes/server.h"

struct ath_kube_client;

/* Makes a client; takes *server. Loads libcurl, so call it before other threads exist. Returns 0,
 * or a negative errno with err. The client lives as long as the process. */
int ath_kube_client_make(struct ath_kube_server *server, struct ath_kube_client **out,
                         struct ath_err *err);

/* Returns the ops, which belong to the client. */
const struct ath_kube_api *ath_kube_client_api(struct ath_kube_client *client);
