/* Shows the shared key: its path, mode and fingerprint; its bytes only for an export. */
#pragma once
#include <stdbool.h>

#include "cli/output/output.h"

enum ath_key_action {
    ATH_KEY_SHOW,
    ATH_KEY_NEW,
    ATH_KEY_EXPORT,
    ATH_KEY_IMPORT,
    ATH_KEY_ADD,
    ATH_KEY_REMOVE
};

/* Owns nothing. */
struct ath_key_report {
    enum ath_key_action action;
    bool is_dry_run, is_there, is_readable;
    const char *path;
    const char *name;        /* of a key in a folder; NULL: it is the only one */
    bool has_moved;          /* the only key became the key `default` of a folder */
    bool has_row;            /* the command wrote or removed the row of the document's identities */
    const char *warning;     /* translated: what is hardly meant in the row; NULL for nothing */
    const char *fingerprint; /* SHA-256 of the file; NULL if there is no file */
    int mode;                /* permission bits of the file, or ATH_UNKNOWN */
    const char *base64;      /* the key, for an export to standard output; else NULL */
    const char *output;      /* file that an export wrote; else NULL */
    const char *copy;        /* file with the key from before; NULL if no key was replaced */
    const char *next;        /* the command to run next; NULL for none */
};

extern const struct ath_view ath_key_view; /* of a struct ath_key_report */

/* One of a folder's keys. Owns its members. */
struct ath_key_item {
    char *name, *file;
    char *fingerprint; /* NULL: this user may not read the key */
    char *group;       /* whose members may read it; NULL: only its owner */
    char *problem;     /* translated: why servers refuse the key; NULL: they take it */
};

struct ath_key_list {
    const char *path;
    bool is_folder;
    struct ath_key_item *items;
    size_t count;
};
void ath_key_list_free(struct ath_key_list *list);

extern const struct ath_view ath_key_list_view; /* of a struct ath_key_list */
