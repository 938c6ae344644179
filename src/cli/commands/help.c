/* aitherion help [COMMAND], --help anywhere, and aitherion without arguments. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/help.h"
#include "cli/help_json.h"
#include "cli/terminal.h"

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    (void)style;
    ath_help_print(out, data, ath_terminal_prose_columns());
}

static void to_short_text(const struct ath_style *style, FILE *out, const void *data)
{
    (void)style;
    ath_help_print_short(out, data, ath_terminal_prose_columns());
}

static int refuse_topic(const struct ath_command *topic, const char *word, struct ath_err *err)
{
    const char *nearest = ath_command_nearest(topic, word);
    ath_auto_free char *path = ath_command_path(topic);
    bool is_root = topic == &ath_command_root;

    if (is_root)
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("no help for '%s': there is no such command"),
                    word);
    else
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' has no command '%s'"), path, word);
    if (nearest)
        return ath_err_hint(err, -EINVAL, _("did you mean '%s'?"), nearest);
    if (!is_root && ath_command_child(&ath_command_root, word))
        return ath_err_hint(err, -EINVAL, "aitherion help %s", word);
    return ath_err_hint(err, -EINVAL, "aitherion %s%s--help", path, is_root ? "" : " ");
}

/* Finds the command that the arguments name: `help numa discover`. */
static int find_topic(const struct ath_cli *cli, const struct ath_command **out,
                      struct ath_err *err)
{
    const struct ath_command *topic = &ath_command_root;

    for (size_t i = 0; i < cli->argument_count; i++) {
        const struct ath_command *child = ath_command_child(topic, cli->arguments[i]);
        if (!child)
            return refuse_topic(topic, cli->arguments[i], err);
        topic = child;
    }
    *out = topic;
    return 0;
}

const struct ath_view ath_help_view = {
    .schema = "aitherion.help/1",
    .title = "Output of `aitherion help --json`: the command table; for the whole program also the "
             "shared tables",
    .fields = ath_help_fields,
    .to_text = to_text,
};

static const struct ath_view brief_view = {
    .schema = "aitherion.help/1",
    .fields = ath_help_fields,
    .to_text = to_short_text,
};

static int run(struct ath_cli *cli, const void *options, struct ath_err *err)
{
    (void)options;
    const struct ath_command *topic = cli->command;
    bool is_asked = cli->globals.wants_help || cli->command == &ath_command_help;

    if (cli->command == &ath_command_help && !cli->globals.wants_help) {
        int status = find_topic(cli, &topic, err);
        if (status)
            return status;
    }
    return ath_cli_show(cli, is_asked ? &ath_help_view : &brief_view, topic, ath_cli_format(cli),
                        err);
}

static const struct ath_argument arguments[] = {
    { .name = "COMMAND",
      .help = N_("the command to explain"),
      .is_optional = true,
      .is_repeated = true,
      .completion = ATH_COMPLETE_COMMAND },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion help discover", N_("explain the command discover") },
    { "aitherion help --json", N_("the whole command table, for programs") },
    { .command = NULL },
};

const struct ath_command ath_command_help = {
    .name = "help",
    .group = ATH_GROUP_HELP,
    .summary = N_("explain a command"),
    .arguments = arguments,
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
