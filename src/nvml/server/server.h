/*
 * NVML's server: answers the NVML calls of a control session with the library of this machine (or
 * the simulator's), which it loads into the session's process.
 *
 * A client sees only the devices that the server serves, in the server's order, and as their memory
 * what its program may have. Input from the wire is not trusted: a handle is an index in a table,
 * the library writes only into memory made here with enough room, and no function that changes a
 * GPU is called.
 *
 * Threads: one, the session's.
 */
#pragma once
#include "base/memory_limit.h"
#include "proto/nvml-server.h"
#include "proto/nvml-wire.h"
#include "remote/session/device_list.h"

struct ath_nvml_object {
    uint8_t kind; /* enum ath_nvml_handle; none: the entry is free */
    void *pointer;
};

/* Functions and data that the server needs from the program that contains it. */
struct ath_nvml_host {
    const struct ath_devices *devices;
    /* Loads the driver's library of this name for the life of the process. On failure logs the
     * reason and returns a negative errno. */
    int (*open_library)(const void *data, const char *soname, void **out_library);
    /* The bytes of a device that the client's program may have, and how many of them are left.
     * asked: the limit that the program has asked for. Returns false if it may have all. */
    bool (*memory_room)(const void *data, size_t device, const struct ath_memory_limit *asked,
                        int64_t *out_limit_bytes, int64_t *out_left_bytes);
    const void *data; /* for both functions */
};

struct ath_nvml_server {
    const struct ath_nvml_host *host;
    bool is_ready;
    nvmlReturn_t status; /* the result of every call if the library cannot be loaded */
    void *library;
    void (*functions[ATH_NVML_FUNCTION_COUNT])(void); /* NULL: not looked up, or missing */
    struct ath_nvml_object *objects;                  /* a handle on the wire is an index + 1 */
    size_t object_count;                              /* devices come first */
    struct ath_memory_limit asked;                    /* by the program, with its last question */
};

/* Answers calls of a session. nvml is the same for the whole session. */
void ath_nvml_serve(struct ath_nvml_server *nvml, struct ath_nvml_calls calls,
                    struct ath_nvml_answers_builder answers);
void ath_nvml_server_free(struct ath_nvml_server *nvml);

/* Returns whether the session has an event set that was not freed. */
bool ath_nvml_has_events(const struct ath_nvml_server *nvml);

/* ---- for what is written by hand ---- */

/* Returns the index of a served device; -1 for any other device or a part of one. */
int ath_nvml_place_of(const struct ath_nvml_server *nvml, const void *device);

/* Calls a function of the library. Returns NVML_ERROR_FUNCTION_NOT_FOUND if the library lacks
 * it. */
nvmlReturn_t ath_nvml_native(struct ath_nvml_server *nvml, enum ath_nvml_function function,
                             const union ath_nvml_argument *arguments);
