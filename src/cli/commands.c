/* The tree of commands and the options that all of them take. A new command is one row here and one
 * file in commands/. */
#include "config.h"

#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/commands/commands.h"

/* Shipped captures, for completion; tests/captures.mk ships them. */
static const char *const roots[] = { "ac922-4gpu", "ac922-6gpu", NULL };
static const char *const topologies[] = { "azure-ndv5-8gpu-8nic", "dgx2-16gpu",
                                          "power8-minsky-4gpu-nvlink", NULL };

static const char *const colors[] = { "auto", "always", "never", NULL };

#define GLOBAL(member) offsetof(struct ath_globals, member)

const struct ath_option ath_global_options[] = {
    { .name = "config",
      .letter = 'c',
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .offset = GLOBAL(config),
      .help = N_("the topology document (default: $XDG_CONFIG_HOME/aitherion/topology.yaml where "
                 "it exists, else "
                 "/etc/aitherion/topology.yaml)") },
    { .name = "json",
      .offset = GLOBAL(is_json),
      .help = N_("print the result as JSON, errors too") },
    { .name = "yaml",
      .offset = GLOBAL(is_yaml),
      .help = N_("print the result as YAML, errors too") },
    { .name = "quiet",
      .letter = 'q',
      .offset = GLOBAL(is_quiet),
      .help = N_("print results and errors, nothing else") },
    { .name = "verbose",
      .letter = 'v',
      .type = ATH_OPTION_COUNT,
      .offset = GLOBAL(verbosity),
      .help = N_("say what is being done; twice: in detail") },
    { .name = "color",
      .type = ATH_OPTION_CHOICE,
      .choices = colors,
      .offset = GLOBAL(color),
      .help = N_(
          "when to use colour (default: auto, on a terminal that can, unless NO_COLOR is set)") },
    { .name = "yes",
      .letter = 'y',
      .offset = GLOBAL(is_yes),
      .help = N_("answer every question with yes") },
    { .name = "no-input",
      .offset = GLOBAL(is_no_input),
      .help = N_("never ask; fail where a question would be needed") },
    { .name = "dry-run",
      .offset = GLOBAL(is_dry_run),
      .help = N_("show what would be done and change nothing") },
    { .name = "help",
      .letter = 'h',
      .offset = GLOBAL(wants_help),
      .help = N_("show the help of the command") },
    { .name = "version", .offset = GLOBAL(wants_version), .help = N_("show the version") },
    { .name = NULL },
};

const struct ath_option ath_machine_options[] = {
    { .name = "root",
      .type = ATH_OPTION_TEXT,
      .metavar = "DIR",
      .completion = ATH_COMPLETE_FOLDER,
      .suggestions = roots,
      .offset = GLOBAL(root),
      .help = N_("read a captured machine from DIR, which holds its sys/ and proc/, or a shipped "
                 "one by its name") },
    { .name = "topology",
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .suggestions = topologies,
      .offset = GLOBAL(topology),
      .help = N_("read a machine from an hwloc 2 XML or an NCCL topology XML, or a shipped one by "
                 "its name") },
    { .name = NULL },
};

static const struct ath_command *const numa_children[] = { &ath_command_discover,
                                                           &ath_command_configure,
                                                           &ath_command_start,
                                                           &ath_command_stop,
                                                           &ath_command_status,
                                                           &ath_command_health,
                                                           NULL };

/* The seeds' spelling, `aitherion numa discover`; both stay. */
static const struct ath_command command_numa = {
    .name = "numa",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("another spelling: `numa discover` is `discover`, and so on"),
    .description =
        N_("`aitherion numa X` is the same as `aitherion X`, for whoever is used to that."),
    .children = numa_children,
};

static const struct ath_command *const root_children[] = {
    &ath_command_menu,
    &ath_command_discover,
    &command_numa,
    &ath_command_init,
    &ath_command_configure,
    &ath_command_roce,
    &ath_command_health,
    &ath_command_start,
    &ath_command_stop,
    &ath_command_status,
    &ath_command_run,
    &ath_command_session,
    &ath_command_clean,
    &ath_command_image,
    &ath_command_key,
    &ath_command_help,
    &ath_command_version,
    &ath_command_completion,
    NULL,
};

static const struct ath_example root_examples[] = {
    { "aitherion discover", N_("see this machine") },
    { "aitherion discover --root ac922-4gpu", N_("see an AC922 without having one") },
    { "aitherion init", N_("write a first document") },
    { .command = NULL },
};

const struct ath_command ath_command_root = {
    .name = "aitherion",
    .summary = N_("make the NUMA nodes of a GPU server usable and shareable"),
    .description = N_("Discovers which CPUs, GPUs and RDMA cards of a server belong together, and "
                      "keeps a topology "
                      "document that says what each NUMA node shall serve."),
    .examples = root_examples,
    .children = root_children,
};
