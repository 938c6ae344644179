/* The extender as a process: a thread for each watch and for the lease, and the HTTP server. */
#pragma once
#include "kubernetes/client.h"
#include "kubernetes/http.h"
#include "kubernetes/lease.h"

/* Starts everything. The threads run until the process ends. lease: space, name and identity are
 * the caller's. Returns 0, or a negative errno with err. */
int ath_kube_scheduler_start(int listener, const struct ath_metrics_web *web,
                             const struct ath_kube_api *api, struct ath_kube_lease *lease,
                             struct ath_err *err);

/* Gives the lease back before the process ends, so that another extender need not wait. Waits three
 * seconds at most. */
void ath_kube_scheduler_end(struct ath_kube_lease *lease);
