/*
 * The table of the paths by which a program may reach its GPUs at a server, in the order of
 * preference: shared memory, UDP, TCP. Each path either may be used or has a reason why not. The
 * first one that may carries a session's large copies. Calls go by the same path, except beside
 * UDP: then by TCP.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/control.h"

/* The facts that decide, which become known while a session is opened. */
struct ath_path_facts {
    const char *wanted;      /* AITHERION_TRANSPORT; NULL: auto */
    bool is_unix;            /* the session's connection is a unix socket */
    bool has_data_addresses; /* the server's, which UDP goes to then */
    bool serves_udp;         /* the server does */
    uint16_t udp_port;       /* of the address of the calls; 0: only the data addresses have UDP */
    bool would_leak;         /* a plain connection must stay on this host, and this one is plain */
    int udp_status;          /* negative errno: connections by UDP could not be made */
};

/* Writes why a path is not used, and returns out; returns NULL if it may be. path: one of shm, udp
 * and tcp. */
enum { ATH_PATH_REASON_BYTES = 192 };
const char *ath_path_reason(enum ath_control_transport path, const struct ath_path_facts *facts,
                            char out[ATH_PATH_REASON_BYTES]);

/* Returns the path of large copies. */
enum ath_control_transport ath_path_choose(const struct ath_path_facts *facts);

/* Whether connections of large copies that begin with TCP may change to UDP (recovery.h). */
bool ath_path_may_change(const struct ath_path_facts *facts);

/* Whether the user asks for a path by its name. */
bool ath_path_is_wanted(enum ath_control_transport path, const struct ath_path_facts *facts);

/* The paths of the table, in its order. */
enum { ATH_PATHS = 3 };
extern const enum ath_control_transport ath_paths[ATH_PATHS];
