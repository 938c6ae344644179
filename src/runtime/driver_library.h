/* The driver's libraries: NVIDIA's or the simulator's. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/fingerprint.h"

/* The argument for dlopen() that loads "libcuda.so.1" or "libnvidia-ml.so.1"; for the simulator
 * a path. AITHERION_SIM_FOLDER overrides the simulator's folder. Returns NULL if the simulator is
 * not installed. The caller frees the text. */
char *ath_driver_library_path(bool is_simulated, const char *soname);

/*
 * Opens the simulator's library now, so that ath_driver_library_open() can load it after the
 * process has lost access to the folder. Returns the descriptor, which must stay open until then;
 * -1 without the simulator.
 */
int ath_driver_library_keep(bool is_simulated, const char *soname);

/*
 * Opens the file of AITHERION_SIM_GPU (sim/gpu_time.h), which a session that is locked in may not
 * open, and sets the variable to "fd:N". Returns the descriptor, which must stay open until the
 * simulator has used it; -1 without the variable.
 */
int ath_driver_library_keep_gpu(bool is_simulated);

/* Loads a library of the driver, forever: the process must not fork after that. Returns 0, or
 * -ENOENT "library-missing" with err. */
int ath_driver_library_open(bool is_simulated, const char *soname, void **out_library,
                            struct ath_err *err);

/* Fingerprints what the driver's answers about code depend on, besides the code and the GPU: the
 * driver's file and version, this server's version, and the variables of this process that a driver
 * reads. function is any function of the driver. Returns false if the file is not known. */
bool ath_driver_library_fingerprint(const void *function, uint32_t version,
                                    struct ath_fingerprint_value *out);
