/* Reading counts of this host. */
#include "config.h"

#include "cli/top/host_counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"

enum { RDMA_UNIT_BYTES = 4 }; /* of port_rcv_data and port_xmit_data (InfiniBand's PortCounters) */

static void port_free(struct ath_port_counts *port)
{
    free(port->netdev);
    free(port->rdma_device);
}

void ath_host_counts_free(struct ath_host_counts *host)
{
    if (!host)
        return;
    for (size_t i = 0; i < host->port_count; i++)
        port_free(&host->ports[i]);
    free(host->ports);
    *host = (struct ath_host_counts){ 0 };
}

void ath_host_counts_copy(const struct ath_host_counts *from, struct ath_host_counts *out)
{
    *out = *from;
    out->ports = ath_xalloc(from->port_count * sizeof *out->ports);
    for (size_t i = 0; i < from->port_count; i++) {
        out->ports[i] = from->ports[i];
        out->ports[i].netdev = ath_xstrdup(from->ports[i].netdev);
        out->ports[i].rdma_device = ath_xstrdup(from->ports[i].rdma_device);
    }
}

/* ---- ports ---- */

static struct ath_port_counts *add_port(struct ath_host_counts *host, const char *netdev)
{
    struct ath_port_counts *port = ath_push(&host->ports, &host->port_count, sizeof *port);
    *port = (struct ath_port_counts){ .netdev = ath_xstrdup(netdev),
                                      .speed_mbps = ATH_UNKNOWN,
                                      .received_bytes = ATH_UNKNOWN,
                                      .sent_bytes = ATH_UNKNOWN,
                                      .rdma_received_bytes = ATH_UNKNOWN,
                                      .rdma_sent_bytes = ATH_UNKNOWN };
    return port;
}

static void add_nic(struct ath_host_counts *host, const struct ath_nic *nic)
{
    struct ath_port_counts *port = add_port(host, nic->netdev);
    port->rdma_device = ath_xstrdup(nic->rdma_device);
    port->rdma_port = nic->port;
    port->link_layer = nic->link_layer;
}

static enum ath_link_state link_state(const struct ath_root *root, const char *netdev)
{
    ath_auto_free char *state = ath_root_read(root, "sys/class/net/%s/operstate", netdev);
    return !state || !strcmp(state, "unknown") ? ATH_LINK_UNKNOWN
           : !strcmp(state, "up")              ? ATH_LINK_UP
                                               : ATH_LINK_DOWN;
}

static void add_links_without_hardware(const struct ath_root *root, struct ath_host_counts *out)
{
    char **names;
    size_t count;

    if (ath_root_list(root, "sys/class/net", &names, &count))
        return;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], "lo") != 0 && link_state(root, names[i]) == ATH_LINK_UP)
            add_port(out, names[i]);
    ath_names_free(names, count);
}

void ath_host_counts_find(const struct ath_root *root, struct ath_host_counts *out)
{
    struct ath_nic_others others = { 0 };
    struct ath_err err = { 0 };
    struct ath_nic *nics = NULL;
    size_t count = 0;

    if (!ath_nic_read(root, &nics, &count, &others, &err)) {
        for (size_t i = 0; i < count; i++) {
            add_nic(out, &nics[i]);
            ath_nic_free(&nics[i]);
        }
        free(nics);
        ath_nic_others_free(&others);
    }
    if (!out->port_count)
        add_links_without_hardware(root, out);
}

static void read_rdma(const struct ath_root *root, struct ath_port_counts *port)
{
    static const struct {
        const char *file;
        size_t offset;
    } counts[] = {
        { "port_rcv_data", offsetof(struct ath_port_counts, rdma_received_bytes) },
        { "port_xmit_data", offsetof(struct ath_port_counts, rdma_sent_bytes) },
    };
    for (size_t i = 0; i < ATH_COUNT(counts); i++) {
        int64_t count =
            ath_root_read_number(root, ATH_UNKNOWN, "sys/class/infiniband/%s/ports/%d/counters/%s",
                                 port->rdma_device, port->rdma_port, counts[i].file);
        bool is_known = count >= 0 && count <= INT64_MAX / RDMA_UNIT_BYTES;
        memcpy((char *)port + counts[i].offset,
               &(int64_t){ is_known ? count * RDMA_UNIT_BYTES : ATH_UNKNOWN }, sizeof(int64_t));
    }
}

static void read_port(const struct ath_root *root, struct ath_port_counts *port)
{
    if (port->netdev) {
        port->link = link_state(root, port->netdev);
        port->speed_mbps =
            ath_root_read_number(root, ATH_UNKNOWN, "sys/class/net/%s/speed", port->netdev);
        port->received_bytes = ath_root_read_number(
            root, ATH_UNKNOWN, "sys/class/net/%s/statistics/rx_bytes", port->netdev);
        port->sent_bytes = ath_root_read_number(
            root, ATH_UNKNOWN, "sys/class/net/%s/statistics/tx_bytes", port->netdev);
    }
    if (port->rdma_device)
        read_rdma(root, port);
}

/* ---- processors and memory ---- */

/* Adds the times of the first line of /proc/stat (proc(5)): user, nice, system, idle, iowait, irq,
 * softirq, steal. Guest times are in user already. */
static void read_processors(const struct ath_root *root, struct ath_host_counts *host)
{
    enum { IDLE = 3, IOWAIT, TIMES = 8 };
    ath_auto_free char *text = ath_root_read(root, "proc/stat");
    int64_t all = 0, idle = 0;
    char *at = text;

    host->busy_ticks = host->all_ticks = ATH_UNKNOWN;
    if (!at || strncmp(at, "cpu ", 4) != 0)
        return;
    at += 4;
    for (int i = 0; i < TIMES; i++) {
        int64_t ticks = strtoll(at, &at, 10);
        all += ticks;
        idle += i == IDLE || i == IOWAIT ? ticks : 0;
    }
    host->all_ticks = all;
    host->busy_ticks = all - idle;
}

static int64_t memory_of(const char *text, const char *name)
{
    const char *at = text ? strstr(text, name) : NULL;
    char *end = NULL;
    long long kibibytes = at ? strtoll(at + strlen(name), &end, 10) : -1;
    bool is_number = at && end != at + strlen(name) && kibibytes >= 0;
    return is_number && kibibytes <= INT64_MAX / 1024 ? kibibytes * 1024 : ATH_UNKNOWN;
}

void ath_host_counts_read(const struct ath_root *root, struct ath_host_counts *host)
{
    ath_auto_free char *memory = ath_root_read(root, "proc/meminfo");

    host->at_ms = ath_now_ms();
    read_processors(root, host);
    host->memory_total_bytes = memory_of(memory, "MemTotal:");
    host->memory_available_bytes = memory_of(memory, "MemAvailable:");
    for (size_t i = 0; i < host->port_count; i++)
        read_port(root, &host->ports[i]);
}
