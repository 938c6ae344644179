/*
 * Loads, changes and saves a document repeatedly; tests/cli/save_crash.py kills it. `edit_loop FILE
 * KEY FIRST LAST` sets KEY to FIRST, FIRST + 1, ... LAST, with one save each.
 */
#include "config.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "config/edit.h"

static int change(const char *path, const char *key, int value, struct ath_err *err)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    ath_auto_free char *text = ath_xasprintf("%d", value);

    int status = ath_document_open(path, 10000, &document, &faults, err);
    if (!status)
        status = ath_document_set(&document, key, text, err);
    return status ? status : ath_document_save(&document, err);
}

int main(int argc, char **argv)
{
    struct ath_err err = { 0 };
    int first, last;

    if (argc != 5 || ath_parse_int(argv[3], 0, 1 << 24, &first) ||
        ath_parse_int(argv[4], 0, 1 << 24, &last)) {
        fprintf(stderr, "usage: edit_loop FILE KEY FIRST LAST\n");
        return 2;
    }
    for (int value = first; value <= last; value++)
        if (change(argv[1], argv[2], value, &err)) {
            fprintf(stderr, "%s: %s\n", ath_error_word(err.code), err.message);
            return 1;
        }
    return 0;
}
