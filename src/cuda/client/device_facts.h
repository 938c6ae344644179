/* Fetches a device's facts into the answer cache in one round trip, unless they are there. Any
 * thread. */
#pragma once

enum { ATH_CUDA_DEVICE_FACTS_MAX = 64 /* devices whose facts are fetched together */ };

/* Fetches the facts of a device, by the server's number. cuInit() has succeeded. On failure the
 * facts are fetched one at a time later. */
void ath_cuda_device_facts_fetch(int device);

/* _begin() sends the questions, and the caller waits for the answers; cuInit() may still be under
 * way. _undo() says that cuInit() failed, so nothing was answered. */
struct ath_cuda_prefetch;
void ath_cuda_device_facts_begin(int device, struct ath_cuda_prefetch *ahead);
void ath_cuda_device_facts_undo(int device);
