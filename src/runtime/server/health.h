/* `aitherion-runtime health`. */
#pragma once
#include "runtime/client/health.h"
#include "runtime/server/options.h"

/* Asks and prints. Returns the exit code, or a negative errno with err. */
int ath_health(const struct ath_runtime_options *options, struct ath_err *err);

/*
 * The answer, or why there is none, as JSON ("aitherion.runtime-health/1") on standard output. err
 * is NULL where there is an answer, else health is. jansson is loaded for it (libjansson4): a
 * container's health check has no need of it. Returns 0 or a negative errno with out_err.
 */
int ath_health_print_json(const struct ath_runtime_health *health, const struct ath_err *err,
                          struct ath_err *out_err);
