/* The extender as a process: a thread for each watch, and the HTTP server. */
#pragma once
#include "kubernetes/client.h"
#include "kubernetes/http.h"

/* Starts everything. The threads run until the process ends. Returns 0, or a negative errno with
 * err. */
int ath_kube_scheduler_start(int listener, const struct ath_metrics_web *web,
                             const struct ath_kube_api *api, struct ath_err *err);
