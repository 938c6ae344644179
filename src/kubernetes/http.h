/* An HTTP server for the parts that run in Kubernetes, by libmicrohttpd: a table of pages. Each
 * connection has a thread. Bounded: connections, those of one address, the memory of all bodies
 * that are received or answered (beyond it: 503 with Retry-After), and the time of a request. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"
#include "watch/web.h"

enum { ATH_KUBE_BODY_MAX = 8 << 20 }; /* of a request */

struct ath_kube_page {
    const char *method, *path; /* GET and POST; the query of a request is left out */
    const char *type;          /* of the content if the status is 200; other answers are text */
    bool is_open;              /* also for clients without a certificate */
    /* Answers a request, and returns the status of HTTP. body: of a POST, at most
     * ATH_KUBE_BODY_MAX bytes. Any thread, and several at once. */
    unsigned int (*answer)(void *self, const char *body, size_t length, struct ath_text *out);
};

struct ath_kube_service {
    const struct ath_kube_page *pages; /* ended by a NULL path */
    void *self;                        /* of answer() */
};

/* The answer of a page that says whether the process lives: it does. */
unsigned int ath_kube_http_show_health(void *self, const char *body, size_t length,
                                       struct ath_text *out);

/*
 * Starts a server on a listening socket, which it takes. It runs until the process ends, and so
 * long the service and web must live.
 *
 * web: with a certificate the server speaks TLS; with authorities, clients need certificates of
 * theirs for all pages that are not open.
 *
 * Returns 0, or a negative errno with err.
 */
int ath_kube_http_start(int listener, const struct ath_metrics_web *web,
                        const struct ath_kube_service *service, struct ath_err *err);
