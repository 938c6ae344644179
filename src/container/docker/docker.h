/*
 * A client of the Docker Engine's API (docs.docker.com/reference/api/engine): libcurl for HTTP over
 * the daemon's socket or the network, jansson for the JSON; no `docker` command.
 *
 * The functions of container.h, network.h, image.h and system.h make requests. A single request is
 * sent like this:
 *
 *     json_auto_t *json = NULL;
 *     int status = ath_docker_do(docker, ath_docker_container_inspect("aitherion-numa0"), &json,
 *                                err);
 *
 * A batch sends many requests at the same time, all in one thread, and runs until none is left. The
 * function that receives an answer may add the next request, so that each node's chain of requests
 * runs at its own speed. A single request is a batch of one.
 *
 * Every request uses its own connection and is sent at most once. The client repeats nothing by
 * itself, so that a container is never made twice. Nothing stays open between batches. Proxies in
 * the environment are ignored, redirects are not followed.
 *
 * Errors, beside those that a callback returns (errno, code word):
 *   -ECONNREFUSED   engine-unreachable  no process listens, or the daemon hung up in mid-answer
 *   -ECONNABORTED   engine-unreachable  TLS failed: the certificates do not fit
 *   -EACCES         engine-denied       the socket's permissions, or HTTP 401 and 403
 *   -ETIMEDOUT      engine-timeout
 *   -EBADMSG        engine-invalid      no HTTP, no JSON, cut off, too large, of the wrong shape
 *   -EPROTO         engine-version      the daemon's API is too old or too new for us
 *   -ENOENT         not-found           HTTP 404: the object of the request or of its body
 *   -EEXIST         exists              HTTP 409 of a request that makes an object
 *   -EBUSY          conflict            HTTP 409 otherwise: not in the state for this
 *   -EINVAL         engine-error        HTTP 400: the daemon refuses the request
 *   -EIO            engine-error        HTTP 5xx and the rest, and failures in mid-answer
 *   -EINTR          interrupted         is_stopped() returned true
 * The message ends with the daemon's own words.
 *
 * Only one thread may use a client. Running out of memory ends the program.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "container/docker/host.h"
#include "container/docker/request.h"

/* The versions of the API that we speak: of Engine 20.10 and of Engine 28. */
#define ATH_DOCKER_API_LEAST "1.41"
#define ATH_DOCKER_API_MOST "1.51"

/* is_stopped() is called about ten times a second during a wait; NULL: never stop. */
struct ath_docker_stop {
    bool (*is_stopped)(void *context);
    void *context;
};

struct ath_docker;

/*
 * Connects to the daemon and agrees on an API version, as ath_docker_ping() does. host and stop are
 * copied; stop may be NULL. Returns 0, or a negative errno with err as above or "library-missing".
 * *out is released with ath_docker_close().
 */
int ath_docker_open(const struct ath_docker_host *host, const struct ath_docker_stop *stop,
                    int wait_ms, struct ath_docker **out, struct ath_err *err);
void ath_docker_close(struct ath_docker *docker); /* takes NULL */

static inline void ath_docker_close_p(struct ath_docker *const *docker)
{
    ath_docker_close(*docker);
}
#define ath_auto_docker __attribute__((cleanup(ath_docker_close_p)))

/*
 * Checks that the daemon answers, and chooses the highest API version that both know. While no
 * process listens (the daemon starts or restarts) the client asks again for wait_ms milliseconds;
 * 0: once. Any other error ends the wait immediately. Returns 0, or a negative errno with err.
 */
int ath_docker_ping(struct ath_docker *docker, int wait_ms, struct ath_err *err);

/* The chosen API version ("1.41"), and the daemon's address as given. Both belong to docker. */
const char *ath_docker_api(const struct ath_docker *docker);
const char *ath_docker_where(const struct ath_docker *docker);

/* Replaces the check for a stop; NULL removes it. Cleaning up after an interruption needs a client
 * that no longer stops. */
void ath_docker_set_stop(struct ath_docker *docker, const struct ath_docker_stop *stop);

/*
 * Sends a request and waits for the end of its answer. Always releases the request. *out receives
 * the JSON, or NULL for a streamed or empty answer and on failure; the caller drops it with
 * json_decref(). out may be NULL. Returns 0, or a negative errno with err.
 */
int ath_docker_do(struct ath_docker *docker, struct ath_docker_request *request, json_t **out,
                  struct ath_err *err);

struct ath_docker_batch;

struct ath_docker_answer {
    int status;      /* 0, or a negative errno, explained by err */
    int http_status; /* 200...; 304: nothing to do; 0: no answer */
    json_t *json;    /* NULL for none; json_incref() to keep it */
    const char *api; /* the highest version that the daemon knows; "" if unknown */
    const struct ath_err *err;
};

/* Called once for every added request. The answer's pointers are valid until the function returns.
 * It may add to the batch, and use other clients and ath_docker_do(). */
typedef void ath_docker_done(void *context, struct ath_docker_batch *batch,
                             const struct ath_docker_answer *answer);

/* The client must outlive the batch. Freeing a batch that was not run drops its requests without
 * calling done. */
struct ath_docker_batch *ath_docker_batch_new(struct ath_docker *docker)
    __attribute__((returns_nonnull));
void ath_docker_batch_free(struct ath_docker_batch *batch); /* takes NULL */

static inline void ath_docker_batch_free_p(struct ath_docker_batch *const *batch)
{
    ath_docker_batch_free(*batch);
}
#define ath_auto_docker_batch __attribute__((cleanup(ath_docker_batch_free_p)))

/* Takes the request over; done may be NULL. ath_docker_batch_run() sends it. */
void ath_docker_batch_add(struct ath_docker_batch *batch, struct ath_docker_request *request,
                          ath_docker_done *done, void *context);

/*
 * Runs until no request is left; done receives the result of each. Returns 0, or -EINTR with err
 * when stopped: done then receives "interrupted" for every open request, and requests that it adds
 * meanwhile are dropped without calling done.
 */
int ath_docker_batch_run(struct ath_docker_batch *batch, struct ath_err *err);
