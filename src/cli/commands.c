/* The tree of commands, and the options that all commands take. */
#include "config.h"

#include "base/i18n.h"
#include "base/level.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/commands/commands.h"

/* Shipped captures, offered by completion; tests/captures.mk ships them. */
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
      .help = N_("the topology document (default: $XDG_CONFIG_HOME/aitherion/topology.yaml if it "
                 "exists, else /etc/aitherion/topology.yaml)") },
    { .name = "json",
      .offset = GLOBAL(is_json),
      .help = N_("print the result and errors as JSON") },
    { .name = "yaml",
      .offset = GLOBAL(is_yaml),
      .help = N_("print the result and errors as YAML") },
    { .name = "quiet",
      .letter = 'q',
      .offset = GLOBAL(is_quiet),
      .help = N_("print only results and errors") },
    { .name = "verbose",
      .letter = 'v',
      .type = ATH_OPTION_COUNT,
      .offset = GLOBAL(verbosity),
      .help = N_("say what is done; give it twice for details") },
    { .name = "log-level",
      .type = ATH_OPTION_TEXT,
      .choices = ath_level_names,
      .offset = GLOBAL(log_level),
      .help = N_("the messages on standard error: error (as -q), warning (the default: also what "
                 "was changed), info (as -v) or debug (as -vv); overrides -q, -v and "
                 "AITHERION_LOG_LEVEL") },
    { .name = "color",
      .type = ATH_OPTION_CHOICE,
      .choices = colors,
      .offset = GLOBAL(color),
      .help =
          N_("when to use colour (default: auto, on a terminal that supports it unless NO_COLOR is "
             "set)") },
    { .name = "yes",
      .letter = 'y',
      .offset = GLOBAL(is_yes),
      .help = N_("answer yes to every question") },
    { .name = "no-input",
      .offset = GLOBAL(is_no_input),
      .help = N_("never ask; fail if an answer is needed") },
    { .name = "dry-run",
      .offset = GLOBAL(is_dry_run),
      .help = N_("show what would be done, and change nothing") },
    { .name = "help",
      .letter = 'h',
      .offset = GLOBAL(wants_help),
      .help = N_("show the help of the command") },
    { .name = "version",
      .letter = 'V',
      .offset = GLOBAL(wants_version),
      .help = N_("show the version") },
    { .name = NULL },
};

const struct ath_option ath_machine_options[] = {
    { .name = "root",
      .type = ATH_OPTION_TEXT,
      .metavar = "DIR",
      .completion = ATH_COMPLETE_FOLDER,
      .suggestions = roots,
      .offset = GLOBAL(root),
      .help = N_("read a captured machine from DIR, which holds its sys/ and proc/; or the name "
                 "of a shipped capture") },
    { .name = "topology",
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .suggestions = topologies,
      .offset = GLOBAL(topology),
      .help = N_("read a machine from an XML of hwloc (lstopo) or of NCCL, from the JSON of "
                 "'aitherion discover --json', or from the text of "
                 "nvidia-smi topo -m, with that of numactl -H in the same file or after a comma "
                 "(topo.txt,numactl.txt); or the name of a shipped XML") },
    { .name = NULL },
};

static const struct ath_command *const numa_children[] = { &ath_command_discover,
                                                           &ath_command_configure,
                                                           &ath_command_start,
                                                           &ath_command_stop,
                                                           &ath_command_status,
                                                           &ath_command_health,
                                                           NULL };

/* The spelling of the project's specification, `aitherion numa discover`; both spellings stay. */
const struct ath_command ath_command_numa = {
    .name = "numa",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("other spelling: `numa discover` is `discover`, and so on"),
    .description = N_("`aitherion numa X` is the same as `aitherion X`."),
    .children = numa_children,
};

static const struct ath_command *const root_children[] = { ATH_ROOT_COMMANDS(ATH_COMMAND_CHILD)
                                                               NULL };

static const struct ath_example root_examples[] = {
    { "aitherion discover", N_("show this machine") },
    { "aitherion discover --root ac922-4gpu", N_("show an AC922 from a shipped capture") },
    { "aitherion init", N_("write a first document") },
    { .command = NULL },
};

const struct ath_command ath_command_root = {
    .name = "aitherion",
    .summary = N_("make the NUMA nodes of a GPU server usable and shareable"),
    .description = N_("Discovers which CPUs, GPUs and RDMA cards of a server belong together, "
                      "keeps a topology document that says what each NUMA node serves, and starts "
                      "a runtime for each node, through which programs use its GPUs."),
    .examples = root_examples,
    .children = root_children,
    .hidden = &ath_command_complete,
};
