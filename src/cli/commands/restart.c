/* aitherion restart: ends runtimes and starts them again. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"
#include "cli/commands/start.h"
#include "cli/nodes.h"

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    return ath_start_run(cli, data, true, err);
}

static const struct ath_example examples[] = {
    { "aitherion restart 0", N_("restart one runtime") },
    { "aitherion restart --dry-run", N_("show which running programs would end") },
    { "aitherion restart --yes", N_("restart all runtimes without asking") },
    { .command = NULL },
};

const struct ath_command ath_command_restart = {
    .name = "restart",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("end the runtimes and start them again"),
    .description =
        N_("Ends the runtime of each entry and starts it again with the document's settings. Does "
           "all that `aitherion start` does, so an entry that does not run is started. A runtime "
           "that was started with --sim keeps its simulated GPUs. Nothing is ended if the document "
           "does not fit this machine.\n\n"
           "If programs use the runtimes, the command shows them and asks; without a terminal it "
           "needs --yes."),
    .arguments = ath_nodes_arguments,
    .options = ath_start_flag_table,
    .options_size = sizeof(struct ath_start_flags),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
