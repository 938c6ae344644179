#include "config.h"

#include "cli/measured.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "measure/apply.h"
#include "measure/record.h"
#include "numa/warning.h"

#define FILE_NAME "measured.json"

/* The caller frees it. */
static char *beside_document(const struct ath_cli *cli)
{
    ath_auto_free char *document = ath_cli_document_path(cli);
    const char *slash = strrchr(document, '/');
    return ath_xasprintf("%.*s" FILE_NAME, slash ? (int)(slash - document + 1) : 0, document);
}

/* Returns the file in the user's own folder, or NULL. The caller frees it. */
static char *own_file(void)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (base && base[0] == '/')
        return ath_xasprintf("%s/aitherion/" FILE_NAME, base);
    return home && home[0] == '/' ? ath_xasprintf("%s/.config/aitherion/" FILE_NAME, home) : NULL;
}

void ath_measured_apply(const struct ath_cli *cli, struct ath_machine *machine)
{
    ath_auto_free char *beside = beside_document(cli), *own = own_file();
    const char *paths[] = { beside, own, "/etc/aitherion/" FILE_NAME };

    if (machine->source != ATH_SOURCE_LIVE || !machine->gpu_count)
        return;
    for (size_t i = 0; i < ATH_COUNT(paths); i++)
        if (paths[i] && ath_measurement_apply_file(paths[i], machine)) {
            ath_log(ATH_LOG_VERBOSE, _("measured figures: '%s'"), paths[i]);
            return;
        }
}

void ath_measured_note(const struct ath_machine *machine)
{
    const char *code = ath_warning_word(ATH_W_MEASURED);

    for (size_t i = 0; i < machine->warning_count; i++)
        if (!strcmp(machine->warnings[i].code, code))
            ath_log(ATH_LOG_NORMAL, "%s", machine->warnings[i].message);
}

/* Drops the warning of an older file, which is replaced. */
static void forget_warning(struct ath_machine *machine)
{
    const char *code = ath_warning_word(ATH_W_MEASURED);
    size_t kept = 0;

    for (size_t i = 0; i < machine->warning_count; i++) {
        struct ath_warning *warning = &machine->warnings[i];
        if (strcmp(warning->code, code) != 0) {
            machine->warnings[kept++] = *warning;
            continue;
        }
        free(warning->object);
        free(warning->message);
        free(warning->hint);
    }
    machine->warning_count = kept;
}

static int keep(const struct ath_cli *cli, const struct ath_measurement *measurement,
                struct ath_err *err)
{
    ath_auto_free char *path = beside_document(cli), *own = own_file();
    int status = ath_measurement_save(path, measurement, err);
    bool is_refused = status == -EACCES || status == -EPERM || status == -EROFS;

    if (is_refused && own && !cli->globals.config && strcmp(own, path) != 0) {
        status = ath_measurement_save(own, measurement, err);
        free(path);
        path = ath_steal(&own);
    }
    if (!status)
        ath_log(ATH_LOG_NORMAL, _("wrote '%s'"), path);
    return status;
}

/* Says which figures are missing. */
static void report_gaps(const struct ath_measurement *measurement)
{
    char names[2][ATH_PCI_TEXT];

    for (int i = 0; i < measurement->gpu_count; i++) {
        const struct ath_measured_gpu *gpu = &measurement->gpus[i];
        ath_pci_format(&gpu->pci, names[0]);
        if (*gpu->error)
            ath_log(ATH_LOG_NORMAL, _("GPU %s was not measured: %s"), names[0], gpu->error);
        for (int j = 0; j < measurement->gpu_count; j++) {
            const struct ath_measured_copies *copies = &measurement->copies[i][j];
            if (*copies->error)
                ath_log(ATH_LOG_NORMAL, _("copies from GPU %s to GPU %s were not measured: %s"),
                        names[0], ath_pci_format(&measurement->gpus[j].pci, names[1]),
                        copies->error);
        }
    }
    if (measurement->gpu_count == 1)
        ath_log(ATH_LOG_NORMAL, "%s",
                _("only one GPU: there is no pair to measure, only its way to the host"));
}

int ath_measured_make(const struct ath_cli *cli, struct ath_machine *machine, struct ath_err *err)
{
    ath_auto_free struct ath_measurement *measurement = NULL;

    if (cli->globals.root || cli->globals.topology) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--measure' and '--%s' exclude each other"),
                    cli->globals.root ? "root" : "topology");
        return ath_err_hint(err, -EINVAL,
                            _("only the machine that the command runs on can be "
                              "measured"));
    }
    if (cli->globals.is_dry_run) {
        ath_auto_free char *path = beside_document(cli);
        ath_log(ATH_LOG_NORMAL, _("would measure %zu GPUs and write '%s'"), machine->gpu_count,
                path);
        return 0;
    }
    int status = ath_measure(machine, 0, &measurement, err);
    if (status)
        return status;
    report_gaps(measurement);
    forget_warning(machine);
    free(ath_measurement_apply(measurement, machine));
    return keep(cli, measurement, err);
}
