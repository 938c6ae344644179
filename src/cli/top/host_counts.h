/*
 * Counts of this host: processors, memory, and the bytes of its network ports. All counts begin
 * with the kernel's start; the caller makes rates of two readings.
 */
#pragma once
#include "base/root.h"
#include "roce/nic.h"

struct ath_port_counts {
    char *netdev;                   /* NULL: the port has only an RDMA device */
    char *rdma_device;              /* NULL: none */
    int rdma_port;                  /* number of the port of the RDMA device */
    enum ath_link_layer link_layer; /* of the RDMA port */
    enum ath_link_state link;
    int64_t speed_mbps;
    int64_t received_bytes, sent_bytes;           /* of the network device */
    int64_t rdma_received_bytes, rdma_sent_bytes; /* of the RDMA port */
};

/* Owns its members. */
struct ath_host_counts {
    uint64_t at_ms;                /* ath_now_ms() of the reading; 0: never read */
    int64_t busy_ticks, all_ticks; /* of all processors together */
    int64_t memory_total_bytes, memory_available_bytes;
    struct ath_port_counts *ports;
    size_t port_count;
};
void ath_host_counts_free(struct ath_host_counts *host);

/*
 * Finds the ports of the network cards, in the order of ath_nic_compare(). Without any it takes the
 * links without hardware that are up, except lo: in a container these are its network. An error is
 * no port.
 */
void ath_host_counts_find(const struct ath_root *root, struct ath_host_counts *out);

/* Reads all counts, and the state of the ports that *host has. */
void ath_host_counts_read(const struct ath_root *root, struct ath_host_counts *host);

/* Copies the facts and counts. */
void ath_host_counts_copy(const struct ath_host_counts *from, struct ath_host_counts *out);
