/* aitherion completion: prints the script that completes aitherion's commands in a shell. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/completion.h"
#include "cli/output/fields.h"

struct script {
    const char *shell;
    char *text;
};

#define AT(member) ATH_AT(struct script, member)
static const struct ath_field fields[] = {
    ATH_FIELD("shell", AT(shell), .words = ath_shell_names),
    ATH_FIELD("script", ATH_AT_AS(ATH_FIELD_LINES, struct script, text),
              .help = "script for the shell to source"),
    { .name = NULL },
};
#undef AT

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct script *script = data;
    (void)style;
    fputs(script->text, out);
}

const struct ath_view ath_completion_view = {
    .schema = "aitherion.completion/1",
    .title = "Output of `aitherion completion SHELL --json`",
    .fields = fields,
    .to_text = to_text,
};

static int run(struct ath_cli *cli, const void *options, struct ath_err *err)
{
    (void)options;
    ath_auto_free char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
        return ath_err_system(err, -errno, _("cannot make the output"));
    ath_completion_print(memory, cli->arguments[0]);
    fclose(memory);
    const struct script script = { cli->arguments[0], text };
    return ath_cli_show(cli, &ath_completion_view, &script, ath_cli_format(cli), err);
}

static const struct ath_argument arguments[] = {
    { .name = "SHELL",
      .help = N_("the shell to print the script for"),
      .choices = ath_shell_names,
      .unknown = N_("unknown shell") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "source <(aitherion completion bash)",
      N_("complete in this bash without installing anything") },
    { "aitherion completion fish | source", N_("the same in fish") },
    { .command = NULL },
};

const struct ath_command ath_command_completion = {
    .name = "completion",
    .group = ATH_GROUP_HELP,
    .summary = N_("print the completion script for bash, zsh or fish"),
    .description = N_("`make install` puts the scripts where the shells look for them. This "
                      "command is for an aitherion that is not installed."),
    .arguments = arguments,
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
