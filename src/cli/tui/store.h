/*
 * The data that the menus work on: the document in memory and the machine.
 *
 * Nothing is written before ath_store_save(), which locks the document only for that moment and
 * refuses if the file has changed since it was read. Functions that can fail return 0, or a
 * negative errno with err. Private to tui; one thread.
 */
#pragma once
#include <stdbool.h>

#include "cli/cli.h"
#include "config/document.h"
#include "numa/machine.h"

struct ath_store {
    const struct ath_cli *cli; /* not owned */
    char *path;
    bool has_document, has_machine;
    struct ath_document document;
    struct ath_machine machine;
    struct ath_err machine_err;  /* why there is no machine */
    struct ath_err document_err; /* why there is no document */
    struct ath_faults faults;    /* of the file, if there is no document because of them */
};

/*
 * Reads both. It is an error only if a machine that the user named cannot be read. The caller
 * releases *out with ath_store_free().
 */
int ath_store_open(const struct ath_cli *cli, struct ath_store *out, struct ath_err *err);
void ath_store_free(struct ath_store *store);

/* Makes a first document in memory, like `aitherion init`. profile: name of a shipped document, or
 * NULL. */
int ath_store_propose(struct ath_store *store, const char *profile, struct ath_err *err);

/* Makes a document the one in memory, and leaves *document empty. */
void ath_store_take_document(struct ath_store *store, struct ath_document *document);

/* Reads the machine again. On failure the old one stays. */
int ath_store_read_machine(struct ath_store *store, struct ath_err *err);

/* Returns whether there is a file, but no document, because of faults or since the file cannot be
 * read. */
bool ath_store_is_faulty(const struct ath_store *store);

/* Drops all changes and reads the file again. On failure the old document stays. */
int ath_store_read_document(struct ath_store *store, struct ath_err *err);

bool ath_store_is_changed(const struct ath_store *store);
int ath_store_save(struct ath_store *store, struct ath_err *err);

/* Writes the document with its changes to a new file, and leaves its own file alone. */
int ath_store_save_copy(const struct ath_store *store, const char *path, struct ath_err *err);

/*
 * Adds an entry for a NUMA node of the kernel like `aitherion init`, with an id and ports that are
 * free.
 */
int ath_store_add_numa(struct ath_store *store, int node, int *out_id, struct ath_err *err);

/* Returns the first number, counted from `first`, that no NUMA entry has in a key (id,
 * control_port, ...). */
int ath_store_free_number(const struct ath_store *store, const char *key, int first);

/* Finds what does not fit the machine; with an item only in its part of the file. The caller
 * releases *out. */
void ath_store_check(const struct ath_store *store, const struct ath_yaml *item,
                     struct ath_faults *out);
