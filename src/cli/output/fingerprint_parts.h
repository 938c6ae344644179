/* Peers, links and warnings of a GPU, which text and JSON of a fingerprint share. Private to
 * fingerprint*.c. */
#pragma once
#include "cli/output/fingerprint.h"

/* A way to another GPU. */
struct ath_shown_peer {
    struct ath_gpu_pair pair;
    size_t index;
    struct ath_pci pci;
    char *word; /* distance, in the words of `nvidia-smi topo -m` */
    enum ath_figure_source latency_source;
};

/* Returns whether the machine is small enough for a list of ways. */
bool ath_fingerprint_shows_peers(const struct ath_machine *machine);

/* Looks up the way from one GPU to another. The caller frees the word. */
struct ath_shown_peer ath_fingerprint_peer(const struct ath_machine *machine, size_t gpu,
                                           size_t peer);

/* Returns the number of the GPU at the other end of a link, or ATH_UNKNOWN. */
int64_t ath_fingerprint_peer_index(const struct ath_machine *machine,
                                   const struct ath_nvlink *nvlink);

/* Calls visit for each warning about the GPU. */
void ath_fingerprint_visit_warnings(const struct ath_gpu_fingerprint *fingerprint,
                                    void (*visit)(void *data, const struct ath_warning *warning),
                                    void *data);

/* Prints the report as text (of struct ath_view). */
void ath_fingerprint_to_text(const struct ath_style *style, FILE *out, const void *data);
