/* The table of deductions, and the score. */
#include "config.h"

#include "gpu/health.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "gpu/xid.h"

/* Bits of nvmlClocksEventReasons. The bits of an idle GPU, of clocks set by an application, and of
 * a power limit are no fault. */
enum {
    HW_SLOWDOWN = 0x8,
    SW_THERMAL = 0x20,
    HW_THERMAL = 0x40,
    POWER_BRAKE = 0x80,
};

enum {
    PAGES_MOST = 60,      /* of 64 pages: NVIDIA replaces such a GPU (Dynamic Page Retirement) */
    ECC_CORRECTED = 1000, /* single errors are normal, so many since the driver's start are not */
};

/* A row and its condition. Members that are 0 ask nothing, and the offset of the first member of
 * the facts stands for no other fact. */
struct row {
    const char *code;
    int points;
    size_t fact; /* offset of the fact; what the text calls {1} */
    int64_t at_least, at_most;
    int64_t bits, without_bits;
    size_t below, reaches;              /* offsets of another fact, which the text calls {2} */
    size_t also;                        /* offset of a fact for the text only: {2} */
    const char *(*word)(int64_t value); /* {3}: the value in words; may be NULL */
    const char *message, *hint;
};

#define AT(member) offsetof(struct ath_gpu_facts, member)

#define RESET                                                                                      \
    N_("end the programs on the GPU, then: nvidia-smi --gpu-reset -i {0}; if that fails, restart " \
       "the machine")

static const char *recovery_word(int64_t action)
{
    static const char *const words[] = {
        [1] = N_("reset the GPU"),
        [2] = N_("restart the machine"),
        [3] = N_("end the programs that use memory of other GPUs"),
        [4] = N_("let the programs end, then reset the GPU"),
    };
    return action > 0 && action < (int64_t)ATH_COUNT(words) ? _(words[action]) : "?";
}

static const struct row rows[ATH_GPU_DEDUCTION_COUNT] = {
    [ATH_GPU_DEDUCT_DRIVER_MISSING] = { .code = "driver-missing",
                                        .points = 100,
                                        .fact = AT(driver),
                                        .bits = ATH_GPU_DRIVER_MISSING,
                                        .message = N_("NVIDIA's driver does not run GPU '{0}'"),
                                        .hint = N_("lspci -k -s {0}; modprobe nvidia; dmesg | grep "
                                                   "-i -e nvrm -e xid") },
    [ATH_GPU_DEDUCT_DRIVER_SILENT] = { .code = "driver-silent",
                                       .points = 100,
                                       .fact = AT(driver),
                                       .bits = ATH_GPU_DRIVER_SILENT,
                                       .message =
                                           N_("NVIDIA's driver gives no answer about GPU '{0}'"),
                                       .hint = N_("nvidia-smi -q -i {0}; dmesg | grep -i -e nvrm "
                                                  "-e xid; restart the machine if "
                                                  "the GPU stays away") },
    [ATH_GPU_DEDUCT_RECOVERY] = { .code = "recovery-needed",
                                  .points = 60,
                                  .fact = AT(recovery),
                                  .at_least = 1,
                                  .word = recovery_word,
                                  .message = N_(
                                      "NVIDIA's driver says that GPU '{0}' needs a recovery: {3}"),
                                  .hint = RESET },
    [ATH_GPU_DEDUCT_XID_FATAL] = { .code = "xid-fatal",
                                   .points = 60,
                                   .fact = AT(xids_fatal),
                                   .at_least = 1,
                                   .also = AT(newest_fatal_xid),
                                   .word = ath_xid_meaning,
                                   .message = N_("the kernel log has errors that stopped GPU "
                                                 "'{0}': {1}, the newest is Xid {2} "
                                                 "({3})"),
                                   .hint = N_("dmesg | grep 'NVRM: Xid'; end the programs on the "
                                              "GPU, then: nvidia-smi "
                                              "--gpu-reset -i {0}; if that fails, restart the "
                                              "machine; if the error returns, "
                                              "have the GPU replaced") },
    [ATH_GPU_DEDUCT_XID_MEMORY] = { .code = "xid-memory",
                                    .points = 20,
                                    .fact = AT(xids_memory),
                                    .at_least = 1,
                                    .also = AT(newest_memory_xid),
                                    .word = ath_xid_meaning,
                                    .message = N_(
                                        "the kernel log has errors in the memory of GPU '{0}', "
                                        "which the GPU "
                                        "contained or repaired: {1}, the newest is Xid {2} ({3})"),
                                    .hint = N_("nothing at once; reset the GPU when no program "
                                               "runs: nvidia-smi --gpu-reset "
                                               "-i {0}") },
    [ATH_GPU_DEDUCT_XID_UNLISTED] = { .code = "xid-unlisted",
                                      .points = 5,
                                      .fact = AT(xids_unlisted),
                                      .at_least = 1,
                                      .also = AT(newest_unlisted_xid),
                                      .message = N_("the kernel log has errors of GPU '{0}' whose "
                                                    "meaning aitherion does not "
                                                    "know: {1}, the newest is Xid {2}"),
                                      .hint = N_("look up Xid {2}: "
                                                 "https://docs.nvidia.com/deploy/xid-errors/") },
    [ATH_GPU_DEDUCT_ROWS_FAILED] = { .code = "rows-failed",
                                     .points = 60,
                                     .fact = AT(rows_failed),
                                     .at_least = 1,
                                     .message = N_("the memory of GPU '{0}' had a row that could "
                                                   "not be replaced"),
                                     .hint = N_("have the GPU replaced; nvidia-smi -q -d "
                                                "ROW_REMAPPER -i {0} shows the rows") },
    [ATH_GPU_DEDUCT_ROWS_PENDING] = { .code = "rows-pending",
                                      .points = 20,
                                      .fact = AT(rows_pending),
                                      .at_least = 1,
                                      .message = N_("a row of the memory of GPU '{0}' is replaced "
                                                    "only with the next reset"),
                                      .hint = RESET },
    [ATH_GPU_DEDUCT_ROWS_REMAPPED] = { .code = "rows-remapped",
                                       .points = 5,
                                       .fact = AT(rows_remapped),
                                       .at_least = 1,
                                       .message = N_("rows of the memory of GPU '{0}' were "
                                                     "replaced after uncorrectable errors: "
                                                     "{1}"),
                                       .hint = N_(
                                           "have the GPU replaced if this number grows; nvidia-smi "
                                           "shows it: nvidia-smi -q -d ROW_REMAPPER -i {0}") },
    [ATH_GPU_DEDUCT_PAGES_FULL] = { .code = "pages-full",
                                    .points = 60,
                                    .fact = AT(pages_retired),
                                    .at_least = PAGES_MOST,
                                    .message = N_("GPU '{0}' has retired {1} pages of its memory; "
                                                  "it can retire 64"),
                                    .hint = N_("have the GPU replaced; nvidia-smi -q -d "
                                               "PAGE_RETIREMENT -i {0} shows the "
                                               "pages") },
    [ATH_GPU_DEDUCT_PAGES_PENDING] = { .code = "pages-pending",
                                       .points = 20,
                                       .fact = AT(pages_pending),
                                       .at_least = 1,
                                       .message = N_("a page of the memory of GPU '{0}' is retired "
                                                     "only with the next reset"),
                                       .hint = RESET },
    [ATH_GPU_DEDUCT_PAGES_RETIRED] = { .code = "pages-retired",
                                       .points = 5,
                                       .fact = AT(pages_retired),
                                       .at_least = 1,
                                       .at_most = PAGES_MOST - 1,
                                       .message = N_("pages of the memory of GPU '{0}' are retired "
                                                     "after errors: {1}"),
                                       .hint = N_(
                                           "have the GPU replaced if this number grows; nvidia-smi "
                                           "shows it: nvidia-smi -q -d PAGE_RETIREMENT -i {0}") },
    [ATH_GPU_DEDUCT_ECC_UNCORRECTED] = { .code = "ecc-uncorrected",
                                         .points = 40,
                                         .fact = AT(ecc_uncorrected),
                                         .at_least = 1,
                                         .message = N_("uncorrectable errors in the memory of GPU "
                                                       "'{0}' since its driver was "
                                                       "loaded: {1}"),
                                         .hint = RESET },
    [ATH_GPU_DEDUCT_ECC_UNCORRECTED_BEFORE] = { .code = "ecc-uncorrected-before",
                                                .points = 5,
                                                .fact = AT(ecc_uncorrected_before),
                                                .at_least = 1,
                                                .message = N_("uncorrectable errors in the memory "
                                                              "of GPU '{0}' before its driver was "
                                                              "loaded: {1}"),
                                                .hint = N_("have the GPU replaced if this number "
                                                           "grows; nvidia-smi shows it: nvidia-smi "
                                                           "-q -d ECC -i {0}") },
    [ATH_GPU_DEDUCT_ECC_CORRECTED] = { .code = "ecc-corrected",
                                       .points = 10,
                                       .fact = AT(ecc_corrected),
                                       .at_least = ECC_CORRECTED,
                                       .message = N_("many corrected errors in the memory of GPU "
                                                     "'{0}' since its driver was "
                                                     "loaded: {1}"),
                                       .hint = N_("watch the number: nvidia-smi -q -d ECC -i {0}; "
                                                  "reset the GPU when no program "
                                                  "runs: nvidia-smi --gpu-reset -i {0}") },
    [ATH_GPU_DEDUCT_HW_THERMAL] = { .code = "throttled-heat",
                                    .points = 30,
                                    .fact = AT(throttle_reasons),
                                    .bits = HW_THERMAL,
                                    .message = N_("GPU '{0}' is too hot, and its hardware at least "
                                                  "halves its clocks"),
                                    .hint = N_("check fans, filters, and the air's temperature: "
                                               "nvidia-smi -q -d "
                                               "TEMPERATURE,PERFORMANCE -i {0}") },
    [ATH_GPU_DEDUCT_POWER_BRAKE] = { .code = "throttled-power",
                                     .points = 20,
                                     .fact = AT(throttle_reasons),
                                     .bits = POWER_BRAKE,
                                     .message = N_("the power supply makes GPU '{0}' at least "
                                                   "halve its clocks"),
                                     .hint = N_("check the power supplies and the GPU's power "
                                                "cables: ipmitool sel list; "
                                                "nvidia-smi -q -d PERFORMANCE -i {0}") },
    [ATH_GPU_DEDUCT_HW_SLOWDOWN] = { .code = "throttled-hardware",
                                     .points = 20,
                                     .fact = AT(throttle_reasons),
                                     .bits = HW_SLOWDOWN,
                                     .without_bits = HW_THERMAL | POWER_BRAKE,
                                     .message = N_("the hardware of GPU '{0}' at least halves its "
                                                   "clocks, without saying why"),
                                     .hint = N_("check cooling and power: nvidia-smi -q -d "
                                                "TEMPERATURE,POWER,PERFORMANCE "
                                                "-i {0}") },
    [ATH_GPU_DEDUCT_SW_THERMAL] = { .code = "throttled-driver",
                                    .points = 15,
                                    .fact = AT(throttle_reasons),
                                    .bits = SW_THERMAL,
                                    .message = N_("GPU '{0}' or its memory is hot, and NVIDIA's "
                                                  "driver lowers its clocks"),
                                    .hint = N_("check fans, filters, and the air's temperature: "
                                               "nvidia-smi -q -d "
                                               "TEMPERATURE,PERFORMANCE -i {0}") },
    [ATH_GPU_DEDUCT_HOT] = { .code = "hot",
                             .points = 15,
                             .fact = AT(temperature_c),
                             .reaches = AT(slowdown_c),
                             .message =
                                 N_("GPU '{0}' has {1} degrees Celsius; from {2} on it slows down"),
                             .hint = N_(
                                 "check fans, filters, and the air's temperature: nvidia-smi -q -d "
                                 "TEMPERATURE -i {0}") },
    [ATH_GPU_DEDUCT_NVLINKS_LOST] = { .code = "nvlinks-lost",
                                      .points = 30,
                                      .fact = AT(nvlinks),
                                      .below = AT(nvlinks_max),
                                      .message = N_("GPU '{0}' should have {2} NVLinks, and {1} of "
                                                    "them work"),
                                      .hint = N_("nvidia-smi nvlink --status -i {0}; dmesg | grep "
                                                 "-i -e nvrm -e xid") },
    [ATH_GPU_DEDUCT_PCIE_NARROW] = { .code = "pcie-narrow",
                                     .points = 20,
                                     .fact = AT(pcie_width),
                                     .below = AT(pcie_width_max),
                                     .message = N_("the PCIe link of GPU '{0}' uses {1} lanes; the "
                                                   "GPU and its slot have {2}"),
                                     .hint = N_("lspci -vv -s {0} | grep -e LnkCap: -e LnkSta:; "
                                                "take the GPU and its riser out "
                                                "and put them in again") },
    [ATH_GPU_DEDUCT_PCIE_SLOW] = { .code = "pcie-slow",
                                   .points = 10,
                                   .fact = AT(pcie_gen),
                                   .below = AT(pcie_gen_max),
                                   .message = N_("the PCIe link of GPU '{0}' runs at generation "
                                                 "{1} of {2}, although the GPU "
                                                 "is at work"),
                                   .hint = N_("lspci -vv -s {0} | grep -e LnkCap: -e LnkSta:; "
                                              "check the firmware's setting of "
                                              "the slot's speed, and the riser") },
};

/* The groups of facts, each with the fact that tells whether the group is known. */
static const struct {
    const char *name;
    size_t fact;
} groups[] = {
    { "driver", AT(driver) },
    { "recovery", AT(recovery) },
    { "xids", AT(xids_fatal) },
    { "remapped_rows", AT(rows_remapped) },
    { "retired_pages", AT(pages_retired) },
    { "ecc", AT(ecc_uncorrected) },
    { "throttling", AT(throttle_reasons) },
    { "temperature", AT(temperature_c) },
    { "nvlinks", AT(nvlinks) },
    { "pcie_width", AT(pcie_width) },
    { "pcie_generation", AT(pcie_gen) },
};

static int64_t *member(struct ath_gpu_facts *facts, size_t offset)
{
    return (int64_t *)(void *)((char *)facts + offset);
}

static int64_t value_at(const struct ath_gpu_facts *facts, size_t offset)
{
    return *(const int64_t *)(const void *)((const char *)facts + offset);
}

void ath_gpu_facts_init(struct ath_gpu_facts *facts)
{
    *facts = (struct ath_gpu_facts){ 0 };
    for (size_t offset = AT(driver); offset < sizeof *facts; offset += sizeof(int64_t))
        *member(facts, offset) = ATH_UNKNOWN;
}

static bool holds(const struct row *row, const struct ath_gpu_facts *facts)
{
    int64_t value = value_at(facts, row->fact);
    int64_t other = row->below     ? value_at(facts, row->below)
                    : row->reaches ? value_at(facts, row->reaches)
                                   : 0;

    if (value < 0 || other < 0)
        return false;
    return value >= row->at_least && (!row->at_most || value <= row->at_most) &&
           (!row->bits || value & row->bits) && !(value & row->without_bits) &&
           (!row->below || value < other) && (!row->reaches || value >= other);
}

/* Adds a deduction behind those with as many points or more. */
static void deduct(struct ath_gpu_health *health, enum ath_gpu_deduction deduction)
{
    size_t at = health->deduction_count++;

    for (; at && rows[health->deductions[at - 1]].points < rows[deduction].points; at--)
        health->deductions[at] = health->deductions[at - 1];
    health->deductions[at] = deduction;
    health->score -= rows[deduction].points;
}

void ath_gpu_health_judge(const struct ath_gpu_facts *facts, struct ath_gpu_health *out)
{
    *out = (struct ath_gpu_health){ .score = ATH_GPU_SCORE_FULL };

    for (size_t i = 0; i < ATH_GPU_DEDUCTION_COUNT; i++)
        if (holds(&rows[i], facts))
            deduct(out, (enum ath_gpu_deduction)i);
    if (out->score < 0)
        out->score = 0;
    if (!out->deduction_count && !facts->has_answers)
        out->score = ATH_UNKNOWN;
}

const char *ath_gpu_deduction_code(enum ath_gpu_deduction deduction)
{
    return rows[deduction].code;
}

int ath_gpu_deduction_points(enum ath_gpu_deduction deduction)
{
    return rows[deduction].points;
}

/* Fills a text of the table: {0} is the GPU, {1} the fact, {2} the other fact, {3} its meaning. */
static char *text_of(const char *format, const struct row *row, const struct ath_gpu_facts *facts,
                     const char *gpu)
{
    size_t other = row->below ? row->below : row->reaches ? row->reaches : row->also;
    int64_t value = value_at(facts, row->fact);
    int64_t second = other ? value_at(facts, other) : ATH_UNKNOWN;
    ath_auto_free char *first_text = ath_xasprintf("%lld", (long long)value);
    ath_auto_free char *second_text = ath_xasprintf("%lld", (long long)second);
    const char *texts[ATH_TEXTS_MAX] = { gpu, first_text, second_text };

    if (row->word)
        texts[3] = row->word(other ? second : value);
    return ath_text_expand(format, texts);
}

char *ath_gpu_deduction_message(enum ath_gpu_deduction deduction, const struct ath_gpu_facts *facts,
                                const char *gpu)
{
    return text_of(_(rows[deduction].message), &rows[deduction], facts, gpu);
}

char *ath_gpu_deduction_hint(enum ath_gpu_deduction deduction, const struct ath_gpu_facts *facts,
                             const char *gpu)
{
    return text_of(_(rows[deduction].hint), &rows[deduction], facts, gpu);
}

const char *ath_gpu_next_unknown(const struct ath_gpu_facts *facts, size_t *place)
{
    while (*place < ATH_COUNT(groups)) {
        size_t at = (*place)++;
        if (value_at(facts, groups[at].fact) == ATH_UNKNOWN)
            return groups[at].name;
    }
    return NULL;
}
