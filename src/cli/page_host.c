/* Reads the facts of this machine for the page of metrics: ports, measured copies, the
 * all-reduce. */
#include "config.h"

#include "cli/page_host.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/unknown.h"
#include "cli/measured.h"
#include "place/measured_links.h"

enum { ALL_REDUCE_BYTES = 100 << 20, BITS_PER_MEGABIT = 1000000, BITS_PER_BYTE = 8 };

void ath_page_host_open(const struct ath_cli *cli, struct ath_page_host *out)
{
    struct ath_err ignored = { 0 };

    *out = (struct ath_page_host){ .cli = cli, .root.fd = -1 };
    if (!ath_root_open("/", &out->root, &ignored))
        ath_host_counts_find(&out->root, &out->counts);
    if (ath_cli_machine(cli, &out->machine, &ignored))
        out->machine = (struct ath_machine){ .gpu_count = 0 };
    out->measured_at = ath_measured_stamp(cli);
}

void ath_page_host_free(struct ath_page_host *host)
{
    ath_machine_free(&host->machine);
    ath_root_free(&host->root);
    ath_host_counts_free(&host->counts);
    free(host->ports);
    free(host->copies);
    free(host->addresses);
}

static int64_t speed_bytes_s(const struct ath_port_counts *port)
{
    return port->speed_mbps > 0 ? port->speed_mbps * (BITS_PER_MEGABIT / BITS_PER_BYTE)
                                : ATH_UNKNOWN;
}

static void read_ports(struct ath_page_host *host)
{
    size_t count = host->counts.port_count;

    ath_host_counts_read(&host->root, &host->counts);
    free(host->ports);
    host->ports = ath_xalloc(count * sizeof *host->ports);
    for (size_t i = 0; i < count; i++) {
        const struct ath_port_counts *port = &host->counts.ports[i];
        host->ports[i] = (struct ath_watch_port){
            .port = port->netdev,
            .rdma = port->rdma_device,
            .up = port->netdev && port->link != ATH_LINK_UNKNOWN ? port->link == ATH_LINK_UP
                                                                 : ATH_UNKNOWN,
            .speed_bytes_s = speed_bytes_s(port),
            .received_bytes = port->received_bytes,
            .sent_bytes = port->sent_bytes,
            .rdma_received_bytes = port->rdma_received_bytes,
            .rdma_sent_bytes = port->rdma_sent_bytes,
        };
    }
    host->facts.ports = host->ports;
    host->facts.port_count = count;
}

static void list_copies(struct ath_page_host *host)
{
    const struct ath_machine *machine = &host->machine;
    size_t count = machine->gpu_count;

    free(host->copies);
    free(host->addresses);
    host->copies = ath_xalloc(count * count * sizeof *host->copies);
    host->addresses = ath_xalloc(count * sizeof *host->addresses);
    for (size_t i = 0; i < count; i++)
        ath_pci_format(&machine->gpus[i].pci, host->addresses[i]);
    host->facts.copies = host->copies;
    host->facts.copies_count = 0;
    for (size_t i = 0; machine->measured && i < count * count; i++)
        if (i / count != i % count)
            host->copies[host->facts.copies_count++] = (struct ath_watch_copies){
                .from = host->addresses[i / count],
                .to = host->addresses[i % count],
                .bytes_s = machine->measured[i].bytes_per_s,
                .latency_ns = machine->measured[i].latency_ns,
            };
}

/* A comparison needs both times, so without a measurement there is none. */
static void compare_all_reduce(struct ath_page_host *host)
{
    struct ath_watch_host *facts = &host->facts;

    facts->all_reduce_measured_ns =
        ath_measured_all_reduce_ns(&host->machine, true, ALL_REDUCE_BYTES);
    facts->all_reduce_expected_ns =
        facts->all_reduce_measured_ns == ATH_UNKNOWN
            ? ATH_UNKNOWN
            : ath_measured_all_reduce_ns(&host->machine, false, ALL_REDUCE_BYTES);
}

void ath_page_host_read(struct ath_page_host *host)
{
    int64_t stamp = ath_measured_stamp(host->cli);

    read_ports(host);
    if (stamp == host->measured_at && host->copies)
        return;
    if (stamp != host->measured_at)
        ath_measured_apply(host->cli, &host->machine);
    host->measured_at = stamp;
    list_copies(host);
    compare_all_reduce(host);
}
