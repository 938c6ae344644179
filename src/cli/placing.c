/* Reads a request for GPUs, chooses them, and makes the answer. */
#include "config.h"

#include "cli/placing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bind.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/gpu_names.h"
#include "numa/core.h"
#include "place/matrix.h"

void ath_placing_free(struct ath_placing *placing)
{
    if (!placing)
        return;
    for (size_t i = 0; i < placing->group_count; i++)
        ath_place_group_free(&placing->groups[i]);
    free(placing->groups);
    ath_place_answer_free(&placing->answer);
    ath_idset_free(&placing->allowed);
    free(placing->bandwidths);
    free(placing->is_free);
    *placing = (struct ath_placing){ 0 };
}

/* ---- GPUs and ports by name ---- */

static int refuse_unusable(const struct ath_placing *placing, size_t index, struct ath_err *err)
{
    char pci[ATH_PCI_TEXT];
    ath_pci_format(&placing->machine->gpus[index].pci, pci);
    ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                _("GPU%zu (%s) of --free cannot be placed: no program can use it, or it is not of "
                  "the vendor of the others"),
                index, pci);
    return ath_err_hint(err, -EINVAL, "aitherion discover");
}

static int find_free(struct ath_placing *placing, struct ath_err *err)
{
    size_t count = placing->machine->gpu_count;
    ath_auto_free bool *named = ath_xalloc(count * sizeof *named);
    ath_auto_free bool *avoided = ath_xalloc(count * sizeof *avoided);
    const char *free_gpus = placing->request.free_gpus, *avoid = placing->request.avoided;
    int status =
        free_gpus ? ath_gpu_names_read(placing->machine, "--free", free_gpus, named, err) : 0;

    if (!status && avoid)
        status = ath_gpu_names_read(placing->machine, "--avoid", avoid, avoided, err);
    if (status)
        return status;
    placing->is_free = ath_xalloc(count * sizeof *placing->is_free);
    ath_place_usable(placing->machine, placing->is_free);
    for (size_t i = 0; i < count; i++) {
        if (named[i] && !placing->is_free[i])
            return refuse_unusable(placing, i, err);
        if (named[i] && avoided[i]) {
            ath_err_set(err, -EINVAL, ATH_E_USAGE, _("GPU%zu is in both --free and --avoid"), i);
            return ath_err_hint(err, -EINVAL, _("leave it out of one of them"));
        }
        placing->is_free[i] = placing->is_free[i] && !avoided[i] && (!free_gpus || named[i]);
    }
    return 0;
}

static const struct ath_nic *nic_named(const struct ath_machine *machine, const char *word)
{
    struct ath_pci pci;
    const struct ath_nic *nic = ath_machine_nic_by_netdev(machine, word);

    if (!nic)
        nic = ath_machine_nic_by_rdma(machine, word);
    for (size_t i = 0; !nic && i < machine->nic_count && !ath_pci_parse(word, &pci); i++)
        if (machine->nics[i].has_pci && ath_pci_equals(&machine->nics[i].pci, &pci))
            return &machine->nics[i];
    return nic;
}

static int find_near(struct ath_placing *placing, struct ath_err *err)
{
    const char *word = placing->request.near;
    ATH_AUTO(ath_text) names = { 0 };

    if (!word || (placing->near = nic_named(placing->machine, word)))
        return 0;
    for (size_t i = 0; i < placing->machine->nic_count; i++) {
        const struct ath_nic *nic = &placing->machine->nics[i];
        char pci[ATH_PCI_TEXT] = "";
        if (nic->has_pci)
            ath_pci_format(&nic->pci, pci);
        const char *name = nic->netdev ? nic->netdev : nic->rdma_device ? nic->rdma_device : pci;
        ath_text_add_part(&names, ", ", "%s", name);
    }
    ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                names.data ? _("the machine has no network port '%s' for --near: it has %s")
                           : _("the machine has no network port '%s' for --near, and no other%s"),
                word, names.data ? names.data : "");
    return ath_err_hint(err, -EINVAL,
                        _("name a port by its link, RDMA device or PCI address: aitherion "
                          "discover"));
}

/* ---- choosing ---- */

static int make_groups(struct ath_placing *placing, struct ath_err *err)
{
    const struct ath_set_choice *best = &placing->answer.best;
    ath_auto_free struct ath_idset *parts = ath_xalloc(best->group_count * sizeof *parts);
    int status = 0;

    placing->groups = ath_xalloc(best->group_count * sizeof *placing->groups);
    ath_place_divide_cpus(placing->machine, best->gpus, best->size, best->group_count,
                          placing->is_limited ? &placing->allowed : NULL, parts);
    for (size_t i = 0; i < best->group_count && !status; i++) {
        const struct ath_place_group_request request = {
            .gpus = &best->gpus[i * best->size],
            .ring = &best->rings[i * best->size],
            .gpu_count = best->size,
            .bandwidths = placing->bandwidths,
            .cpu_count = placing->request.cpu_count,
            .allowed = best->group_count > 1 ? &parts[i]
                       : placing->is_limited ? &placing->allowed
                                             : NULL,
            .near = placing->near,
            .binds_memory = placing->request.binds_memory,
        };
        status = ath_place_group_make(placing->machine, &request, &placing->groups[i], err);
        placing->group_count += !status;
    }
    for (size_t i = 0; i < best->group_count; i++)
        ath_idset_free(&parts[i]);
    return status;
}

int ath_placing_read_cores(const struct ath_cli *cli, struct ath_machine *machine,
                           struct ath_err *err)
{
    ATH_AUTO(ath_root) root = { .fd = -1 };
    int status = machine->core_count ? 0 : ath_cli_root(cli, &root, err);

    if (!status && !machine->core_count)
        ath_cores_read(root.fd < 0 ? NULL : &root, machine);
    return status;
}

int ath_placing_make(const struct ath_machine *machine, const struct ath_placing_request *request,
                     struct ath_placing *out, struct ath_err *err)
{
    *out = (struct ath_placing){ .machine = machine, .request = *request };
    if (machine->source == ATH_SOURCE_LIVE)
        out->is_limited = !ath_bind_allowed(&out->allowed);
    int status = find_free(out, err);
    if (!status)
        status = find_near(out, err);
    if (status)
        return status;
    out->bandwidths = ath_place_matrix(machine);
    const struct ath_place_request wanted = { .size = request->size,
                                              .group_count = request->group_count,
                                              .policy = request->policy,
                                              .is_free = out->is_free,
                                              .near = out->near };
    status = ath_place_choose(machine, out->bandwidths, &wanted, &out->answer, err);
    return status ? status : make_groups(out, err);
}

struct ath_place_report ath_placing_report(const struct ath_placing *placing)
{
    return (struct ath_place_report){
        .machine = placing->machine,
        .policy = placing->request.policy,
        .near = placing->request.near,
        .size = placing->request.size,
        .answer = &placing->answer,
        .groups = placing->groups,
        .group_count = placing->group_count,
    };
}
