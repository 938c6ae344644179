/*
 * Reading a machine from its file systems or from an XML file.
 *
 * The live machine is the root "/"; the same code reads a captured root. Only facts that no file
 * has (uname, NVML) are read on a live machine alone.
 */
#include "config.h"

#include "numa/discover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/root.h"
#include "numa/gpu.h"
#include "numa/host.h"
#include "numa/kernel_log.h"
#include "numa/near.h"
#include "numa/node.h"
#include "numa/nvml.h"
#include "numa/smi_topo.h"
#include "numa/topology_xml.h"
#include "numa/warning.h"

/* Without nvidia-persistenced, the driver first initialises each GPU, which takes seconds per
 * GPU. */
enum { NVML_TIMEOUT_MS = 60000 };

/* Returns the only subfolder with sys/, as in an unpacked tarball, or NULL if there is none or
 * several. The caller frees the name. */
static char *find_nested_root(const struct ath_root *root)
{
    char **names;
    size_t count;
    char *found = NULL;
    bool is_only = true;

    ath_root_list(root, ".", &names, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_half = !strcmp(names[i], "proc"); /* of a root without 'sys': it has proc/sys */
        if (is_half || !ath_root_exists(root, "%s/sys", names[i]))
            continue;
        is_only = !found;
        if (!found)
            found = ath_xstrdup(names[i]);
    }
    ath_names_free(names, count);
    if (is_only)
        return found;
    free(found);
    return NULL;
}

static int check_root(const struct ath_root *root, struct ath_err *err)
{
    if (root->is_live || ath_root_exists(root, "sys/."))
        return 0;

    ath_auto_free char *nested = find_nested_root(root);
    size_t length = strlen(root->path);
    bool has_slash = length && root->path[length - 1] == '/';
    ath_err_set(err, -ENOENT, ATH_E_ROOT_INVALID,
                _("'%s' is not a captured root: it has no folder 'sys'"), root->path);
    if (nested)
        return ath_err_hint(err, -ENOENT, "--root %s%s%s", root->path, has_slash ? "" : "/",
                            nested);
    return ath_err_hint(err, -ENOENT,
                        _("give the folder that contains the captured 'sys' and 'proc'"));
}

/* A failure is only a warning: the machine is useful without its network cards. */
static void read_nics(const struct ath_root *root, struct ath_machine *machine)
{
    struct ath_err err = { 0 };
    int status = ath_nic_read(root, &machine->nics, &machine->nic_count, &machine->others, &err);
    if (status)
        ath_warning_add(machine, ATH_W_UNREADABLE, "sys/class/net", strerror(-status),
                        _("network links"), NULL);
    for (size_t i = 0; i < machine->nic_count; i++) {
        struct ath_nic *nic = &machine->nics[i];
        if (nic->has_pci)
            nic->numa_node =
                ath_near_node(root, machine, &nic->pci, nic->numa_node, nic->place, ATH_UNKNOWN);
    }
}

static int read_root(const char *path, bool without_nvml, struct ath_machine *machine,
                     struct ath_err *err)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    int status = ath_root_open(path, &root, err);
    if (!status)
        status = check_root(&root, err);
    if (status)
        return status;

    machine->source = root.is_live ? ATH_SOURCE_LIVE : ATH_SOURCE_ROOT;
    ath_log(ATH_LOG_VERBOSE, _("reading the machine from '%s'"), path);
    ath_host_read(&root, machine);
    if (!ath_root_exists(&root, "proc/."))
        ath_warning_add(machine, ATH_W_INCOMPLETE, path,
                        _("'proc', with the kernel, the model, and the NUMA nodes of GPU memory"),
                        NULL);
    status = ath_nodes_read(&root, machine, err);
    if (status)
        return status;
    ath_log(ATH_LOG_VERBOSE, _("NUMA nodes: %zu, from sys/devices/system/node"),
            machine->node_count);
    ath_gpus_read(&root, machine);
    read_nics(&root, machine);
    ath_nodes_check_allowed(&root, machine);
    ath_kernel_log_read(&root, machine);
    if (!root.is_live)
        ath_smi_topo_read(&root, machine);
    else if (!without_nvml)
        ath_nvml_read(machine, NULL, NVML_TIMEOUT_MS);
    return 0;
}

static int read_topology(const char *path, struct ath_machine *machine, struct ath_err *err)
{
    ath_log(ATH_LOG_VERBOSE, _("reading the topology file '%s'"), path);
    int status = ath_topology_read(path, machine, err);
    if (!status)
        ath_log(ATH_LOG_VERBOSE, _("NUMA nodes: %zu, GPUs: %zu, network ports: %zu"),
                machine->node_count, machine->gpu_count, machine->nic_count);
    return status;
}

int ath_machine_discover(const struct ath_machine_source *source, struct ath_machine *out,
                         struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    int status = source->topology ? read_topology(source->topology, &machine, err)
                                  : read_root(source->root ? source->root : "/",
                                              source->without_nvml, &machine, err);
    if (status)
        return status;
    ath_machine_finish(&machine);
    ath_log(ATH_LOG_VERBOSE, _("pairs of a GPU and a network port: %zu, warnings: %zu"),
            machine.pair_count, machine.warning_count);
    *out = machine;
    machine = (struct ath_machine){ 0 };
    return 0;
}
