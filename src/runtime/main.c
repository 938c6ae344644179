/* The main function of aitherion-runtime. */
#include "config.h"

#include <libintl.h>
#include <locale.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/paths.h"
#include "remote/switches.h"
#include "runtime/health.h"
#include "runtime/pause.h"
#include "runtime/serve.h"

static void set_language(void)
{
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point in every language */
    ath_auto_free char *folder = ath_path_share("locale");
    if (folder)
        bindtextdomain(PACKAGE, folder);
    textdomain(PACKAGE);
}

/* Lists the optimisations. The GPU switch is not an optimisation, so it is left out. */
static void show_switches(void)
{
    for (size_t i = 0; i < ATH_SWITCH_GPU; i++)
        printf("%-14s %s\n", ath_switches[i].name, _(ath_switches[i].meaning));
}

static int run_command(enum ath_runtime_command command, const struct ath_runtime_options *options,
                       struct ath_err *err)
{
    if (options->wants_help) {
        ath_runtime_help(stdout, command);
        return ATH_RUNTIME_DONE;
    }
    if (options->wants_version) {
        printf("aitherion-runtime %s\n", PACKAGE_VERSION);
        return ATH_RUNTIME_DONE;
    }
    switch (command) {
    case ATH_RUNTIME_SERVE:
        return ath_serve(options, err);
    case ATH_RUNTIME_HEALTH:
        return ath_health(options, err);
    case ATH_RUNTIME_SWITCHES:
        show_switches();
        return ATH_RUNTIME_DONE;
    default:
        return ath_pause();
    }
}

int main(int argc, char *argv[])
{
    struct ath_runtime_options options;
    enum ath_runtime_command command;
    struct ath_err err = { 0 };

    set_language();
    int status = ath_runtime_options_parse(argc, argv, &command, &options, &err);
    if (!status)
        status = run_command(command, &options, &err);
    if (status >= 0)
        return status;
    fprintf(stderr, "aitherion-runtime: %s\n", err.message);
    if (*err.hint)
        fprintf(stderr, "  %s\n", err.hint);
    return err.code == ATH_E_USAGE ? ATH_RUNTIME_USAGE : ATH_RUNTIME_FAILED;
}
