/*
 * The health score of a GPU: 0 to 100, by a table of deductions. docs/health-score.md has the table
 * with its reasons.
 *
 * Pure computation on plain facts, for the command line tool and for the server. It allocates
 * nothing except texts, and threads may share all of it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/unknown.h"

/* A fact that this GPU does not have, or that means nothing now: no ECC, no NVLinks, the PCIe
 * generation of an idle GPU. It is not unknown. */
enum { ATH_GPU_NO_FACT = -2 };

/* Bits, for the table. */
enum ath_gpu_driver_state {
    ATH_GPU_DRIVER_RUNS = 0,
    ATH_GPU_DRIVER_MISSING = 1, /* NVIDIA's driver does not run the GPU */
    ATH_GPU_DRIVER_SILENT = 2,  /* it runs the GPU, and gives no answer about it */
};

/* Each is ATH_UNKNOWN, ATH_GPU_NO_FACT, or 0 or more. */
struct ath_gpu_facts {
    bool has_answers; /* the driver has answered at least one question about the GPU */
    int64_t driver;   /* enum ath_gpu_driver_state */
    int64_t recovery; /* nvmlDeviceGpuRecoveryAction_t: 0 none, 1 reset, 2 restart of the machine */
    /* Xids of the kernel log by kind (xid.h): their number, and the newest one. */
    int64_t xids_fatal, newest_fatal_xid;
    int64_t xids_memory, newest_memory_xid;
    int64_t xids_unlisted, newest_unlisted_xid;
    int64_t rows_remapped, rows_pending, rows_failed; /* since Ampere; the last two are 0 or 1 */
    int64_t pages_retired, pages_pending;             /* before Ampere; the last is 0 or 1 */
    int64_t ecc_uncorrected, ecc_corrected;           /* since the driver was loaded */
    int64_t ecc_uncorrected_before;                   /* in the GPU's life before that */
    int64_t throttle_reasons; /* bits of nvmlDeviceGetCurrentClocksEventReasons() */
    int64_t temperature_c, slowdown_c;
    int64_t pcie_width, pcie_width_max; /* lanes; the most that the GPU and its slot have */
    int64_t pcie_gen, pcie_gen_max;     /* only known while the GPU is at its highest P-state */
    int64_t nvlinks, nvlinks_max;       /* that work; that the GPU should have */
};

/* Sets all facts to unknown. */
void ath_gpu_facts_init(struct ath_gpu_facts *facts);

/* The rows of the table. */
enum ath_gpu_deduction {
    ATH_GPU_DEDUCT_DRIVER_MISSING,
    ATH_GPU_DEDUCT_DRIVER_SILENT,
    ATH_GPU_DEDUCT_RECOVERY,
    ATH_GPU_DEDUCT_XID_FATAL,
    ATH_GPU_DEDUCT_XID_MEMORY,
    ATH_GPU_DEDUCT_XID_UNLISTED,
    ATH_GPU_DEDUCT_ROWS_FAILED,
    ATH_GPU_DEDUCT_ROWS_PENDING,
    ATH_GPU_DEDUCT_ROWS_REMAPPED,
    ATH_GPU_DEDUCT_PAGES_FULL,
    ATH_GPU_DEDUCT_PAGES_PENDING,
    ATH_GPU_DEDUCT_PAGES_RETIRED,
    ATH_GPU_DEDUCT_ECC_UNCORRECTED,
    ATH_GPU_DEDUCT_ECC_UNCORRECTED_BEFORE,
    ATH_GPU_DEDUCT_ECC_CORRECTED,
    ATH_GPU_DEDUCT_HW_THERMAL,
    ATH_GPU_DEDUCT_POWER_BRAKE,
    ATH_GPU_DEDUCT_HW_SLOWDOWN,
    ATH_GPU_DEDUCT_SW_THERMAL,
    ATH_GPU_DEDUCT_HOT,
    ATH_GPU_DEDUCT_NVLINKS_LOST,
    ATH_GPU_DEDUCT_PCIE_NARROW,
    ATH_GPU_DEDUCT_PCIE_SLOW,
    ATH_GPU_DEDUCTION_COUNT
};

enum {
    ATH_GPU_SCORE_FULL = 100,
    ATH_GPU_SCORE_FINE = 90, /* below: `health` warns */
    ATH_GPU_SCORE_POOR = 50, /* below: `health` reports a fault, and `place` avoids the GPU */
};

struct ath_gpu_health {
    int score; /* 0 to 100; ATH_UNKNOWN if nothing is deducted and the driver told nothing */
    enum ath_gpu_deduction deductions[ATH_GPU_DEDUCTION_COUNT]; /* those with most points first */
    size_t deduction_count;
};

/* Computes the score: 100 less the points of each row whose facts hold, at least 0. An unknown fact
 * takes no points. */
void ath_gpu_health_judge(const struct ath_gpu_facts *facts, struct ath_gpu_health *out);

/* Returns the code word and the points of a row. */
const char *ath_gpu_deduction_code(enum ath_gpu_deduction deduction);
int ath_gpu_deduction_points(enum ath_gpu_deduction deduction);

/* Return what is wrong with the GPU (its name is in the text), and what to do. The caller frees
 * them. */
char *ath_gpu_deduction_message(enum ath_gpu_deduction deduction, const struct ath_gpu_facts *facts,
                                const char *gpu);
char *ath_gpu_deduction_hint(enum ath_gpu_deduction deduction, const struct ath_gpu_facts *facts,
                             const char *gpu);

/* Returns the name of the next group of facts that is unknown, "ecc" for example, after the group
 * *place, which begins at 0; NULL after the last one. */
const char *ath_gpu_next_unknown(const struct ath_gpu_facts *facts, size_t *place);
