/*
 * Folding virtual functions and subfunctions into their physical function.
 *
 * Virtual functions (SR-IOV) and mlx5 subfunctions are counted at their physical function, as long
 * as the physical function is at least as usable here. In a container, sysfs shows the host's PCI
 * functions but only the links of the container's own network namespace. RDMA devices of all
 * namespaces are shown unless `rdma system set netns exclusive` is in force. So in a container that
 * was given the link of a virtual function, the virtual function is the port, and its physical
 * function is a card without a link.
 */
#include "config.h"

#include "roce/function.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/pci_virtual.h"
#include "base/pcidev.h"

enum { CLASS_NETWORK = 0x02, PRESENT_RDMA = 1, PRESENT_LINK = 2 };

static int compare(const void *a, const void *b)
{
    const struct ath_function *x = a, *y = b;
    int order = ath_pci_compare(&x->pci, &y->pci);
    return order ? order : (x->subfunction > y->subfunction) - (x->subfunction < y->subfunction);
}

static void add(struct ath_functions *functions, const struct ath_pci *pci, int subfunction,
                int class, int presence)
{
    struct ath_function *function =
        ath_push(&functions->items, &functions->count, sizeof *function);
    *function = (struct ath_function){
        .pci = *pci, .subfunction = subfunction, .class = class, .presence = presence
    };
}

/* A capture may lack the `physfn` links of sysfs. */
static void read_ids(const struct ath_root *root, struct ath_functions *functions)
{
    for (size_t i = 0; !root->is_live && i < functions->count; i++) {
        struct ath_function *function = &functions->items[i];
        function->vendor_id = ath_pcidev_number(root, &function->pci, "vendor");
        function->device_id = ath_pcidev_number(root, &function->pci, "device");
    }
}

static void add_pci(const struct ath_root *root, struct ath_functions *out)
{
    ath_auto_free struct ath_pcidev *devices;
    size_t count;

    ath_pcidev_list(root, &devices, &count); /* fails on a machine without PCI, which is fine */
    for (size_t i = 0; i < count; i++)
        if (devices[i].class >= 0 && devices[i].class >> 8 == CLASS_NETWORK)
            add(out, &devices[i].address, ATH_UNKNOWN, devices[i].class, 0);
}

/* Sorts the entries, and merges entries of the same function. */
static void merge(struct ath_functions *functions)
{
    size_t kept = 0;

    if (functions->count)
        qsort(functions->items, functions->count, sizeof *functions->items, compare);
    for (size_t i = 0; i < functions->count; i++) {
        struct ath_function *last = kept ? &functions->items[kept - 1] : NULL;
        const struct ath_function *next = &functions->items[i];
        if (!last || compare(last, next)) {
            functions->items[kept++] = *next;
            continue;
        }
        last->class = next->class > last->class ? next->class : last->class;
        last->presence = next->presence > last->presence ? next->presence : last->presence;
    }
    functions->count = kept;
}

/* True if `owner` may be the physical function of a virtual one, by their ids: SR-IOV puts the
 * first virtual functions on the bus of the physical one (PCI Express, 9.2.1.2). */
static bool may_own(const struct ath_function *owner, const struct ath_function *function)
{
    return owner->subfunction == ATH_UNKNOWN && owner->pci.domain == function->pci.domain &&
           owner->pci.bus == function->pci.bus && owner->vendor_id == function->vendor_id &&
           !ath_pci_is_virtual_id(owner->vendor_id, owner->device_id);
}

/* Finds the owner of a function with the ids of a virtual one. If there may be several, the first
 * one stands for all, and their numbers are unknown. */
static struct ath_function *find_owner_by_ids(struct ath_functions *functions,
                                              const struct ath_function *function)
{
    struct ath_function *first = NULL;

    if (!ath_pci_is_virtual_id(function->vendor_id, function->device_id))
        return NULL;
    for (size_t i = 0; i < functions->count; i++) {
        struct ath_function *owner = &functions->items[i];
        if (!may_own(owner, function))
            continue;
        if (first)
            first->vfs = owner->vfs = ATH_UNKNOWN;
        first = first ? first : owner;
    }
    return first;
}

/* Returns the physical function of a virtual function or subfunction, or NULL. */
static struct ath_function *find_owner(const struct ath_root *root, struct ath_functions *functions,
                                       struct ath_function *function)
{
    struct ath_pci parent = function->pci;

    function->is_owned = function->subfunction != ATH_UNKNOWN ||
                         ath_pcidev_is_virtual(root, &function->pci, &parent);
    if (function->is_owned)
        return ath_functions_find(functions, &parent, ATH_UNKNOWN);
    struct ath_function *owner = root->is_live ? NULL : find_owner_by_ids(functions, function);
    function->is_owned = owner;
    return owner;
}

void ath_functions_read(const struct ath_root *root, const struct ath_ports *ports,
                        const struct ath_rdma_devices *devices, struct ath_functions *out)
{
    add_pci(root, out);
    for (size_t i = 0; i < ports->count; i++)
        if (ports->items[i].nic.has_pci)
            add(out, &ports->items[i].nic.pci, ports->items[i].subfunction, ATH_UNKNOWN,
                PRESENT_LINK);
    for (size_t i = 0; i < devices->count; i++)
        if (devices->items[i].has_pci)
            add(out, &devices->items[i].pci, devices->items[i].subfunction, ATH_UNKNOWN,
                PRESENT_RDMA);
    merge(out);
    read_ids(root, out);

    for (size_t i = 0; i < out->count; i++) {
        struct ath_function *function = &out->items[i];
        struct ath_function *owner = find_owner(root, out, function);
        int presence = owner ? owner->presence : 0;
        function->is_folded = function->is_owned && presence >= function->presence;
        if (owner && function->subfunction == ATH_UNKNOWN && owner->vfs != ATH_UNKNOWN)
            owner->vfs++;
    }
}

void ath_functions_free(struct ath_functions *functions)
{
    if (!functions)
        return;
    free(functions->items);
    *functions = (struct ath_functions){ 0 };
}

struct ath_function *ath_functions_find(const struct ath_functions *functions,
                                        const struct ath_pci *pci, int subfunction)
{
    struct ath_function key = { .pci = *pci, .subfunction = subfunction };
    return functions->count ? bsearch(&key, functions->items, functions->count,
                                      sizeof *functions->items, compare)
                            : NULL;
}

bool ath_functions_folds(const struct ath_functions *functions, bool has_pci,
                         const struct ath_pci *pci, int subfunction)
{
    const struct ath_function *function =
        has_pci ? ath_functions_find(functions, pci, subfunction) : NULL;
    return function && function->is_folded;
}
