/* The logs of the process engine: files beside a node's state (supervisor.h). Private to
 * container. */
#pragma once
#include "container/engine/kinds.h"

/* The find_logs() and read_log() of ath_engine_process. */
int ath_process_find_logs(struct ath_engine *engine, struct ath_node_logs *out,
                          struct ath_err *err);
int ath_process_read_log(struct ath_engine *engine, const struct ath_node_log *log,
                         const struct ath_log_wanted *wanted, ath_log_output *output, void *context,
                         struct ath_err *err);
