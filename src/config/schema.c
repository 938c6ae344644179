/* The table of keys, and what each kind of value can do. */
#include "config.h"

#include "config/schema.h"

#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/idset.h"
#include "base/pci.h"
#include "config/document.h"
#include "config/forms.h"

enum { ENTRY_ID_MAX = 65535, PORT_MAX = 65535, MTU_MIN = 68, MTU_MAX = 65535 };

static const char *const schemas[] = { ATH_DOCUMENT_SCHEMA, NULL };
static const char *const engines[] = { "auto", "docker", "process", NULL };
static const char *const networks[] = { "auto", "bridge", "host", NULL };
static const char *const modes[] = { "bridge", "private", "vepa", "passthru", NULL };

#define FIELD(type, member) .offset = offsetof(struct type, member)

static const struct ath_schema node_keys[] = {
    { .name = "name",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_node, name),
      .form = ATH_FORM_NAME,
      .otherwise = N_("the machine's host name"),
      .help = N_("what this machine is called in outputs") },
    { .name = "profile",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_node, profile),
      .form = ATH_FORM_NAME,
      .otherwise = N_("as discover says"),
      .help = N_("what kind of machine this is, as 'aitherion discover' names it") },
    { 0 },
};

static const struct ath_schema engine_keys[] = {
    { .name = "kind",
      .kind = ATH_VALUE_CHOICE,
      FIELD(ath_document_engine, kind),
      .choices = engines,
      .fallback = "auto",
      .help = N_("what runs a node: Docker, plain processes, or Docker where it answers") },
    { .name = "network",
      .kind = ATH_VALUE_CHOICE,
      FIELD(ath_document_engine, network),
      .choices = networks,
      .fallback = "auto",
      .help = N_("network of a container without macvlan; auto: bridge where Docker has one") },
    { .name = "docker_host",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_engine, docker_host),
      .form = ATH_FORM_DOCKER_HOST,
      .fallback = "unix:///var/run/docker.sock",
      .help = N_("where Docker listens; DOCKER_HOST in the environment goes first") },
    { .name = "image",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_engine, image),
      .form = ATH_FORM_IMAGE,
      .fallback = "aitherion-runtime:latest",
      .help = N_("the runtime's container image") },
    { .name = "sim",
      .kind = ATH_VALUE_BOOLEAN,
      FIELD(ath_document_engine, is_sim),
      .fallback = "false",
      .help = N_("serve simulated GPUs, to try things out without hardware") },
    { 0 },
};

static const struct ath_schema numa_keys[] = {
    { .name = "id",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_numa, id),
      .max = ENTRY_ID_MAX,
      .is_required = true,
      .help = N_("the number that people use: 0 for NUMA0") },
    { .name = "node",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_numa, node),
      .max = ATH_ID_MAX,
      .is_required = true,
      .help = N_("the kernel's NUMA node, whose CPUs it runs on") },
    { .name = "memory_nodes",
      .kind = ATH_VALUE_IDS,
      FIELD(ath_document_numa, memory_nodes),
      .max = ATH_ID_MAX,
      .otherwise = N_("the node itself"),
      .help = N_("the kernel's nodes whose memory it may use, its GPUs' memory nodes included") },
    { .name = "memory_percent",
      .kind = ATH_VALUE_NUMBER,
      FIELD(ath_document_numa, memory_percent),
      .max = 100,
      .is_min_excluded = true, /* a limit of 0 bytes means no limit to Docker */
      .fallback = "80.0",
      .help = N_("how much of the CPU node's memory it may use, in percent") },
    { .name = "vram_fraction",
      .kind = ATH_VALUE_NUMBER,
      FIELD(ath_document_numa, vram_fraction),
      .max = 1,
      .is_min_excluded = true,
      .fallback = "0.8",
      .help = N_("how much of each GPU's memory all sessions together may use; 1 is all") },
    { .name = "control_iface",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_numa, control_iface),
      .form = ATH_FORM_INTERFACE,
      .otherwise = N_("any interface"),
      .help = N_("network interface of the control connections") },
    { .name = "data_iface",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_numa, data_iface),
      .form = ATH_FORM_INTERFACE,
      .otherwise = N_("any interface"),
      .help = N_("network interface of the data plane") },
    { .name = "gpus",
      .kind = ATH_VALUE_TEXTS,
      FIELD(ath_document_numa, gpus),
      .form = ATH_FORM_PCI,
      .otherwise = N_("none"),
      .help = N_("PCI addresses of the GPUs that it serves") },
    { .name = "rdma_devices",
      .kind = ATH_VALUE_TEXTS,
      FIELD(ath_document_numa, rdma_devices),
      .form = ATH_FORM_RDMA_DEVICE,
      .otherwise = N_("none"),
      .help = N_("RDMA devices that its container gets") },
    { .name = "control_port",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_numa, control_port),
      .min = 1,
      .max = PORT_MAX,
      .is_required = true,
      .help = N_("TCP port of the control connections; no other entry may have it") },
    { .name = "data_port",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_numa, data_port),
      .min = 1,
      .max = PORT_MAX,
      .is_required = true,
      .help = N_("port of the data plane; no other entry may have it") },
    { 0 },
};

static const struct ath_schema card_keys[] = {
    { .name = "pci",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_card, pci),
      .form = ATH_FORM_PCI,
      .is_required = true,
      .help = N_("PCI address of the card (of its lowest function)") },
    { .name = "description",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_card, description),
      .form = ATH_FORM_LINE,
      .help = N_("any words that help to know it") },
    { .name = "numa",
      .kind = ATH_VALUE_IDS,
      FIELD(ath_document_card, numa),
      .max = ENTRY_ID_MAX,
      .otherwise = N_("none"),
      .help = N_("ids of the NUMA entries that use it") },
    { 0 },
};

static const struct ath_schema macvlan_keys[] = {
    { .name = "name",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_macvlan, name),
      .form = ATH_FORM_INTERFACE,
      .is_required = true,
      .help = N_("name of the macvlan link") },
    { .name = "parent",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_macvlan, parent),
      .form = ATH_FORM_INTERFACE,
      .is_required = true,
      .help = N_("the Ethernet interface below it") },
    { .name = "mode",
      .kind = ATH_VALUE_CHOICE,
      FIELD(ath_document_macvlan, mode),
      .choices = modes,
      .fallback = "bridge",
      .help = N_("how macvlans of one parent reach each other") },
    { .name = "numa",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_macvlan, numa),
      .max = ENTRY_ID_MAX,
      .otherwise = N_("no container"),
      .help = N_("id of the NUMA entry whose container gets it") },
    { .name = "address",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document_macvlan, address),
      .form = ATH_FORM_ADDRESS,
      .otherwise = N_("no address"),
      .help = N_("its IP address with the prefix") },
    { .name = "mtu",
      .kind = ATH_VALUE_INTEGER,
      FIELD(ath_document_macvlan, mtu),
      .min = MTU_MIN,
      .max = MTU_MAX,
      .otherwise = N_("the parent's"),
      .help = N_("largest packet in bytes; at most the parent's") },
    { 0 },
};

static const struct ath_schema roce_keys[] = {
    { .name = "cards",
      .kind = ATH_VALUE_ITEMS,
      FIELD(ath_document_roce, cards),
      .otherwise = N_("none"),
      .help = N_("RDMA cards taken into use, and for which NUMA entries"),
      .title = N_("RDMA card"),
      .name_key = "pci",
      .keys = card_keys,
      .item_size = sizeof(struct ath_document_card) },
    { .name = "macvlans",
      .kind = ATH_VALUE_ITEMS,
      FIELD(ath_document_roce, macvlans),
      .otherwise = N_("none"),
      .help = N_("macvlan links that containers get"),
      .title = N_("macvlan"),
      .name_key = "name",
      .keys = macvlan_keys,
      .item_size = sizeof(struct ath_document_macvlan) },
    { 0 },
};

static const struct ath_schema document_keys[] = {
    { .name = "schema",
      .kind = ATH_VALUE_CHOICE,
      FIELD(ath_document, schema),
      .choices = schemas,
      .is_required = true,
      .help = N_("the version of this form") },
    { .name = "node",
      .kind = ATH_VALUE_MAPPING,
      FIELD(ath_document, node),
      .help = N_("the machine"),
      .keys = node_keys },
    { .name = "engine",
      .kind = ATH_VALUE_MAPPING,
      FIELD(ath_document, engine),
      .help = N_("what runs the runtimes"),
      .keys = engine_keys },
    { .name = "key_file",
      .kind = ATH_VALUE_TEXT,
      FIELD(ath_document, key_file),
      .form = ATH_FORM_FILE,
      .fallback = "/etc/aitherion/key",
      .help = N_("the shared key, any bytes; a user's own key file is looked at first") },
    { .name = "numa",
      .kind = ATH_VALUE_ITEMS,
      FIELD(ath_document, numa),
      .is_required = true,
      .help = N_("one runtime each; two entries may name the same node"),
      .title = N_("NUMA entry"),
      .name_key = "id",
      .keys = numa_keys,
      .item_size = sizeof(struct ath_document_numa) },
    { .name = "roce",
      .kind = ATH_VALUE_MAPPING,
      FIELD(ath_document, roce),
      .help = N_("RDMA cards and the links made on them"),
      .keys = roce_keys },
    { 0 },
};

static const struct ath_schema root = {
    .name = "document",
    .kind = ATH_VALUE_MAPPING,
    .help = N_("a topology document"),
    .keys = document_keys,
};

const struct ath_schema *ath_schema_root(void)
{
    return &root;
}

const struct ath_schema *ath_schema_find(const struct ath_schema *parent, const char *name)
{
    for (const struct ath_schema *key = parent->keys; key && key->name; key++)
        if (!strcmp(key->name, name))
            return key;
    return NULL;
}

const char *ath_schema_nearest(const struct ath_schema *parent, const char *name)
{
    const char *names[32];
    size_t count = 0;
    for (const struct ath_schema *key = parent->keys; key && key->name; key++)
        if (count < ATH_COUNT(names))
            names[count++] = key->name;
    return ath_text_nearest(name, names, count);
}

const char *ath_value_kind_word(enum ath_value_kind kind)
{
    static const char *const words[ATH_VALUE_KIND_COUNT] = {
        [ATH_VALUE_TEXT] = "text",
        [ATH_VALUE_INTEGER] = "integer",
        [ATH_VALUE_NUMBER] = "number",
        [ATH_VALUE_BOOLEAN] = "boolean",
        [ATH_VALUE_CHOICE] = "choice",
        [ATH_VALUE_IDS] = "list of integers",
        [ATH_VALUE_TEXTS] = "list of texts",
        [ATH_VALUE_MAPPING] = "mapping",
        [ATH_VALUE_ITEMS] = "list of mappings",
    };
    return words[kind];
}

void ath_texts_add(struct ath_texts *texts, const char *text)
{
    char **slot = ath_push(&texts->items, &texts->count, sizeof *slot);
    *slot = ath_xstrdup(text);
}

void ath_texts_free(struct ath_texts *texts)
{
    if (!texts)
        return;
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (struct ath_texts){ 0 };
}

char *ath_number_text(double number)
{
    enum { DECIMALS_MAX = 17 };
    char text[512]; /* room for the largest double without an exponent */

    for (int decimals = 0; decimals <= DECIMALS_MAX; decimals++) {
        snprintf(text, sizeof text, "%.*f", decimals, number);
        double back = strtod(text, NULL);
        if (back >= number && back <= number)
            break;
    }
    /* snprintf() writes the locale's decimal point. */
    const char *local = localeconv()->decimal_point;
    const char *point = *local ? strstr(text, local) : NULL;
    return point ? ath_xasprintf("%.*s.%s", (int)(point - text), text, point + strlen(local))
                 : ath_xstrdup(text);
}

static char *allowed_number(const struct ath_schema *schema)
{
    ath_auto_free char *min = ath_number_text(schema->min);
    ath_auto_free char *max = ath_number_text(schema->max);
    return schema->is_min_excluded ? ath_xasprintf(_("a number above %s, at most %s"), min, max)
                                   : ath_xasprintf(_("a number from %s to %s"), min, max);
}

static char *allowed_choice(const struct ath_schema *schema)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; schema->choices[i]; i++)
        ath_text_add(&text, "%s%s",
                     !i                       ? ""
                     : schema->choices[i + 1] ? ", "
                                              : _(" or "),
                     schema->choices[i]);
    return ath_text_take(&text);
}

char *ath_schema_allowed_entry(const struct ath_schema *schema)
{
    switch (schema->kind) {
    case ATH_VALUE_TEXT:
    case ATH_VALUE_TEXTS:
        return ath_xstrdup(_(ath_form_allowed(schema->form)));
    case ATH_VALUE_INTEGER:
    case ATH_VALUE_IDS:
        return ath_xasprintf(_("a whole number from %d to %d"), (int)schema->min, (int)schema->max);
    case ATH_VALUE_NUMBER:
        return allowed_number(schema);
    case ATH_VALUE_BOOLEAN:
        return ath_xstrdup(_("true or false"));
    case ATH_VALUE_CHOICE:
        return allowed_choice(schema);
    case ATH_VALUE_ITEMS:
        return ath_xstrdup(_("a list of mappings"));
    default:
        return ath_xstrdup(_("a mapping (key: value)"));
    }
}

char *ath_schema_allowed(const struct ath_schema *schema)
{
    if (schema->kind == ATH_VALUE_TEXTS)
        return ath_xstrdup(_(ath_form_allowed_list(schema->form)));
    if (schema->kind == ATH_VALUE_IDS)
        return ath_xasprintf(_("a list of whole numbers from %d to %d"), (int)schema->min,
                             (int)schema->max);
    return ath_schema_allowed_entry(schema);
}

/* Whole numbers as YAML 1.1 and 1.2 read them alike: a leading zero is octal to the older one. */
static enum ath_fault_code check_integer(const struct ath_schema *schema, const char *text)
{
    const char *digits = text + (*text == '-');
    int value;

    if (!*digits || digits[strspn(digits, "0123456789")] || (digits[0] == '0' && digits[1]))
        return ATH_FAULT_TYPE;
    if (ath_parse_int(text, (int)schema->min, (int)schema->max, &value))
        return ATH_FAULT_RANGE;
    return ATH_FAULT_NONE;
}

/* ".8" is a number of YAML too. */
static int parse_number(const char *text, double *out)
{
    ath_auto_free char *whole = ath_xasprintf("%s%s", *text == '.' ? "0" : "", text);
    return strpbrk(text, "\n") ? -1 : ath_parse_double(whole, out);
}

static enum ath_fault_code check_number(const struct ath_schema *schema, const char *text)
{
    double value;
    if (parse_number(text, &value))
        return ATH_FAULT_TYPE;
    if (value > schema->max || value < schema->min ||
        (schema->is_min_excluded && value <= schema->min))
        return ATH_FAULT_RANGE;
    return ATH_FAULT_NONE;
}

static int choice_of(const struct ath_schema *schema, const char *text)
{
    for (int i = 0; schema->choices[i]; i++)
        if (!strcmp(schema->choices[i], text))
            return i;
    return ATH_UNSET;
}

static bool is_true(const char *text)
{
    return *text == 't' || *text == 'T';
}

enum ath_fault_code ath_schema_check(const struct ath_schema *schema, const char *text)
{
    switch (schema->kind) {
    case ATH_VALUE_TEXT:
    case ATH_VALUE_TEXTS:
        return ath_form_fits(schema->form, text) ? ATH_FAULT_NONE : ATH_FAULT_FORMAT;
    case ATH_VALUE_INTEGER:
    case ATH_VALUE_IDS:
        return check_integer(schema, text);
    case ATH_VALUE_NUMBER:
        return check_number(schema, text);
    case ATH_VALUE_BOOLEAN:
        return ath_yaml_type_of_plain(text) == ATH_YAML_BOOLEAN ? ATH_FAULT_NONE : ATH_FAULT_TYPE;
    case ATH_VALUE_CHOICE:
        return choice_of(schema, text) >= 0 ? ATH_FAULT_NONE : ATH_FAULT_CHOICE;
    default:
        return ATH_FAULT_TYPE;
    }
}

/* One spelling of each PCI address, so that comparing texts compares addresses. */
static char *canonical(const struct ath_schema *schema, const char *text)
{
    struct ath_pci pci;
    char pci_text[ATH_PCI_TEXT];

    if (schema->form == ATH_FORM_PCI && !ath_pci_parse(text, &pci))
        return ath_xstrdup(ath_pci_format(&pci, pci_text));
    return ath_xstrdup(text);
}

void *ath_schema_field(const struct ath_schema *schema, const void *base)
{
    return (char *)base + schema->offset;
}

void ath_schema_store(const struct ath_schema *schema, void *base, const char *text)
{
    void *field = ath_schema_field(schema, base);
    ath_auto_free char *value = canonical(schema, text);
    int number = 0;

    switch (schema->kind) {
    case ATH_VALUE_TEXT:
        free(*(char **)field);
        *(char **)field = ath_steal(&value);
        break;
    case ATH_VALUE_INTEGER:
        ath_parse_int(text, INT_MIN, INT_MAX, field);
        break;
    case ATH_VALUE_NUMBER:
        parse_number(text, field);
        break;
    case ATH_VALUE_BOOLEAN:
        *(bool *)field = is_true(text);
        break;
    case ATH_VALUE_CHOICE:
        *(int *)field = choice_of(schema, text);
        break;
    case ATH_VALUE_IDS:
        if (!ath_parse_int(text, 0, ATH_ID_MAX, &number))
            ath_idset_add(field, number, number);
        break;
    case ATH_VALUE_TEXTS:
        ath_texts_add(field, value);
        break;
    default:
        break;
    }
}

static void add_ids(const struct ath_idset *set, struct ath_texts *out)
{
    for (int id = ath_idset_next(set, -1); id >= 0; id = ath_idset_next(set, id)) {
        ath_auto_free char *text = ath_xasprintf("%d", id);
        ath_texts_add(out, text);
    }
}

static char *scalar_text(const struct ath_schema *schema, const void *field)
{
    switch (schema->kind) {
    case ATH_VALUE_INTEGER:
        return ath_xasprintf("%d", *(const int *)field);
    case ATH_VALUE_NUMBER:
        return ath_number_text(*(const double *)field);
    case ATH_VALUE_BOOLEAN:
        return ath_xstrdup(*(const bool *)field ? "true" : "false");
    case ATH_VALUE_CHOICE:
        return ath_xstrdup(schema->choices[*(const int *)field]);
    default:
        return ath_xstrdup(*(char *const *)field);
    }
}

void ath_schema_texts(const struct ath_schema *schema, const void *base, struct ath_texts *out)
{
    const void *field = ath_schema_field(schema, base);

    if (schema->kind == ATH_VALUE_IDS) {
        add_ids(field, out);
    } else if (schema->kind == ATH_VALUE_TEXTS) {
        const struct ath_texts *texts = field;
        for (size_t i = 0; i < texts->count; i++)
            ath_texts_add(out, texts->items[i]);
    } else if (schema->kind < ATH_VALUE_IDS && !ath_schema_is_unset(schema, base)) {
        ath_auto_free char *text = scalar_text(schema, field);
        ath_texts_add(out, text);
    }
}

bool ath_schema_is_unset(const struct ath_schema *schema, const void *base)
{
    const void *field = ath_schema_field(schema, base);
    return (schema->kind == ATH_VALUE_TEXT && !*(char *const *)field) ||
           (schema->kind == ATH_VALUE_INTEGER && *(const int *)field == ATH_UNSET);
}

/* The two members that every list of items has, whatever it is a list of. */
static void **items_of(const struct ath_schema *schema, const void *base)
{
    return ath_schema_field(schema, base);
}

static size_t *count_of(const struct ath_schema *schema, const void *base)
{
    return (size_t *)(items_of(schema, base) + 1);
}

size_t ath_schema_count(const struct ath_schema *schema, const void *base)
{
    return *count_of(schema, base);
}

void *ath_schema_item(const struct ath_schema *schema, const void *base, size_t index)
{
    return (char *)*items_of(schema, base) + index * schema->item_size;
}

void *ath_schema_add_item(const struct ath_schema *schema, void *base)
{
    void *item = ath_push(items_of(schema, base), count_of(schema, base), schema->item_size);
    ath_schema_defaults(schema, item);
    return item;
}

void ath_schema_defaults(const struct ath_schema *mapping, void *base)
{
    for (const struct ath_schema *key = mapping->keys; key->name; key++) {
        if (key->kind == ATH_VALUE_MAPPING)
            ath_schema_defaults(key, ath_schema_field(key, base));
        else if (key->kind == ATH_VALUE_INTEGER)
            *(int *)ath_schema_field(key, base) = ATH_UNSET;
        if (key->fallback)
            ath_schema_store(key, base, key->fallback);
    }
}

static void clear_field(const struct ath_schema *schema, void *base)
{
    void *field = ath_schema_field(schema, base);

    if (schema->kind == ATH_VALUE_TEXT) {
        free(*(char **)field);
        *(char **)field = NULL;
    } else if (schema->kind == ATH_VALUE_IDS) {
        ath_idset_free(field);
    } else if (schema->kind == ATH_VALUE_TEXTS) {
        ath_texts_free(field);
    } else if (schema->kind == ATH_VALUE_MAPPING) {
        ath_schema_clear(schema, field);
    } else if (schema->kind == ATH_VALUE_ITEMS) {
        for (size_t i = 0; i < ath_schema_count(schema, base); i++)
            ath_schema_clear(schema, ath_schema_item(schema, base, i));
        free(*items_of(schema, base));
        *items_of(schema, base) = NULL;
        *count_of(schema, base) = 0;
    }
}

void ath_schema_clear(const struct ath_schema *mapping, void *base)
{
    for (const struct ath_schema *key = mapping->keys; key->name; key++)
        clear_field(key, base);
}
