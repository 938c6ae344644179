/* aitherion kubernetes: the parent of the commands that run inside Kubernetes. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"

static const struct ath_command *const children[] = { ATH_KUBERNETES_COMMANDS(ATH_COMMAND_CHILD)
                                                          NULL };

static const struct ath_example examples[] = {
    { "aitherion kubernetes manifests --image NAME --kubernetes 1.34.1",
      N_("print all objects for a cluster") },
    { "aitherion kubernetes agent", N_("publish the GPUs of a node, on each node") },
    { "aitherion kubernetes scheduler", N_("choose GPUs for pods, beside kube-scheduler") },
    { "aitherion kubernetes webhook --image registry/aitherion:1", N_("prepare pods for GPUs") },
    { .command = NULL },
};

const struct ath_command ath_command_kubernetes = {
    .name = "kubernetes",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("what runs inside Kubernetes"),
    .description = N_("The commands that pods of Kubernetes run. docs/cluster.md says how to set "
                      "them up, and which rights each of them needs."),
    .examples = examples,
    .children = children,
};
