/* Two GPUs of a machine: how they reach each other, and what that way can carry. */
#pragma once
#include "numa/machine.h"

enum ath_figure_source {
    ATH_FIGURE_UNKNOWN,
    ATH_FIGURE_DRIVER,   /* the machine's drivers or the captured file say it */
    ATH_FIGURE_TABLE,    /* link_figures.c says it */
    ATH_FIGURE_MEASURED, /* `discover --measure` */
    ATH_FIGURE_SOURCE_COUNT
};

struct ath_gpu_pair {
    size_t a, b; /* indexes into the machine's GPUs, a < b in lists */
    bool knows_links;
    int links; /* NVLinks, xGMI links, also through switches; 0: none; ATH_UNKNOWN: some */
    enum ath_pci_class class;
    int64_t bandwidth_bytes_per_s; /* of the narrowest part, in one direction; ATH_UNKNOWN */
    int64_t latency_ns;            /* of a small message; ATH_UNKNOWN */
    int distance;                  /* by latency: 10 is a direct NVLink; ATH_UNKNOWN */
    enum ath_figure_source source; /* of the bandwidth; of the latency as well if measured */
};

void ath_gpu_pair_look(const struct ath_machine *machine, size_t a, size_t b,
                       struct ath_gpu_pair *out);

/* The pair's word in `nvidia-smi topo -m`: "NV3", "XGMI", "PIX", ... or NULL if it is not known:
 * two GPUs of NVIDIA may have NVLinks that the source does not tell. The caller frees it. */
char *ath_gpu_pair_word(const struct ath_machine *machine, const struct ath_gpu_pair *pair);

/* "driver", "table", "measured", "unknown". */
const char *ath_figure_source_word(enum ath_figure_source source);
