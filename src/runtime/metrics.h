/* Metrics for Prometheus (text format 0.0.4), one HTTP/1.0 answer for each connection. */
#pragma once
#include "runtime/server.h"

/* Reads one request from fd and answers it. Only GET /metrics is known. */
void ath_metrics_serve(int fd, const struct ath_server *server);
