/* The server's page of metrics (watch/page.h). */
#pragma once
#include "runtime/server.h"
#include "watch/web.h"

/* Loads what answers need, and tries the file with TLS and passwords (NULL: none) in a process of
 * its own: the listening process, and so each session, never has its secrets. Returns 0 or a
 * negative errno with err. */
int ath_metrics_prepare(const char *web_path, struct ath_err *err);

/* Reads the file in the process of a connection, before it is locked in. Returns 0 or a negative
 * errno with err. */
int ath_metrics_read_web(const char *web_path, struct ath_metrics_web *out, struct ath_err *err);

/* Answers the HTTP requests of a connection until its end. */
void ath_metrics_serve(int fd, const struct ath_server *server, const struct ath_metrics_web *web);
