/* Facts about a Docker daemon, and its events. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"
#include "container/docker/docker.h"

struct ath_docker_facts {
    char *version;                      /* of the Engine: "20.10.24" */
    char *api, *api_used;               /* the highest that the daemon knows; the chosen one */
    char *architecture;                 /* "amd64", "ppc64le" */
    char *os_name, *kernel, *host_name; /* of the daemon's machine */
    char *data_folder;                  /* of images and containers on that machine */
    char *cgroup_driver;                /* "systemd", "cgroupfs", "none" */
    int cgroup_version;                 /* 1, 2, ATH_UNKNOWN */
    bool is_rootless;
    bool is_podman;            /* its service, which answers as Docker does */
    struct ath_texts runtimes; /* "runc", "nvidia" */
    char *default_runtime;
    bool has_nvidia_runtime;      /* and the daemon uses it when a request asks for it */
    struct ath_texts cdi_folders; /* searched by the daemon for CDI specs; none: no CDI */
    struct ath_texts cdi_devices; /* "nvidia.com/gpu=0"; listed since API 1.50 */
    int has_cdi;                  /* 1, 0; ATH_UNKNOWN before Engine 25 */
    bool has_bridge;              /* the network "bridge" exists */
    char *log_driver;             /* the default for containers: "json-file" */
    int cpu_count;                /* ATH_UNKNOWN */
    int64_t memory_bytes;         /* ATH_UNKNOWN */
};
void ath_docker_facts_free(struct ath_docker_facts *facts);

/* Fetches all facts with three requests at once. Returns 0, or a negative errno with err from the
 * list in docker.h; *out is released with ath_docker_facts_free(). */
int ath_docker_facts_read(struct ath_docker *docker, struct ath_docker_facts *out,
                          struct ath_err *err);

/* Reads the facts from the answers to GET /version, /info and /networks. */
int ath_docker_facts_from(const json_t *version, const json_t *info, const json_t *networks,
                          struct ath_docker_facts *out, struct ath_err *err);

/*
 * Follows events from since_s to until_s (seconds since 1970; since 0: now, until 0: forever).
 * on_json receives each event until it returns ATH_DOCKER_ENOUGH. filters (taken over, may be NULL)
 * are the API's: { "type": ["container"], "label": ["key=value"], "event": ["die"] }. Has no
 * timeout.
 */
struct ath_docker_request *ath_docker_events(json_t *filters, int64_t since_s, int64_t until_s,
                                             ath_docker_on_json *on_json, void *context);

/* One event; the texts belong to its JSON. */
struct ath_docker_event {
    const char *type;         /* "container", "network", "image" */
    const char *action;       /* "start", "die", "destroy", "health_status: healthy" */
    const char *id;           /* of the object */
    const char *name;         /* of the object; NULL */
    int64_t time_ns;          /* since 1970; ATH_UNKNOWN */
    int exit_code;            /* of "die"; ATH_UNKNOWN */
    const json_t *attributes; /* the object's labels and more */
};
int ath_docker_event_read(const json_t *json, struct ath_docker_event *out, struct ath_err *err);
