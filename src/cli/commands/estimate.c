/* aitherion estimate: how long a collective operation of GPUs of this machine takes. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/gpu_names.h"
#include "cli/measured.h"
#include "cli/output/estimate.h"
#include "place/choose.h"
#include "place/matrix.h"

struct options {
    const char *size, *gpus;
};

struct work {
    struct ath_cli *cli;
    const struct options *options;
    struct ath_machine machine;
    bool *is_chosen; /* for each GPU */
    size_t gpu_count;
    struct ath_set_choice ring;
    struct ath_estimate_report report;
};

static void work_free(struct work *work)
{
    ath_set_choice_free(&work->ring);
    free(work->is_chosen);
    ath_machine_free(&work->machine);
}

static int read_operation(struct work *work, struct ath_err *err)
{
    const char *word = work->cli->arguments[0], *size = work->options->size;

    for (int i = 0; i < ATH_COLLECTIVE_COUNT; i++)
        if (!strcmp(word, ath_collectives[i]))
            work->report.collective = (enum ath_collective)i;
    if (!size) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("the size of the buffer is missing"));
        return ath_err_hint(err, -EINVAL, "aitherion estimate %s --size 100M", word);
    }
    if (!ath_parse_size(size, &work->report.size_bytes) && work->report.size_bytes)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no size for --size"), size);
    return ath_err_hint(err, -EINVAL, _("give bytes above 0, as in 65536, 64K, 100M or 1G"));
}

static int find_gpus(struct work *work, struct ath_err *err)
{
    const char *list = work->options->gpus, *rest = list;
    size_t named = 0, length;

    work->is_chosen = ath_xalloc(work->machine.gpu_count * sizeof *work->is_chosen);
    int status = 0;
    if (list)
        status = ath_gpu_names_read(&work->machine, "--gpus", list, work->is_chosen, err);
    else
        ath_place_usable(&work->machine, work->is_chosen);
    if (status)
        return status;
    for (size_t i = 0; i < work->machine.gpu_count; i++)
        work->gpu_count += work->is_chosen[i];
    while (list && ath_text_next_part(&rest, &length))
        named++;
    if (list && named != work->gpu_count) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' of --gpus names a GPU twice"), list);
        return ath_err_hint(err, -EINVAL, _("name each GPU once"));
    }
    if (!work->gpu_count) {
        ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("the machine has no GPU that can be used"));
        return ath_err_hint(err, -EINVAL, "aitherion discover");
    }
    return 0;
}

static int find_ring(struct work *work, struct ath_err *err)
{
    ath_auto_free int64_t *bandwidths = ath_place_matrix(&work->machine);
    const struct ath_set_request request = { .gpu_count = work->machine.gpu_count,
                                             .bandwidths = bandwidths,
                                             .is_free = work->is_chosen,
                                             .size = work->gpu_count,
                                             .group_count = 1 };
    int status = ath_set_best(&request, &work->ring);
    return status ? ath_err_system(err, status, _("cannot find a ring of these GPUs")) : 0;
}

static void estimate(struct work *work)
{
    struct ath_estimate_report *report = &work->report;
    const size_t *ring = work->ring.rings;

    report->machine = &work->machine;
    report->ring = ring;
    report->is_exact = work->ring.is_exact;
    ath_estimate_look(&work->machine, ring, work->gpu_count, &report->facts);
    if (work->gpu_count > 1)
        ath_gpu_pair_look(&work->machine, ring[report->facts.slowest],
                          ring[(report->facts.slowest + 1) % work->gpu_count], &report->slowest);
    report->bound = ath_estimate_ring(&report->facts, report->collective, report->size_bytes);
    report->nccl = ath_estimate_nccl(&report->facts, report->collective, report->size_bytes);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    ATH_AUTO(work) work = { .cli = cli, .options = data };
    int status = read_operation(&work, err);

    if (!status)
        status = ath_cli_machine(cli, &work.machine, err);
    if (!status)
        status = find_gpus(&work, err);
    if (!status)
        status = find_ring(&work, err);
    if (status)
        return status;
    ath_measured_note(&work.machine);
    estimate(&work);
    return ath_cli_show(cli, &ath_estimate_view, &work.report, ath_cli_format(cli), err);
}

static const struct ath_argument arguments[] = {
    { .name = "OPERATION",
      .help = N_("what the GPUs do together"),
      .choices = ath_collectives,
      .unknown = N_("unknown operation") },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "size",
      .type = ATH_OPTION_TEXT,
      .metavar = "SIZE",
      .offset = offsetof(struct options, size),
      .help = N_("size of the whole buffer: 65536, 64K, 100M, 1G (powers of 1024)") },
    { .name = "gpus",
      .type = ATH_OPTION_TEXT,
      .metavar = "GPU,...",
      .completion = ATH_COMPLETE_GPUS,
      .offset = offsetof(struct options, gpus),
      .help = N_("these GPUs: numbers, PCI addresses or UUIDs (default: all)") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion estimate all-reduce --size 100M", N_("all GPUs of this machine") },
    { "aitherion estimate all-gather --size 1G --gpus 0,1 --root ac922-4gpu",
      N_("two GPUs of an AC922") },
    { .command = NULL },
};

const struct ath_command ath_command_estimate = {
    .name = "estimate",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("say how long a collective operation of GPUs takes"),
    .description = N_(
        "Prints two figures for an operation of GPUs of one machine. \"Ring bound\" is the "
        "shortest time that the slowest pair of the best ring allows, without latency: for "
        "all-reduce 2(n-1)/n times the size divided by the bandwidth of the pair, for all-gather "
        "and reduce-scatter (n-1)/n times, and for broadcast once. \"NCCL\" is the time by the "
        "model with which NCCL 2.22 chooses an algorithm and a protocol, with NCCL's own "
        "bandwidths and latencies; the output names the choice. Nothing is measured.\n\n"
        "The size is that of the whole buffer, which all-gather ends with and reduce-scatter "
        "begins with. If a bandwidth or a GPU's compute capability is not known, a note names it, "
        "and only the figures without it are printed."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
