/* aitherion roce list: shows RDMA cards, their GIDs, and what uses them. */
#include "config.h"

#include <linux/netlink.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/root.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/output/roce_list.h"
#include "roce/netlink.h"

struct options {
    bool is_all;
};

/* Reads from the kernel whether each port is ready. Ports that it does not report stay unknown. */
static int read_ports(const struct ath_root *root, const struct ath_machine *machine, int *out,
                      struct ath_err *err)
{
    ath_auto_netlink struct ath_netlink *netlink = NULL;
    ATH_AUTO(ath_nldevs) devices = { 0 };
    ATH_AUTO(ath_links) links = { 0 };

    int status = ath_nldevs_read(root, &devices, err);
    if (!status)
        status = ath_netlink_open(NETLINK_ROUTE, &netlink, err);
    if (!status)
        status = ath_links_read(netlink, &links, err);
    for (size_t i = 0; i < machine->nic_count && !status; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        const struct ath_nldev_port *port =
            nic->rdma_device ? ath_nldevs_port(&devices, nic->rdma_device, nic->port) : NULL;
        if (port)
            out[i] = (int)ath_rdma_readiness_of(port, ath_links_find(&links, port->netdev),
                                                nic->link_layer != ATH_LAYER_INFINIBAND);
    }
    return status;
}

/* Reads facts of the live machine that no capture has. */
static void read_live(const struct ath_machine *machine, int *readiness, struct ath_roce_list *list)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    struct ath_err err = { 0 };

    int status = ath_root_open("/", &root, &err);
    if (!status) {
        list->netns_mode = ath_rdma_netns_mode_read(&root);
        status = read_ports(&root, machine, readiness, &err);
    }
    list->readiness = readiness;
    if (status)
        ath_log(ATH_LOG_NORMAL, _("cannot tell whether the ports are ready: %s"), err.message);
}

/* Loads the document. A missing one is no error; one with faults is. */
static int read_document(struct ath_cli *cli, const char *path, struct ath_document *document,
                         struct ath_roce_list *list, struct ath_err *err)
{
    int status = ath_document_load(path, document, &cli->faults, err);

    if (!status)
        list->document = document;
    else if (err->code == ATH_E_DOCUMENT_MISSING)
        status = 0;
    return status;
}

static bool has_rdma(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].rdma_device)
            return true;
    return machine->others.rdma_device_count > 0;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    ath_auto_free char *path = ath_cli_document_path(cli);
    ath_auto_free int *readiness = NULL;
    struct ath_roce_list list = { .machine = &machine, .file = path, .is_all = options->is_all };

    int status = ath_cli_machine(cli, &machine, err);
    if (!status)
        status = read_document(cli, path, &document, &list, err);
    if (status)
        return status;
    readiness = ath_xalloc(machine.nic_count * sizeof *readiness);
    for (size_t i = 0; i < machine.nic_count; i++)
        readiness[i] = ATH_UNKNOWN;
    if (machine.source == ATH_SOURCE_LIVE && has_rdma(&machine))
        read_live(&machine, readiness, &list);
    return ath_cli_show(cli, &ath_roce_list_view, &list, ath_cli_format(cli), err);
}

static const struct ath_option option_table[] = {
    { .name = "all",
      .offset = offsetof(struct options, is_all),
      .help = N_("in text output, show all GIDs instead of only the recommended ones, and every "
                 "device of virtual functions") },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion roce list", N_("show this machine's RDMA cards and what uses them") },
    { "aitherion roce list --all", N_("show every GID") },
    { "aitherion roce list --root ac922-4gpu",
      N_("show those of an AC922 from a shipped capture") },
    { .command = NULL },
};

const struct ath_command ath_command_roce_list = {
    .name = "list",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("show RDMA cards, which GID to use, and what uses them"),
    .description =
        N_("Shows the RDMA cards of this machine with their ports: link, NUMA node, state, and "
           "the GID to use, or why there is none. A GID is an address for RDMA. Its number "
           "differs between machines, so the GID is chosen by link, type (RoCE v2) and "
           "address.\n\n"
           "The topology document tells what uses a card: its NUMA entries, the containers that "
           "get its devices, and the macvlans on its links. Changes nothing and needs no "
           "privileges."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .reads_machine = true,
    .examples = examples,
    .run = run,
};
