/* The Docker engine: what it looks at and what it starts. Private to container. */
#pragma once
#include "container/docker.h"
#include "container/docker_container.h"
#include "container/engine_internal.h"

struct ath_docker_engine {
    struct ath_docker_host host;
    struct ath_docker *docker;
    bool is_local; /* a unix socket: what the daemon says of pids and folders may be of this machine
                    */
};

/* All containers that there are by name (as a list has them, with labels), and those of ours as
 * inspect has them. */
struct ath_docker_present {
    struct ath_docker_containers all, ours;
};
void ath_docker_present_free(struct ath_docker_present *present);
int ath_docker_present_read(struct ath_docker *docker, struct ath_docker_present *out,
                            struct ath_err *err);

/* Ours, of a node and a role; NULL where there is none. */
const struct ath_docker_container *ath_docker_present_find(const struct ath_docker_present *present,
                                                           int id, enum ath_docker_role role);

/* The node of a container of ours; ATH_UNKNOWN. */
int ath_docker_container_node(const struct ath_docker_container *container);

/* Who started it; the caller frees *socket, which the result points to. */
struct ath_owner ath_docker_owner(const struct ath_engine *engine,
                                  const struct ath_docker_container *container, char **socket);

/* "/proc/PID/ns/net" of a container that runs on this machine; NULL. The caller frees it. */
char *ath_docker_netns_path(const struct ath_docker_container *container);

/* A runtime that is known to be in another network than its pause container: one that was started
 * before the pause container was started again. */
bool ath_docker_is_astray(const struct ath_docker_container *runtime,
                          const struct ath_docker_container *pause);

/* Whether it is seen to listen on its socket; false also where that cannot be seen. */
bool ath_docker_is_listening(const struct ath_docker_container *runtime, const char *socket);

/* Reads the last lines of a container's output; none where they cannot be had. */
void ath_docker_log_tail(struct ath_docker *docker, const struct ath_docker_container *container,
                         struct ath_texts *out);

/* The `start` of the engine's table. */
int ath_docker_start(struct ath_engine *engine, const struct ath_plan *plan,
                     const struct ath_start_options *options, struct ath_start_results *results,
                     struct ath_err *err);
