/*
 * The remains of a container: processes that still run although Docker's records say that the
 * container does not. A Docker daemon that is killed during a start records no task, but
 * containerd and its shim keep the task. The next daemon then refuses to start the container
 * ("task already exists"), and removes only its own record. Private to container.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "container/docker/container.h"

/* Returns true if a process runs on this machine in the control group of a container that does not
 * run as Docker's records say. */
bool ath_docker_has_remains(const struct ath_docker_container *container);

/*
 * Ends the processes of a container that Docker has removed, and its containerd shim; containerd
 * then removes the rest of the task. Does nothing if none of them runs on this machine. Returns 0,
 * or a negative errno with err.
 */
int ath_docker_end_remains(const char *container_id, struct ath_err *err);
