/* aitherion menu: opens the menus. */
#include "config.h"

#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/tui/tui.h"

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    (void)data;
    return ath_tui_run(cli, NULL, err);
}

static const struct ath_example examples[] = {
    { "aitherion menu", N_("look around, and set up the NUMA nodes") },
    { "aitherion menu --root ac922-4gpu -c my.yaml", N_("try it with a captured AC922") },
    { .command = NULL },
};

const struct ath_command ath_command_menu = {
    .name = "menu",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("show the machine and change the document in menus"),
    .description =
        N_("Opens the main menu on the whole terminal: the topology, the NUMA entries, RoCE cards "
           "and macvlan links, the document, the state of the runtimes with the programs that use "
           "them. Rows start, stop and clean, run a program, and manage identities, keys and the "
           "image. Choices are read from the machine, every change is checked at once, and each "
           "row shows the command that does the same.\n\n"
           "Nothing is written before 'Save'; leaving with unsaved changes asks. A document with "
           "faults opens a list of them: type other values, or use an editor. '?' shows the keys, "
           "'/' searches, 'q' goes back."),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
