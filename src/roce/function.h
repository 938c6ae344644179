/*
 * The functions that network links and RDMA devices belong to, and which of them stand for
 * themselves. Private to roce.
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
    int subfunction; /* mlx5_core.sf.N of that PCI function; ATH_UNKNOWN for the function itself */
    int class;       /* 0x0200...; ATH_UNKNOWN for what is no network controller by its class */
    int presence;    /* what of it can be used here: 2 a link, 1 an RDMA device alone, 0 nothing */
    bool is_owned;   /* a virtual function or subfunction whose physical function is there, too */
    bool is_folded;  /* ... and which counts as part of that one */
    int vfs;         /* virtual functions that name it as their physical one */
};

struct ath_functions {
    struct ath_function *items; /* sorted by address, then subfunction */
    size_t count;
};

/* Collects the PCI bus's network functions, and those of the ports (links) and devices given. */
void ath_functions_read(const struct ath_root *root, const struct ath_ports *ports,
                        const struct ath_rdma_devices *devices, struct ath_functions *out);
void ath_functions_free(struct ath_functions *functions);

/* NULL where there is none. */
struct ath_function *ath_functions_find(const struct ath_functions *functions,
                                        const struct ath_pci *pci, int subfunction);

/* Whether what belongs to this function is left out; false for what has no PCI function. */
bool ath_functions_folds(const struct ath_functions *functions, bool has_pci,
                         const struct ath_pci *pci, int subfunction);
