/*
 * Fuzzes the topology document: the input is a file. A document that loads is written, read again,
 * changed by key in several ways and checked against a machine; the promises of edit.h are
 * asserted. The last lines of an input may be changes, "#!KEY=VALUE" each.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "config/check.h"
#include "config/edit.h"
#include "config/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool is_true, const char *promise)
{
    if (!is_true) {
        fprintf(stderr, "broken promise: %s\n", promise);
        abort();
    }
}

static void check_places(const struct ath_faults *faults, size_t size)
{
    for (size_t i = 0; i < faults->count; i++) {
        const struct ath_fault *fault = &faults->items[i];
        insist(fault->line >= 1 && fault->column >= 1, "places count from 1");
        insist(fault->offset <= size, "places lie in the file");
        insist(!i || fault[-1].offset <= fault->offset, "faults are sorted");
    }
}

static bool parse(const char *text, size_t length, struct ath_document *out)
{
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };
    int status = ath_document_parse(text, length, "fuzz", out, &faults, &err);
    insist((status != 0) == (faults.count != 0), "an error has faults");
    check_places(&faults, length);
    return !status;
}

static void check_written(const struct ath_document *document)
{
    ATH_AUTO(ath_document) second = { 0 };
    ath_auto_free char *text = ath_document_write(document, NULL);
    insist(parse(text, strlen(text), &second), "what is written loads");
    ath_auto_free char *again = ath_document_write(&second, NULL);
    insist(!strcmp(text, again), "what is written reads back");
}

/* A failed change leaves the text as it is. The same change made twice changes nothing the second
 * time. */
static void check_change(struct ath_document *document, const char *key, const char *value)
{
    struct ath_err err = { 0 };
    ath_auto_free char *before = ath_xstrdup(document->text);
    ath_auto_free char *read_back = NULL;

    if (ath_document_set(document, key, value, &err)) {
        insist(err.code != ATH_E_NONE, "an error has a code");
        insist(!strcmp(before, document->text), "a refused change leaves the text");
        return;
    }
    ath_auto_free char *after = ath_xstrdup(document->text);
    insist(!ath_document_set(document, key, value, &err), "a change can be made again");
    insist(!strcmp(after, document->text), "a change made again changes nothing");
    insist(!ath_document_get(document, key, &read_back, &err), "what was set can be read");
}

static void check_entries(struct ath_document *document)
{
    static const struct ath_change card[] = { { "pci", "ffff:1f:1f.7" }, { "numa", "[]" } };
    struct ath_err err = { 0 };
    size_t count = document->roce.cards.count;

    if (ath_document_append(document, "roce.cards", card, ATH_COUNT(card), &err))
        return;
    insist(document->roce.cards.count == count + 1, "an entry is added");
    if (!ath_document_remove(document, "roce.cards.ffff:1f:1f.7", &err))
        insist(document->roce.cards.count == count, "an entry is removed");
}

static void check_changes(struct ath_document *document)
{
    static const struct ath_change changes[] = {
        { "numa.0.memory_percent", "70" },
        { "numa.0.memory_nodes", "[0, 254]" },
        { "numa.0.gpus", "0004:04:00.0" },
        { "numa.0.gpus", "[]" },
        { "numa.0.rdma_devices", "mlx5_0,mlx5_1" },
        { "numa.0.data_iface", "null" },
        { "engine.kind", "process" },
        { "engine.sim", "true" },
        { "key_file", "/a \"key\" # 'file'" },
        { "node.name", "123" },
        { "roce.macvlans.macvlan0.mtu", "9000" },
        { "roce.macvlans.macvlan0.address", "10.0.0.1/8" },
    };
    for (size_t i = 0; i < ATH_COUNT(changes); i++)
        check_change(document, changes[i].key, changes[i].value);
}

static void check_own_changes(struct ath_document *document, const char *text)
{
    for (const char *line = strstr(text, "#!"); line; line = strstr(line, "#!")) {
        line += 2;
        ath_auto_free char *change = ath_xasprintf("%.*s", (int)strcspn(line, "\n"), line);
        char *equals = strchr(change, '=');
        struct ath_err err = { 0 };
        if (equals) {
            *equals = '\0';
            ath_document_set(document, change, equals + 1, &err);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_machine machine = { .source = ATH_SOURCE_ROOT };

    if (!parse((const char *)data, size, &document))
        return 0;
    check_written(&document);
    ath_document_check(&document, &machine, &faults);
    check_places(&faults, size);
    ath_auto_free char *text = ath_xstrdup(document.text);
    check_own_changes(&document, text);
    check_changes(&document);
    check_entries(&document);
    return 0;
}
