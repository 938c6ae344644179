/* Finds, reads and writes measured.json, and applies its figures to a machine. */
#include "config.h"

#include "cli/measured.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "cli/output/words.h"
#include "measure/apply.h"
#include "measure/record.h"
#include "numa/warning.h"
#include "place/measured_links.h"

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

static bool is_of_measurement(const struct ath_warning *warning)
{
    return !strcmp(warning->code, ath_warning_word(ATH_W_MEASURED)) ||
           !strcmp(warning->code, ath_warning_word(ATH_W_LINKS_SLOW));
}

/* Drops the warnings about an older file, which is replaced. */
static void forget_warnings(struct ath_machine *machine)
{
    size_t kept = 0;

    for (size_t i = 0; i < machine->warning_count; i++) {
        struct ath_warning *warning = &machine->warnings[i];
        if (!is_of_measurement(warning)) {
            machine->warnings[kept++] = *warning;
            continue;
        }
        free(warning->object);
        free(warning->message);
        free(warning->hint);
    }
    machine->warning_count = kept;
}

enum { PLACES = 3 };

/* The paths where the file may be, the first one first; NULL: no such folder. Owned. */
struct places {
    char *paths[PLACES];
};

static void places_free(struct places *places)
{
    for (size_t i = 0; i < PLACES; i++)
        free(places->paths[i]);
}

static struct places places_of(const struct ath_cli *cli)
{
    return (struct places){ { beside_document(cli), own_file(),
                              ath_xstrdup("/etc/aitherion/" FILE_NAME) } };
}

static void warn_of_slow_links(struct ath_machine *machine)
{
    struct ath_slow_pair pair;
    char names[2][ATH_PCI_TEXT];

    if (!ath_measured_slowest(machine, &pair))
        return;
    ath_auto_free char *measured = ath_words_bandwidth(pair.measured_bytes_per_s);
    ath_auto_free char *expected = ath_words_bandwidth(pair.expected_bytes_per_s);
    ath_warning_add(machine, ATH_W_LINKS_SLOW, ath_pci_format(&machine->gpus[pair.a].pci, names[0]),
                    ath_pci_format(&machine->gpus[pair.b].pci, names[1]), measured, expected, NULL);
}

static void forget(struct ath_machine *machine)
{
    forget_warnings(machine);
    free(machine->measured);
    machine->measured = NULL;
    for (size_t i = 0; i < machine->gpu_count; i++)
        machine->gpus[i].to_gpu_bytes_per_s = machine->gpus[i].from_gpu_bytes_per_s = ATH_UNKNOWN;
}

void ath_measured_apply(const struct ath_cli *cli, struct ath_machine *machine)
{
    ATH_AUTO(places) places = places_of(cli);
    bool is_found = false;

    if (machine->source != ATH_SOURCE_LIVE || !machine->gpu_count)
        return;
    forget(machine);
    for (size_t i = 0; i < PLACES && !is_found; i++) {
        is_found = places.paths[i] && ath_measurement_apply_file(places.paths[i], machine);
        if (is_found)
            ath_log(ATH_LOG_VERBOSE, _("measured figures: '%s'"), places.paths[i]);
    }
    warn_of_slow_links(machine);
}

int64_t ath_measured_stamp(const struct ath_cli *cli)
{
    ATH_AUTO(places) places = places_of(cli);
    struct stat status;

    for (size_t i = 0; i < PLACES; i++)
        if (places.paths[i] && !stat(places.paths[i], &status))
            return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return 0;
}

void ath_measured_note(const struct ath_machine *machine)
{
    const char *code = ath_warning_word(ATH_W_MEASURED);

    for (size_t i = 0; i < machine->warning_count; i++)
        if (!strcmp(machine->warnings[i].code, code))
            ath_log(ATH_LOG_NORMAL, "%s", machine->warnings[i].message);
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
    forget_warnings(machine);
    free(ath_measurement_apply(measurement, machine));
    warn_of_slow_links(machine);
    return keep(cli, measurement, err);
}
