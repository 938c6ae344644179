/*
 * Answering HTTP for Prometheus, by libmicrohttpd, on a connection that the caller has accepted.
 * GET and HEAD of /metrics are answered; everything else gets an error with a body that says so.
 * Requests, their headers and the time of each step are bounded.
 */
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "watch/page.h"
#include "watch/web.h"

struct ath_metrics_http {
    /* Returns 0 with the page in *out, or a negative errno if there is none now. */
    int (*make)(void *context, enum ath_metrics_format format, struct ath_text *out);
    void *context;
    const struct ath_metrics_web *web; /* NULL: neither TLS nor passwords */
    /* Limits in milliseconds: for the first request, between two requests, for taking an answer,
     * and for all requests of a connection, after which it closes with the next answer. A
     * connection gets at most ten pages in a second. */
    int request_ms, idle_ms, answer_ms, connection_ms;
};

/* Loads libmicrohttpd, and what `web` (or NULL) needs of it. Returns 0, or a negative errno with
 * err: "library-missing", "web-config-invalid" (a certificate that is none, a library without
 * TLS). */
int ath_metrics_http_load(const struct ath_metrics_web *web, struct ath_err *err);

/* Answers the requests of a connection until its end; may run in several threads. The library is
 * loaded. The caller closes fd. */
void ath_metrics_http_serve(int fd, const struct ath_metrics_http *http);
