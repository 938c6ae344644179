/* The files of an export, as text and as JSON. */
#pragma once
#include "cli/output/output.h"

struct ath_exported_file {
    char *name, *content; /* owned */
};

/* Owns its files; ath_exported_free() frees them. */
struct ath_exported {
    struct ath_exported_file *files;
    size_t count;
    const char *folder; /* they were written there; NULL: only shown */
    bool is_dry_run;
};

void ath_exported_free(struct ath_exported *exported);

extern const struct ath_view ath_export_view; /* of a struct ath_exported */
