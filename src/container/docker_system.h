/* What a Docker daemon is and can do, and what happens there. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"
#include "container/docker.h"

struct ath_docker_facts {
    char *version;                      /* of the Engine: "20.10.24" */
    char *api, *api_used;               /* the highest it knows, and what is spoken */
    char *architecture;                 /* "amd64", "ppc64le" */
    char *os_name, *kernel, *host_name; /* of the daemon's machine */
    char *data_folder;                  /* where images and containers lie there */
    char *cgroup_driver;                /* "systemd", "cgroupfs", "none" */
    int cgroup_version;                 /* 1, 2, ATH_UNKNOWN */
    bool is_rootless;
    struct ath_texts runtimes; /* "runc", "nvidia" */
    char *default_runtime;
    bool has_nvidia_runtime;
    struct ath_texts cdi_folders; /* where it looks for CDI specs; none: no CDI */
    struct ath_texts cdi_devices; /* "nvidia.com/gpu=0", where it lists them (API 1.50) */
    int has_cdi;                  /* 1, 0; ATH_UNKNOWN: it does not say (before Engine 25) */
    bool has_bridge;              /* the network "bridge" is there */
    char *log_driver;             /* of containers that name none: "json-file" */
    int cpu_count;                /* ATH_UNKNOWN */
    int64_t memory_bytes;         /* ATH_UNKNOWN */
};
void ath_docker_facts_free(struct ath_docker_facts *facts);

/* Asks for all of it, the three requests at once. Returns 0, or a negative errno with err, as
 * docker.h has them; *out is released with ath_docker_facts_free(). */
int ath_docker_facts_read(struct ath_docker *docker, struct ath_docker_facts *out,
                          struct ath_err *err);

/* The same from the answers to GET /version, /info and /networks. */
int ath_docker_facts_from(const json_t *version, const json_t *info, const json_t *networks,
                          struct ath_docker_facts *out, struct ath_err *err);

/*
 * What happens from now on, or from since_s (seconds since 1970; 0: now) until until_s (0: for
 * ever): on_json gets each event until it answers ATH_DOCKER_ENOUGH. filters (taken over, may be
 * NULL) are the API's: { "type": ["container"], "label": ["key=value"], "event": ["die"] }. Has no
 * timeout.
 */
struct ath_docker_request *ath_docker_events(json_t *filters, int64_t since_s, int64_t until_s,
                                             ath_docker_on_json *on_json, void *context);

/* An event's parts; the texts belong to it. */
struct ath_docker_event {
    const char *type;         /* "container", "network", "image" */
    const char *action;       /* "start", "die", "destroy", "health_status: healthy" */
    const char *id;           /* of what it happened to */
    const char *name;         /* NULL where it has none */
    int64_t time_ns;          /* since 1970; ATH_UNKNOWN */
    int exit_code;            /* of "die"; ATH_UNKNOWN */
    const json_t *attributes; /* its labels among them */
};
int ath_docker_event_read(const json_t *json, struct ath_docker_event *out, struct ath_err *err);
