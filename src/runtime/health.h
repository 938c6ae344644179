/* `aitherion-runtime health`. */
#pragma once
#include "remote/session/health.h"
#include "runtime/options.h"

/* Asks a server and prints its health. Returns the exit code, or a negative errno with err. */
int ath_health(const struct ath_runtime_options *options, struct ath_err *err);

/*
 * Prints the health as JSON ("aitherion.runtime-health/1") on standard output. err is NULL if there
 * is an answer; otherwise it is the reason, and health is NULL. Loads jansson (libjansson4) late: a
 * container's health check does not need it. Returns 0, or a negative errno with out_err.
 */
int ath_health_print_json(const struct ath_runtime_health *health, const struct ath_err *err,
                          struct ath_err *out_err);
