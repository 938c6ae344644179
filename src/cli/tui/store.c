/* The document and the machine that the menus work on. */
#include "config.h"

#include "cli/tui/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "config/check.h"
#include "config/edit.h"
#include "config/propose.h"

enum { FIRST_ID = 0, FIRST_CONTROL_PORT = 50051, FIRST_DATA_PORT = 5555 };

void ath_store_free(struct ath_store *store)
{
    if (!store)
        return;
    ath_document_free(&store->document);
    ath_machine_free(&store->machine);
    ath_faults_free(&store->faults);
    free(store->path);
    *store = (struct ath_store){ 0 };
}

int ath_store_read_machine(struct ath_store *store, struct ath_err *err)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    int status = ath_cli_machine(store->cli, &machine, err);
    if (status)
        return status;
    ath_machine_free(&store->machine);
    store->machine = machine;
    store->has_machine = true;
    machine = (struct ath_machine){ 0 };
    return 0;
}

void ath_store_take_document(struct ath_store *store, struct ath_document *document)
{
    ath_document_free(&store->document);
    store->document = *document;
    store->has_document = true;
    *document = (struct ath_document){ 0 };
}

/* If there was no document before, keeps the reason and the file's faults. */
int ath_store_read_document(struct ath_store *store, struct ath_err *err)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    int status = ath_document_load(store->path, &document, &faults, err);

    if (!status) {
        ath_store_take_document(store, &document);
        return 0;
    }
    if (store->has_document)
        return faults.count ? ath_err_wrap(err, status, _("line %d: %s"), faults.items[0].line,
                                           faults.items[0].message)
                            : status;
    ath_err_copy(&store->document_err, err);
    ath_faults_free(&store->faults);
    store->faults = faults;
    faults = (struct ath_faults){ 0 };
    return status;
}

bool ath_store_is_faulty(const struct ath_store *store)
{
    return !store->has_document && store->document_err.code != ATH_E_DOCUMENT_MISSING;
}

int ath_store_open(const struct ath_cli *cli, struct ath_store *out, struct ath_err *err)
{
    ATH_AUTO(ath_store) store = { .cli = cli, .path = ath_cli_document_path(cli) };

    ath_store_read_document(&store, err); /* the store keeps what is wrong */
    if (ath_store_read_machine(&store, &store.machine_err) &&
        (cli->globals.root || cli->globals.topology)) {
        ath_err_copy(err, &store.machine_err); /* the user named this machine */
        return -EINVAL;
    }
    *out = store;
    store = (struct ath_store){ 0 };
    return 0;
}

static int parse_proposal(const struct ath_store *store, const char *profile,
                          struct ath_document *out, struct ath_err *err)
{
    ATH_AUTO(ath_faults) faults = { 0 };
    ath_auto_free char *text = NULL;

    if (!profile && !store->has_machine) {
        ath_err_copy(err, &store->machine_err);
        return -ENOENT;
    }
    int status = ath_document_propose(&store->machine, profile, &text, err);
    return status ? status : ath_document_parse(text, strlen(text), store->path, out, &faults, err);
}

int ath_store_propose(struct ath_store *store, const char *profile, struct ath_err *err)
{
    ATH_AUTO(ath_document) document = { 0 };
    int status = parse_proposal(store, profile, &document, err);
    if (status)
        return status;
    document.path = ath_xstrdup(store->path);
    ath_store_take_document(store, &document);
    return 0;
}

bool ath_store_is_changed(const struct ath_store *store)
{
    return store->has_document && ath_document_is_changed(&store->document);
}

int ath_store_save(struct ath_store *store, struct ath_err *err)
{
    int status = ath_cli_may_write_document(store->cli, err);
    return status ? status : ath_document_save(&store->document, err);
}

int ath_store_save_copy(const struct ath_store *store, const char *path, struct ath_err *err)
{
    return ath_document_create(path, store->document.text, false, err);
}

/* ---- a new entry ---- */

static bool is_number_taken(const struct ath_store *store, const char *key, int number)
{
    const struct ath_schema *numa = ath_schema_find(ath_schema_root(), "numa");
    const struct ath_schema *schema = ath_schema_find(numa, key);

    for (size_t i = 0; i < store->document.numa.count; i++)
        if (*(const int *)ath_schema_field(schema, &store->document.numa.items[i]) == number)
            return true;
    return false;
}

int ath_store_free_number(const struct ath_store *store, const char *key, int first)
{
    while (is_number_taken(store, key, first))
        first++;
    return first;
}

static void copy_key(struct ath_document *document, int id, const struct ath_document *proposal,
                     int proposed_id, const char *key)
{
    ath_auto_free char *from = ath_xasprintf("numa.%d.%s", proposed_id, key);
    ath_auto_free char *to = ath_xasprintf("numa.%d.%s", id, key);
    ath_auto_free char *value = NULL;

    if (!ath_document_get(proposal, from, &value, NULL) && value)
        ath_document_set(document, to, value, NULL);
}

/* Copies what `aitherion init` proposes for the node. The user chooses the rest. */
static void copy_proposed(struct ath_store *store, int node, int id)
{
    static const char *const keys[] = { "memory_nodes", "control_iface", "data_iface", "gpus",
                                        "rdma_devices" };
    ATH_AUTO(ath_document) proposal = { 0 };

    if (parse_proposal(store, NULL, &proposal, NULL))
        return;
    for (size_t i = 0; i < proposal.numa.count; i++)
        for (size_t key = 0; proposal.numa.items[i].node == node && key < ATH_COUNT(keys); key++)
            copy_key(&store->document, id, &proposal, proposal.numa.items[i].id, keys[key]);
}

int ath_store_add_numa(struct ath_store *store, int node, int *out_id, struct ath_err *err)
{
    int id = ath_store_free_number(store, "id", FIRST_ID);
    ath_auto_free char *id_text = ath_xasprintf("%d", id);
    ath_auto_free char *node_text = ath_xasprintf("%d", node);
    ath_auto_free char *control =
        ath_xasprintf("%d", ath_store_free_number(store, "control_port", FIRST_CONTROL_PORT));
    ath_auto_free char *data =
        ath_xasprintf("%d", ath_store_free_number(store, "data_port", FIRST_DATA_PORT));
    const struct ath_change fields[] = {
        { "id", id_text }, { "node", node_text }, { "control_port", control }, { "data_port", data }
    };

    int status = ath_document_append(&store->document, "numa", fields, ATH_COUNT(fields), err);
    if (status)
        return status;
    copy_proposed(store, node, id);
    *out_id = id;
    return 0;
}

void ath_store_check(const struct ath_store *store, const struct ath_yaml *item,
                     struct ath_faults *out)
{
    ATH_AUTO(ath_faults) all = { 0 };

    if (!store->has_document || !store->has_machine)
        return;
    if (!item) {
        ath_document_check(&store->document, &store->machine, out);
        return;
    }
    ath_document_check(&store->document, &store->machine, &all);
    for (size_t i = 0; i < all.count; i++)
        if (all.items[i].offset >= item->begin && all.items[i].offset < item->end) {
            struct ath_fault *fault = ath_push(&out->items, &out->count, sizeof *fault);
            *fault = all.items[i];
            all.items[i] = (struct ath_fault){ 0 };
        }
}
