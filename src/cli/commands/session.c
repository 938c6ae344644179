/* aitherion session: holds the commands about programs that use runtimes. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"

static const struct ath_command *const children[] = {
    &ath_command_session_list,
    &ath_command_session_end,
    &ath_command_session_limit,
    NULL,
};

static const struct ath_example examples[] = {
    { "aitherion session list", N_("who uses the GPUs of the runtimes here") },
    { "aitherion session end 7", N_("take them from one") },
    { .command = NULL },
};

const struct ath_command ath_command_session = {
    .name = "session",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("the programs that use runtimes"),
    .description = N_("The commands about sessions: each program that `aitherion run` gave a GPU "
                      "has one with its runtime."),
    .examples = examples,
    .children = children,
};
