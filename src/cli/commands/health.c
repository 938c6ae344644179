/* aitherion health: finds faults with their cause and fix, once or repeatedly. */
#include "config.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/nodes.h"
#include "cli/output/health.h"
#include "cli/repeat.h"

struct options {
    const char *watch;
};

/* The facts that one look reads, and its findings. */
struct look {
    char *path;
    struct ath_machine machine;
    struct ath_document document;
    struct ath_faults faults;
    struct ath_health_facts facts;
    struct ath_health_report report;
};

static void look_free(struct look *look)
{
    ath_health_report_free(&look->report);
    ath_health_facts_free(&look->facts);
    ath_document_free(&look->document);
    ath_faults_free(&look->faults);
    ath_machine_free(&look->machine);
    free(look->path);
}

static int look_at(const struct ath_cli *cli, struct look *look, struct ath_err *err)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    int status = ath_cli_machine(cli, &look->machine, err);
    if (!status)
        status = ath_cli_root(cli, &root, err);
    if (status)
        return status;
    look->path = ath_cli_document_path(cli);
    ath_health_facts_read(root.path ? &root : NULL, &look->machine, &look->facts);
    ath_health_facts_load(&look->facts, look->path, &look->document, &look->faults);
    ath_nodes_look(cli, &look->facts, &look->facts.runtimes);
    ath_health_run(&look->facts, &look->report);
    return 0;
}

static int exit_code(const struct look *look)
{
    return ath_health_has_faults(&look->report)  ? ATH_EXIT_FAULTS
           : ath_health_is_unsure(&look->report) ? ATH_EXIT_UNSURE
                                                 : ATH_EXIT_DONE;
}

static struct ath_health_output output_of(const struct ath_cli *cli, const struct look *look)
{
    bool is_verbose = cli->globals.verbosity > 0;
    return (struct ath_health_output){ .facts = &look->facts,
                                       .report = &look->report,
                                       .shows_nodes = is_verbose,
                                       .shows_fine = is_verbose };
}

static int show(struct ath_cli *cli, const void *options, struct ath_repeat *repeat,
                struct ath_err *err)
{
    (void)options;
    ATH_AUTO(look) look = { 0 };
    int status = look_at(cli, &look, err);
    if (status)
        return status;
    struct ath_health_output output = output_of(cli, &look);
    status = ath_repeat_show(repeat, &ath_health_view, &output, err);
    return status ? status : exit_code(&look);
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    return ath_repeat_run(cli, options->watch, show, options, err);
}

static const struct ath_option option_table[] = {
    ATH_REPEAT_OPTION(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion health", N_("show what is wrong, worst first") },
    { "aitherion health -v", N_("also show each NUMA entry and what is fine") },
    { "aitherion health --watch 5", N_("repeat every five seconds") },
    { "aitherion health --json", N_("all checks as data") },
    { .command = NULL },
};

const struct ath_command ath_command_health = {
    .name = "health",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("check everything, and show what is wrong and how to fix it"),
    .description = N_(
        "Checks the document and everything that it names: NUMA nodes, GPUs and their memory, "
        "interfaces and their addresses, RDMA devices and their GIDs, macvlans. Shows each fault "
        "with its cause and the command that fixes it, the worst first. Changes nothing.\n\n"
        "Each GPU has a health score from 0 to 100: 100 less points for errors of its memory, "
        "Xids, "
        "heat, lost NVLinks, a narrow PCIe link and others. A score below 90 is a warning, one "
        "below "
        "50 a fault. With -v, GPUs with other scores and what is unknown are shown, too.\n\n"
        "Exit code 0: no faults (there may be warnings). 3: there are faults. 4: there are no "
        "faults, but some checks could not find out; root sees more than other users (links in "
        "the network namespaces of containers), and a live machine shows more than a capture."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
