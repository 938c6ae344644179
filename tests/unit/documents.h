/* Helpers for tests of topology documents. */
#pragma once
#include <check.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "config/document.h"

/* Two entries, in the shortest document. */
#define MINIMAL                                                                                    \
    "schema: aitherion.topology/1\n"                                                               \
    "numa:\n"                                                                                      \
    "  - { id: 0, node: 0, control_port: 50051, data_port: 5555 }\n"                               \
    "  - { id: 1, node: 8, control_port: 50052, data_port: 5556 }\n"

static inline void parse_good_bytes(const char *text, size_t length, struct ath_document *out)
{
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };
    int status = ath_document_parse(text, length, "t.yaml", out, &faults, &err);
    ck_assert_msg(!status, "%s: line %d: %s", err.message, faults.count ? faults.items[0].line : 0,
                  faults.count ? faults.items[0].message : "");
}

static inline void parse_good(const char *text, struct ath_document *out)
{
    parse_good_bytes(text, strlen(text), out);
}

/* Returns "LINE:COLUMN CODE" of every fault, one in each line. The caller frees it. */
static inline char *faults_text(const struct ath_faults *faults)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < faults->count; i++)
        ath_text_add(&text, "%d:%d %s\n", faults->items[i].line, faults->items[i].column,
                     faults->items[i].code);
    return ath_text_take(&text);
}

static inline char *parse_bad_bytes(const char *text, size_t length)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };
    int status = ath_document_parse(text, length, "t.yaml", &document, &faults, &err);
    ck_assert_int_lt(status, 0);
    ck_assert_int_eq(err.code, ATH_E_DOCUMENT_INVALID);
    ck_assert_ptr_null(document.text);
    return faults_text(&faults);
}

static inline char *parse_bad(const char *text)
{
    return parse_bad_bytes(text, strlen(text));
}

/* Returns the path of a file of tests/data or etc, from any folder in which the test may run. */
static inline char *source_path(const char *name)
{
    const char *folder = getenv("srcdir");
    struct ath_text text = { 0 };
    ath_text_add(&text, "%s/%s", folder ? folder : ".", name);
    return ath_text_take(&text);
}

static inline char *read_source(const char *name, size_t *out_length)
{
    ath_auto_free char *path = source_path(name);
    struct ath_err err = { 0 };
    char *text = NULL;
    ck_assert_msg(!ath_file_read(path, ATH_YAML_BYTES_MAX, &text, out_length, &err), "%s",
                  err.message);
    return text;
}
