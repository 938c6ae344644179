/*
 * RDMA devices and ports as the kernel tells them over netlink (RDMA_NL_NLDEV), sysfs where it
 * does not, and whether a port can be used already.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/root.h"
#include "roce/link.h"
#include "roce/nic.h"

/*
 * shared:    every device is seen in every network namespace; what a process there may use is
 *            decided by its GIDs, whose links must be in its namespace. Containers with macvlans
 *            work.
 * exclusive: a device is in one namespace only, and containers cannot share it. Changing the mode
 *            needs that there is no other namespace (EBUSY).
 */
enum ath_rdma_netns_mode {
    ATH_RDMA_NETNS_UNKNOWN,
    ATH_RDMA_NETNS_SHARED,
    ATH_RDMA_NETNS_EXCLUSIVE
};

/* "shared", "exclusive"; NULL for unknown. */
const char *ath_rdma_netns_mode_word(enum ath_rdma_netns_mode mode);

/* By netlink, else from the parameter of ib_core below root. */
enum ath_rdma_netns_mode ath_rdma_netns_mode_read(const struct ath_root *root);

enum ath_rdma_port_state { ATH_RDMA_PORT_UNKNOWN, ATH_RDMA_PORT_DOWN, ATH_RDMA_PORT_ACTIVE };

struct ath_nldev_port {
    int number; /* from 1 */
    enum ath_rdma_port_state state;
    int netdev_index;                /* in the reader's namespace; ATH_UNKNOWN */
    char netdev[ATH_LINK_NAME_SIZE]; /* "" without, or where it is in another namespace */
};

struct ath_nldev {
    int index; /* the kernel's; ATH_UNKNOWN from sysfs */
    char name[64];
    struct ath_nldev_port *ports;
    size_t port_count;
};

struct ath_nldevs {
    struct ath_nldev *items;
    size_t count;
};

void ath_nldevs_free(struct ath_nldevs *devices);

/* All devices that are seen in the caller's namespace, by name; none is no error. A captured root
 * is read from its sysfs, so is the live one where netlink does not answer. Returns 0 or a negative
 * errno with err. */
int ath_nldevs_read(const struct ath_root *root, struct ath_nldevs *out, struct ath_err *err);

const struct ath_nldev_port *ath_nldevs_port(const struct ath_nldevs *devices, const char *name,
                                             int port);

/*
 * Whether connections can be made over a port. It says ACTIVE, and shows its GIDs, one or two
 * seconds before they work: until duplicate address detection has ended for the IPv6 addresses of
 * its link (before, "Failed to modify QP to RTR").
 */
enum ath_rdma_readiness {
    ATH_RDMA_READY,
    ATH_RDMA_NOT_THERE, /* no such device or port */
    ATH_RDMA_NOT_ACTIVE,
    ATH_RDMA_NO_LINK,   /* its link is not in this namespace */
    ATH_RDMA_LINK_DOWN, /* its link is down */
    ATH_RDMA_TENTATIVE, /* duplicate address detection runs */
};

/* "ready", "not-active", ...: the stable word. */
const char *ath_rdma_readiness_word(enum ath_rdma_readiness readiness);

/* For people: "duplicate address detection is still running", translated. */
const char *ath_rdma_readiness_text(enum ath_rdma_readiness readiness);

/* From what was read; either may be NULL where it is not there. For an InfiniBand port pass
 * is_ethernet false: it needs no link. */
enum ath_rdma_readiness ath_rdma_readiness_of(const struct ath_nldev_port *port,
                                              const struct ath_link *link, bool is_ethernet);

/*
 * Waits until the port can be used, at most timeout_ms. Returns 0, or a negative errno with err:
 * -ETIMEDOUT "rdma-not-ready" says what is still missing.
 */
int ath_rdma_wait(const char *device, int port, int timeout_ms, struct ath_err *err);

/* The same for a link in the namespace at path (NULL: the caller's): up, its addresses settled. */
int ath_link_wait(const char *netns_path, const char *name, int timeout_ms, struct ath_err *err);
