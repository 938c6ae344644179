/* The server's page of metrics (watch/page.h). */
#pragma once
#include "runtime/server.h"

/* Answers the HTTP requests of a connection until its end. ath_metrics_http_load() has succeeded.
 */
void ath_metrics_serve(int fd, const struct ath_server *server);
