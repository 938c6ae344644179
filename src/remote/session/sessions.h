/* The sessions of a server as plain data; ending a session, and limiting its memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time_claim.h"
#include "base/unknown.h"
#include "remote/session/session.h"

struct ath_runtime_use {
    uint32_t device;            /* index in the server's list of devices */
    int64_t memory_used_bytes;  /* ATH_UNKNOWN if unknown */
    int64_t memory_limit_bytes; /* of this session alone; ATH_UNKNOWN: no limit */
    enum ath_gpu_limit_source limit_source;
    bool is_limit_enforced;   /* false: the server counts and warns, and refuses nothing */
    int64_t processors;       /* multiprocessors that it has for itself; ATH_UNKNOWN: no part */
    int64_t processors_total; /* of the device; ATH_UNKNOWN: no part */
};

/* A connection for large copies, as the server's process of the session noted it at most two
 * seconds ago. Numbers are ATH_UNKNOWN if unknown. */
struct ath_runtime_channel {
    char *local, *peer;                 /* addresses of server and client; NULL if unknown */
    char *transport;                    /* "tcp", "udp"; NULL if unknown */
    int64_t sent_bytes, received_bytes; /* of large frames, by the server */
    int64_t sent_again; /* TCP segments or datagrams that the server sent more than once */
    /* Datagrams by UDP, as the server counts them. */
#define X(name) int64_t datagrams_##name;
    ATH_UDP_CHANNEL_COUNTS(X)
#undef X
    bool is_lost; /* it broke, and has not come again */
};

/* A path between a program and its GPUs, used or not (gpu-control.capnp). */
struct ath_runtime_path {
    char *transport;                 /* "local", "shm", "udp", "tcp"; NULL if unknown */
    enum ath_gpu_path_reason reason; /* why it is not used */
    uint32_t connections;
    uint64_t least_bytes; /* of the frames that go by it */
    int64_t latency_ns;   /* a round trip; ATH_UNKNOWN */
    int64_t bytes_per_s;  /* of the latest large frames that the server has sent; ATH_UNKNOWN */
};

/* Why a session waits for a GPU. */
enum ath_wait_reason {
    ATH_WAIT_NONE,     /* it does not wait */
    ATH_WAIT_TURN,     /* another session has its turn */
    ATH_WAIT_PRIORITY, /* the same, and has a higher priority */
    ATH_WAIT_CAP,      /* it has had all that its cap allows */
    ATH_WAIT_NEXT,     /* for no other session: it gets its turn next */
    ATH_WAIT_REASONS
};

/* A program's part of the GPUs' time (gpu-control.capnp). */
struct ath_runtime_turn {
    enum ath_gpu_turn_state state; /* unknown: the server is older than turns */
    uint64_t waits_for;            /* the session that has what it waits for; 0: none */
    enum ath_wait_reason reason;
    int64_t state_ms;            /* for how long it has been in its state; ATH_UNKNOWN */
    double share_percent;        /* of its GPUs' time, if all that use them want it; ATH_UNKNOWN */
    struct ath_time_claim claim; /* that holds now */
    int key_percent;             /* for all sessions of its key together; 0: none */
    bool is_key_capped;          /* they get no more than that */
    enum ath_gpu_limit_source share_source, priority_source;
};

struct ath_runtime_session {
    uint64_t id;       /* a server never uses a number twice */
    char *program;     /* as it calls itself; NULL if unknown */
    char *identity;    /* the name of its key; NULL: the server has no keys */
    char *peer;        /* "10.0.0.7:41234", "unix:1234:1000" with the ids of process and user */
    char *host;        /* of the client's process, as it says; NULL if unknown */
    uint32_t process;  /* on that host, as it says; 0: unknown */
    bool is_encrypted; /* by TLS */
    uint64_t age_ms;
    struct ath_runtime_turn turn;
    struct ath_runtime_use *uses;
    size_t use_count;
    struct ath_runtime_channel *channels; /* beside the connection of the calls */
    size_t channel_count;
    struct ath_runtime_path *paths; /* none if the server is older than these */
    size_t path_count;
};

struct ath_runtime_sessions {
    struct ath_runtime_session *items; /* by id; sessions of programs only */
    size_t count;
};

/* Returns 0 or a negative errno with err. The caller releases *out with
 * ath_runtime_sessions_free(). */
int ath_session_list(struct ath_session *session, struct ath_runtime_sessions *out,
                     struct ath_err *err);
void ath_runtime_sessions_free(struct ath_runtime_sessions *sessions);

/* Returns why a session waits. The priority of a session that this client may not see is unknown,
 * and counts as none. */
enum ath_wait_reason ath_wait_reason(const struct ath_runtime_sessions *sessions,
                                     const struct ath_runtime_turn *turn);

/* Ends a session: its program's calls fail from then on, and its memory is free. Returns 0 or a
 * negative errno with err; -ENOENT ("not-found") if there is no such session. */
int ath_session_end(struct ath_session *session, uint64_t id, struct ath_err *err);

/* Sets the part of each GPU's memory that all sessions of the server together may have, above 0 and
 * at most 1. Memory that they have stays. Returns 0 or a negative errno with err; -ENOTSUP if the
 * server does not take it from this user. */
int ath_session_limit_server(struct ath_session *session, double fraction, struct ath_err *err);

/* Reserves devices, by bits of their numbers at the server, for a program that is about to begin:
 * for some seconds other such programs choose other devices. Returns 0 or a negative errno with
 * err; -ENOENT ("not-found") if a session uses one of them or another client has reserved it,
 * -ENOTSUP if the server is older than reservations. */
int ath_session_reserve(struct ath_session *session, uint64_t devices, struct ath_err *err);

/* Limits a program's session to limit_bytes of a device (ATH_UNKNOWN: no limit). Memory that it
 * has stays. Errors as for ath_session_end(). */
int ath_session_limit(struct ath_session *session, uint64_t id, uint32_t device,
                      int64_t limit_bytes, struct ath_err *err);

/* Returns a claim of the wire; numbers that make no sense are none. */
struct ath_time_claim ath_claim_take(struct ath_gpu_claim from);

/* A change of a claim: members that are not given leave it as it is. */
struct ath_claim_change {
    int share_percent;               /* 0: no share; ATH_UNKNOWN: not given */
    int cap;                         /* 0 or 1; ATH_UNKNOWN: not given */
    enum ath_time_priority priority; /* unset: not given */
};

static inline bool ath_claim_change_is_empty(const struct ath_claim_change *change)
{
    return change->share_percent == ATH_UNKNOWN && change->cap == ATH_UNKNOWN && !change->priority;
}

/* Changes the claim of a program's session on the GPUs' time. The row of its identity may allow
 * less. Errors as for ath_session_end(); -ENOTSUP if the server is older than turns, or if this
 * identity may not change it. */
int ath_session_change_claim(struct ath_session *session, uint64_t id,
                             const struct ath_claim_change *change, struct ath_err *err);
