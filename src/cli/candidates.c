/* Candidates for completion: a table of kinds, each with the function that lists its values. */
#include "config.h"

#include "cli/candidates.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/commands/image_docker.h"
#include "cli/output/words.h"
#include "cli/parse.h"
#include "cli/reach.h"
#include "config/entry.h"
#include "config/key_file.h"
#include "config/key_folder.h"
#include "config/schema.h"
#include "container/image/load.h"
#include "place/gpu_models.h"

/* One completion. The document and the machine are read when the first function needs them. */
struct completing {
    struct ath_cli cli;
    struct ath_command_line line; /* without the word that is completed */
    const char *word;             /* what is typed of the value, after "--name=" */
    size_t done;                  /* bytes of word before the part that is completed: "0,8," */
    struct ath_document document;
    struct ath_machine machine;
    bool has_document, has_machine; /* they were read, or cannot be read */
    struct ath_candidates *out;
};

static void completing_free(struct completing *completing)
{
    ath_machine_free(&completing->machine);
    ath_document_free(&completing->document);
    ath_faults_free(&completing->cli.faults);
    ath_command_line_free(&completing->line);
}

void ath_candidates_free(struct ath_candidates *candidates)
{
    if (!candidates)
        return;
    for (size_t i = 0; i < candidates->count; i++) {
        free(candidates->items[i].value);
        free(candidates->items[i].about);
    }
    free(candidates->items);
    *candidates = (struct ath_candidates){ 0 };
}

static const struct ath_document *document_of(struct completing *completing)
{
    struct ath_err err;
    if (!completing->has_document) {
        ath_auto_free char *path = ath_cli_document_path(&completing->cli);
        ath_document_load(path, &completing->document, &completing->cli.faults, &err);
        completing->has_document = true;
    }
    return &completing->document;
}

static const struct ath_machine *machine_of(struct completing *completing)
{
    struct ath_err err;
    if (!completing->has_machine)
        ath_cli_machine_without_nvml(&completing->cli, &completing->machine, &err);
    completing->has_machine = true;
    return &completing->machine;
}

/* Returns the value of the line's option, or NULL. */
static const char *option_of(const struct completing *completing, const char *name)
{
    const struct ath_option *option = completing->line.command->options;
    for (; option && option->name; option++)
        if (option->type == ATH_OPTION_TEXT && !strcmp(option->name, name))
            return *(const char *const *)((const char *)completing->line.options + option->offset);
    return NULL;
}

/* ---- adding ---- */

/* A shell puts the value into the command line as it is, so names like "$(reboot)" and "--force"
 * are not offered. */
static bool is_plain(const char *value)
{
    for (const char *c = value; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._:/@=,+-", *c))
            return false;
    return *value && *value != '-';
}

/* Returns whether the line or the list before the cursor has the value already. */
static bool is_given(const struct completing *completing, const char *value)
{
    const struct ath_command_line *line = &completing->line;
    ath_auto_free char *list = ath_xasprintf("%.*s", (int)completing->done, completing->word);
    const char *rest = completing->done ? list : NULL, *part;
    size_t length;

    for (size_t i = 0; i < line->argument_count; i++)
        if (!strcmp(line->arguments[i], value))
            return true;
    while (rest && (part = ath_text_next_part(&rest, &length)))
        if (length == strlen(value) && !strncmp(part, value, length))
            return true;
    return false;
}

/* Takes `about` over; it may be NULL. */
static void add(struct completing *completing, const char *value, char *about)
{
    if (!value || !is_plain(value) || is_given(completing, value)) {
        free(about);
        return;
    }
    struct ath_candidate *candidate =
        ath_push(&completing->out->items, &completing->out->count, sizeof *candidate);
    candidate->value = ath_xasprintf("%.*s%s", (int)completing->done, completing->word, value);
    candidate->about = about ? about : ath_xstrdup("");
}

/* ---- the kinds ---- */

static void add_topics(struct completing *completing)
{
    const struct ath_command_line *line = &completing->line;
    const struct ath_command *topic = &ath_command_root;

    for (size_t i = 0; topic && i < line->argument_count; i++)
        topic = ath_command_child(topic, line->arguments[i]);
    for (const struct ath_command *const *child = topic ? topic->children : NULL; child && *child;
         child++)
        add(completing, (*child)->name, ath_xstrdup(_((*child)->summary)));
}

static void add_entries(struct completing *completing)
{
    const struct ath_document *document = document_of(completing);
    for (size_t i = 0; i < document->numa.count; i++) {
        const struct ath_document_numa *entry = &document->numa.items[i];
        ath_auto_free char *id = ath_xasprintf("%d", entry->id);
        ath_auto_free char *gpus = ath_texts_join(&entry->gpus);
        add(completing, id,
            ath_xasprintf(entry->gpus.count ? _("NUMA%d, GPUs %s") : "NUMA%d", entry->id, gpus));
    }
}

static void add_runtimes(struct completing *completing)
{
    add_entries(completing);
    if (!completing->done)
        add(completing, "all", ath_xstrdup(_("every runtime on this machine")));
}

/* Returns "ConnectX-5, mlx5_0, 100 Gb/s, up" without the unknown parts. The caller frees it. */
static char *about_port(const struct ath_nic *nic, const char *other_name)
{
    struct ath_text text = { 0 };
    ath_auto_free char *model = ath_words_device(nic->vendor_id, nic->device_id, nic->model);
    ath_auto_free char *speed = nic->speed_mbps > 0 ? ath_words_speed(nic->speed_mbps) : NULL;

    ath_text_add_part(&text, ", ", "%s", model);
    if (other_name)
        ath_text_add_part(&text, ", ", "%s", other_name);
    if (speed)
        ath_text_add_part(&text, ", ", "%s", speed);
    if (nic->link != ATH_LINK_UNKNOWN)
        ath_text_add_part(&text, ", ", "%s", ath_link_state_word(nic->link));
    return ath_text_take(&text);
}

static void add_interfaces(struct completing *completing)
{
    const struct ath_machine *machine = machine_of(completing);
    for (size_t i = 0; i < machine->nic_count; i++)
        add(completing, machine->nics[i].netdev,
            about_port(&machine->nics[i], machine->nics[i].rdma_device));
    for (size_t i = 0; i < machine->others.link_count; i++)
        add(completing, machine->others.links[i], NULL);
}

static void add_gpus(struct completing *completing)
{
    const struct ath_machine *machine = machine_of(completing);
    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        char pci[ATH_PCI_TEXT];
        if (machine->is_text)
            return;
        ath_auto_free char *model = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);
        ath_pci_format(&gpu->pci, pci);
        add(completing, pci,
            gpu->numa_node >= 0 ? ath_xasprintf(_("%s, node %d"), model, gpu->numa_node)
                                : ath_xstrdup(model));
    }
}

static void add_rdma_devices(struct completing *completing)
{
    const struct ath_machine *machine = machine_of(completing);
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].port <= 1)
            add(completing, machine->nics[i].rdma_device,
                about_port(&machine->nics[i], machine->nics[i].netdev));
    for (size_t i = 0; i < machine->others.rdma_device_count; i++)
        add(completing, machine->others.rdma_devices[i], NULL);
}

/* A card is named by its lowest function; each port is listed with its card. */
static void add_cards(struct completing *completing)
{
    const struct ath_machine *machine = machine_of(completing);
    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        bool is_first = nic->card && nic->rdma_device;
        for (size_t j = 0; is_first && j < i; j++)
            is_first =
                !machine->nics[j].rdma_device || !ath_nic_is_same_card(&machine->nics[j], nic);
        if (is_first)
            add(completing, nic->card, about_port(nic, nic->rdma_device));
    }
}

static void add_recorded_cards(struct completing *completing)
{
    const struct ath_document *document = document_of(completing);
    for (size_t i = 0; i < document->roce.cards.count; i++)
        add(completing, document->roce.cards.items[i].pci,
            ath_xstrdup(document->roce.cards.items[i].description));
}

static void add_macvlans(struct completing *completing)
{
    const struct ath_document *document = document_of(completing);
    for (size_t i = 0; i < document->roce.macvlans.count; i++) {
        const struct ath_document_macvlan *macvlan = &document->roce.macvlans.items[i];
        add(completing, macvlan->name,
            ath_xasprintf("%s%s%s", macvlan->parent, macvlan->address ? ", " : "",
                          macvlan->address ? macvlan->address : ""));
    }
}

static void add_sessions(struct completing *completing)
{
    const struct ath_reach_options options = { .server = option_of(completing, "server"),
                                               .numa = option_of(completing, "numa"),
                                               .key = option_of(completing, "key") };
    ATH_AUTO(ath_reach) reach = { 0 };
    ATH_AUTO(ath_session_report) report = { 0 };
    struct ath_err err;

    if (ath_reach_open(&completing->cli, &options, ATH_REACH_ALL, &reach, &err))
        return;
    report.count = reach.count;
    report.items = ath_xalloc(reach.count * sizeof *report.items);
    ath_reach_ask(&reach, report.items);
    for (size_t i = 0; i < report.count; i++) {
        const struct ath_runtime_sessions *sessions = &report.items[i].sessions;
        for (size_t j = 0; j < sessions->count; j++) {
            const struct ath_runtime_session *session = &sessions->items[j];
            ath_auto_free char *id = ath_xasprintf("%" PRIu64, session->id);
            add(completing, id,
                ath_xasprintf("%s, %s", session->program ? session->program : "?", session->peer));
        }
    }
}

static void add_images(struct completing *completing)
{
    ath_auto_docker struct ath_docker *docker = NULL;
    ATH_AUTO(ath_docker_images) images = { 0 };
    struct ath_err err;

    if (ath_image_docker(document_of(completing), &docker, &err) ||
        ath_image_list(docker, &images, &err))
        return;
    for (size_t i = 0; i < images.count; i++)
        for (size_t j = 0; j < images.items[i].names.count; j++)
            add(completing, images.items[i].names.items[j],
                ath_words_size(images.items[i].size_bytes));
}

static void add_key_names(struct completing *completing)
{
    struct ath_texts names = { 0 };
    bool is_there;
    ath_auto_free char *path = ath_key_file_find(
        document_of(completing)->key_file ? document_of(completing)->key_file : ATH_NODES_KEY,
        &is_there);
    if (!ath_key_folder_is(path) || ath_key_folder_list(path, &names, NULL))
        return;
    for (size_t i = 0; i < names.count; i++)
        add(completing, names.items[i], NULL);
    ath_texts_free(&names);
}

static void add_gpu_models(struct completing *completing)
{
    for (size_t i = 0; i < ath_gpu_model_count; i++) {
        ath_auto_free char *id = ath_gpu_model_id(&ath_gpu_models[i]);
        add(completing, id, NULL);
    }
}

/* ---- keys of the document ---- */

/* The word is a part of "PATH=VALUE". `below` begins the paths of the schema's keys: "numa.0.". */
struct keys {
    struct completing *completing;
    const char *below; /* with an entry on the command line only its keys are offered, without this
                          prefix */
};

/* Adds "PATH=", or once the word has it, "PATH=VALUE" for the values that are known. */
static void add_key(const struct keys *keys, const char *path, const struct ath_schema *schema)
{
    static const char *const booleans[] = { "true", "false", NULL };
    struct completing *completing = keys->completing;
    size_t length = strlen(keys->below);
    const char *const *values = schema->kind == ATH_VALUE_BOOLEAN ? booleans : schema->choices;

    if (strncmp(path, keys->below, length) != 0)
        return;
    ath_auto_free char *start = ath_xasprintf("%s=", path + length);
    if (!ath_starts_with(completing->word, start)) {
        add(completing, start, ath_xstrdup(_(schema->help)));
        return;
    }
    completing->done = strlen(start);
    for (; values && *values; values++)
        add(completing, *values, NULL);
    const char *comma = strrchr(completing->word, ',');
    if (comma && ath_value_is_list(schema->kind))
        completing->done = (size_t)(comma + 1 - completing->word);
    if (schema->form == ATH_FORM_INTERFACE)
        add_interfaces(completing);
    completing->done = 0;
}

static void add_keys_below(const struct keys *keys, const char *path,
                           const struct ath_schema *parent, const void *base);

static void add_items(const struct keys *keys, const char *path, const struct ath_schema *items,
                      const void *base)
{
    const struct ath_schema *name_key = ath_schema_find(items, items->name_key);
    for (size_t i = 0; i < ath_schema_count(items, base); i++) {
        const void *item = ath_schema_item(items, base, i);
        struct ath_texts name = { 0 };
        ath_schema_texts(name_key, item, &name);
        ath_auto_free char *below = ath_xasprintf("%s.%s.", path, name.items[0]);
        add_keys_below(keys, below, items, item);
        ath_texts_free(&name);
    }
}

static void add_keys_below(const struct keys *keys, const char *path,
                           const struct ath_schema *parent, const void *base)
{
    for (const struct ath_schema *key = parent->keys; key->name; key++) {
        ath_auto_free char *own = ath_xasprintf("%s%s", path, key->name);
        ath_auto_free char *below = ath_xasprintf("%s.", own);
        if (key->kind == ATH_VALUE_ITEMS)
            add_items(keys, own, key, base);
        else if (key->kind == ATH_VALUE_MAPPING)
            add_keys_below(keys, below, key, ath_schema_field(key, base));
        else
            add_key(keys, own, key);
    }
}

static void add_keys(struct completing *completing)
{
    const struct ath_document *document = document_of(completing);
    const struct ath_command_line *line = &completing->line;
    ath_auto_free char *below = line->argument_count
                                    ? ath_xasprintf("numa.%d.", ath_entry_id(line->arguments[0]))
                                    : ath_xstrdup("");
    const struct keys keys = { completing, below };

    add_keys_below(&keys, "", ath_schema_root(), document);
}

/* ---- the table ---- */

static const struct kind {
    const char *word;
    void (*add)(struct completing *completing);
    bool is_list; /* values are separated by commas */
} kinds[ATH_COMPLETE_COUNT] = {
    [ATH_COMPLETE_COMMAND] = { "command", add_topics, false },
    [ATH_COMPLETE_ENTRY] = { "entry", add_entries, false },
    [ATH_COMPLETE_ENTRIES] = { "entries", add_entries, true },
    [ATH_COMPLETE_RUNTIMES] = { "runtimes", add_runtimes, true },
    [ATH_COMPLETE_INTERFACE] = { "interface", add_interfaces, false },
    [ATH_COMPLETE_INTERFACES] = { "interfaces", add_interfaces, true },
    [ATH_COMPLETE_GPUS] = { "gpus", add_gpus, true },
    [ATH_COMPLETE_RDMA_DEVICE] = { "rdma-device", add_rdma_devices, false },
    [ATH_COMPLETE_RDMA_DEVICES] = { "rdma-devices", add_rdma_devices, true },
    [ATH_COMPLETE_CARD] = { "card", add_cards, false },
    [ATH_COMPLETE_RECORDED_CARD] = { "recorded-card", add_recorded_cards, false },
    [ATH_COMPLETE_MACVLAN] = { "macvlan", add_macvlans, false },
    [ATH_COMPLETE_KEY] = { "key", add_keys, false },
    [ATH_COMPLETE_SESSION] = { "session", add_sessions, false },
    [ATH_COMPLETE_IMAGE] = { "image", add_images, false },
    [ATH_COMPLETE_KEY_NAME] = { "key-name", add_key_names, false },
    [ATH_COMPLETE_GPU_MODEL] = { "gpu-model", add_gpu_models, false },
};

const char *ath_candidates_word(enum ath_completion kind)
{
    return kinds[kind].word;
}

static const struct kind *find_kind(const char *word)
{
    for (size_t i = 0; i < ATH_COUNT(kinds); i++)
        if (kinds[i].word && !strcmp(kinds[i].word, word))
            return &kinds[i];
    return NULL;
}

/* Returns a word as the shell would pass it to the program: without quotes and backslashes, and
 * with the home folder for "~/". The caller frees it. */
static char *unquoted(const char *word)
{
    const char *home = getenv("HOME");
    struct ath_text text = { 0 };
    char quote = '\0';

    if (ath_starts_with(word, "~/") && home) {
        ath_text_add(&text, "%s", home);
        word++;
    }
    for (; *word; word++) {
        if (quote ? *word == quote : *word == '\'' || *word == '"')
            quote = quote ? '\0' : *word;
        else if (*word == '\\' && quote != '\'' && word[1])
            ath_text_add_bytes(&text, ++word, 1);
        else
            ath_text_add_bytes(&text, word, 1);
    }
    return ath_text_take(&text);
}

/* Sets the word and the bytes of it that are done. */
static void split_word(struct completing *completing, const char *word, bool is_list)
{
    const char *equals = ath_starts_with(word, "--") ? strchr(word, '=') : NULL;
    completing->word = equals ? equals + 1 : word;
    const char *comma = is_list ? strrchr(completing->word, ',') : NULL;
    completing->done = comma ? (size_t)(comma + 1 - completing->word) : 0;
}

void ath_candidates_find(const char *kind, const char *const *words, size_t count,
                         struct ath_candidates *out)
{
    ATH_AUTO(completing) completing = { .out = out };
    const struct kind *found = find_kind(kind);
    struct ath_texts plain = { 0 };
    struct ath_err err;

    if (!found || count < 2)
        return;
    for (size_t i = 0; i < count; i++)
        *(char **)ath_push(&plain.items, &plain.count, sizeof *plain.items) = unquoted(words[i]);
    /* as in main(), a NULL ends the words */
    ath_auto_free char **argv = ath_xalloc(count * sizeof *argv);
    memcpy(argv, plain.items, (count - 1) * sizeof *argv);
    /* an unfinished line may have faults: what could be parsed is used */
    (void)ath_command_line_parse((int)count - 1, argv, &completing.line, &err);
    completing.cli.command = completing.line.command;
    completing.cli.globals = completing.line.globals;
    split_word(&completing, plain.items[count - 1], found->is_list);
    found->add(&completing);
    ath_texts_free(&plain);
}
