/* Rules between values: unique values, and ids that exist. */
#include "config.h"

#include "config/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/pci.h"
#include "config/forms.h"

/* A value that may occur only once, and its place. */
struct claim {
    char *value;
    size_t offset;
    char *key; /* path of its key, or NULL */
};

struct claims {
    struct claim *items;
    size_t count;
};

static void claims_free(struct claims *claims)
{
    for (size_t i = 0; i < claims->count; i++) {
        free(claims->items[i].value);
        free(claims->items[i].key);
    }
    free(claims->items);
}

#define AUTO_CLAIMS ATH_AUTO(claims)

/* Notes the scalar. A missing scalar or one of another kind was reported before. key: its path for
 * messages, or NULL; the list takes ownership. */
static void claim(struct claims *claims, const struct ath_schema *schema,
                  const struct ath_yaml *yaml, char *key)
{
    ath_auto_free char *owned_key = key;
    struct ath_pci pci;
    char text[ATH_PCI_TEXT];

    if (!yaml || yaml->kind != ATH_YAML_SCALAR || ath_schema_check(schema, yaml->text))
        return;
    char address[ATH_FORM_ADDRESS_BYTES];
    int port;
    bool is_pci = schema->form == ATH_FORM_PCI && !ath_pci_parse(yaml->text, &pci);
    struct claim *item = ath_push(&claims->items, &claims->count, sizeof *item);
    item->value = schema->form == ATH_FORM_LISTEN && !ath_form_listen(yaml->text, address, &port)
                      ? ath_xasprintf("%d", port)
                      : ath_xstrdup(is_pci ? ath_pci_format(&pci, text) : yaml->text);
    item->key = ath_steal(&owned_key);
    item->offset = yaml->begin;
}

static int compare(const void *a, const void *b)
{
    const struct claim *left = a, *right = b;
    int order = strcmp(left->value, right->value);
    return order ? order : (left->offset > right->offset) - (left->offset < right->offset);
}

/* Reports values that occur twice. format: a message with a %s for the value, and perhaps two for
 * the keys that have it. */
static void report_doubles(struct claims *claims, enum ath_fault_code code, const char *format,
                           struct ath_faults *faults)
{
    if (claims->count)
        qsort(claims->items, claims->count, sizeof *claims->items, compare);
    for (size_t i = 1; i < claims->count; i++)
        if (!strcmp(claims->items[i].value, claims->items[i - 1].value))
            ath_faults_add(faults, code, claims->items[i].offset, format, claims->items[i].value,
                           claims->items[i - 1].key, claims->items[i].key);
}

void ath_rules_entries_once(const struct ath_schema *schema, const struct ath_yaml *list,
                            struct ath_faults *faults)
{
    AUTO_CLAIMS claims = { 0 };
    for (size_t i = 0; i < list->child_count; i++)
        claim(&claims, schema, &list->children[i], NULL);
    report_doubles(&claims, ATH_FAULT_TWICE, _("'%s' is in this list twice"), faults);
}

/* Returns the value of a key in the mapping that an item was read from. */
static const struct ath_yaml *value_of(const struct ath_document_item *item, const char *key)
{
    return ath_yaml_get(item->source, key);
}

/* Checks that key has each value once in a list of items. */
static void check_names(const struct ath_schema *items, const void *base, const char *format,
                        struct ath_faults *faults)
{
    AUTO_CLAIMS claims = { 0 };
    const struct ath_schema *name = ath_schema_find(items, items->name_key);

    for (size_t i = 0; i < ath_schema_count(items, base); i++)
        claim(&claims, name, value_of(ath_schema_item(items, base, i), items->name_key), NULL);
    report_doubles(&claims, ATH_FAULT_TWICE, format, faults);
}

/* Checks that ports are unique. The ports of all entries share one space: with host networking
 * they are ports of the host. */
static void check_ports(const struct ath_schema *numa, const struct ath_document *document,
                        struct ath_faults *faults)
{
    static const char *const keys[] = { "control_port", "data_port", "metrics" };
    AUTO_CLAIMS claims = { 0 };

    for (size_t i = 0; i < document->numa.count; i++)
        for (size_t k = 0; k < ATH_COUNT(keys); k++)
            claim(&claims, ath_schema_find(numa, keys[k]),
                  value_of(&document->numa.items[i].item, keys[k]),
                  ath_xasprintf("numa.%d.%s", document->numa.items[i].id, keys[k]));
    report_doubles(&claims, ATH_FAULT_PORT_TWICE, _("two services want the port %s: '%s' and '%s'"),
                   faults);
}

/* Refuses more data interfaces than a runtime has data addresses. */
static void check_data_interfaces(const struct ath_document *document, struct ath_faults *faults)
{
    for (size_t i = 0; i < document->numa.count; i++) {
        const struct ath_document_numa *numa = &document->numa.items[i];
        if (numa->data_iface.count > ATH_DATA_INTERFACES_MAX)
            ath_faults_add(faults, ATH_FAULT_RANGE, value_of(&numa->item, "data_iface")->begin,
                           _("'numa.%d.data_iface' must be at most %d interfaces, not %zu"),
                           numa->id, ATH_DATA_INTERFACES_MAX, numa->data_iface.count);
    }
}

static void check_id(const struct ath_idset *ids, const struct ath_yaml *yaml, const char *list,
                     const char *name, struct ath_faults *faults)
{
    int id;
    if (yaml && yaml->kind == ATH_YAML_SCALAR && !ath_parse_int(yaml->text, 0, ATH_ID_MAX, &id) &&
        !ath_idset_has(ids, id))
        ath_faults_add(faults, ATH_FAULT_ID_UNKNOWN, yaml->begin,
                       _("'%s.%s' names the id %d, but no entry of 'numa' has it"), list,
                       name ? name : "?", id);
}

/* False if an id could not be read. That is a fault of its own, and references to it are then not
 * faults. */
static bool has_all_ids(const struct ath_document *document)
{
    const struct ath_yaml *list = ath_yaml_get(&document->tree, "numa");
    for (size_t i = 0; i < document->numa.count; i++)
        if (document->numa.items[i].id == ATH_UNSET)
            return false;
    return list && list->kind == ATH_YAML_LIST;
}

static void check_ids(const struct ath_document *document, struct ath_faults *faults)
{
    ATH_AUTO(ath_idset) ids = { 0 };
    if (!has_all_ids(document))
        return;
    for (size_t i = 0; i < document->numa.count; i++)
        ath_idset_add(&ids, document->numa.items[i].id, document->numa.items[i].id);

    for (size_t i = 0; i < document->roce.cards.count; i++) {
        const struct ath_yaml *list = value_of(&document->roce.cards.items[i].item, "numa");
        for (size_t k = 0; list && k < list->child_count; k++)
            check_id(&ids, &list->children[k], "roce.cards", document->roce.cards.items[i].pci,
                     faults);
    }
    for (size_t i = 0; i < document->roce.macvlans.count; i++)
        check_id(&ids, value_of(&document->roce.macvlans.items[i].item, "numa"), "roce.macvlans",
                 document->roce.macvlans.items[i].name, faults);
}

/* Refuses a macvlan that is its own parent. */
static void check_parents(const struct ath_document *document, struct ath_faults *faults)
{
    for (size_t i = 0; i < document->roce.macvlans.count; i++) {
        const struct ath_document_macvlan *macvlan = &document->roce.macvlans.items[i];
        if (macvlan->name && macvlan->parent && !strcmp(macvlan->name, macvlan->parent))
            ath_faults_add(faults, ATH_FAULT_TWICE, value_of(&macvlan->item, "parent")->begin,
                           _("the macvlan '%s' cannot be its own parent"), macvlan->name);
    }
}

static void check_needed(const struct ath_document *document, const char *key, const char *needed,
                         struct ath_faults *faults)
{
    const struct ath_yaml *value = ath_yaml_get(&document->tree, key);
    if (value && !ath_yaml_get(&document->tree, needed))
        ath_faults_add(faults, ATH_FAULT_KEY_MISSING, value->begin,
                       _("'%s' needs the key '%s' as well"), key, needed);
}

/* Refuses half of a pair, and a certificate that could never be shown. */
static void check_certificate(const struct ath_document *document, struct ath_faults *faults)
{
    const struct ath_yaml *certificate = ath_yaml_get(&document->tree, "tls_certificate");
    const struct ath_yaml *encrypt = ath_yaml_get(&document->tree, "encrypt");
    check_needed(document, "tls_certificate", "tls_key", faults);
    check_needed(document, "tls_key", "tls_certificate", faults);
    if (certificate && encrypt && encrypt->kind == ATH_YAML_SCALAR && encrypt->text &&
        !strcmp(encrypt->text, "off"))
        ath_faults_add(faults, ATH_FAULT_CHOICE, encrypt->begin,
                       _("'encrypt: off' leaves no use for 'tls_certificate'"));
}

/* Refuses a cap without the share that it caps. */
static void check_caps(const struct ath_document *document, struct ath_faults *faults)
{
    for (size_t i = 0; i < document->identities.count; i++) {
        const struct ath_document_identity *identity = &document->identities.items[i];
        if (identity->is_capped && !value_of(&identity->item, "share"))
            ath_faults_add(
                faults, ATH_FAULT_KEY_MISSING, value_of(&identity->item, "cap")->begin,
                _("'cap' of the identity '%s' needs the key 'share' as well: a cap is of "
                  "a share"),
                identity->name ? identity->name : "?");
    }
}

void ath_rules_check(const struct ath_document *document, struct ath_faults *faults)
{
    const struct ath_schema *root = ath_schema_root();
    const struct ath_schema *numa = ath_schema_find(root, "numa");
    const struct ath_schema *roce = ath_schema_find(root, "roce");

    check_names(numa, document, _("another entry above has the id %s"), faults);
    check_ports(numa, document, faults);
    check_data_interfaces(document, faults);
    check_names(ath_schema_find(root, "identities"), document,
                _("another identity above has the name '%s'"), faults);
    check_names(ath_schema_find(roce, "cards"), &document->roce,
                _("the card '%s' is listed above already"), faults);
    check_names(ath_schema_find(roce, "macvlans"), &document->roce,
                _("another macvlan above has the name '%s'"), faults);
    check_ids(document, faults);
    check_parents(document, faults);
    check_certificate(document, faults);
    check_caps(document, faults);
}
