/* The driver's libraries, the real ones or the simulator's. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* What to give dlopen() for "libcuda.so.1" or "libnvidia-ml.so.1": of the simulator a path. The
 * folder is AITHERION_SIM_FOLDER's where that is set. NULL where the simulator is not installed.
 * The caller frees it. */
char *ath_driver_path(bool is_simulated, const char *soname);

/* Loads it for good, in a process that will not fork any more. Returns 0 or -ENOENT
 * "library-missing" with err. */
int ath_driver_open(bool is_simulated, const char *soname, void **out_library, struct ath_err *err);
