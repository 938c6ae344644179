/*
 * The number of GPUs of a kind that satisfy a request for throughput, memory or bandwidth. The
 * figures of several GPUs add up, which is the best case for a program.
 */
#pragma once
#include "base/err.h"
#include "place/gpu_models.h"

struct ath_need {
    enum ath_gpu_figure figure;
    int64_t amount; /* above 0, in the unit of the figure */
};

struct ath_needs {
    struct ath_need items[ATH_GPU_FIGURE_COUNT]; /* each figure at most once */
    size_t count;
};

/*
 * Reads "100TFLOPS-fp16,80GB,2TB/s". Throughput is in GFLOPS, TFLOPS or PFLOPS with a format;
 * memory in powers of 1024 as everywhere in aitherion, so that 80GB, 80G, 80Gi and 80GiB are the
 * same; bandwidth of the memory in powers of 1000, as data sheets have it. Returns 0, or -EINVAL
 * with err and a hint with an example.
 */
int ath_needs_read(const char *text, struct ath_needs *out, struct ath_err *err);

enum ath_equivalent_state {
    ATH_EQUIVALENT_FITS,    /* `count` GPUs satisfy the request */
    ATH_EQUIVALENT_UNKNOWN, /* `decides` is not known */
    ATH_EQUIVALENT_NEVER,   /* the GPU has none of `decides`: an A100 has no FP8 */
    ATH_EQUIVALENT_STATE_COUNT
};

struct ath_equivalent {
    enum ath_equivalent_state state;
    int64_t count;               /* ATH_UNKNOWN unless the state is FITS */
    enum ath_gpu_figure decides; /* the figure that needs most GPUs, or that is missing */
};

/* figures has ATH_GPU_FIGURE_COUNT items. */
struct ath_equivalent ath_equivalent_of(const struct ath_needs *needs, const int64_t *figures);

/* GPUs of a machine that are alike: of one model of the table, or of one name and memory size. */
struct ath_equivalent_kind {
    const struct ath_gpu_model *model; /* NULL if the table lacks it */
    size_t *gpus;                      /* their numbers */
    size_t count;
    struct ath_equivalent equivalent;
};

struct ath_equivalents {
    struct ath_equivalent_kind *kinds; /* by the first GPU */
    size_t count;
};

/*
 * Finds the kinds of GPUs of a machine that programs can use (ath_place_usable()), and how many of
 * each the request needs. The memory of a GPU is its model's in the table, else the driver's
 * figure: drivers keep up to 7 % for themselves (ECC of GDDR6), and a card of 80 GB must satisfy
 * 80GB. Release *out with ath_equivalents_free().
 */
void ath_equivalents_here(const struct ath_machine *machine, const struct ath_needs *needs,
                          struct ath_equivalents *out);
void ath_equivalents_free(struct ath_equivalents *equivalents);
