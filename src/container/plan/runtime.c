/*
 * The runtime's program: its command, environment, labels, and the files bound in for it.
 *
 * The environment has only variables that a program in the container reads. Some of their names
 * come from the first version of this project: CAPNP_PORT, CONTROL_IFACE, DATA_IFACE, ZMQ_PORT.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/level.h"
#include "container/plan/parts.h"

static const char key_inside[] = ATH_PLAN_RUN_FOLDER "/key";
static const char keys_inside[] = ATH_PLAN_RUN_FOLDER "/keys";

/* Keys of the whole document that `aitherion-runtime serve` has options for. A default adds
 * neither option nor variable. */
static const struct {
    const char *mapping; /* NULL: the document itself */
    const char *key, *option, *variable;
    const char *inside; /* where the file is mounted in a container; NULL: the value is no file */
    bool is_of_metrics; /* only for entries with metrics; the file's folder is mounted as it is */
} settings[] = {
    { NULL, "encrypt", "--encrypt", "AITHERION_ENCRYPT", NULL, false },
    { NULL, "tls_certificate", "--tls-certificate", "AITHERION_TLS_CERTIFICATE",
      ATH_PLAN_RUN_FOLDER "/tls-certificate", false },
    { NULL, "tls_key", "--tls-key", "AITHERION_TLS_KEY", ATH_PLAN_RUN_FOLDER "/tls-key", false },
    { NULL, "sharing", "--sharing", "AITHERION_SHARING", NULL, false },
    { NULL, "log_level", "--log-level", ATH_LEVEL_VARIABLE, NULL, false },
    { NULL, "udp", "--udp", "AITHERION_UDP", NULL, false },
    { NULL, "metrics_web", "--metrics-web", "AITHERION_METRICS_WEB", NULL, true },
    { "limits", "sessions_per_source", "--sessions-per-source", "SESSIONS_PER_SOURCE", NULL,
      false },
    { "limits", "host_fraction", "--host-fraction", "HOST_FRACTION", NULL, false },
};

/* value is taken over; NULL: adds no pair. */
static void add_pair(struct ath_plan_pairs *pairs, const char *name, char *value)
{
    if (!value)
        return;
    struct ath_plan_pair *pair = ath_push(&pairs->items, &pairs->count, sizeof *pair);
    pair->name = ath_xstrdup(name);
    pair->value = value;
}

/* Returns the value of a setting; NULL if it has none, or its default. The caller frees it. */
static char *setting_of(const struct ath_document *document, size_t setting)
{
    const struct ath_schema *parent = ath_schema_root();
    const void *base = document;
    ATH_AUTO(ath_texts) values = { 0 };

    if (settings[setting].mapping) {
        parent = ath_schema_find(parent, settings[setting].mapping);
        base = ath_schema_field(parent, base);
    }
    const struct ath_schema *key = ath_schema_find(parent, settings[setting].key);
    if (ath_schema_is_default(key, base))
        return NULL;
    ath_schema_texts(key, base, &values);
    return values.count ? ath_xstrdup(values.items[0]) : NULL;
}

/* Returns where the key is mounted. A folder is mounted whole, so that its changes are seen. */
static const char *mount_of(const struct ath_plan_node *node)
{
    return node->is_key_folder ? keys_inside : key_inside;
}

/* A key that becomes a folder is a change of the plan: a runtime reads a single key once. */
static char *key_of(const struct ath_plan_making *making, const struct ath_plan_node *node)
{
    if (!making->options->is_process)
        return ath_xstrdup(mount_of(node));
    return ath_xasprintf("%s%s", node->key_path, node->is_key_folder ? "/" : "");
}

char *ath_plan_endpoint(const char *address, int port)
{
    return strchr(address, ':') ? ath_xasprintf("[%s]:%d", address, port)
                                : ath_xasprintf("%s:%d", address, port);
}

/* Returns PCI addresses with commas; "none" without GPUs, because an empty list means all GPUs. */
static char *gpu_list(const struct ath_plan_node *node)
{
    struct ath_text text = { 0 };
    char pci[ATH_PCI_TEXT];

    for (size_t i = 0; i < node->gpu_count; i++)
        ath_text_add_part(&text, ",", "%s", ath_pci_format(&node->gpus[i].pci, pci));
    return node->gpu_count ? ath_text_take(&text) : ath_xstrdup("none");
}

/*
 * Returns the GPUs for NVIDIA's runtime. Otherwise "void", with which that runtime adds no device
 * even if it is Docker's default runtime (NVIDIA container toolkit, "Specialized configurations").
 */
static char *visible_devices(const struct ath_plan_node *node)
{
    struct ath_text text = { 0 };

    if (node->gpu_way != ATH_PLAN_GPU_RUNTIME)
        return ath_xstrdup("void");
    for (size_t i = 0; i < node->gpu_count; i++) {
        const struct ath_plan_gpu *gpu = &node->gpus[i];
        if (gpu->uuid)
            ath_text_add_part(&text, ",", "%s", gpu->uuid);
        else
            ath_text_add_part(&text, ",", "%d", gpu->index);
    }
    return ath_text_take(&text);
}

static void add_gpu_environment(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    struct ath_plan_pairs *pairs = &node->environment;

    add_pair(pairs, "VRAM_FRACTION", ath_number_text(node->vram_fraction));
    if (!node->is_enforced)
        add_pair(pairs, "AITHERION_NO_ENFORCE", ath_xstrdup("1"));
    if (node->gpu_way == ATH_PLAN_GPU_SIM)
        add_pair(pairs, "AITHERION_SIM", ath_xstrdup("1"));
    else
        add_pair(pairs, "AITHERION_GPUS", gpu_list(node));
    if (making->options->is_process)
        return;
    add_pair(pairs, "NVIDIA_VISIBLE_DEVICES", visible_devices(node));
    if (node->gpu_way == ATH_PLAN_GPU_RUNTIME || node->gpu_way == ATH_PLAN_GPU_HOOK)
        add_pair(pairs, "NVIDIA_DRIVER_CAPABILITIES", ath_xstrdup("compute,utility"));
    if (node->gpu_count) /* the root is read-only, and CUDA keeps compiled kernels in the home
                          * folder */
        add_pair(pairs, "CUDA_CACHE_PATH", ath_xstrdup("/tmp/cuda-cache"));
}

/* Mounts the folder of a file, which names others beside it. */
static void mount_folder_of(const char *path, struct ath_plan_node *node)
{
    const char *slash = strrchr(path, '/');
    ath_auto_free char *folder =
        slash > path ? ath_xasprintf("%.*s", (int)(slash - path), path) : ath_xstrdup(path);
    ath_plan_add_mount(node, folder, folder, true);
}

/* Adds the settings to the plan, and to the environment and the command that are made from it. */
static void add_settings(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    for (size_t i = 0; i < ATH_COUNT(settings); i++) {
        const char *mapping = settings[i].mapping;
        ath_auto_free char *value = setting_of(making->document, i);
        if (!value || (settings[i].is_of_metrics && node->metrics_port == ATH_UNKNOWN))
            continue;
        if (settings[i].is_of_metrics && !making->options->is_process)
            mount_folder_of(value, node);
        ath_auto_free char *name =
            ath_xasprintf("%s%s%s", mapping ? mapping : "", mapping ? "." : "", settings[i].key);
        bool is_mounted = settings[i].inside && !making->options->is_process;
        const char *used = is_mounted ? settings[i].inside : value;
        if (is_mounted)
            ath_plan_add_mount(node, value, used, true);
        add_pair(&node->settings, name, ath_xstrdup(value));
        add_pair(&node->environment, settings[i].variable, ath_xstrdup(used));
        ath_texts_add(&node->command, settings[i].option);
        ath_texts_add(&node->command, used);
    }
}

static int compare_pairs(const void *a, const void *b)
{
    const struct ath_plan_pair *left = a, *right = b;
    return strcmp(left->name, right->name);
}

static bool has_library_mount(const struct ath_plan_node *node)
{
    for (size_t i = 0; i < node->mount_count; i++)
        if (ath_starts_with(node->mounts[i].target, ATH_LIBRARY_FOLDER))
            return true;
    return false;
}

/* Returns the texts with commas and without blanks; NULL for none. The caller frees it. */
static char *with_commas(const struct ath_texts *texts)
{
    struct ath_text text = { 0 };

    for (size_t i = 0; i < texts->count; i++)
        ath_text_add_part(&text, ",", "%s", texts->items[i]);
    return texts->count ? ath_text_take(&text) : NULL;
}

static void add_data_environment(struct ath_plan_node *node)
{
    if (node->data_port == ATH_UNKNOWN)
        return;
    add_pair(&node->environment, "DATA_IFACE", with_commas(&node->data_iface));
    add_pair(&node->environment, "ZMQ_PORT", ath_xasprintf("%d", node->data_port));
}

static void add_environment(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    struct ath_plan_pairs *pairs = &node->environment;

    add_pair(pairs, "AITHERION_NUMA", ath_xasprintf("%d", node->id));
    add_pair(pairs, "AITHERION_LISTEN",
             ath_plan_endpoint(node->listen_address, node->control_port));
    add_pair(pairs, "AITHERION_SOCKET", ath_xstrdup(node->socket));
    add_pair(pairs, "AITHERION_KEY_FILE", key_of(making, node));
    add_pair(pairs, ATH_PLAN_PORT_VARIABLE, ath_xasprintf("%d", node->control_port));
    add_pair(pairs, "CONTROL_IFACE", ath_xstrdup(node->control_iface));
    add_data_environment(node);
    add_gpu_environment(making, node);
    if (has_library_mount(node))
        add_pair(pairs, "LD_LIBRARY_PATH", ath_xstrdup(ATH_LIBRARY_FOLDER));
}

static char *macvlan_names(const struct ath_plan_node *node)
{
    struct ath_text names = { 0 };

    for (size_t i = 0; i < node->macvlan_count; i++)
        ath_text_add_part(&names, ",", "%s", node->macvlans[i].name);
    return node->macvlan_count ? ath_text_take(&names) : NULL;
}

static void add_labels(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    const char *path = making->document->path;

    if (path && path[0] == '/')
        add_pair(&node->labels, ATH_PLAN_LABEL_DOCUMENT, ath_xstrdup(path));
    add_pair(&node->labels, ATH_PLAN_LABEL_MACVLANS, macvlan_names(node));
    add_pair(&node->labels, ATH_PLAN_LABEL_MEMORY, ath_number_text(node->memory_percent));
    add_pair(&node->labels, ATH_PLAN_LABEL_NUMA, ath_xasprintf("%d", node->id));
    if (node->gpu_way == ATH_PLAN_GPU_SIM && !making->document->engine.is_sim)
        add_pair(&node->labels, ATH_PLAN_LABEL_SIM, ath_xstrdup("flag"));
}

static void add_option(struct ath_texts *command, const char *name, char *value)
{
    ath_auto_free char *owned = value;
    ath_texts_add(command, name);
    ath_texts_add(command, owned);
}

static void add_commands(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    bool is_everywhere = !strcmp(node->listen_address, "0.0.0.0");

    ath_texts_add(&node->command, ATH_PLAN_RUNTIME);
    ath_texts_add(&node->command, "serve");
    add_option(&node->command, "--listen",
               ath_plan_endpoint(node->listen_address, node->control_port));
    if (node->data_listen.count)
        add_option(&node->command, "--data-listen", with_commas(&node->data_listen));
    if (node->data_listen.count && node->network != ATH_PLAN_HOST)
        add_option(&node->command, "--data-address", with_commas(&node->data_addresses));
    add_option(&node->command, "--socket", ath_xstrdup(node->socket));
    add_option(&node->command, "--key", key_of(making, node));
    if (node->gpu_way == ATH_PLAN_GPU_SIM)
        ath_texts_add(&node->command, "--sim");
    else
        add_option(&node->command, "--gpus", gpu_list(node));
    add_option(&node->command, "--vram-fraction", ath_number_text(node->vram_fraction));
    if (!node->is_enforced)
        ath_texts_add(&node->command, "--no-enforce");
    if (node->metrics_port != ATH_UNKNOWN)
        add_option(&node->command, "--metrics",
                   ath_plan_endpoint(node->metrics_address, node->metrics_port));

    ath_texts_add(&node->health, ATH_PLAN_RUNTIME);
    ath_texts_add(&node->health, "health");
    add_option(
        &node->health, "--server",
        ath_plan_endpoint(is_everywhere ? "127.0.0.1" : node->listen_address, node->control_port));
}

void ath_plan_add_runtime(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    if (!making->options->is_process) {
        ath_plan_add_mount(node, node->folder, node->folder, false);
        ath_plan_add_mount(node, node->key_path, mount_of(node), true);
    }
    add_environment(making, node);
    add_labels(making, node);
    add_commands(making, node);
    add_settings(making, node);
    qsort(node->environment.items, node->environment.count, sizeof *node->environment.items,
          compare_pairs);
}
