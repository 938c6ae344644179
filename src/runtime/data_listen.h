/* The addresses for data alone: where further connections of sessions come. */
#pragma once
#include "runtime/listener.h"

/*
 * Listens at the addresses of --data-listen, or else of the interfaces in DATA_IFACE (with commas
 * between) with the port in ZMQ_PORT (5555). Fills in the addresses that clients get:
 * --data-address, or else where it listens. Returns 0, or a negative errno with err.
 */
int ath_data_listen(struct ath_listener *listener, const struct ath_runtime_options *options,
                    struct ath_err *err);
