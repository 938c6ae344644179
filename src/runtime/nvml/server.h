/*
 * NVML's server: answers NVML's calls of a control session from the library of this machine (or the
 * simulator's), which is loaded in the session's process.
 *
 * A client sees the devices that the server serves, in its order, and of their memory what it
 * shares out. What comes from the wire is not trusted: handles are places in a table, whatever the
 * library writes into is made here with room enough, and nothing that changes a GPU is called.
 *
 * Threads: one, the session's.
 */
#pragma once
#include "proto/nvml-server.h"
#include "proto/nvml-wire.h"
#include "runtime/server/server.h"

struct ath_nvml_object {
    uint8_t kind; /* enum ath_nvml_handle; none: free */
    void *pointer;
};

struct ath_nvml_server {
    const struct ath_server *server;
    bool is_ready;
    nvmlReturn_t status; /* what every call says where the library is not to be had */
    void *library;
    void (*functions[ATH_NVML_FUNCTION_COUNT])(void); /* NULL: not looked for, or not there */
    struct ath_nvml_object *objects;                  /* a handle on the wire is a place + 1 */
    size_t object_count;                              /* the first are the devices */
};

/* Answers calls of a session. nvml is the same in all of the session. */
void ath_nvml_serve(struct ath_nvml_server *nvml, struct ath_nvml_calls calls,
                    struct ath_nvml_answers_builder answers);
void ath_nvml_server_free(struct ath_nvml_server *nvml);

/* Whether there is a set of events that was not freed. */
bool ath_nvml_has_events(const struct ath_nvml_server *nvml);

/* ---- for what is written by hand ---- */

/* The place of a served device; -1: another's, or a part of one. */
int ath_nvml_place_of(const struct ath_nvml_server *nvml, const void *device);

/* Calls the library. NVML_ERROR_FUNCTION_NOT_FOUND where it does not have that. */
nvmlReturn_t ath_nvml_native(struct ath_nvml_server *nvml, enum ath_nvml_function function,
                             const union ath_nvml_argument *arguments);
