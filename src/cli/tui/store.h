/*
 * What the menus work on: the document in memory and the machine beside it.
 *
 * Nothing is written before ath_store_save(), which takes the document's lock only for the moment
 * and refuses where the file is no longer as it was read. Private to tui; one thread.
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
    struct ath_err machine_err; /* why there is none */
};

/*
 * Reads both. A document that is missing and a machine that cannot be read are no errors; a
 * document with faults is: *faults then holds them.
 */
int ath_store_open(const struct ath_cli *cli, struct ath_store *out, struct ath_faults *faults,
                   struct ath_err *err);
void ath_store_free(struct ath_store *store);

/* Makes a first document in memory, as `aitherion init` would write it. profile: NULL, or the name
 * of a shipped one. */
int ath_store_propose(struct ath_store *store, const char *profile, struct ath_err *err);

/* Reads the machine anew; the old one stays where that fails. */
int ath_store_read_machine(struct ath_store *store, struct ath_err *err);

/* Drops what was changed and reads the file anew; the old document stays where that fails. */
int ath_store_read_document(struct ath_store *store, struct ath_err *err);

bool ath_store_is_changed(const struct ath_store *store);
int ath_store_save(struct ath_store *store, struct ath_err *err);

/* Writes the document as it is now to a new file, and leaves the first one alone. */
int ath_store_save_copy(const struct ath_store *store, const char *path, struct ath_err *err);

/*
 * Adds an entry for a node of the kernel: as `aitherion init` would, with an id and ports that are
 * free. Returns 0 with *out_id, or a negative errno with err.
 */
int ath_store_add_numa(struct ath_store *store, int node, int *out_id, struct ath_err *err);

/* The first number from `first` on that no NUMA entry has in a key (id, control_port, ...). */
int ath_store_free_number(const struct ath_store *store, const char *key, int first);

/* What does not fit the machine. With an item: only what lies in its part of the file. The caller
 * releases *out. */
void ath_store_check(const struct ath_store *store, const struct ath_yaml *item,
                     struct ath_faults *out);
