/* aitherion fingerprint: what the GPUs can do, and what other GPUs are worth the same. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/output/equivalent.h"
#include "cli/output/fingerprint.h"
#include "cli/output/gpu_rates.h"

struct options {
    bool wants_rates;
    const char *base, *equivalent;
};

static int show_fingerprints(struct ath_cli *cli, struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    int status = ath_cli_machine(cli, &machine, err);
    if (status)
        return status;
    ath_auto_free struct ath_gpu_fingerprint *gpus = ath_xalloc(machine.gpu_count * sizeof *gpus);
    for (size_t i = 0; i < machine.gpu_count; i++)
        ath_gpu_fingerprint_make(&machine, i, &gpus[i]);
    const struct ath_fingerprint_report report = { &machine, gpus, machine.gpu_count };
    status = ath_cli_show(cli, &ath_fingerprint_view, &report, ath_cli_format(cli), err);
    for (size_t i = 0; i < machine.gpu_count; i++)
        ath_gpu_fingerprint_free(&gpus[i]);
    return status;
}

static int show_rates(struct ath_cli *cli, const char *base, struct ath_err *err)
{
    const struct ath_rates_report report = { base ? ath_gpu_model_named(base)
                                                  : ath_gpu_rate_base() };
    if (report.base)
        return ath_cli_show(cli, &ath_rates_view, &report, ath_cli_format(cli), err);
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("the table has no model '%s' of --base"), base);
    return ath_err_hint(err, -EINVAL, _("aitherion fingerprint --rates lists all models"));
}

static int show_equivalents(struct ath_cli *cli, const char *request, struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_equivalents) here = { 0 };
    struct ath_needs needs;

    int status = ath_needs_read(request, &needs, err);
    if (!status)
        status = ath_cli_machine(cli, &machine, err);
    if (status)
        return status;
    ath_equivalents_here(&machine, &needs, &here);
    const struct ath_equivalent_report report = { &machine, &needs, &here };
    return ath_cli_show(cli, &ath_equivalent_view, &report, ath_cli_format(cli), err);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;

    if (options->equivalent && options->wants_rates)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'--rates' and '--equivalent' exclude each other"));
    if (options->base && !options->wants_rates) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--base' needs '--rates'"));
        return ath_err_hint(err, -EINVAL, "aitherion fingerprint --rates --base %s", options->base);
    }
    if (options->equivalent)
        return show_equivalents(cli, options->equivalent, err);
    return options->wants_rates ? show_rates(cli, options->base, err) : show_fingerprints(cli, err);
}

static const struct ath_option option_table[] = {
    { .name = "rates",
      .offset = offsetof(struct options, wants_rates),
      .help = N_("show the exchange rates of all models of the table instead") },
    { .name = "base",
      .type = ATH_OPTION_TEXT,
      .metavar = "MODEL",
      .completion = ATH_COMPLETE_GPU_MODEL,
      .offset = offsetof(struct options, base),
      .help = N_("with --rates, the model whose rates are 1 (default: a100-sxm4-80gb)") },
    { .name = "equivalent",
      .type = ATH_OPTION_TEXT,
      .metavar = "REQUEST",
      .offset = offsetof(struct options, equivalent),
      .help = N_("show instead how many GPUs satisfy a request: throughput (100TFLOPS-fp16), "
                 "memory (80GB), bandwidth of the memory (2TB/s), or several with commas, which "
                 "must all hold") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion fingerprint", N_("all GPUs of this machine") },
    { "aitherion fingerprint --root ac922-4gpu --json", N_("data for programs") },
    { "aitherion fingerprint --equivalent 100TFLOPS-fp16,80GB",
      N_("GPUs that have both together") },
    { "aitherion fingerprint --rates --base v100-sxm2-32gb",
      N_("what other models are worth in V100s") },
    { .command = NULL },
};

const struct ath_command ath_command_fingerprint = {
    .name = "fingerprint",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("show what each GPU can do, and what it is worth"),
    .description = N_(
        "Shows for each GPU its model, memory, throughput, tensor cores, NUMA node, links and the "
        "ways to the other GPUs. Each figure has its source: driver (the machine's drivers or the "
        "captured file), table (a data sheet, by the name of the model) or unknown. Nothing is "
        "guessed from similar models.\n\n"
        "Throughputs are dense: data sheets also print twice as much for sparse matrices. The "
        "rates of --rates are quotients of these figures, and --equivalent adds them up over "
        "several GPUs, which is the best that a program can get. Memory in a request is in powers "
        "of 1024 (80GB, 80G and 80GiB are the same), bandwidth in powers of 1000."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
