/* aitherion discover: reads the machine and shows it. */
#include "config.h"

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/measured.h"
#include "cli/output/machine/machine.h"
#include "cli/save.h"

struct options {
    struct ath_save_options save;
    bool measures;
};

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_machine) machine = { 0 };
    enum ath_format format = ATH_FORMAT_TEXT;

    int status = ath_save_format(cli, &options->save, &format, err);
    if (!status)
        status = ath_cli_machine(cli, &machine, err);
    if (!status && options->measures)
        status = ath_measured_make(cli, &machine, err);
    if (status)
        return status;
    return ath_save_output(cli, &options->save, &ath_machine_view, &machine, format, err);
}

static const struct ath_option option_table[] = {
    ATH_SAVE_OPTIONS(struct options),
    { .name = "measure",
      .offset = offsetof(struct options, measures),
      .help = N_("first measure copies between the GPUs, and between each GPU and the host, and "
                 "keep the figures in measured.json beside the topology document: discover, place "
                 "and estimate use them while the GPUs and the driver stay the same. Takes "
                 "seconds, GPU memory, and bandwidth from running programs") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion discover", N_("show this machine") },
    { "aitherion discover --format matrix", N_("show all distances as a table") },
    { "aitherion discover -o machine.svg", N_("draw a picture") },
    { "aitherion discover --json", N_("data for programs") },
    { "aitherion discover --measure --format matrix",
      N_("measure the bandwidths between the GPUs, and show them") },
    { "aitherion discover --root ac922-4gpu", N_("show an IBM AC922 from a shipped capture") },
    { "aitherion discover --topology lstopo.xml",
      N_("show a machine on which `lstopo lstopo.xml` was run") },
    { "aitherion discover --topology topo.txt,numactl.txt",
      N_("show a machine from the texts of `nvidia-smi topo -m` and `numactl -H`") },
    { .command = NULL },
};

const struct ath_command ath_command_discover = {
    .name = "discover",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("show NUMA nodes, GPUs and network cards, and how near they are to each other"),
    .description = N_(
        "Reads which CPUs, memory, GPUs and network cards belong to which NUMA node, how far "
        "the nodes are apart, and for every GPU which network port is nearest and why. Changes "
        "nothing and needs no privileges; only --measure keeps what it measured. Unknown values "
        "are shown as unknown. Warnings below say what looks wrong and how to fix it. -v and "
        "--json tell the health score of each GPU, from 0 to 100, with what was deducted and why."
        "\n\n"
        "The same can be read from a capture of another machine: see --root and --topology."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
