/* The places of keys, for the commands about keys. */
#pragma once
#include "cli/nodes.h"

/* A key's file, or the file that it will be. Owns file. */
struct ath_key_place {
    const char *base; /* the only key, or the folder of keys; of the nodes */
    char *file;
    const char *name;  /* NULL: the key has no name of its own; the caller's, or a part of file */
    bool is_in_folder; /* base is a folder, or must become one */
    bool is_there;
};
void ath_key_place_free(struct ath_key_place *place);

/* Returns 0, or -EINVAL "usage" with err. */
int ath_key_name_check(const char *name, struct ath_err *err);

/*
 * Finds the place of a key. name "": the key that is used without a name. is_new: for writing; a
 * name then stands for a file in a folder. Otherwise the key must be there. Returns 0, or a
 * negative errno with err.
 */
int ath_key_place_find(const struct ath_nodes *nodes, const char *name, bool is_new,
                       struct ath_key_place *out, struct ath_err *err);

/*
 * For commands whose argument is a key's name: opens *nodes, without ids from the command line,
 * checks the name and finds its place. The caller frees both. Returns 0, or a negative errno with
 * err.
 */
int ath_key_place_open(struct ath_cli *cli, const char *name, bool is_new, struct ath_nodes *nodes,
                       struct ath_key_place *out, struct ath_err *err);
