/* The Docker engine: its state, and the functions of its table that have files of their own.
 * Private to container. */
#pragma once
#include "container/docker/host.h"
#include "container/engine/docker_present.h"

struct ath_docker_engine {
    struct ath_docker_host host;
    struct ath_docker *docker;
    bool is_local; /* by a unix socket: the daemon's pids and paths may be of this machine */
};

/* Returns the connection of an engine that is open. */
struct ath_docker *ath_docker_of(const struct ath_engine *engine);

/* The functions of ath_engine_docker; engine/kinds.h describes them. */
int ath_docker_survey(struct ath_engine *engine, struct ath_node_statuses *out,
                      struct ath_err *err);
int ath_docker_start(struct ath_engine *engine, const struct ath_plan *plan,
                     const struct ath_start_options *options, struct ath_start_results *results,
                     struct ath_err *err);
int ath_docker_stop(struct ath_engine *engine, const int *ids, size_t id_count, int grace_s,
                    struct ath_stop_results *out, struct ath_err *err);
int ath_docker_clean_plan(struct ath_engine *engine, const struct ath_clean_options *options,
                          struct ath_clean_steps *out, struct ath_err *err);
int ath_docker_clean_step(struct ath_engine *engine, const struct ath_clean_step *step,
                          struct ath_err *err);
