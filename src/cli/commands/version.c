/* aitherion version, and --version anywhere. */
#include "config.h"

#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/output/fields.h"

static json_t *make_version(const void *object)
{
    (void)object;
    return json_string(PACKAGE_VERSION);
}

static const struct ath_field fields[] = {
    ATH_FIELD("version", ATH_OF(ATH_FIELD_TEXT),
              .rules = "{\"pattern\": \"^[0-9]+[.][0-9]+[.][0-9]+\"}", .make = make_version),
    { .name = NULL },
};

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    (void)style;
    (void)data;
    fprintf(out, "aitherion %s\n", PACKAGE_VERSION);
}

const struct ath_view ath_version_view = {
    .schema = "aitherion.version/1",
    .title = "Output of `aitherion version --json`",
    .fields = fields,
    .to_text = to_text,
};

static int run(struct ath_cli *cli, const void *options, struct ath_err *err)
{
    (void)options;
    return ath_cli_show(cli, &ath_version_view, NULL, ath_cli_format(cli), err);
}

const struct ath_command ath_command_version = {
    .name = "version",
    .group = ATH_GROUP_HELP,
    .summary = N_("show the version"),
    .ignores_document = true,
    .run = run,
};
