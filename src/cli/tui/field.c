/* Fields: a table of their names and of what is offered for them. */
#include "config.h"

#include "cli/tui/field.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/key_flags.h"
#include "cli/output/words.h"
#include "config/edit.h"
#include "container/docker/run_line.h"

/* ---- what the machine offers ---- */

typedef void (*offer)(const struct ath_tui *tui, struct ath_choices *out);

/* Returns node, speed, state and name as cells. */
static char *words_of_nic(const struct ath_nic *nic)
{
    ath_auto_free char *device = ath_words_device(nic->vendor_id, nic->device_id, nic->model);
    ath_auto_free char *node = nic->numa_node == ATH_UNKNOWN
                                   ? ath_xstrdup("")
                                   : ath_xasprintf(_("NUMA node %d"), nic->numa_node);
    ath_auto_free char *speed =
        nic->speed_mbps > 0 ? ath_words_speed(nic->speed_mbps) : ath_xstrdup("");
    const char *state = nic->link == ATH_LINK_UP     ? _("up")
                        : nic->link == ATH_LINK_DOWN ? _("down")
                                                     : "";

    return ath_xasprintf("%s\t%s\t%s\t%s", node, speed, state, device ? device : "");
}

static void offer_links_of(const struct ath_tui *tui, bool is_for_macvlan, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.machine.nic_count; i++) {
        const struct ath_nic *nic = &tui->store.machine.nics[i];
        if (!nic->netdev || (is_for_macvlan && nic->link_layer == ATH_LAYER_INFINIBAND))
            continue;
        ath_auto_free char *words = words_of_nic(nic);
        ath_choices_add(out, nic->netdev, NULL, words);
    }
}

static void offer_links(const struct ath_tui *tui, struct ath_choices *out)
{
    offer_links_of(tui, false, out);
}

/* InfiniBand cannot carry a macvlan. */
static void offer_parents(const struct ath_tui *tui, struct ath_choices *out)
{
    offer_links_of(tui, true, out);
}

static void offer_rdma(const struct ath_tui *tui, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.machine.nic_count; i++) {
        const struct ath_nic *nic = &tui->store.machine.nics[i];
        if (!nic->rdma_device || ath_choices_find(out, nic->rdma_device))
            continue;
        ath_auto_free char *words = words_of_nic(nic);
        ath_auto_free char *detail = ath_xasprintf("%s\t%s", nic->netdev ? nic->netdev : "", words);
        ath_choices_add(out, nic->rdma_device, NULL, detail);
    }
}

static void offer_gpus(const struct ath_tui *tui, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.machine.gpu_count && !tui->store.machine.is_text; i++) {
        const struct ath_gpu *gpu = &tui->store.machine.gpus[i];
        char pci[ATH_PCI_TEXT];
        ath_auto_free char *device = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);
        ath_auto_free char *node = gpu->numa_node == ATH_UNKNOWN
                                       ? ath_xstrdup("")
                                       : ath_xasprintf(_("NUMA node %d"), gpu->numa_node);
        ath_auto_free char *detail = ath_xasprintf("GPU%zu\t%s\t%s", i, node, device);
        ath_choices_add(out, ath_pci_format(&gpu->pci, pci), NULL, detail);
    }
}

static void offer_nodes_of(const struct ath_tui *tui, bool is_with_cpus, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.machine.node_count; i++) {
        const struct ath_numa_node *node = &tui->store.machine.nodes[i];
        char gpu[ATH_PCI_TEXT];
        if (is_with_cpus && node->kind != ATH_NODE_CPU)
            continue;
        ath_auto_free char *id = ath_xasprintf("%d", node->id);
        ath_auto_free char *size = node->memory_total_bytes > 0
                                       ? ath_words_size(node->memory_total_bytes)
                                       : ath_xstrdup("");
        ath_auto_free char *cpus = ath_idset_format(&node->cpus);
        ath_auto_free char *use =
            node->has_gpu ? ath_xasprintf(_("memory of GPU %s"), ath_pci_format(&node->gpu, gpu))
            : node->kind == ATH_NODE_CPU ? ath_xasprintf(_("CPUs %s"), cpus)
                                         : ath_xstrdup("");
        ath_auto_free char *detail = ath_xasprintf("%s\t%s", size, use);
        ath_choices_add(out, id, NULL, detail);
    }
}

static void offer_cpu_nodes(const struct ath_tui *tui, struct ath_choices *out)
{
    offer_nodes_of(tui, true, out);
}

static void offer_nodes(const struct ath_tui *tui, struct ath_choices *out)
{
    offer_nodes_of(tui, false, out);
}

static void offer_entries(const struct ath_tui *tui, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.document.numa.count; i++) {
        ath_auto_free char *id = ath_xasprintf("%d", tui->store.document.numa.items[i].id);
        ath_auto_free char *name = ath_xasprintf("NUMA%s", id);
        ath_choices_add(out, id, name, NULL);
    }
}

/* ---- the table ---- */

struct field {
    const char *list, *key;
    const char *label; /* N_() */
    const char *unit;  /* shown after the value */
    offer offer;       /* NULL: typed, or chosen from the words that the key allows */
};

static const struct field fields[] = {
    { "numa", "node", N_("NUMA node of the kernel"), "", offer_cpu_nodes },
    { "numa", "memory_nodes", N_("Memory nodes"), "", offer_nodes },
    { "numa", "memory_percent", N_("Memory percentage"), " %", NULL },
    { "numa", "vram_fraction", N_("VRAM fraction"), "", NULL },
    { "numa", "enforce", N_("Limits of GPU memory enforced"), "", NULL },
    { "numa", "control_iface", N_("Control interface"), "", offer_links },
    { "numa", "data_iface", N_("Data interfaces"), "", offer_links },
    { "numa", "gpus", N_("GPUs"), "", offer_gpus },
    { "numa", "rdma_devices", N_("RDMA devices"), "", offer_rdma },
    { "numa", "control_port", N_("Control port"), "", NULL },
    { "numa", "data_port", N_("Data port"), "", NULL },
    { "numa", "metrics", N_("Metrics address or port"), "", NULL },
    { "", "encrypt", N_("Encryption of TCP"), "", NULL },
    { "", "sharing", N_("Turns on a GPU"), "", NULL },
    { "", "log_level", N_("Level of the logs"), "", NULL },
    { "", "tls_certificate", N_("Certificate of the runtimes"), "", NULL },
    { "", "tls_key", N_("Private key of the certificate"), "", NULL },
    { "", "metrics_web", N_("TLS and passwords of metrics"), "", NULL },
    { "", "tls_ca", N_("Authorities that clients trust"), "", NULL },
    { "", "limits.sessions_per_source", N_("Sessions from one source"), "", NULL },
    { "", "limits.host_fraction", N_("Host memory of one session"), "", NULL },
    { "identities", "name", N_("Name of the identity"), "", NULL },
    { "identities", "memory", N_("Memory of each GPU"), "", NULL },
    { "identities", "share", N_("Share of a GPU's time"), " %", NULL },
    { "identities", "cap", N_("Never more than the share"), "", NULL },
    { "identities", "priority", N_("Highest priority"), "", NULL },
    { "identities", "sm_share", N_("Part of a GPU's multiprocessors"), " %", NULL },
    { "identities", "sessions", N_("Sessions"), "", NULL },
    { "identities", "gpus", N_("GPUs"), "", offer_gpus },
    { "identities", "admin", N_("Administrator"), "", NULL },
    { "roce.cards", "description", N_("Description"), "", NULL },
    { "roce.cards", "numa", N_("NUMA entries that use it"), "", offer_entries },
    { "roce.macvlans", "name", N_("Name"), "", NULL },
    { "roce.macvlans", "parent", N_("Parent interface"), "", offer_parents },
    { "roce.macvlans", "mode", N_("Mode"), "", NULL },
    { "roce.macvlans", "address", N_("Address"), "", NULL },
    { "roce.macvlans", "mtu", N_("MTU"), "", NULL },
    { "roce.macvlans", "numa", N_("NUMA entry whose container gets it"), "", offer_entries },
    { "roce.macvlans", "host_link", N_("Second link on the host"), "", NULL },
    { "roce.macvlans", "host_address", N_("Address of the host's link"), "", NULL },
};

static const struct field *find_field(const char *list, const char *key)
{
    for (size_t i = 0; i < ATH_COUNT(fields); i++)
        if (!strcmp(fields[i].list, list) && !strcmp(fields[i].key, key))
            return &fields[i];
    abort(); /* a row of a screen names a field that is not in the table */
}

/* Returns the document's schema of a key in a list like "roce.macvlans", or of a key of the
 * document itself. */
static const struct ath_schema *schema_of(const char *list, const char *key)
{
    const struct ath_schema *schema = ath_schema_root();
    ath_auto_free char *path = ath_field_key(list, "", key);
    char *rest = path;

    for (char *name = strsep(&rest, "."); name && schema; name = strsep(&rest, "."))
        schema = ath_schema_find(schema, name);
    return schema;
}

static bool is_many(const struct ath_schema *schema)
{
    return schema->kind == ATH_VALUE_IDS || schema->kind == ATH_VALUE_TEXTS;
}

static bool is_optional(const struct ath_schema *schema)
{
    return !schema->is_required && !schema->fallback && !is_many(schema);
}

const char *ath_field_help(const char *list, const char *field)
{
    return _(schema_of(list, field)->help);
}

char *ath_field_key(const char *list, const char *subject, const char *field)
{
    return ath_xasprintf("%s%s%s%s%s", list, *list ? "." : "", subject, *subject ? "." : "", field);
}

static char *value_of(const struct ath_tui *tui, const char *key)
{
    char *value = NULL;
    return ath_document_get(&tui->store.document, key, &value, NULL) ? NULL : value;
}

/* Returns "[0, 254]" without the brackets, and without the quotes around PCI addresses. The caller
 * frees it. */
static char *unbracketed(const char *value)
{
    ATH_AUTO(ath_text) plain = { 0 };
    size_t length = strlen(value);

    if (*value != '[' || length < 2)
        return ath_xstrdup(value);
    for (size_t i = 1; i + 1 < length; i++)
        if (value[i] != '"')
            ath_text_add_bytes(&plain, value + i, 1);
    return ath_text_take(&plain);
}

char *ath_field_shown(const struct ath_tui *tui, const char *list, const char *subject,
                      const char *field)
{
    ath_auto_free char *key = ath_field_key(list, subject, field);
    ath_auto_free char *value = value_of(tui, key);
    ath_auto_free char *plain = value ? unbracketed(value) : NULL;
    const struct ath_schema *schema = schema_of(list, field);

    if (!plain || !*plain)
        return schema->otherwise ? ath_xasprintf("(%s)", _(schema->otherwise))
                                 : ath_xstrdup(_("(none)"));
    return ath_xasprintf("%s%s", plain, find_field(list, field)->unit);
}

/* ---- the command that does the same ---- */

/* Commands that have options for an entry's keys. */
static const struct setter {
    const char *list, *words; /* {0}: the entry's name */
    const struct ath_command *command;
    const char *behind;
} setters[] = {
    { "numa", "aitherion configure {0}", &ath_command_configure, "" },
    { "", "aitherion configure", &ath_command_configure, "" },
    { "roce.macvlans", "aitherion roce macvlan {0}", &ath_command_roce_macvlan, " --record" },
};

/* Returns the option for the key, or NULL. */
static const struct ath_option *flag_of(const struct ath_command *command, const char *key)
{
    for (const struct ath_option *option = command->options; option->name; option++) {
        ath_auto_free char *named = ath_key_flag_key(option);
        if (option->type == ATH_OPTION_TEXT && !strcmp(named, key))
            return option;
    }
    return NULL;
}

/* Returns the command that has options for all names, or NULL. */
static const struct setter *setter_of(const char *list, const char *const names[ATH_FIELDS_MOST])
{
    for (size_t i = 0; i < ATH_COUNT(setters); i++) {
        bool has_all = !strcmp(setters[i].list, list);
        for (size_t j = 0; j < ATH_FIELDS_MOST && names[j]; j++)
            has_all = has_all && flag_of(setters[i].command, names[j]);
        if (has_all)
            return &setters[i];
    }
    return NULL;
}

/* Returns a list as an option takes it, without blanks: "0004:04:00.0,0004:05:00.0". The caller
 * frees it. */
static char *for_flag(const char *value)
{
    ATH_AUTO(ath_text) out = { 0 };
    ath_auto_free char *plain = unbracketed(value);

    if (*value != '[' || !*plain)
        return ath_xstrdup(value);
    for (const char *c = plain; *c; c++)
        if (*c != ' ')
            ath_text_add_bytes(&out, c, 1);
    return ath_text_take(&out);
}

char *ath_field_command(const struct ath_tui *tui, const char *list, const char *subject,
                        const char *const names[ATH_FIELDS_MOST])
{
    const struct setter *setter = setter_of(list, names);
    bool is_numa = !strcmp(list, "numa");
    ATH_AUTO(ath_text) command = { 0 };
    ath_auto_free char *begin = ath_tui_fill(setter    ? setter->words
                                             : is_numa ? "aitherion configure {0}"
                                                       : "aitherion configure",
                                             subject);

    ath_text_add(&command, "%s", begin);
    for (size_t i = 0; i < ATH_FIELDS_MOST && names[i]; i++) {
        ath_auto_free char *key = ath_field_key(list, subject, names[i]);
        ath_auto_free char *value = value_of(tui, key);
        ath_auto_free char *word =
            setter ? for_flag(value ? value : "null")
                   : ath_xasprintf("%s=%s", is_numa ? names[i] : key, value ? value : "null");
        ath_text_add(&command, " --%s ", setter ? flag_of(setter->command, names[i])->name : "set");
        ath_shell_quote(&command, word);
    }
    ath_text_add(&command, "%s", setter ? setter->behind : "");
    return ath_text_take(&command);
}

/* ---- changing ---- */

static bool has_message(const struct ath_faults *faults, const char *message)
{
    for (size_t i = 0; i < faults->count; i++)
        if (!strcmp(faults->items[i].message, message))
            return true;
    return false;
}

/* Returns the first warning that the change caused, or NULL. */
static const char *new_warning(const struct ath_faults *before, const struct ath_faults *after)
{
    for (size_t i = 0; i < after->count; i++)
        if (!has_message(before, after->items[i].message))
            return after->items[i].message;
    return NULL;
}

bool ath_field_set(struct ath_tui *tui, const char *key, const char *value, char **out_reason)
{
    ATH_AUTO(ath_faults) before = { 0 }, after = { 0 };
    ath_auto_free char *old = value_of(tui, key), *now = NULL;
    struct ath_err err = { 0 };

    ath_store_check(&tui->store, NULL, &before);
    if (ath_document_set(&tui->store.document, key, value, &err)) {
        if (out_reason)
            *out_reason = ath_xstrdup(err.message);
        else
            ath_tui_say_error(tui, &err);
        return false;
    }
    ath_store_check(&tui->store, NULL, &after);
    now = value_of(tui, key);
    const char *warning = new_warning(&before, &after);
    if (warning)
        ath_tui_say(tui, ATH_ROLE_WARN, _("changed, but: %s"), warning);
    else if (old && now && !strcmp(old, now))
        ath_tui_say(tui, ATH_ROLE_PLAIN, _("'%s' stays as it was"), key);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("'%s' is now %s; not saved yet"), key,
                    now ? now : "null");
    return true;
}

/* Returns whether only the offered words are allowed. */
static bool is_closed(const struct ath_schema *schema)
{
    return schema->kind == ATH_VALUE_CHOICE || schema->kind == ATH_VALUE_BOOLEAN;
}

static void offer_words(const struct ath_schema *schema, struct ath_choices *out)
{
    static const char *const truths[] = { "true", "false", NULL };
    const char *const *words = schema->kind == ATH_VALUE_CHOICE    ? schema->choices
                               : schema->kind == ATH_VALUE_BOOLEAN ? truths
                                                                   : NULL;
    for (; words && *words; words++)
        ath_choices_add(out, *words, NULL, NULL);
}

/* Ticks the current values, and adds values that the machine does not have, so that they are not
 * lost. */
static void tick(struct ath_choices *choices, const char *value)
{
    ath_auto_free char *plain = value ? unbracketed(value) : NULL;
    char *rest = plain;

    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        word += strspn(word, " \"'");
        word[strcspn(word, "\"'")] = '\0';
        if (!*word)
            continue;
        struct ath_choice *choice = ath_choices_find(choices, word);
        if (!choice)
            choice = ath_choices_add(choices, word, NULL, _("(not found in this machine)"));
        choice->is_on = true;
    }
}

void ath_field_offers(const struct ath_tui *tui, const char *list, const char *field,
                      const char *value, struct ath_choices *out)
{
    const struct ath_schema *schema = schema_of(list, field);
    offer make = find_field(list, field)->offer;

    offer_words(schema, out);
    if (make)
        make(tui, out);
    tick(out, value);
}

static char *ticked(const struct ath_choices *choices)
{
    ATH_AUTO(ath_text) value = { 0 };
    ath_text_add(&value, "[");
    for (size_t i = 0; i < choices->count; i++)
        if (choices->items[i].is_on)
            ath_text_add(&value, "%s%s", value.length > 1 ? ", " : "", choices->items[i].value);
    ath_text_add(&value, "]");
    return ath_text_take(&value);
}

/* The check of a typed value: against a key of the document, or only the form of a field. */
struct trial {
    const char *key;
    const struct ath_schema *schema;
};

static bool accept(struct ath_tui *tui, const char *text, void *data, char **out_reason)
{
    const struct trial *trial = data;
    const char *value = !*text && is_optional(trial->schema) ? "null" : text;

    if (trial->key)
        return ath_field_set(tui, trial->key, value, out_reason);
    if (!ath_schema_check(trial->schema, text))
        return true;
    ath_auto_free char *allowed = ath_schema_allowed(trial->schema);
    *out_reason = ath_xasprintf(_("it must be %s"), allowed);
    return false;
}

static char *type_value(struct ath_tui *tui, const struct field *field, const char *value,
                        struct trial *trial)
{
    ath_auto_free char *allowed = ath_schema_allowed(trial->schema);
    ath_auto_free char *help = ath_xasprintf(
        is_optional(trial->schema) ? _("%s; %s; empty: %s") : _("%s; %s"), _(trial->schema->help),
        allowed, trial->schema->otherwise ? _(trial->schema->otherwise) : _("none"));
    ath_auto_free char *initial = value ? unbracketed(value) : NULL;
    return ath_dialog_input(tui, _(field->label), help, initial, accept, trial);
}

/* Lets the user choose one of the offers, type a value, or choose none. Returns the value as in the
 * document, or NULL. The caller frees it. */
static char *choose_value(struct ath_tui *tui, const struct field *field, const char *value,
                          struct ath_choices *choices, struct trial *trial)
{
    int none = -1, other = -1;

    if (is_optional(trial->schema)) {
        none = (int)choices->count;
        ath_choices_add(choices, "null", _("(none)"),
                        trial->schema->otherwise ? _(trial->schema->otherwise) : NULL)
            ->is_on = !value;
    }
    if (!is_closed(trial->schema)) {
        other = (int)choices->count;
        ath_choices_add(choices, "", _("type another one"), NULL);
    }
    int chosen = ath_dialog_choose(tui, _(field->label), _(trial->schema->help), choices, false);
    if (chosen < 0)
        return NULL;
    if (chosen == other)
        return type_value(tui, field, value, trial);
    char *reason = NULL;
    if (chosen != none || trial->key)
        accept(tui, choices->items[chosen].value, trial, &reason);
    if (!reason)
        return ath_xstrdup(choices->items[chosen].value);
    ath_tui_say(tui, ATH_ROLE_BAD, "%s", reason);
    free(reason);
    return NULL;
}

/* Lets the user choose several of the offers, or type a list. Returns the value as in the document,
 * or NULL. The caller frees it. */
static char *choose_values(struct ath_tui *tui, const struct field *field,
                           struct ath_choices *choices, struct trial *trial)
{
    size_t other = choices->count;

    ath_choices_add(choices, "", _("type others"), NULL);
    if (ath_dialog_choose(tui, _(field->label), _(trial->schema->help), choices, true) < 0)
        return NULL;
    bool is_typed = choices->items[other].is_on;
    choices->items[other].is_on = false;
    ath_auto_free char *list = ticked(choices);
    if (is_typed)
        return type_value(tui, field, list, trial);
    if (trial->key && !ath_field_set(tui, trial->key, list, NULL))
        return NULL;
    return ath_steal(&list);
}

static char *ask(struct ath_tui *tui, const char *list, const char *name, const char *value,
                 const char *key)
{
    const struct field *field = find_field(list, name);
    struct trial trial = { key, schema_of(list, name) };
    ATH_AUTO(ath_choices) choices = { 0 };

    ath_field_offers(tui, list, name, value, &choices);
    if (is_many(trial.schema))
        return choose_values(tui, field, &choices, &trial);
    return choices.count && (field->offer || is_closed(trial.schema))
               ? choose_value(tui, field, value, &choices, &trial)
               : type_value(tui, field, value, &trial);
}

char *ath_field_ask(struct ath_tui *tui, const char *list, const char *field, const char *initial)
{
    return ask(tui, list, field, initial, NULL);
}

bool ath_field_change(struct ath_tui *tui, const char *list, const char *subject, const char *field)
{
    ath_auto_free char *key = ath_field_key(list, subject, field);
    ath_auto_free char *value = value_of(tui, key);
    ath_auto_free char *chosen = ask(tui, list, field, value, key);
    return chosen != NULL;
}
