/*
 * NVML's client: the base of the functions that libnvidia-ml.so.1 exports.
 *
 * There is one control session with each server, and one question at a time over all threads. The
 * first nvmlInit() opens the sessions. A session is opened again if the server ended it (it ends
 * silent sessions) or the program forked; device handles are the same in each session of a server.
 * Answers about static facts are kept until nvmlShutdown(). An NVML handle is a number in the form
 * of a pointer: the server's number for the object, and in the highest byte the index of the server
 * in AITHERION_SERVER.
 *
 * Threads: all functions may be called by any thread.
 */
#pragma once
#include "nvml/api/nvml_types.h"
#include "proto/nvml-functions.h"
#include "remote/session/servers.h"

enum { ATH_NVML_SERVER_SHIFT = 56 };

/* Makes a program's handle from a server's number; number 0 gives NULL. */
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

/* Asks one server, or takes the answer that was kept. arguments: those of the function; each handle
 * must belong to this server. */
nvmlReturn_t ath_nvml_ask_one(size_t server, enum ath_nvml_function function,
                              const union ath_nvml_argument *arguments);

/* The number of servers (0 before nvmlInit()), and each one's number of devices at that time. */
size_t ath_nvml_servers(unsigned int out_devices[ATH_SERVERS_MAX]);

/* Asks the servers that the function concerns; the devices of all servers are one list. */
nvmlReturn_t ath_nvml_ask(enum ath_nvml_function function,
                          const union ath_nvml_argument *arguments);

/* Forgets the event sets that span several servers; nvmlShutdown() invalidates them. */
void ath_nvml_forget_sets(void);

/* Returns the error of a function that is not sent to a server. If ath_client_logs_calls() it
 * prints the reason once. */
nvmlReturn_t ath_nvml_refuse(enum ath_nvml_function function);
