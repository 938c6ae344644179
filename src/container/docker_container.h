/*
 * Containers of the Docker Engine: the requests, and reading what is answered. For sending see
 * docker.h. `container` is a name or an id.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "container/docker_request.h"

/*
 * Makes a container, which does not run yet. body (taken over) is the API's: Image, Cmd, HostConfig
 * and so on. Answer: an object with Id and Warnings. Errors: "exists" the name is taken,
 * "not-found" there is no such image.
 */
struct ath_docker_request *ath_docker_container_create(const char *name, json_t *body);

/* HTTP status 304: it ran already. */
struct ath_docker_request *ath_docker_container_start(const char *container);

/* Asks it to end (its stop signal) and kills it after grace_s; answered when it has ended. HTTP
 * status 304: it did not run. */
struct ath_docker_request *ath_docker_container_stop(const char *container, int grace_s);

/* signal: "SIGKILL". Error "conflict": it does not run. */
struct ath_docker_request *ath_docker_container_kill(const char *container, const char *signal);

/* With its anonymous volumes; force also ends one that runs ("conflict" otherwise). */
struct ath_docker_request *ath_docker_container_remove(const char *container, bool force);

/* Answer: see ath_docker_container_read(). */
struct ath_docker_request *ath_docker_container_inspect(const char *container);

/* All that bear the label ("key", "key=value"), running or not; NULL for every one. Answer: see
 * ath_docker_containers_read(). */
struct ath_docker_request *ath_docker_container_list(const char *label);

/*
 * Answered when the container has come to the condition: "not-running" (also at once),
 * "next-exit", "removed". Has no timeout. Answer: see ath_docker_wait_read().
 */
struct ath_docker_request *ath_docker_container_wait(const char *container, const char *condition);

struct ath_docker_logs {
    bool follow; /* until the container ends; without a timeout */
    bool is_tty; /* as struct ath_docker_container has it: one stream, all of it STDOUT */
    bool with_times;
    int tail;        /* the last so many lines; ATH_UNKNOWN: all */
    int64_t since_s; /* since 1970; 0: from the beginning */
};

/* What the container has written, handed to on_output as it comes. Engine 20.10 may lose the end of
 * what it follows when the container ends; read without `follow` it is whole. */
struct ath_docker_request *ath_docker_container_logs(const char *container,
                                                     const struct ath_docker_logs *logs,
                                                     ath_docker_on_output *on_output,
                                                     void *context);

/* What is not known, as most of it in a list, is NULL or ATH_UNKNOWN. */
struct ath_docker_container {
    char *id, *name;                /* the name without the slash that the API puts in front */
    char *image, *image_id;         /* as it was asked for; "sha256:..." */
    char *state;                    /* created running paused restarting removing exited dead */
    char *health;                   /* starting healthy unhealthy; NULL without a health check */
    char *error;                    /* why it could not be started; NULL */
    char *network_mode;             /* "container:ID", "bridge", "host", "none", a network's name */
    char *started_at, *finished_at; /* RFC 3339; NULL for never */
    bool is_running;                /* paused ones and such that are being restarted too */
    bool is_tty;
    int is_oom_killed; /* 1, 0, ATH_UNKNOWN */
    int pid;           /* of its first process, in the daemon's namespace, while it runs */
    int exit_code;     /* of the last run, while there is none */
    int restart_count;
    json_t *labels; /* an object */
    json_t *json;   /* all of the answer */
};

struct ath_docker_containers {
    struct ath_docker_container *items; /* by name */
    size_t count;
};

void ath_docker_container_free(struct ath_docker_container *container);
void ath_docker_containers_free(struct ath_docker_containers *containers);

/* The answers to inspect and list. Return 0, or -EBADMSG with err "engine-invalid". *out owns its
 * texts and references; it is released with the functions above. */
int ath_docker_container_read(json_t *json, struct ath_docker_container *out, struct ath_err *err);
int ath_docker_containers_read(const json_t *json, struct ath_docker_containers *out,
                               struct ath_err *err);

/* The value of a label; NULL where there is none. It belongs to labels. */
const char *ath_docker_label(const json_t *labels, const char *key);

/* The answer to wait. Returns 0 with the exit code, or -EIO "engine-error" where waiting failed. */
int ath_docker_wait_read(const json_t *json, int *out_exit_code, struct ath_err *err);
