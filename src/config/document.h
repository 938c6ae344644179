/*
 * The topology document: the user's settings for each NUMA node, in one YAML file.
 *
 * A document keeps the text of its file, so that edit.h can change a value and leave every other
 * byte as it is. The plain structs below are filled from it by the table in schema.c. A document
 * belongs to one thread. A zeroed document is empty; ath_document_free() releases it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/idset.h"
#include "config/faults.h"
#include "config/schema.h"
#include "config/yaml.h"
#include "roce/link.h"

#define ATH_DOCUMENT_SCHEMA "aitherion.topology/1"

/* The most data interfaces of an entry: a runtime takes no more data addresses. */
enum { ATH_DATA_INTERFACES_MAX = 8 };

/* In the order of the words in schema.c. */
enum ath_engine_kind { ATH_ENGINE_AUTO, ATH_ENGINE_DOCKER, ATH_ENGINE_PROCESS };
enum ath_engine_network { ATH_NETWORK_AUTO, ATH_NETWORK_BRIDGE, ATH_NETWORK_HOST };
enum ath_document_switch { ATH_SWITCH_OFF, ATH_SWITCH_ON };

struct ath_document_node {
    char *name, *profile; /* NULL if not given */
};

struct ath_document_engine {
    int kind, network; /* enum ath_engine_kind, enum ath_engine_network */
    char *docker_host, *image;
    bool is_sim;
};

/* The first member of every item: its place in the file's tree, NULL if no file holds the item
 * yet. */
struct ath_document_item {
    const struct ath_yaml *source;
};

struct ath_document_numa {
    struct ath_document_item item;
    int id;                        /* the number in NUMA0; a key, in no order */
    int node;                      /* the kernel's NUMA node */
    struct ath_idset memory_nodes; /* never empty */
    double memory_percent;         /* percent of the CPU node's memory */
    double vram_fraction;          /* fraction of each GPU's memory, 0..1 */
    bool is_enforced;              /* false: limits of GPU memory are only counted */
    char *control_iface;           /* NULL if not given */
    struct ath_texts data_iface;   /* at most ATH_DATA_INTERFACES_MAX */
    struct ath_texts gpus;         /* PCI addresses as the kernel writes them */
    struct ath_texts rdma_devices;
    int control_port, data_port;
    char *metrics; /* "9460", "10.0.0.1:9460" (forms.h); NULL: no metrics */
};

/* Limits of a client of a runtime. */
struct ath_document_limits {
    int sessions_per_source;
    double host_fraction; /* of the memory of the runtime's host, 0..1 */
};

/* The limits and the role of a key; its name is the identity of those that prove it. */
struct ath_document_identity {
    struct ath_document_item item;
    char *name;
    char *memory;          /* "4G", "50%" (forms.h); NULL: no limit */
    int share;             /* percent of a GPU's time; ATH_UNSET: none */
    bool is_capped;        /* never more than the share */
    int priority;          /* the highest: an index into ath_time_priorities; ATH_UNSET: normal
                            * with a share, else high */
    int sm_share;          /* percent of a GPU's multiprocessors for each session; ATH_UNSET: all */
    int sessions;          /* ATH_UNSET: no limit */
    struct ath_texts gpus; /* PCI addresses; empty: all */
    bool is_admin;
};

struct ath_document_card {
    struct ath_document_item item;
    char *pci;
    char *description;     /* NULL if not given */
    struct ath_idset numa; /* ids of entries, not of the kernel's nodes */
};

struct ath_document_macvlan {
    struct ath_document_item item;
    char *name, *parent;
    int mode;           /* enum ath_macvlan_mode */
    int numa;           /* id of an entry, or ATH_UNSET */
    char *address;      /* "192.168.100.10/24"; NULL if not given */
    int mtu;            /* bytes; ATH_UNSET: the parent's */
    bool has_host_link; /* the host gets a link by which it reaches the macvlan */
    char *host_address; /* of that link; NULL if not given */
};

/* The lists have the layout of struct ath_items. */
struct ath_document_roce {
    struct {
        struct ath_document_card *items;
        size_t count;
    } cards;
    struct {
        struct ath_document_macvlan *items;
        size_t count;
    } macvlans;
};

struct ath_document {
    int schema; /* always 0, the only version */
    struct ath_document_node node;
    struct ath_document_engine engine;
    char *key_file;
    int encrypt;   /* TCP connections that leave the machine, all, none: auto, on, off */
    int sharing;   /* when programs take turns on a GPU: auto, turns, free */
    int log_level; /* enum ath_level: the lines of the runtimes' logs */
    int udp;       /* enum ath_document_switch: runtimes take large copies by UDP, too */
    char *tls_certificate, *tls_key, *tls_ca; /* files; NULL: none */
    char *metrics_web;                        /* a file; NULL: none */
    struct ath_document_limits limits;
    struct {
        struct ath_document_identity *items;
        size_t count;
    } identities;
    struct {
        struct ath_document_numa *items;
        size_t count;
    } numa;
    struct ath_document_roce roce;

    char *path; /* NULL for a text without a file */
    char *text; /* contents of the file with our changes */
    size_t length;
    struct ath_yaml tree; /* of text */
    char *saved;          /* contents of the file when it was read or last saved */
    size_t saved_length;
    bool is_locked;
    int lock_fd;
    bool has_faults; /* only text and tree are filled, see ath_document_open_faulty() */
};

/*
 * Reads a document. Returns 0, or a negative errno with err: "document-missing", "document-invalid"
 * (then *faults holds every fault with its place), or the reason why the file cannot be read. *out
 * is filled only on success; the caller releases it with ath_document_free().
 */
int ath_document_load(const char *path, struct ath_document *out, struct ath_faults *faults,
                      struct ath_err *err);

/* The same for a text. file is the name that faults show. The document gets no path. */
int ath_document_parse(const char *text, size_t length, const char *file, struct ath_document *out,
                       struct ath_faults *faults, struct ath_err *err);

/*
 * Takes the write lock (waiting up to timeout_ms for another writer), then reads the document, so
 * that no other writer's change is lost. ath_document_free() releases the lock. Errors as above,
 * and "locked".
 */
int ath_document_open(const char *path, int timeout_ms, struct ath_document *out,
                      struct ath_faults *faults, struct ath_err *err);

/*
 * Opens a document whose values may be faulty, so that ath_document_set_all() can repair them. The
 * document has its text and its tree, but no field is filled. The _load_ form takes no lock.
 */
int ath_document_open_faulty(const char *path, int timeout_ms, struct ath_document *out,
                             struct ath_faults *faults, struct ath_err *err);
int ath_document_load_faulty(const char *path, struct ath_document *out, struct ath_faults *faults,
                             struct ath_err *err);

void ath_document_free(struct ath_document *document);

/* True if the text differs from the file as it was read. */
bool ath_document_is_changed(const struct ath_document *document);

/*
 * Writes the text over the file, whole or not at all (base/file.h). Uses the lock that
 * ath_document_open() took, or takes one for this call. Writes nothing if nothing has changed.
 * Returns 0, or a negative errno with err: "document-changed" if another program changed the file
 * since it was read.
 */
int ath_document_save(struct ath_document *document, struct ath_err *err);

/* Writes text as a new document, under the lock. Returns 0, or a negative errno with err: "exists"
 * if there is a file and is_forced is false. */
int ath_document_create(const char *path, const char *text, bool is_forced, struct ath_err *err);

/* Return the entry with an id, the card with a PCI address (in any spelling), the macvlan with a
 * name; NULL if the document has none. Pointers belong to the document. */
struct ath_document_numa *ath_document_numa(const struct ath_document *document, int id);

/* The ports of an entry's metrics and data interfaces; ATH_UNKNOWN: it has none. */
int ath_document_metrics_port(const struct ath_document_numa *entry);
int ath_document_data_port(const struct ath_document_numa *entry);
struct ath_document_card *ath_document_card(const struct ath_document *document, const char *pci);
struct ath_document_macvlan *ath_document_macvlan(const struct ath_document *document,
                                                  const char *name);
