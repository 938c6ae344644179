/* aitherion version, and --version anywhere. */
#include "config.h"

#include <jansson.h>

#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"

static json_t *to_json(const void *data)
{
    (void)data;
    return json_pack("{s:s}", "version", PACKAGE_VERSION);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    (void)style;
    (void)data;
    fprintf(out, "aitherion %s\n", PACKAGE_VERSION);
}

static int run(struct ath_cli *cli, const void *options, struct ath_err *err)
{
    (void)options;
    static const struct ath_view view = { "aitherion.version/1", to_json, to_text, NULL, 0 };
    return ath_cli_show(cli, &view, NULL, ath_cli_format(cli), err);
}

const struct ath_command ath_command_version = {
    .name = "version",
    .group = ATH_GROUP_HELP,
    .summary = N_("show the version"),
    .run = run,
};
