/* The network ports that are nearest to a set of GPUs. Pure computation on a finished machine. */
#pragma once
#include "numa/machine.h"

struct ath_place_port {
    const struct ath_nic *nic; /* belongs to the machine */
    enum ath_pci_class class;  /* to the nearest GPU of the set */
    unsigned int nearness;     /* ath_pair_nearness() of that GPU */
    size_t gpu_count;          /* GPUs of the set that have no nearer port */
    bool is_for_rdma;          /* NCCL should use the port */
};

struct ath_place_ports {
    struct ath_place_port *items; /* the nearest first, in the machine's order if equally near */
    size_t count;
};

void ath_place_ports_free(struct ath_place_ports *ports);

/* Returns whether RDMA can use the port: it has an RDMA device, and nothing says that it is
 * down. */
bool ath_place_can_use_rdma(const struct ath_nic *nic);

/*
 * Finds, for each GPU of the set, all its nearest ports, and all its nearest ports that RDMA can
 * use (a port whose state is not known counts). The GPUs are indexes in the machine. With `only`,
 * that port is the only one in the list.
 */
void ath_place_find_ports(const struct ath_machine *machine, const size_t *gpus, size_t gpu_count,
                          const struct ath_nic *only, struct ath_place_ports *out);
