/*
 * What kernels print. The driver writes it to this process's standard output when something waits
 * for the GPU; it is the program's, so it is caught here, and sent to the client.
 */
#pragma once
#include <stddef.h>

/*
 * Has standard output end in memory of this process from now on: before the driver is loaded.
 * Returns 0, or a negative errno; then the output stays where it is.
 */
int ath_printed_catch(void);

/* Takes what was written since; returns how many bytes, 0: nothing (more), as without
 * ath_printed_catch(). One thread at a time; others may be writing. */
size_t ath_printed_take(void *room, size_t size);
