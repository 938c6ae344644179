/* What Prometheus reads (text format 0.0.4), by one HTTP/1.0 answer a connection. */
#pragma once
#include "runtime/server/server.h"

/* Reads one request at fd and answers it; GET /metrics is the only one known. */
void ath_metrics_serve(int fd, const struct ath_server *server);
