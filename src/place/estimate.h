/*
 * How long a collective operation of GPUs of one machine, or of several ones, takes: the least time
 * of a ring, and what NCCL's own model says. Pure computation.
 *
 * A size is what NCCL calls so: the whole buffer, which all-gather ends with and reduce-scatter
 * begins with.
 */
#pragma once
#include <stdint.h>

#include "numa/machine.h"

enum ath_collective {
    ATH_ALL_REDUCE,
    ATH_ALL_GATHER,
    ATH_REDUCE_SCATTER,
    ATH_BROADCAST,
    ATH_COLLECTIVE_COUNT
};

enum ath_nccl_algorithm { ATH_NCCL_TREE, ATH_NCCL_RING, ATH_NCCL_ALGORITHM_COUNT };
enum ath_nccl_protocol { ATH_NCCL_LL, ATH_NCCL_LL128, ATH_NCCL_SIMPLE, ATH_NCCL_PROTOCOL_COUNT };

/* Why there is no estimate of NCCL's. */
enum ath_nccl_lack {
    ATH_NCCL_COMPLETE,
    ATH_NCCL_ONE_GPU,
    ATH_NCCL_NO_BANDWIDTH,  /* of a pair of the ring */
    ATH_NCCL_NO_LINKS,      /* NCCL's figure for the way between two GPUs of the ring */
    ATH_NCCL_NO_CAPABILITY, /* a GPU's compute capability, or not one that this model covers */
    ATH_NCCL_NOT_NVIDIA,
    ATH_NCCL_LACK_COUNT
};

/* The properties of a set of GPUs that its estimates depend on. */
struct ath_estimate_facts {
    size_t gpu_count;
    size_t node_count;        /* machines; a network is between them */
    int64_t ring_bytes_per_s; /* of the slowest pair of the ring, in one direction; ATH_UNKNOWN */
    size_t slowest;           /* that pair is from ring[slowest] to the next GPU */
    double nccl_gb_per_s;     /* of the ring as NCCL counts it, if lack is ATH_NCCL_COMPLETE */
    enum ath_nccl_lack lack;
    int lowest_capability, highest_capability;
    bool is_nvlink;  /* all pairs of the ring have NVLinks */
    bool is_power;   /* the processor is a POWER */
    bool may_sum;    /* switches may add up themselves (NVLS): faster than both figures */
    bool has_chords; /* links beside the ring could carry further rings */
};

struct ath_estimate {
    int64_t time_ns;               /* ATH_UNKNOWN: no estimate; then the others are so, too */
    int64_t algorithm_bytes_per_s; /* size / time; ATH_UNKNOWN if the time is 0 */
    int64_t bus_bytes_per_s;       /* what each link carries in that time, as nccl-tests counts */
};

struct ath_nccl_estimate {
    struct ath_estimate estimate;
    enum ath_nccl_algorithm algorithm; /* what NCCL takes, if there is an estimate */
    enum ath_nccl_protocol protocol;
};

/* Looks at a ring of GPUs: indexes into the machine, in the order of the ring. */
void ath_estimate_look(const struct ath_machine *machine, const size_t *ring, size_t count,
                       struct ath_estimate_facts *out);

/*
 * Joins the facts of GPUs of several machines, count of them, to those of one ring through all.
 * network_bytes_per_s: the slowest link between neighbours in that ring; ATH_UNKNOWN. `slowest` of
 * the result has no meaning.
 */
void ath_estimate_join(const struct ath_estimate_facts *machines, size_t count,
                       int64_t network_bytes_per_s, struct ath_estimate_facts *out);

/* The least time in which one ring can do it: latency is not counted. */
struct ath_estimate ath_estimate_ring(const struct ath_estimate_facts *facts,
                                      enum ath_collective collective, uint64_t size_bytes);

struct ath_nccl_estimate ath_estimate_nccl(const struct ath_estimate_facts *facts,
                                           enum ath_collective collective, uint64_t size_bytes);

/* Returns how many bytes each of the parties must receive or send at least for each byte of the
 * buffer: 2(n-1)/n in an all-reduce. */
double ath_collective_share(enum ath_collective collective, size_t parties);

/* The words by enum ath_collective, ended by NULL. */
extern const char *const ath_collectives[];

const char *ath_collective_word(enum ath_collective collective);        /* "all-reduce" */
const char *ath_nccl_algorithm_word(enum ath_nccl_algorithm algorithm); /* "ring" */
const char *ath_nccl_protocol_word(enum ath_nccl_protocol protocol);    /* "LL128" */
