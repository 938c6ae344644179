/*
 * RDMA devices and ports over netlink (RDMA_NL_NLDEV) or from sysfs, and waiting until a port is
 * usable.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/root.h"
#include "roce/link.h"
#include "roce/nic.h"

/*
 * shared:    every network namespace sees every device. The GIDs decide what a process may use:
 *            the link of a GID must be in its namespace. Containers with macvlans work.
 * exclusive: a device is in one namespace only, and containers cannot share it.
 * The mode can change only while there is no other namespace (EBUSY otherwise).
 */
enum ath_rdma_netns_mode {
    ATH_RDMA_NETNS_UNKNOWN,
    ATH_RDMA_NETNS_SHARED,
    ATH_RDMA_NETNS_EXCLUSIVE,
    ATH_RDMA_NETNS_MODE_COUNT
};

/* Returns "shared" or "exclusive"; NULL for unknown. */
const char *ath_rdma_netns_mode_word(enum ath_rdma_netns_mode mode);

/* Reads the mode over netlink, or else from the parameter of ib_core below root. */
enum ath_rdma_netns_mode ath_rdma_netns_mode_read(const struct ath_root *root);

enum ath_rdma_port_state { ATH_RDMA_PORT_UNKNOWN, ATH_RDMA_PORT_DOWN, ATH_RDMA_PORT_ACTIVE };

struct ath_nldev_port {
    int number; /* from 1 */
    enum ath_rdma_port_state state;
    int netdev_index;                /* in the caller's namespace; ATH_UNKNOWN */
    char netdev[ATH_LINK_NAME_SIZE]; /* "" if there is none, or if it is in another namespace */
};

struct ath_nldev {
    int index; /* the kernel's index; ATH_UNKNOWN from sysfs */
    char name[64];
    struct ath_nldev_port *ports;
    size_t port_count;
};

struct ath_nldevs {
    struct ath_nldev *items;
    size_t count;
};

void ath_nldevs_free(struct ath_nldevs *devices);

/* Reads all devices that the caller's namespace sees, by name; none is not an error. A captured
 * root is read from its sysfs; so is the live one if netlink does not answer. The caller frees
 * *out. Returns 0 or a negative errno with err. */
int ath_nldevs_read(const struct ath_root *root, struct ath_nldevs *out, struct ath_err *err);

const struct ath_nldev_port *ath_nldevs_port(const struct ath_nldevs *devices, const char *name,
                                             int port);

/*
 * Says whether connections can be made over a port. A port reports ACTIVE and shows its GIDs one or
 * two seconds before they work. They work when duplicate address detection has ended for the IPv6
 * addresses of its link (until then: "Failed to modify QP to RTR").
 */
enum ath_rdma_readiness {
    ATH_RDMA_READY,
    ATH_RDMA_NOT_THERE, /* no such device or port */
    ATH_RDMA_NOT_ACTIVE,
    ATH_RDMA_NO_LINK,   /* the port's link is not in this namespace */
    ATH_RDMA_LINK_DOWN, /* the port's link is down */
    ATH_RDMA_TENTATIVE, /* duplicate address detection still runs */
    ATH_RDMA_READINESS_COUNT
};

/* Returns the stable word: "ready", "not-active", ... */
const char *ath_rdma_readiness_word(enum ath_rdma_readiness readiness);

/* Returns a translated text: "duplicate address detection is still running". */
const char *ath_rdma_readiness_text(enum ath_rdma_readiness readiness);

/* Decides from data that was read before; port and link may be NULL if they do not exist. Pass
 * is_ethernet false for an InfiniBand port, which needs no link. */
enum ath_rdma_readiness ath_rdma_readiness_of(const struct ath_nldev_port *port,
                                              const struct ath_link *link, bool is_ethernet);

/*
 * Waits until the port is usable, at most timeout_ms. Returns 0, or a negative errno with err:
 * -ETIMEDOUT "rdma-not-ready" names what is missing. Does not wait for a port that does not exist.
 */
int ath_rdma_wait(const char *device, int port, int timeout_ms, struct ath_err *err);

/* Waits in the same way for a link in the namespace at path (NULL: the caller's) to be up with its
 * addresses settled. */
int ath_link_wait(const char *netns_path, const char *name, int timeout_ms, struct ath_err *err);
