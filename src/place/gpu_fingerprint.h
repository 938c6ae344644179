/* The fingerprint of a GPU: its figures, each with what says it, and its links. */
#pragma once
#include "place/gpu_models.h"
#include "place/gpu_pair.h"

struct ath_sourced {
    int64_t value; /* ATH_UNKNOWN */
    enum ath_figure_source source;
};

/* The links from a GPU to one end: to a GPU, to all switches, to its processor, or PCIe. */
struct ath_gpu_link {
    const struct ath_nvlink *nvlink; /* the only one, or the first to a switch; NULL: PCIe */
    size_t ends;                     /* number of switches, else 1 */
    int count;                       /* of parallel links, or of lanes; ATH_UNKNOWN */
    struct ath_sourced bandwidth_bytes_per_s; /* of all of them together, in one direction */
    struct ath_sourced latency_ns;            /* of a small message from GPU to GPU */
};

/* Points into the machine, and owns links. */
struct ath_gpu_fingerprint {
    size_t index; /* number of the GPU */
    const struct ath_machine *machine;
    const struct ath_gpu *gpu;
    const struct ath_gpu_model *model; /* NULL if the table of models lacks it */
    struct ath_sourced figures[ATH_GPU_FIGURE_COUNT];
    struct ath_sourced memory_free_bytes;
    struct ath_gpu_link *links;
    size_t link_count;
};

/* Release *out with ath_gpu_fingerprint_free(). The machine must outlive it. */
void ath_gpu_fingerprint_make(const struct ath_machine *machine, size_t index,
                              struct ath_gpu_fingerprint *out);
void ath_gpu_fingerprint_free(struct ath_gpu_fingerprint *fingerprint);
