/* `aitherion-runtime serve`. */
#pragma once
#include "runtime/options.h"

/* Serves until SIGTERM or SIGINT. Returns the exit code, or a negative errno with err if it
 * could not start. */
int ath_serve(const struct ath_runtime_options *options, struct ath_err *err);
