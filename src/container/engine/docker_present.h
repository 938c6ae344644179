/* Present containers, and facts about those that are ours: the label aitherion.numa says so, a name
 * proves nothing. Private to the Docker engine. */
#pragma once
#include "container/docker/container.h"
#include "container/docker/docker.h"
#include "container/engine/kinds.h"

/* all: every container as a list describes it, by name. ours: those with our label, as inspect
 * describes them. */
struct ath_docker_present {
    struct ath_docker_containers all, ours;
};
void ath_docker_present_free(struct ath_docker_present *present);
/* Reads them. Returns 0, or a negative errno with err; *out is released with the function above. */
int ath_docker_present_read(struct ath_docker *docker, struct ath_docker_present *out,
                            struct ath_err *err);

/* Returns our container of a node and a role, or NULL. */
const struct ath_docker_container *ath_docker_present_find(const struct ath_docker_present *present,
                                                           int id, enum ath_docker_role role);

/* Returns a variable of the container's environment, which the caller frees, or NULL. */
char *ath_docker_variable(const struct ath_docker_container *container, const char *name);

/* Returns the node of a container, or ATH_UNKNOWN if the container is not ours. */
int ath_docker_container_node(const struct ath_docker_container *container);

/* Returns who started the container; the caller frees *socket, to which the result points. */
struct ath_owner ath_docker_owner(const struct ath_engine *engine,
                                  const struct ath_docker_container *container, char **socket);

/* Returns "/proc/PID/ns/net" of a container that runs on this machine, or NULL. The caller frees
 * it. */
char *ath_docker_netns_path(const struct ath_docker_container *container);

/* Returns true for a runtime that is in another network than its pause container, because it
 * started before the pause container was started again. */
bool ath_docker_is_astray(const struct ath_docker_container *runtime,
                          const struct ath_docker_container *pause);

/* Returns true if the runtime listens on its socket; false also if that cannot be seen. */
bool ath_docker_is_listening(const struct ath_docker_container *runtime, const char *socket);

/* Returns the memory_percent from which its limit was made, or NULL. The caller frees it. */
char *ath_docker_memory_percent(const struct ath_engine *engine,
                                const struct ath_docker_container *container);

/* Returns the memory limit of an inspected container; INT64_MAX: none; ATH_UNKNOWN. */
int64_t ath_docker_memory_limit(const struct ath_docker_container *container);

/* Adds the last lines of a container's output; none if Docker cannot deliver them. */
void ath_docker_log_tail(struct ath_docker *docker, const struct ath_docker_container *container,
                         struct ath_texts *out);
