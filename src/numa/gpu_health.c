/* The driver's state, the scores, and the warnings. */
#include "config.h"

#include "numa/gpu_health.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "numa/usable.h"
#include "numa/warning.h"

/* Deductions whose cause has a warning, by the codes that it may have. */
static const struct {
    enum ath_gpu_deduction deduction;
    enum ath_warning_kind kinds[2];
} told[] = {
    { ATH_GPU_DEDUCT_DRIVER_MISSING, { ATH_W_GPU_DRIVER, ATH_W_GPU_DRIVER } },
    { ATH_GPU_DEDUCT_DRIVER_SILENT, { ATH_W_GPU_LOST, ATH_W_NVML_FAILED } },
    { ATH_GPU_DEDUCT_NVLINKS_LOST, { ATH_W_GPU_LINKS_LOST, ATH_W_GPU_LINKS_LOST } },
};

static bool has_warning(const struct ath_machine *machine, enum ath_warning_kind kind,
                        const char *object)
{
    for (size_t i = 0; i < machine->warning_count; i++) {
        const struct ath_warning *warning = &machine->warnings[i];
        if (!strcmp(warning->code, ath_warning_word(kind)) && warning->object &&
            !strcmp(warning->object, object))
            return true;
    }
    return false;
}

bool ath_gpu_deduction_is_told(const struct ath_machine *machine, const struct ath_gpu *gpu,
                               enum ath_gpu_deduction deduction)
{
    char object[ATH_PCI_TEXT];

    ath_pci_format(&gpu->pci, object);
    for (size_t i = 0; i < ATH_COUNT(told); i++)
        if (told[i].deduction == deduction && (has_warning(machine, told[i].kinds[0], object) ||
                                               has_warning(machine, told[i].kinds[1], object)))
            return true;
    return false;
}

static void set_driver(const struct ath_machine *machine, struct ath_gpu *gpu)
{
    enum ath_gpu_lack lack = ath_gpu_lack(machine, gpu);

    if (lack == ATH_GPU_LACKS_DRIVER)
        gpu->facts.driver = ATH_GPU_DRIVER_MISSING;
    else if (lack == ATH_GPU_LACKS_ANSWER)
        gpu->facts.driver = ATH_GPU_DRIVER_SILENT;
    else if (gpu->facts.driver == ATH_UNKNOWN && (gpu->driver || gpu->facts.has_answers))
        gpu->facts.driver = ATH_GPU_DRIVER_RUNS;
}

/* Warns of a low score, unless each of its causes has a warning of its own. */
static void warn(struct ath_machine *machine, const struct ath_gpu *gpu)
{
    char object[ATH_PCI_TEXT];
    ATH_AUTO(ath_text) causes = { 0 };
    bool is_told = true;

    ath_pci_format(&gpu->pci, object);
    for (size_t i = 0; i < gpu->health.deduction_count; i++) {
        enum ath_gpu_deduction deduction = gpu->health.deductions[i];
        is_told = is_told && ath_gpu_deduction_is_told(machine, gpu, deduction);
        ath_text_add_part(&causes, _(", "), "%s", ath_gpu_deduction_code(deduction));
    }
    if (is_told)
        return;
    ath_auto_free char *score = ath_xasprintf("%d", gpu->health.score);
    ath_warning_add(machine, ATH_W_GPU_HEALTH, object, score, causes.data, NULL);
}

void ath_gpus_judge(struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->gpu_count; i++) {
        struct ath_gpu *gpu = &machine->gpus[i];
        if (gpu->is_judged)
            continue;
        gpu->health.score = ATH_UNKNOWN;
        if (gpu->vendor_id != ATH_VENDOR_NVIDIA)
            continue;
        set_driver(machine, gpu);
        ath_gpu_health_judge(&gpu->facts, &gpu->health);
        if (gpu->health.score >= 0 && gpu->health.score < ATH_GPU_SCORE_FINE)
            warn(machine, gpu);
    }
}
