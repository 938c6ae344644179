/*
 * The PCI functions and subfunctions of network cards, and which of them are folded into their
 * physical function. Private to roce.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/pci.h"
#include "base/root.h"
#include "roce/port.h"
#include "roce/rdma.h"

struct ath_function {
    struct ath_pci pci;
    int subfunction; /* N of mlx5_core.sf.N below the PCI function; ATH_UNKNOWN for the function
                        itself */
    int vendor_id, device_id; /* known in a capture only, where they may have to name the owner */
    int class;                /* PCI class, 0x02xx; ATH_UNKNOWN for any other class */
    int presence;             /* what is usable here: 2 a link, 1 only an RDMA device, 0 nothing */
    bool is_owned;            /* a virtual function or a subfunction */
    bool is_folded;           /* counts as a part of its physical function */
    int vfs; /* number of virtual functions of this function; ATH_UNKNOWN if unsure */
};

struct ath_functions {
    struct ath_function *items; /* sorted by address, then subfunction */
    size_t count;
};

/* Collects the network functions of the PCI bus, of the ports (links) and of the RDMA devices. The
 * caller frees *out with ath_functions_free(). */
void ath_functions_read(const struct ath_root *root, const struct ath_ports *ports,
                        const struct ath_rdma_devices *devices, struct ath_functions *out);
void ath_functions_free(struct ath_functions *functions);

/* Returns NULL if there is no such function. */
struct ath_function *ath_functions_find(const struct ath_functions *functions,
                                        const struct ath_pci *pci, int subfunction);

/* True if links and RDMA devices of this function are left out. False if has_pci is false. */
bool ath_functions_folds(const struct ath_functions *functions, bool has_pci,
                         const struct ath_pci *pci, int subfunction);
