/*
 * Choosing GPUs of a machine by a policy: what `aitherion place` answers. Pure computation; the
 * search itself is in set.h.
 */
#pragma once
#include "base/err.h"
#include "numa/machine.h"
#include "place/set.h"

/*
 * best-effort  the best set, on any NUMA nodes; of equal ones that on the fewest
 * restricted   the best set on as few NUMA nodes as such a set needs if the whole machine is free;
 *              none if the free GPUs do not allow that. (The rule of kubelet's Topology Manager.)
 * single-numa  the best set on one NUMA node; none if no node has enough free GPUs
 * none         the first free GPUs, whatever connects them
 *
 * With several groups, each group has to keep the rule. A GPU with a poor health score is chosen
 * only if there is no choice without it, that with the better score first.
 */
enum ath_place_policy {
    ATH_PLACE_BEST_EFFORT,
    ATH_PLACE_RESTRICTED,
    ATH_PLACE_SINGLE_NUMA,
    ATH_PLACE_NONE,
    ATH_PLACE_POLICY_COUNT
};

/* Returns "best-effort", ... */
const char *ath_place_policy_word(enum ath_place_policy policy);

struct ath_place_request {
    size_t size, group_count;
    enum ath_place_policy policy;
    const bool *is_free; /* for each GPU of the machine */
    /* No GPU is farther from this port than the number of GPUs makes necessary; NULL: no port. */
    const struct ath_nic *near;
};

/* Owns its choices; ath_place_answer_free() frees them. */
struct ath_place_answer {
    struct ath_set_choice best, next;
    bool has_next;
    size_t free_count;      /* free GPUs */
    size_t candidate_count; /* those of them among which the policy and the port let choose */
    size_t max_nodes;       /* NUMA nodes that a group may use; 0: any number */
    struct ath_idset poor;  /* free GPUs whose health score is below ATH_GPU_SCORE_POOR */
};

void ath_place_answer_free(struct ath_place_answer *answer);

/*
 * Chooses GPUs. bandwidths is the machine's matrix for ath_set_best(). Returns 0, or a negative
 * errno with err: ATH_E_MISFIT if the machine cannot do what is asked.
 */
int ath_place_choose(const struct ath_machine *machine, const int64_t *bandwidths,
                     const struct ath_place_request *request, struct ath_place_answer *out,
                     struct ath_err *err);

/*
 * Says which GPUs can be placed: sets is_free for each GPU that a program can use. GPUs of one
 * vendor are placed: NVIDIA's, if there is one, else those of the first GPU. A GPU that NVIDIA's
 * driver does not run or reach, or whose memory is offline, is not free.
 */
void ath_place_usable(const struct ath_machine *machine, bool *is_free);
