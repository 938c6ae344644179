/*
 * NVML's client: what the functions stand on that libnvidia-ml.so.1 exports.
 *
 * One session with each server (a control session), one question at a time, whatever thread asks.
 * The sessions are opened by the first nvmlInit(), and again where the server ended one (it ends
 * sessions that are silent) or the program forked: device handles are the same in each session of
 * a server. What a server said of static facts is kept until nvmlShutdown(). A handle that NVML
 * gave out is the server's number for it and, in the highest byte, the server's place in
 * AITHERION_SERVER, in the clothes of a pointer.
 *
 * Threads: all of it may be called by any thread.
 */
#pragma once
#include "proto/nvml-functions.h"
#include "runtime/client/servers.h"
#include "runtime/nvml/nvml_types.h"

enum { ATH_NVML_SERVER_SHIFT = 56 };

/* A server's number as a program's handle; 0 is none. */
static inline void *ath_nvml_handle(size_t server, uint64_t number)
{
    return number ? (void *)(uintptr_t)(number | (uint64_t)server << ATH_NVML_SERVER_SHIFT) : NULL;
}

static inline size_t ath_nvml_server_of(const void *handle)
{
    return (size_t)((uint64_t)(uintptr_t)handle >> ATH_NVML_SERVER_SHIFT);
}

static inline uint64_t ath_nvml_number_of(const void *handle)
{
    return (uint64_t)(uintptr_t)handle & ((1ull << ATH_NVML_SERVER_SHIFT) - 1);
}

/* Asks one server, or answers from what it said before. arguments are the function's; each handle
 * must be of that server. */
nvmlReturn_t ath_nvml_ask_one(size_t server, enum ath_nvml_function function,
                              const union ath_nvml_argument *arguments);

/* How many servers there are, 0 before nvmlInit(), and how many devices each had then. */
size_t ath_nvml_servers(unsigned int out_devices[ATH_SERVERS_MAX]);

/* The same of all servers' devices as one list: asks those that the function concerns. */
nvmlReturn_t ath_nvml_ask(enum ath_nvml_function function,
                          const union ath_nvml_argument *arguments);

/* Event sets of several servers are worth nothing after nvmlShutdown(). */
void ath_nvml_forget_sets(void);

/* What a function says that does not travel; with AITHERION_CUDA_LOG set it says why, once. */
nvmlReturn_t ath_nvml_refuse(enum ath_nvml_function function);
