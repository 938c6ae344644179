/*
 * The topology document: what a person wants of each NUMA node, in one YAML file.
 *
 * A document keeps the text of its file, so that edit.h can change a value and leave every other
 * byte alone. The plain structs below are filled from it by the table in schema.c. A document is
 * used by one thread; zeroed is empty; release it with ath_document_free().
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

/* In the order of their words in schema.c. */
enum ath_engine_kind { ATH_ENGINE_AUTO, ATH_ENGINE_DOCKER, ATH_ENGINE_PROCESS };
enum ath_engine_network { ATH_NETWORK_AUTO, ATH_NETWORK_BRIDGE, ATH_NETWORK_HOST };

struct ath_document_node {
    char *name, *profile; /* NULL where not given */
};

struct ath_document_engine {
    int kind, network; /* enum ath_engine_kind, enum ath_engine_network */
    char *docker_host, *image;
    bool is_sim;
};

/* Every item begins with its place in the file's tree, NULL for one that no file holds yet. */
struct ath_document_item {
    const struct ath_yaml *source;
};

struct ath_document_numa {
    struct ath_document_item item;
    int id;                           /* what people call NUMA0; a key, in no order */
    int node;                         /* the kernel's */
    struct ath_idset memory_nodes;    /* never empty */
    double memory_percent;            /* of the CPU node's memory */
    double vram_fraction;             /* of each GPU's memory */
    char *control_iface, *data_iface; /* NULL where not given */
    struct ath_texts gpus;            /* PCI addresses as the kernel writes them */
    struct ath_texts rdma_devices;
    int control_port, data_port;
};

struct ath_document_card {
    struct ath_document_item item;
    char *pci;
    char *description;     /* NULL where not given */
    struct ath_idset numa; /* ids of entries, not of the kernel's nodes */
};

struct ath_document_macvlan {
    struct ath_document_item item;
    char *name, *parent;
    int mode;           /* enum ath_macvlan_mode */
    int numa;           /* id of an entry, or ATH_UNSET */
    char *address;      /* "192.168.100.10/24"; NULL where not given */
    int mtu;            /* ATH_UNSET: the parent's */
    bool has_host_link; /* a link on the host, by which the host reaches it */
    char *host_address; /* of that link; NULL where not given */
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
    int schema; /* always 0: there is one version */
    struct ath_document_node node;
    struct ath_document_engine engine;
    char *key_file;
    struct {
        struct ath_document_numa *items;
        size_t count;
    } numa;
    struct ath_document_roce roce;

    char *path; /* NULL for a text without a file */
    char *text; /* the file as it is to be */
    size_t length;
    struct ath_yaml tree; /* of text */
    char *saved;          /* the file as it was read or last saved */
    size_t saved_length;
    bool is_locked;
    int lock_fd;
};

/*
 * Reads a document. Returns 0, or a negative errno with err: "document-missing", "document-invalid"
 * (then *faults holds every fault, placed), or why the file cannot be read. *out is filled only on
 * success.
 */
int ath_document_load(const char *path, struct ath_document *out, struct ath_faults *faults,
                      struct ath_err *err);

/* The same for a text; file is the name that faults bear. The document gets no path. */
int ath_document_parse(const char *text, size_t length, const char *file, struct ath_document *out,
                       struct ath_faults *faults, struct ath_err *err);

/*
 * Takes the write lock (waiting up to timeout_ms for another writer) and then reads, so that what
 * is changed is what is saved; ath_document_free() gives the lock back. Errors as above, and
 * "locked".
 */
int ath_document_open(const char *path, int timeout_ms, struct ath_document *out,
                      struct ath_faults *faults, struct ath_err *err);

void ath_document_free(struct ath_document *document);

/* True where the text differs from the file as it was read. */
bool ath_document_is_changed(const struct ath_document *document);

/*
 * Writes the text over the file, whole or not at all (base/file.h), under the lock: the one held
 * since ath_document_open(), else one taken for the moment. Refused with "document-changed" where
 * the file is no longer as it was read. Nothing is written where nothing has changed.
 */
int ath_document_save(struct ath_document *document, struct ath_err *err);

/* Writes text as a new document under the lock; "exists" where one is there, unless is_forced. */
int ath_document_create(const char *path, const char *text, bool is_forced, struct ath_err *err);

/* The entry with an id, the card with a PCI address (in any spelling), the macvlan of a name; NULL
 * where there is none. */
struct ath_document_numa *ath_document_numa(const struct ath_document *document, int id);
struct ath_document_card *ath_document_card(const struct ath_document *document, const char *pci);
struct ath_document_macvlan *ath_document_macvlan(const struct ath_document *document,
                                                  const char *name);
