/* The nearest ports of each GPU are those of the best rank in the machine's pairs (numa/pair.h). */
#include "config.h"

#include "place/ports.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "numa/pair.h"

void ath_place_ports_free(struct ath_place_ports *ports)
{
    if (!ports)
        return;
    free(ports->items);
    *ports = (struct ath_place_ports){ 0 };
}

bool ath_place_can_use_rdma(const struct ath_nic *nic)
{
    return nic->rdma_device && nic->rdma_state != ATH_LINK_DOWN && nic->link != ATH_LINK_DOWN;
}

static struct ath_place_port *find_port(struct ath_place_ports *ports, const struct ath_nic *nic)
{
    for (size_t i = 0; i < ports->count; i++)
        if (ports->items[i].nic == nic)
            return &ports->items[i];
    struct ath_place_port *port = ath_push(&ports->items, &ports->count, sizeof *port);
    port->nic = nic;
    port->nearness = ~0U;
    return port;
}

static void add_port(const struct ath_machine *machine, const struct ath_pair *pair,
                     bool is_nearest, struct ath_place_ports *ports)
{
    const struct ath_nic *nic = &machine->nics[pair->nic];
    unsigned int nearness = ath_pair_nearness(machine, &machine->gpus[pair->gpu], nic);
    struct ath_place_port *port = find_port(ports, nic);

    if (nearness < port->nearness) {
        port->nearness = nearness;
        port->class = pair->class;
    }
    port->gpu_count += is_nearest;
    port->is_for_rdma = port->is_for_rdma || ath_place_can_use_rdma(nic);
}

static void add_ports_of(const struct ath_machine *machine, size_t gpu, const struct ath_nic *only,
                         struct ath_place_ports *ports)
{
    size_t count;
    const struct ath_pair *pairs = ath_pairs_of_gpu(machine, gpu, &count);
    int rdma_rank = ATH_UNKNOWN;

    for (size_t i = 0; i < count; i++) {
        const struct ath_nic *nic = &machine->nics[pairs[i].nic];
        bool is_nearest = pairs[i].rank == pairs[0].rank;
        if (rdma_rank == ATH_UNKNOWN && ath_place_can_use_rdma(nic))
            rdma_rank = pairs[i].rank;
        bool is_nearest_rdma = ath_place_can_use_rdma(nic) && pairs[i].rank == rdma_rank;
        if (only ? nic == only : is_nearest || is_nearest_rdma)
            add_port(machine, &pairs[i], is_nearest, ports);
    }
}

static int compare_ports(const void *a, const void *b)
{
    const struct ath_place_port *x = a, *y = b;
    int nearness = (x->nearness > y->nearness) - (x->nearness < y->nearness);
    return nearness ? nearness : (x->nic > y->nic) - (x->nic < y->nic);
}

void ath_place_find_ports(const struct ath_machine *machine, const size_t *gpus, size_t gpu_count,
                          const struct ath_nic *only, struct ath_place_ports *out)
{
    *out = (struct ath_place_ports){ 0 };
    for (size_t i = 0; i < gpu_count; i++)
        add_ports_of(machine, gpus[i], only, out);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_ports);
}
