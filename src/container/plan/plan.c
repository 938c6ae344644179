/* Makes plans: selects the entries, calls the parts, checks the result. */
#include "config.h"

#include "container/plan/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "config/check.h"
#include "container/plan/parts.h"
#include "numa/usable.h"

static const char *const gpu_ways[] = {
    [ATH_PLAN_GPU_NONE] = "none",        [ATH_PLAN_GPU_SIM] = "sim",
    [ATH_PLAN_GPU_CDI] = "cdi",          [ATH_PLAN_GPU_RUNTIME] = "nvidia-runtime",
    [ATH_PLAN_GPU_HOOK] = "nvidia-hook", [ATH_PLAN_GPU_NODES] = "device-nodes",
};

static const char *const networks[] = {
    [ATH_PLAN_BRIDGE] = "bridge",
    [ATH_PLAN_HOST] = "host",
    [ATH_PLAN_PAUSE] = "pause",
    [ATH_PLAN_NAMESPACE] = "namespace",
};

static const struct {
    const char *word, *meaning;
} warnings[ATH_PLAN_W_COUNT] = {
#define X(name, word, meaning) [ATH_PLAN_W_##name] = { word, meaning },
    ATH_PLAN_WARNING_TABLE(X)
#undef X
};

const char *ath_plan_gpu_way_word(enum ath_plan_gpu_way way)
{
    return gpu_ways[way];
}

const char *ath_plan_network_word(enum ath_plan_network network)
{
    return networks[network];
}

const char *ath_plan_warning_word(enum ath_plan_warning_code code)
{
    return warnings[code].word;
}

const char *ath_plan_warning_meaning(enum ath_plan_warning_code code)
{
    return warnings[code].meaning;
}

struct ath_plan_engine ath_plan_engine_typical(const struct ath_plan_facts *facts)
{
    return (struct ath_plan_engine){ .has_bridge = true,
                                     .has_cdi = facts->cdi.count > 0,
                                     .limits_logs = true };
}

bool ath_plan_node_waits(const struct ath_plan_node *node)
{
    for (size_t i = 0; i < node->gpu_count; i++)
        if (node->gpus[i].is_waited_for)
            return true;
    return false;
}

/* --- releasing */

static void free_pairs(struct ath_plan_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        free(pairs->items[i].name);
        free(pairs->items[i].value);
    }
    free(pairs->items);
}

static void free_devices(struct ath_plan_node *node)
{
    for (size_t i = 0; i < node->gpu_count; i++) {
        free(node->gpus[i].uuid);
        free(node->gpus[i].device);
        free(node->gpus[i].cdi_name);
    }
    free(node->gpus);
    for (size_t i = 0; i < node->rdma_count; i++) {
        free(node->rdma[i].name);
        free(node->rdma[i].device);
        free(node->rdma[i].link);
    }
    free(node->rdma);
    ath_texts_free(&node->devices);
    for (size_t i = 0; i < node->mount_count; i++) {
        free(node->mounts[i].source);
        free(node->mounts[i].target);
    }
    free(node->mounts);
}

static void free_network(struct ath_plan_node *node)
{
    free(node->pause_name);
    for (size_t i = 0; i < node->macvlan_count; i++) {
        free(node->macvlans[i].name);
        free(node->macvlans[i].parent);
        free(node->macvlans[i].address);
        free(node->macvlans[i].host_address);
    }
    free(node->macvlans);
    free(node->control_iface);
    free(node->listen_address);
    free(node->metrics_address);
    ath_texts_free(&node->data_iface);
    ath_texts_free(&node->data_listen);
    ath_texts_free(&node->data_addresses);
    for (size_t i = 0; i < node->port_count; i++)
        free(node->ports[i].host_address);
    free(node->ports);
}

static void free_node(struct ath_plan_node *node)
{
    free(node->name);
    free(node->folder);
    free(node->socket);
    free(node->key_path);
    ath_idset_free(&node->cpus);
    ath_idset_free(&node->memory_nodes);
    free_devices(node);
    free_network(node);
    free_pairs(&node->settings);
    free_pairs(&node->environment);
    free_pairs(&node->labels);
    ath_texts_free(&node->command);
    ath_texts_free(&node->health);
    free(node->user);
    for (size_t i = 0; i < node->warning_count; i++) {
        free(node->warnings[i].object);
        free(node->warnings[i].message);
        free(node->warnings[i].hint);
    }
    free(node->warnings);
}

void ath_plan_free(struct ath_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->node_count; i++)
        free_node(&plan->nodes[i]);
    free(plan->nodes);
    free(plan->image);
    *plan = (struct ath_plan){ 0 };
}

/* --- shared by the parts */

void ath_plan_warn(struct ath_plan_node *node, enum ath_plan_warning_code code, const char *object,
                   char *hint, const char *format, ...)
{
    struct ath_plan_warning *warning =
        ath_push(&node->warnings, &node->warning_count, sizeof *warning);
    va_list args;

    va_start(args, format);
    if (vasprintf(&warning->message, format, args) < 0)
        warning->message = ath_xstrdup(ath_plan_warning_word(code));
    va_end(args);
    warning->code = code;
    warning->object = ath_xstrdup(object);
    warning->hint = hint;
}

size_t ath_plan_place(const struct ath_document_item *item, const char *key, int index)
{
    const struct ath_yaml *value = ath_yaml_get(item->source, key);

    if (value && index >= 0 && (size_t)index < value->child_count)
        return value->children[index].begin;
    if (value)
        return value->begin;
    return item->source ? item->source->begin : 0;
}

void ath_plan_add_device(struct ath_plan_node *node, const char *path)
{
    if (!ath_texts_has(&node->devices, path))
        ath_texts_add(&node->devices, path);
}

void ath_plan_add_mount(struct ath_plan_node *node, const char *source, const char *target,
                        bool is_read_only)
{
    struct ath_plan_mount *mount = ath_push(&node->mounts, &node->mount_count, sizeof *mount);
    mount->source = ath_xstrdup(source);
    mount->target = ath_xstrdup(target);
    mount->is_read_only = is_read_only;
}

/* --- the requested entries */

/* A document that shares everything with the original except its lists. */
struct selection {
    struct ath_document document;
};

static void selection_free(struct selection *selection)
{
    if (!selection)
        return;
    for (size_t i = 0; i < selection->document.numa.count; i++)
        ath_idset_free(&selection->document.numa.items[i].memory_nodes);
    free(selection->document.numa.items);
    free(selection->document.roce.cards.items);
    free(selection->document.roce.macvlans.items);
}

static bool has_id(const int *ids, size_t count, int id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static bool is_asked_for(const struct ath_plan_options *options, int id)
{
    return !options->id_count || has_id(options->ids, options->id_count, id);
}

bool ath_plan_is_sim(const struct ath_document *document, const struct ath_plan_options *options,
                     int id)
{
    return options->is_sim || document->engine.is_sim ||
           has_id(options->sim_ids, options->sim_id_count, id);
}

static bool is_for_any(const struct ath_document_card *card, const struct ath_plan_options *options)
{
    for (int id = ath_idset_next(&card->numa, -1); id >= 0; id = ath_idset_next(&card->numa, id))
        if (is_asked_for(options, id))
            return true;
    return false;
}

/* Simulated GPUs belong to no entry: the document's GPUs and their memory nodes are ignored. */
static void select_numa(const struct ath_document_numa *numa, const struct ath_machine *machine,
                        bool is_sim, struct ath_document *out)
{
    struct ath_document_numa *copy = ath_push(&out->numa.items, &out->numa.count, sizeof *copy);
    *copy = *numa;
    copy->memory_nodes = (struct ath_idset){ 0 };
    if (!is_sim) {
        ath_idset_copy(&numa->memory_nodes, &copy->memory_nodes);
        return;
    }
    copy->gpus.count = 0;
    ath_idset_add(&copy->memory_nodes, numa->node, numa->node);
    for (int id = -1; (id = ath_idset_next(&numa->memory_nodes, id)) >= 0;) {
        const struct ath_numa_node *node = ath_machine_node(machine, id);
        if (node && ath_node_has_memory(machine, node))
            ath_idset_add(&copy->memory_nodes, id, id);
    }
}

static void select_entries(const struct ath_document *document, const struct ath_machine *machine,
                           const struct ath_plan_options *options, struct selection *out)
{
    struct ath_document *copy = &out->document;

    *copy = *document;
    copy->numa.items = NULL;
    copy->numa.count = 0;
    copy->roce.cards.items = NULL;
    copy->roce.cards.count = 0;
    copy->roce.macvlans.items = NULL;
    copy->roce.macvlans.count = 0;
    for (size_t i = 0; i < document->numa.count; i++)
        if (is_asked_for(options, document->numa.items[i].id))
            select_numa(&document->numa.items[i], machine,
                        ath_plan_is_sim(document, options, document->numa.items[i].id), copy);
    for (size_t i = 0; i < document->roce.cards.count; i++)
        if (is_for_any(&document->roce.cards.items[i], options))
            *(struct ath_document_card *)ath_push(&copy->roce.cards.items, &copy->roce.cards.count,
                                                  sizeof(struct ath_document_card)) =
                document->roce.cards.items[i];
    for (size_t i = 0; i < document->roce.macvlans.count; i++)
        if (document->roce.macvlans.items[i].numa != ATH_UNSET &&
            is_asked_for(options, document->roce.macvlans.items[i].numa))
            *(struct ath_document_macvlan *)ath_push(
                &copy->roce.macvlans.items, &copy->roce.macvlans.count,
                sizeof(struct ath_document_macvlan)) = document->roce.macvlans.items[i];
}

static int check_ids(const struct ath_document *document, const struct ath_plan_options *options,
                     struct ath_err *err)
{
    for (size_t i = 0; i < options->id_count; i++) {
        if (ath_document_numa(document, options->ids[i]))
            continue;
        ath_err_set(err, -ENOENT, ATH_E_KEY_UNKNOWN, _("the document has no NUMA entry %d"),
                    options->ids[i]);
        return ath_err_hint(err, -ENOENT, "aitherion configure --show");
    }
    return 0;
}

/* --- one entry */

static void add_names(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    const struct ath_plan_options *options = making->options;
    const char *folder = options->run_folder ? options->run_folder : ATH_PLAN_RUN_FOLDER;

    node->name = ath_xasprintf("aitherion-numa%d", node->id);
    node->folder = ath_xasprintf("%s/numa%d", folder, node->id);
    node->socket = ath_xasprintf("%s/runtime.sock", node->folder);
    node->key_path =
        ath_xstrdup(options->key_path ? options->key_path : making->document->key_file);
    node->is_key_folder = options->is_key_folder;
    node->user = ath_xstrdup(options->user);
    node->limits_logs = !options->is_process && options->engine.limits_logs;
}

static void add_cpus(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                     struct ath_plan_node *node)
{
    const struct ath_numa_node *kernel = ath_machine_node(making->machine, numa->node);

    if (!kernel || kernel->kind != ATH_NODE_CPU)
        return; /* ath_document_check() reports it */
    ath_idset_copy(kernel->has_cpus_online ? &kernel->cpus_online : &kernel->cpus, &node->cpus);
    if (!kernel->cpus.range_count)
        ath_plan_warn(node, ATH_PLAN_W_CPUS_UNKNOWN, NULL, NULL,
                      _("the CPUs of NUMA node %d are not known: the runtime may use all CPUs"),
                      numa->node);
}

static void add_node(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                     struct ath_plan *out)
{
    struct ath_plan_node *node = ath_push(&out->nodes, &out->node_count, sizeof *node);

    node->id = numa->id;
    node->node = numa->node;
    add_names(making, node);
    add_cpus(making, numa, node);
    ath_plan_add_memory(making, numa, node);
    ath_plan_add_gpus(making, numa, node);
    ath_plan_add_network(making, numa, node);
    ath_plan_add_data(making, numa, node);
    ath_plan_add_rdma(making, numa, node);
    ath_plan_add_runtime(making, node);
}

/* Warns if the last node has CPUs of an earlier one, although they are different NUMA nodes. */
static void check_shared_cpus(struct ath_plan *plan)
{
    struct ath_plan_node *last = &plan->nodes[plan->node_count - 1];

    for (const struct ath_plan_node *node = plan->nodes; node < last; node++) {
        ATH_AUTO(ath_idset) both = { 0 };
        ath_idset_intersect(&node->cpus, &last->cpus, &both);
        if (node->node == last->node || !both.range_count)
            continue;
        ath_auto_free char *ids = ath_idset_format(&both);
        ath_plan_warn(last, ATH_PLAN_W_CPUS_SHARED, NULL, NULL,
                      _("CPUs %s belong to NUMA nodes %d and %d, so NUMA%d and NUMA%d share them"),
                      ids, node->node, last->node, node->id, last->id);
        return;
    }
}

static bool all_simulate(const struct ath_plan *plan)
{
    for (size_t i = 0; i < plan->node_count; i++)
        if (plan->nodes[i].gpu_way != ATH_PLAN_GPU_SIM)
            return false;
    return plan->node_count > 0;
}

static bool holds(const struct ath_document_numa *numa, const struct ath_fault *fault)
{
    const struct ath_yaml *source = numa->item.source;
    return source && fault->offset >= source->begin && fault->offset < source->end;
}

static size_t count_in(const struct ath_document_numa *numa, const struct ath_faults *faults)
{
    size_t count = 0;
    for (size_t i = 0; i < faults->count; i++)
        count += holds(numa, &faults->items[i]);
    return count;
}

/* Returns the entries without a fault, as arguments of a command; "" for none, or if a fault
 * belongs to no entry. The caller frees it. */
static char *fitting_ids(const struct ath_document *document, const struct ath_faults *faults)
{
    ATH_AUTO(ath_text) ids = { 0 };
    size_t in_entries = 0;

    for (size_t i = 0; i < document->numa.count; i++) {
        size_t count = count_in(&document->numa.items[i], faults);
        in_entries += count;
        if (!count)
            ath_text_add(&ids, " %d", document->numa.items[i].id);
    }
    return in_entries == faults->count ? ath_text_take(&ids) : ath_xstrdup("");
}

/* One GPU that is gone must not keep the user from the other entries. */
static int report_faults(const struct ath_document *document, const struct ath_faults *faults,
                         struct ath_err *err)
{
    size_t count = faults->count + faults->left_out;
    ath_auto_free char *fitting = fitting_ids(document, faults);

    ath_err_set(err, -EINVAL, ATH_E_DOCUMENT_INVALID,
                ngettext("the topology document '%s' does not fit this machine: %zu fault",
                         "the topology document '%s' does not fit this machine: %zu faults", count),
                document->path ? document->path : "topology.yaml", count);
    if (*fitting)
        return ath_err_hint(err, -EINVAL,
                            _("aitherion configure --show; aitherion discover; the entries that "
                              "fit: aitherion start%s"),
                            fitting);
    return ath_err_hint(err, -EINVAL, "aitherion configure --show; aitherion discover");
}

int ath_plan_make(const struct ath_document *document, const struct ath_machine *machine,
                  const struct ath_plan_facts *facts, const struct ath_plan_options *options,
                  struct ath_plan *out, struct ath_faults *faults, struct ath_err *err)
{
    ATH_AUTO(selection) selection = { 0 };
    ATH_AUTO(ath_plan) plan = { .is_process = options->is_process };

    int status = check_ids(document, options, err);
    if (status)
        return status;
    select_entries(document, machine, options, &selection);
    const struct ath_plan_making making = { &selection.document, machine, facts, options, faults };
    if (!options->is_process)
        plan.image = ath_xstrdup(document->engine.image);
    for (size_t i = 0; i < selection.document.numa.count; i++) {
        add_node(&making, &selection.document.numa.items[i], &plan);
        check_shared_cpus(&plan);
        ath_plan_check_memory_sum(document, &plan.nodes[i]);
    }
    plan.is_sim = all_simulate(&plan);
    ath_document_check_alone(&selection.document, faults);
    ath_document_check_machine(&selection.document, machine, faults); /* also sorts in our faults */
    if (faults->count)
        return report_faults(&selection.document, faults, err);
    *out = plan;
    plan = (struct ath_plan){ 0 };
    return 0;
}
