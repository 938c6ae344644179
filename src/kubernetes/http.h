/* The HTTP server of the extender, by libmicrohttpd: POST /filter, /prioritize and /bind; GET
 * /metrics, /healthz and /readyz. Each connection has a thread. */
#pragma once
#include "base/err.h"
#include "kubernetes/extender.h"
#include "watch/web.h"

/*
 * Starts the server on a listening socket, which it takes. It runs until the process ends.
 *
 * web: with a certificate the server speaks TLS; with authorities, clients need certificates of
 * theirs for all except /healthz and /readyz, which kubelet asks for.
 *
 * Returns 0, or a negative errno with err.
 */
int ath_kube_http_start(int listener, const struct ath_metrics_web *web,
                        struct ath_kube_extender *extender, struct ath_err *err);
