/*
 * The needs of `aitherion run --local` beside a runtime: the machine's driver, and a runtime of the
 * user's own if none runs. That one serves programs of this user alone, by a unix socket, and ends
 * some seconds after the last program.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Finds the file of the driver's libcuda.so.1: $AITHERION_DRIVER, or with is_simulated the
 * simulator's, or what the dynamic linker finds. Returns 0, or -ENOENT "library-missing" with err.
 * The caller frees *out. */
int ath_run_local_driver(bool is_simulated, char **out, struct ath_err *err);

/* The socket of the user's own runtime. The caller frees it. */
char *ath_run_local_socket(void);

/*
 * Starts the user's own runtime unless it runs. It stays as long as this process, or the program
 * that it becomes, or a child of that, keeps a descriptor which this function leaves open. Two
 * callers at once get the same runtime. Returns 0, or a negative errno with err.
 */
int ath_run_local_start(struct ath_err *err);
