/* A server's report of its health, as plain data. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time_claim.h"
#include "base/unknown.h"
#include "remote/session/session.h"

struct ath_runtime_device {
    char *pci, *uuid; /* NULL if unknown */
    char *name;
    bool is_simulated;
    int64_t memory_total_bytes, memory_used_bytes, memory_limit_bytes; /* ATH_UNKNOWN if unknown */
    uint32_t sessions;
    bool is_reserved;  /* for a program that has not begun to use it */
    bool is_forbidden; /* the key of this session may not use it */
};

struct ath_runtime_problem {
    bool is_fault; /* otherwise a note */
    char *code;    /* "no-devices" */
    char *object;  /* NULL: none */
    char *message; /* English */
};

struct ath_runtime_health {
    char *software; /* "aitherion 0.1.0" */
    uint32_t protocol;
    uint64_t uptime_ms;
    char *node;               /* the id of the document's entry; NULL */
    char *hostname, *boot_id; /* NULL if unknown */
    char *address;            /* where it listens for TCP, in its own network; NULL if unknown */
    uint64_t net_namespace;   /* 0: unknown */
    bool is_simulated, wants_key;
    double vram_fraction;
    uint32_t sessions;            /* of programs */
    enum ath_gpu_sharing sharing; /* unknown: the server is older than turns */
    struct ath_time_claim claim; /* the most that a session with this key may claim; share_percent 0
                                  * and an unset priority: any */
    uint32_t driver_version;     /* of CUDA, 13000 for 13.0; 0: unknown */
    struct ath_runtime_device *devices;
    size_t device_count;
    struct ath_runtime_problem *problems;
    size_t problem_count;
};

/* Asks for the health. Returns 0 or a negative errno with err. The caller releases *out with
 * ath_runtime_health_free(). */
int ath_session_health(struct ath_session *session, struct ath_runtime_health *out,
                       struct ath_err *err);
void ath_runtime_health_free(struct ath_runtime_health *health);

/* Returns whether any problem is a fault. */
bool ath_runtime_health_has_fault(const struct ath_runtime_health *health);
