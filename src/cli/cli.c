/* What all commands do alike: choosing the format, reading the machine, finding the document,
 * showing results. */
#include "config.h"

#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/paths.h"
#include "cli/terminal.h"

enum ath_format ath_cli_format(const struct ath_cli *cli)
{
    return cli->globals.is_json   ? ATH_FORMAT_JSON
           : cli->globals.is_yaml ? ATH_FORMAT_YAML
                                  : ATH_FORMAT_TEXT;
}

int ath_cli_show(const struct ath_cli *cli, const struct ath_view *view, const void *data,
                 enum ath_format format, struct ath_err *err)
{
    ath_auto_free char *text = NULL;
    size_t length = 0;
    int status = ath_output_make(view, data, format, &cli->style, &text, &length, err);
    return status ? status : ath_terminal_print(text, length, err);
}

/* A shipped capture's path where name is a plain word and no such file exists here; else a copy of
 * name. */
static char *find_capture(const char *name, const char *suffix)
{
    if (!strchr(name, '/') && access(name, F_OK)) {
        ath_auto_free char *inside = ath_xasprintf("aitherion/captures/%s%s", name, suffix);
        char *shipped = ath_path_share(inside);
        if (shipped)
            return shipped;
    }
    return ath_xstrdup(name);
}

int ath_cli_machine(const struct ath_cli *cli, struct ath_machine *out, struct ath_err *err)
{
    const struct ath_globals *globals = &cli->globals;
    ath_auto_free char *root = globals->root ? find_capture(globals->root, "") : NULL;
    ath_auto_free char *topology =
        globals->topology ? find_capture(globals->topology, ".xml") : NULL;
    const struct ath_machine_source source = { .root = root, .topology = topology };
    return ath_machine_discover(&source, out, err);
}

char *ath_cli_document_path(const struct ath_cli *cli)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    ath_auto_free char *own = NULL;

    if (cli->globals.config)
        return ath_xstrdup(cli->globals.config);
    if (base && base[0] == '/') /* the XDG specification: a relative one is to be ignored */
        own = ath_xasprintf("%s/aitherion/topology.yaml", base);
    else if (home && home[0] == '/')
        own = ath_xasprintf("%s/.config/aitherion/topology.yaml", home);
    if (own && !access(own, F_OK))
        return ath_steal(&own);
    return ath_xstrdup("/etc/aitherion/topology.yaml");
}
