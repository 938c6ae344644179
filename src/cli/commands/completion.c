/* aitherion completion: the script that teaches a shell our commands. */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/completion.h"

static json_t *to_json(const void *data)
{
    const char *shell = data;
    ath_auto_free char *script = NULL;
    size_t length;
    FILE *memory = open_memstream(&script, &length);
    if (!memory)
        return NULL;
    ath_completion_print(memory, shell);
    fclose(memory);
    return json_pack("{s:s, s:s}", "shell", shell, "script", script);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    (void)style;
    ath_completion_print(out, data);
}

static int run(struct ath_cli *cli, const void *options, struct ath_err *err)
{
    (void)options;
    static const struct ath_view view = { "aitherion.completion/1", to_json, to_text, NULL, 0 };
    return ath_cli_show(cli, &view, cli->arguments[0], ath_cli_format(cli), err);
}

static const struct ath_argument arguments[] = {
    { .name = "SHELL", .help = N_("the shell to write for"), .choices = ath_shell_names },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "source <(aitherion completion bash)",
      N_("complete in this bash, without installing anything") },
    { "aitherion completion fish | source", N_("the same in fish") },
    { .command = NULL },
};

const struct ath_command ath_command_completion = {
    .name = "completion",
    .group = ATH_GROUP_HELP,
    .summary = N_("print the completion script for bash, zsh or fish"),
    .description = N_("`make install` puts the scripts where the shells look for them; this "
                      "command is for a shell that "
                      "runs aitherion from elsewhere."),
    .arguments = arguments,
    .examples = examples,
    .run = run,
};
