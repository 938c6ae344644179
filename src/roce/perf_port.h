/* Chooses the RDMA port and the GID of a test, from sysfs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/root.h"
#include "roce/nic.h"

enum { ATH_PERF_READY_MS = 10000 };

struct ath_perf_port {
    char *device;
    int port;
    bool is_active;
    enum ath_link_layer link_layer;
    char *netdev; /* the port's own link; NULL if it is not visible in this network namespace */
};

void ath_perf_ports_free(struct ath_perf_port *ports, size_t count);

/*
 * Lists all ports of all RDMA devices, by name and number. Returns 0, or a negative errno with err
 * ("no-rdma" if there are none). The caller frees *out with ath_perf_ports_free().
 */
int ath_perf_ports_read(const struct ath_root *root, struct ath_perf_port **out, size_t *out_count,
                        struct ath_err *err);

/*
 * Finds a port by name: a device "mlx5_0", a device and port "mlx5_0:2", or a network link
 * "enP3p1s0f0". name NULL: the first active port, RoCE before InfiniBand; if `other` is not NULL, a
 * port with the same link layer as `other`, but not `other` itself. Returns NULL with err
 * ("not-found", "no-rdma", "rdma-not-ready") if there is no such port. The result points into
 * ports.
 */
const struct ath_perf_port *ath_perf_port_choose(const struct ath_perf_port *ports, size_t count,
                                                 const char *name,
                                                 const struct ath_perf_port *other,
                                                 struct ath_err *err);

/*
 * Checks that the port can send: it is active, and no IPv6 address of its link is still checked for
 * duplicates. (A port reports ACTIVE and shows its GIDs one or two seconds before they work.)
 * Returns 0, or -EAGAIN "rdma-not-ready" with err.
 */
int ath_perf_port_ready(const struct ath_root *root, const struct ath_perf_port *port,
                        struct ath_err *err);

struct ath_gid_wish {
    int index;          /* ATH_UNKNOWN: choose one */
    bool is_link_local; /* prefer a link-local GID: two ports of one host reach each other with
                           link-local GIDs, while the kernel routes IPv4 packets between them
                           internally */
};

/*
 * Chooses the GID: RoCE v2 on the port's own link, IPv4 before IPv6 (see ath_gid_best()). For
 * InfiniBand without wish->index no GID is needed, since the LID is used: out->index is then
 * ATH_UNKNOWN. Returns 0, or a negative errno with err ("gid-unusable").
 */
int ath_perf_gid_choose(const struct ath_root *root, const struct ath_perf_port *port,
                        const struct ath_gid_wish *wish, struct ath_gid *out, struct ath_err *err);
