/*
 * A client of the Docker Engine's API (docs.docker.com/reference/api/engine): libcurl for HTTP over
 * the daemon's socket or the network, jansson for what is said; no `docker` command.
 *
 * A request (docker_container.h, docker_network.h, docker_image.h, docker_system.h) is made by a
 * function and sent alone, waiting for its answer:
 *
 *     json_auto_t *json = NULL;
 *     int status = ath_docker_do(docker, ath_docker_container_inspect("aitherion-numa0"), &json,
 * err);
 *
 * or with others at the same time, all in this one thread: a batch runs until nothing is left, and
 * whoever is told of an answer may add what comes next, so that each node's chain of requests goes
 * at its own speed. Sending one alone is a batch of one.
 *
 * Every request goes over a connection of its own and is sent at most once: nothing is repeated
 * behind the caller's back, so that a container is never made twice. Nothing stays open between
 * batches. Proxies in the environment are passed by, redirects are not followed.
 *
 * Errors, beside the caller's own from callbacks (errno, code word):
 *   -ECONNREFUSED   engine-unreachable  nobody listens, or the daemon went away in mid-answer
 *   -ECONNABORTED   engine-unreachable  no TLS: certificates that do not fit
 *   -EACCES         engine-denied       the socket's permissions, or HTTP 401 and 403
 *   -ETIMEDOUT      engine-timeout
 *   -EBADMSG        engine-invalid      no HTTP, no JSON, cut off, too large, of the wrong shape
 *   -EPROTO         engine-version      the daemon's API is too old or too new for us
 *   -ENOENT         not-found           HTTP 404: what the request names, or what its body names
 *   -EEXIST         exists              HTTP 409 where something was to be made
 *   -EBUSY          conflict            HTTP 409 elsewhere: not in the state for this
 *   -EINVAL         engine-error        HTTP 400: the daemon does not like the request
 *   -EIO            engine-error        HTTP 5xx and the rest, and failures told in mid-answer
 *   -EINTR          interrupted         is_stopped() said so
 * The daemon's own words end the message.
 *
 * A client belongs to one thread. Memory running out ends the program.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "container/docker_host.h"
#include "container/docker_request.h"

/* The versions of the API that we speak: of Engine 20.10 and of Engine 28. */
#define ATH_DOCKER_API_LEAST "1.41"
#define ATH_DOCKER_API_MOST "1.51"

/* Asked about ten times a second while something is waited for; NULL for never. */
struct ath_docker_stop {
    bool (*is_stopped)(void *context);
    void *context;
};

struct ath_docker;

/*
 * Finds the daemon and agrees with it on a version, as ath_docker_ping() does. host is copied, stop
 * too, which may be NULL. Returns 0, or a negative errno with err, "library-missing" among them.
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
 * Whether the daemon answers, and which version to speak from now on: the highest that both know.
 * Where nobody listens (a daemon that starts or restarts) it is asked again for wait_ms; 0 asks
 * once. Other errors end the waiting at once.
 */
int ath_docker_ping(struct ath_docker *docker, int wait_ms, struct ath_err *err);

/* The version that is spoken ("1.41"), and where the daemon listens, as given. */
const char *ath_docker_api(const struct ath_docker *docker);
const char *ath_docker_where(const struct ath_docker *docker);

/* Forgets or replaces what may stop us: cleaning up after an interruption needs an unstopped
 * client. stop may be NULL. */
void ath_docker_set_stop(struct ath_docker *docker, const struct ath_docker_stop *stop);

/*
 * Sends a request and waits for the end of its answer. The request is released in any case. *out
 * gets the JSON where there is one (NULL for a streamed or empty answer, and on failure), and the
 * caller drops it with json_decref(); out may be NULL. Returns 0, or a negative errno with err.
 */
int ath_docker_do(struct ath_docker *docker, struct ath_docker_request *request, json_t **out,
                  struct ath_err *err);

struct ath_docker_batch;

struct ath_docker_answer {
    int status;      /* 0, or a negative errno, and then err says why */
    int http_status; /* 200...; 304: it was so already; 0: there was no answer */
    json_t *json;    /* NULL where there is none; json_incref() to keep it */
    const char *api; /* the highest version that the daemon knows; "" where it did not say */
    const struct ath_err *err;
};

/* Told once of every request that was added; what answer points to lasts until it returns. It may
 * add to the batch, and use other clients and ath_docker_do(). */
typedef void ath_docker_done(void *context, struct ath_docker_batch *batch,
                             const struct ath_docker_answer *answer);

/* The client must outlive the batch. Freeing one that was not run drops its requests untold. */
struct ath_docker_batch *ath_docker_batch_new(struct ath_docker *docker)
    __attribute__((returns_nonnull));
void ath_docker_batch_free(struct ath_docker_batch *batch); /* takes NULL */

static inline void ath_docker_batch_free_p(struct ath_docker_batch *const *batch)
{
    ath_docker_batch_free(*batch);
}
#define ath_auto_docker_batch __attribute__((cleanup(ath_docker_batch_free_p)))

/* Takes the request over; done may be NULL. Nothing is sent before ath_docker_batch_run(). */
void ath_docker_batch_add(struct ath_docker_batch *batch, struct ath_docker_request *request,
                          ath_docker_done *done, void *context);

/*
 * Runs until no request is left. How each went is told to its done; the return value is 0, or
 * -EINTR with err when stopped: then every open request was told "interrupted", and what those who
 * were told have added meanwhile is dropped untold.
 */
int ath_docker_batch_run(struct ath_docker_batch *batch, struct ath_err *err);
