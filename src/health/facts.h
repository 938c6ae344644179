/*
 * The facts that health checks: the machine, the document, the kernel's links, the RDMA ports.
 *
 * Facts are plain data, read once by ath_health_facts_read(). Tests make them up. A fact that could
 * not be read is marked (has_..., ATH_UNKNOWN), so that a check can tell "wrong" from "could not
 * look".
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/root.h"
#include "config/document.h"
#include "health/runtimes.h"
#include "numa/machine.h"
#include "roce/lack.h"
#include "roce/netstate.h"
#include "roce/rdma_netlink.h"

/* A port of an RDMA device. */
struct ath_health_port {
    char *device;
    int port;
    enum ath_rdma_port_state state;
    enum ath_link_layer link_layer;
    char *netdev; /* the link that it belongs to; NULL if unknown */
    bool has_gid; /* it has a GID that can be used: gid */
    struct ath_gid gid;
    enum ath_lack lack; /* why it has none, as `discover` and `roce list` say it */
};

struct ath_health_facts {
    /* Not owned. */
    const struct ath_machine *machine;
    const struct ath_document *document; /* NULL: no document can be used; document_err says why */
    const char *document_path;
    struct ath_err document_err;
    const struct ath_faults *document_faults; /* of a document with faults; else NULL */

    /* Owned. */
    bool is_live; /* true: the live machine; false: a capture */
    bool has_net; /* net is filled; else net_err has the reason */
    struct ath_netstate net;
    struct ath_err net_err;
    bool sees_all_namespaces; /* without root: false, links in containers are not known */
    bool has_links;
    struct ath_links links; /* if net is not filled: the host's, from sysfs, without addresses */
    bool has_ports;
    struct ath_health_port *ports; /* ports of RDMA devices, by name and number */
    size_t port_count;
    enum ath_rdma_netns_mode netns_mode;
    bool has_memlock;                    /* false for a capture */
    int64_t memlock_bytes;               /* the hard limit of this process; INT64_MAX: no limit */
    struct ath_health_runtimes runtimes; /* filled by the caller that may open sessions */
};

void ath_health_facts_free(struct ath_health_facts *facts);

/*
 * Reads the kernel's facts. The machine must have been read before. The caller sets the document,
 * or the error why there is none. root: the live root or a captured one; NULL for a machine from an
 * XML file. Facts that cannot be read are left unknown: this function does not fail.
 */
void ath_health_facts_read(const struct ath_root *root, const struct ath_machine *machine,
                           struct ath_health_facts *out);

/* Loads the document into *document, or its faults into *faults, and points the facts to them. The
 * caller owns both and must keep them as long as it uses the facts. */
void ath_health_facts_load(struct ath_health_facts *facts, const char *path,
                           struct ath_document *document, struct ath_faults *faults);

enum ath_health_presence { ATH_PRESENCE_UNKNOWN, ATH_PRESENCE_MISSING, ATH_PRESENCE_THERE };

/* A link of the host by name, from every source that knows it. */
struct ath_health_link {
    enum ath_health_presence presence;
    const struct ath_link *link; /* NULL if only the machine model knows it */
    const struct ath_nic *nic;   /* NULL for a link that is not a port */
    enum ath_link_state state;
    enum ath_link_layer link_layer;
    int mtu;
    /* Whether the link, or the bond or bridge above it, has an address of its own or from a router.
     * Link-local addresses do not count. */
    enum ath_health_presence address;
};

void ath_health_link(const struct ath_health_facts *facts, const char *name,
                     struct ath_health_link *out);

/* All links of the host: those of the host's namespace in net, else those from sysfs. */
const struct ath_links *ath_health_host_links(const struct ath_health_facts *facts);

/* Describes a macvlan of the document as plans take it. The texts belong to the document. */
struct ath_macvlan_wanted;
void ath_health_wanted(const struct ath_document_macvlan *macvlan, struct ath_macvlan_wanted *out);
