/*
 * Containers of the Docker Engine: makes the requests and reads the answers. docker.h sends them.
 * `container` is a name or an id. Every ath_docker_container_...() request belongs to the caller
 * until it is sent.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "container/docker/request.h"

/*
 * Makes a container without starting it. body (taken over) is the API's: Image, Cmd, HostConfig
 * and so on. Answer: an object with Id and Warnings. Errors: "exists" if the name is taken,
 * "not-found" if there is no such image.
 */
struct ath_docker_request *ath_docker_container_create(const char *name, json_t *body);

/* HTTP status 304: the container was running already. */
struct ath_docker_request *ath_docker_container_start(const char *container);

/* Sends the stop signal, and kills the container after grace_s seconds. The answer comes when the
 * container has ended. HTTP status 304: the container was not running. */
struct ath_docker_request *ath_docker_container_stop(const char *container, int grace_s);

/* signal: "SIGKILL". Error "conflict": the container does not run. */
struct ath_docker_request *ath_docker_container_kill(const char *container, const char *signal);

/* Removes the container and its anonymous volumes. force also ends a running container; without it
 * the error is "conflict". */
struct ath_docker_request *ath_docker_container_remove(const char *container, bool force);

/* Changes the memory limit of a container, which may run; swap stays forbidden. Answer: an
 * object. */
struct ath_docker_request *ath_docker_container_limit(const char *container, int64_t memory_bytes);

/* Answer: an object with memory_stats.usage. */
struct ath_docker_request *ath_docker_container_stats(const char *container);

/* Answer: see ath_docker_container_read(). */
struct ath_docker_request *ath_docker_container_inspect(const char *container);

/* Lists all containers with the label ("key", "key=value"), running or not; NULL: all containers.
 * Answer: see ath_docker_containers_read(). */
struct ath_docker_request *ath_docker_container_list(const char *label);

/*
 * Waits until the container meets the condition: "not-running" (which may hold already),
 * "next-exit", "removed". Has no timeout. Answer: see ath_docker_wait_read().
 */
struct ath_docker_request *ath_docker_container_wait(const char *container, const char *condition);

struct ath_docker_logs {
    bool follow; /* until the container ends; without a timeout */
    bool is_tty; /* from struct ath_docker_container: everything is STDOUT */
    bool with_times;
    int tail;        /* the number of last lines; ATH_UNKNOWN: all */
    int64_t since_s; /* since 1970; 0: from the beginning */
};

/* Passes the container's output to on_output as it arrives. Engine 20.10 may lose the end of a
 * followed output when the container ends; without `follow` the output is complete. */
struct ath_docker_request *ath_docker_container_logs(const char *container,
                                                     const struct ath_docker_logs *logs,
                                                     ath_docker_on_output *on_output,
                                                     void *context);

/* Unknown members are NULL or ATH_UNKNOWN; in a list most are. */
struct ath_docker_container {
    char *id, *name;                /* the name without the slash that the API puts in front */
    char *image, *image_id;         /* the requested name; "sha256:..." */
    char *state;                    /* created running paused restarting removing exited dead */
    char *health;                   /* starting healthy unhealthy; NULL without a health check */
    char *error;                    /* why the container could not be started; NULL */
    char *network_mode;             /* "container:ID", "bridge", "host", "none", a network's name */
    char *started_at, *finished_at; /* RFC 3339; NULL for never */
    bool is_running;                /* also true for a paused or restarting container */
    bool is_tty;
    int is_oom_killed; /* 1, 0, ATH_UNKNOWN */
    int pid;           /* of the first process, in the daemon's namespace; ATH_UNKNOWN if ended */
    int exit_code;     /* of the last run; ATH_UNKNOWN while the container runs */
    int restart_count;
    json_t *labels; /* an object */
    json_t *json;   /* the whole answer */
};

struct ath_docker_containers {
    struct ath_docker_container *items; /* by name */
    size_t count;
};

void ath_docker_container_free(struct ath_docker_container *container);
void ath_docker_containers_free(struct ath_docker_containers *containers);

/* Read the answers to inspect and list. Return 0, or -EBADMSG with err "engine-invalid". *out owns
 * its texts and references; the functions above release it. */
int ath_docker_container_read(json_t *json, struct ath_docker_container *out, struct ath_err *err);
int ath_docker_containers_read(const json_t *json, struct ath_docker_containers *out,
                               struct ath_err *err);

/* Returns the value of a label, which belongs to labels, or NULL. */
const char *ath_docker_label(const json_t *labels, const char *key);

/* Reads the answer to wait. Returns 0 with the exit code, -EIO with err "engine-error" if waiting
 * failed, or -EBADMSG with err "engine-invalid". */
int ath_docker_wait_read(const json_t *json, int *out_exit_code, struct ath_err *err);
