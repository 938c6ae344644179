/*
 * What health looks at: the machine, the document, the kernel's links, the RDMA ports.
 *
 * Facts are plain data, read once by ath_health_facts_read(); tests make them up. What could not be
 * read says so (has_..., ATH_UNKNOWN), so that a check can tell "wrong" from "could not look".
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
#include "roce/netstate.h"
#include "roce/rdma_netlink.h"

/* One port of an RDMA device. */
struct ath_health_port {
    char *device;
    int port;
    enum ath_rdma_port_state state;
    enum ath_link_layer link_layer;
    char *netdev;  /* the link that it belongs to; NULL unknown */
    bool has_gids; /* the table of GIDs could be read */
    bool has_gid;  /* there is one to use: */
    struct ath_gid gid;
};

struct ath_health_facts {
    /* Not owned. */
    const struct ath_machine *machine;
    const struct ath_document *document; /* NULL: there is none that can be used; document_err says
                                            why */
    const char *document_path;
    struct ath_err document_err;
    const struct ath_faults *document_faults; /* of one with faults; else NULL */

    /* Owned. */
    bool is_live; /* this machine, now; else a capture */
    bool has_net; /* net is filled; else net_err says why not */
    struct ath_netstate net;
    struct ath_err net_err;
    bool sees_all_namespaces; /* false: links in containers were not looked for, that takes root */
    bool has_links;
    struct ath_links links; /* of the host where net is not filled: from sysfs, without addresses */
    bool has_ports;
    struct ath_health_port *ports; /* of RDMA devices, by name and number */
    size_t port_count;
    enum ath_rdma_netns_mode netns_mode;
    bool has_memlock;                    /* false for a capture */
    int64_t memlock_bytes;               /* the hard limit of this process; INT64_MAX: none */
    struct ath_health_runtimes runtimes; /* filled in by whoever may open sessions */
};

void ath_health_facts_free(struct ath_health_facts *facts);

/*
 * Reads what the kernel says. The machine must have been read; the document, or why there is none,
 * is put in by the caller. root: the live one or a captured one; NULL for a machine from an XML
 * file. What cannot be read is left unknown: this does not fail.
 */
void ath_health_facts_read(const struct ath_root *root, const struct ath_machine *machine,
                           struct ath_health_facts *out);

/* Loads the document: it, or why there is none. *document and *faults are the caller's, and belong
 * to the facts as long as these are used. */
void ath_health_facts_load(struct ath_health_facts *facts, const char *path,
                           struct ath_document *document, struct ath_faults *faults);

enum ath_health_presence { ATH_PRESENCE_UNKNOWN, ATH_PRESENCE_MISSING, ATH_PRESENCE_THERE };

/* A link of the host by name, from whatever knows of it. */
struct ath_health_link {
    enum ath_health_presence presence;
    const struct ath_link *link; /* NULL where only the machine model knows it */
    const struct ath_nic *nic;   /* NULL for a link that is no port */
    enum ath_link_state state;
    enum ath_link_layer link_layer;
    int mtu;
    enum ath_health_presence address; /* whether it, or the bond or bridge above it, has one of its
                                         own or from a router; link-local ones do not count */
};

void ath_health_link(const struct ath_health_facts *facts, const char *name,
                     struct ath_health_link *out);

/* All links of the host: net's first place, else those from sysfs. */
const struct ath_links *ath_health_host_links(const struct ath_health_facts *facts);

/* What the document wants of a macvlan, as plans take it; texts belong to the document. */
struct ath_macvlan_wanted;
void ath_health_wanted(const struct ath_document_macvlan *macvlan, struct ath_macvlan_wanted *out);
