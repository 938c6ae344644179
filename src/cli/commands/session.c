/* aitherion session: the parent of the commands about programs that use runtimes. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"

static const struct ath_command *const children[] = { ATH_SESSION_COMMANDS(ATH_COMMAND_CHILD)
                                                          NULL };

static const struct ath_example examples[] = {
    { "aitherion session list", N_("show the programs that use GPUs of this machine") },
    { "aitherion session end 7", N_("take the GPUs from one program") },
    { .command = NULL },
};

const struct ath_command ath_command_session = {
    .name = "session",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("the programs that use runtimes"),
    .description = N_("The commands about sessions. Each program that `aitherion run` gave a GPU "
                      "has a session with its runtime."),
    .examples = examples,
    .children = children,
};
