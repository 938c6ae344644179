/*
 * The figures that a server measures of its devices, its sessions and itself, as plain data. The
 * server fills it in for its metrics, and a client reads the same over a session.
 *
 * A value that is not known is ATH_UNKNOWN. Counts begin with the server, or with the session, and
 * never fall. Rates and states are of the last sample.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/unknown.h"
#include "proto/control-types.h"
#include "remote/session/session.h"

enum { ATH_REFUSAL_REASONS = ATH_CONTROL_REASON_ENCRYPTION_NOT_SERVED + 1 };

/* Upper bounds of the buckets of waits in microseconds; one more bucket has what is longer. */
enum { ATH_WAIT_BUCKETS = 8 };

#define ATH_WAIT_BOUNDS_US                                                                         \
    {                                                                                              \
        10, 50, 100, 500, 1000, 10000, 100000, 1000000                                             \
    }

/* A device. The first three are the server's, the others NVML's; the sources stand at the sampler's
 * table. */
struct ath_device_figures {
    int64_t memory_used_bytes;  /* by sessions of this server */
    int64_t memory_limit_bytes; /* for all sessions of this server together */
    int64_t sessions;
    int64_t memory_total_bytes, memory_free_bytes; /* of the GPU, for all programs */
    int64_t busy_percent, memory_busy_percent;     /* of the last sample's time */
    int64_t temperature_c;
    int64_t power_mw, power_limit_mw;
    int64_t sm_clock_mhz, memory_clock_mhz;
    int64_t throttle_reasons; /* bits of nvmlClocksEventReasons */
    int64_t ecc_corrected, ecc_uncorrected;
    int64_t remapped_rows; /* of both causes */
    int64_t xids;          /* events since the server started that no program caused */
    int64_t last_xid;      /* of all */
    int64_t pcie_received_bytes_s, pcie_sent_bytes_s;
    int64_t nvlink_received_bytes, nvlink_sent_bytes; /* counts */
    int64_t health_score;                             /* 0 to 100 */
};

struct ath_session_figures {
    uint64_t id; /* as in struct ath_runtime_session */
    int64_t calls;
    int64_t received_bytes, sent_bytes;  /* by the server, all its connections */
    int64_t waits[ATH_WAIT_BUCKETS + 1]; /* calls that waited for the GPU, by duration */
    int64_t waited_us;                   /* all of them together */
    int64_t gpu_time_us;                 /* that the GPUs worked for it, as NVML samples it */
    int64_t busy_percent;                /* of its busiest GPU, of the last sample's time */
    int64_t held_us;                     /* that it had the GPUs (turns/turns.h); not gpu_time_us */
    int64_t turn_waited_us;              /* that it waited for its turn */
    int64_t lent_us; /* part of held_us: beyond its share, because others did not want the GPUs */
    int64_t turns;
    char *transport; /* "tcp", "shm"; NULL: unknown */
};

/* Datagrams at one address at which the server takes UDP; remote/udp/flow.h says what the counts
 * mean. */
struct ath_datagram_figures {
    char *address; /* "10.0.0.11:5555" */
    int64_t sent, received, sent_again, lost, duplicates;
    int64_t damaged; /* wrong sums */
    int64_t foreign; /* of no channel, or from another address than the channel's */
};

struct ath_figures {
    int64_t sampled_ms_ago;               /* age of the devices' sample; unknown: there is none */
    int64_t accepted, broken;             /* connections */
    int64_t refused[ATH_REFUSAL_REASONS]; /* by enum ath_control_reason */
    struct ath_device_figures *devices;   /* in the order of the server's list of devices */
    size_t device_count;
    struct ath_session_figures *sessions; /* by id; sessions of programs only */
    size_t session_count;
    struct ath_datagram_figures *datagrams; /* empty: the server takes no UDP, or is older */
    size_t datagram_count;
};

/* Asks a server. Returns 0, or a negative errno with err; -ENOTSUP from a server that is too old.
 * The caller releases *out with ath_figures_free(). */
int ath_session_figures(struct ath_session *session, struct ath_figures *out, struct ath_err *err);
void ath_figures_free(struct ath_figures *figures);

/* Figures of which nothing is known. */
void ath_device_figures_init(struct ath_device_figures *out);
void ath_session_figures_init(struct ath_session_figures *out);

/* Writes figures into a message, and reads them from there. The caller releases *out. */
void ath_figures_put(const struct ath_figures *figures, struct ath_gpu_figures_builder to);
void ath_figures_take(struct ath_gpu_figures from, struct ath_figures *out);
