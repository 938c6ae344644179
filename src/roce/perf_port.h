/* Choosing the RDMA port and the GID that a test runs with, from sysfs. */
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
    char *netdev; /* the port's own link; NULL where it cannot be seen (a network namespace) */
};

void ath_perf_ports_free(struct ath_perf_port *ports, size_t count);

/*
 * All ports of all RDMA devices, by name and number. Returns 0, or a negative errno with err
 * ("no-rdma" where there are none). The caller frees *out with ath_perf_ports_free().
 */
int ath_perf_ports_read(const struct ath_root *root, struct ath_perf_port **out, size_t *out_count,
                        struct ath_err *err);

/*
 * The port of a name, "mlx5_0" or "mlx5_0:2", or of a network link ("enP3p1s0f0"); for NULL the
 * first active one, RoCE before InfiniBand. `other` is not chosen unless it is named, and a port
 * chosen beside it has its link layer; NULL for none. Returns NULL with err ("not-found",
 * "no-rdma").
 */
const struct ath_perf_port *ath_perf_port_choose(const struct ath_perf_port *ports, size_t count,
                                                 const char *name,
                                                 const struct ath_perf_port *other,
                                                 struct ath_err *err);

/*
 * Whether packets can leave by the port: it is active, and no IPv6 address of its link is still
 * being checked for duplicates. (A port says ACTIVE and shows its GIDs one or two seconds before
 * they work.) Returns 0, or -EAGAIN "rdma-not-ready" with err.
 */
int ath_perf_port_ready(const struct ath_root *root, const struct ath_perf_port *port,
                        struct ath_err *err);

struct ath_gid_wish {
    int index;          /* ATH_UNKNOWN: choose */
    bool is_link_local; /* prefer a link-local one: two ports of one host reach each other so, while
                           with IPv4 addresses the kernel would route within itself */
};

/*
 * The GID to use: RoCE v2 on the port's own link, IPv4 rather than IPv6 (see ath_gid_best()).
 * Returns 0; or 0 with out->index ATH_UNKNOWN for InfiniBand without a wish, where the LID does; or
 * a negative errno with err ("gid-unusable").
 */
int ath_perf_gid_choose(const struct ath_root *root, const struct ath_perf_port *port,
                        const struct ath_gid_wish *wish, struct ath_gid *out, struct ath_err *err);
