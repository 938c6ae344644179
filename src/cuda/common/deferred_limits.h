/* Copies to pinned memory that the client does not wait for: bytes of one, and of all under way.
 * Smaller ones are faster in the call's own answer. */
#pragma once

enum {
    ATH_CUDA_DEFERRED_LEAST = 64 * 1024,
    ATH_CUDA_DEFERRED_MOST = 64 * 1024 * 1024,
};
