/*
 * Catches what the driver writes for the program: what kernels print goes to this process's
 * standard output, and the text of a failed assert() to its standard error, when a call waits for
 * the GPU. The server sends both to the client.
 */
#pragma once
#include <stddef.h>

enum ath_kernel_stream { ATH_KERNEL_OUTPUT, ATH_KERNEL_ERRORS };

/*
 * Redirects standard output and standard error to memory of this process, before the driver is
 * loaded. *out_log becomes a descriptor for what was standard error, as long as the process.
 * Returns 0 or a negative errno; on failure both stay as they are, and so does *out_log.
 */
int ath_kernel_output_catch(int *out_log);

/* Takes what was written to a stream since the last call. Returns the number of bytes; 0 if there
 * is nothing more, or without ath_kernel_output_catch(). One thread at a time; other threads may
 * write meanwhile. */
size_t ath_kernel_output_take(enum ath_kernel_stream stream, void *room, size_t size);
