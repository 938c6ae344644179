/* Chosen GPUs with all that belongs to them, and the reasons in words. */
#include "config.h"

#include "cli/output/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fields.h"
#include "cli/output/place_words.h"
#include "cli/output/words.h"

const char *const ath_place_policies[] = { "best-effort", "restricted", "single-numa", "none",
                                           NULL };

/* ---- JSON ---- */

static json_t *number_or_null(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *list_of(const size_t *gpus, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer((json_int_t)gpus[i]));
    return list;
}

/* A GPU with its number. */
struct numbered {
    size_t index;
    const struct ath_gpu *gpu;
};

static const void *find_gpu(const void *object)
{
    return ((const struct numbered *)object)->gpu;
}

#define AT(member) ATH_AT(struct ath_gpu, member)
static const struct ath_field gpu_fields[] = {
    ATH_FIELD("index", ATH_AT(struct numbered, index), .help = "number in the output of discover"),
    ATH_FIELD("pci", AT(pci), .is_nullable = true, .find = find_gpu),
    ATH_FIELD("uuid", AT(uuid), .is_nullable = true, .find = find_gpu),
    ATH_FIELD("model", AT(model), .is_nullable = true, .find = find_gpu),
    ATH_FIELD("numa_node", AT(numa_node), .is_nullable = true, .find = find_gpu),
    ATH_FIELD("memory_node", AT(memory_node),
              .help = "NUMA node that is the GPU's memory; null for most GPUs", .is_nullable = true,
              .find = find_gpu),
    { .name = NULL },
};
#undef AT

static json_t *make_gpus(const void *object)
{
    const struct ath_place_group *group = object;
    json_t *gpus = json_array();

    for (size_t i = 0; i < group->gpu_count; i++) {
        const struct numbered numbered = { group->gpus[i], &group->machine->gpus[group->gpus[i]] };
        json_array_append_new(gpus, ath_fields_to_json(gpu_fields, &numbered));
    }
    return gpus;
}

static json_t *make_ring(const void *object)
{
    const struct ath_place_group *group = object;
    return list_of(group->ring, group->gpu_count);
}

static const void *find_nic(const void *object)
{
    return ((const struct ath_place_port *)object)->nic;
}

ATH_FIELD_WORD(class_word, enum ath_pci_class, ath_pci_class_word)

#define AT(member) ATH_AT(struct ath_nic, member)
static const struct ath_field port_fields[] = {
    ATH_FIELD("netdev", AT(netdev), .is_nullable = true, .find = find_nic),
    ATH_FIELD("rdma_device", AT(rdma_device), .is_nullable = true, .find = find_nic),
    ATH_FIELD("port", AT(port), .help = "port number of the RDMA device", .is_nullable = true,
              .find = find_nic),
    ATH_FIELD("numa_node", AT(numa_node), .is_nullable = true, .find = find_nic),
    ATH_FIELD("class", ATH_AT(struct ath_place_port, class),
              .help = "distance to the nearest of the GPUs, as in `nvidia-smi topo -m`",
              .word = class_word, .word_count = ATH_PCI_CLASS_COUNT),
    ATH_FIELD("nearest_to", ATH_AT(struct ath_place_port, gpu_count),
              .help = "how many of the GPUs have no nearer port"),
    ATH_FIELD("is_for_rdma", ATH_AT(struct ath_place_port, is_for_rdma),
              .help = "NCCL_IB_HCA names the port"),
    { .name = NULL },
};
#undef AT

static json_t *make_environment(const void *object)
{
    const struct ath_place_group *group = object;
    json_t *environment = json_object();

    for (size_t i = 0; group->variables[i].name; i++)
        json_object_set_new(environment, group->variables[i].name,
                            json_string(group->variables[i].value));
    return environment;
}

static const struct ath_field variable_fields[] = {
    ATH_FIELD("CUDA_DEVICE_ORDER", ATH_OF(ATH_FIELD_TEXT), .is_optional = true,
              .rules = "{\"const\": \"PCI_BUS_ID\"}"),
    ATH_FIELD("CUDA_VISIBLE_DEVICES", ATH_OF(ATH_FIELD_TEXT), .is_optional = true,
              .help = "UUIDs, or numbers together with CUDA_DEVICE_ORDER"),
    ATH_FIELD("NCCL_IB_HCA", ATH_OF(ATH_FIELD_TEXT), .is_optional = true),
    { .name = NULL },
};

static json_t *make_cores(const void *object)
{
    const struct ath_place_group *group = object;
    return group->cpus.knows_cores && group->word_count
               ? json_integer((json_int_t)group->cpus.core_count)
               : json_null();
}

static json_t *make_command(const void *object)
{
    const struct ath_place_group *group = object;
    json_t *words = json_array();

    for (size_t i = 0; i < group->word_count; i++)
        json_array_append_new(words, json_string(group->words[i]));
    return words;
}

static json_t *make_group_ring_bandwidth(const void *object)
{
    return number_or_null(((const struct ath_place_group *)object)->ring_bandwidth);
}

#define AT(member) ATH_AT(struct ath_place_group, member)
static const struct ath_field group_fields[] = {
    ATH_FIELD("gpus", ATH_LIST_OF(ATH_FIELD_OBJECT), .fields = gpu_fields, .make = make_gpus),
    ATH_FIELD("ring", ATH_LIST_OF(ATH_FIELD_INT), .help = "the GPUs in the order of the best ring",
              .make = make_ring),
    ATH_FIELD("ring_bandwidth_bytes_per_s", ATH_OF(ATH_FIELD_INT64),
              .help = "of the slowest link of the ring, in one direction; null if it is not known, "
                      "and for a single GPU",
              .is_nullable = true, .make = make_group_ring_bandwidth),
    ATH_FIELD("numa_nodes", AT(nodes), .help = "NUMA nodes of the GPUs"),
    ATH_FIELD("gpu_memory_nodes", AT(memory_nodes),
              .help = "NUMA nodes that are the memory of the GPUs"),
    ATH_FIELD("cpus", ATH_AT_AS(ATH_FIELD_CPUS, struct ath_place_group, cpus.cpus)),
    ATH_FIELD("cores", ATH_OF(ATH_FIELD_INT),
              .help = "number of cores that have these CPUs; null if it is not known",
              .is_nullable = true, .make = make_cores),
    ATH_FIELD("ports", ATH_AT_LIST(struct ath_place_group, ports.items, ports.count),
              .help = "network ports, the nearest first", .fields = port_fields),
    ATH_FIELD("environment", ATH_OF(ATH_FIELD_OBJECT), .fields = variable_fields,
              .help = "variables for a program on these GPUs", .make = make_environment),
    ATH_FIELD("command", ATH_LIST_OF(ATH_FIELD_TEXT),
              .help = "words in front of a program that bind it in the same way; empty if no CPU "
                      "is known",
              .make = make_command),
    { .name = NULL },
};
#undef AT

static json_t *make_why(const void *object)
{
    struct ath_texts lines = ath_place_reasons(object);
    json_t *list = json_array();

    for (size_t i = 0; i < lines.count; i++)
        json_array_append_new(list, json_string(lines.items[i]));
    ath_texts_free(&lines);
    return list;
}

static json_t *make_program(const void *object)
{
    const struct ath_place_report *report = object;
    json_t *words = json_array();

    for (size_t i = 0; i < report->program_word_count; i++) {
        json_t *word = json_string(report->program[i]);
        json_array_append_new(words, word ? word : json_null()); /* not UTF-8 */
    }
    return words;
}

static json_t *make_choice_groups(const void *object)
{
    const struct ath_set_choice *choice = object;
    json_t *groups = json_array();

    for (size_t i = 0; i < choice->group_count; i++)
        json_array_append_new(groups, list_of(&choice->gpus[i * choice->size], choice->size));
    return groups;
}

static json_t *make_ring_bandwidth(const void *object)
{
    return number_or_null(((const struct ath_set_choice *)object)->ring_bandwidth);
}

static json_t *make_ring_limit(const void *object)
{
    return number_or_null(((const struct ath_set_choice *)object)->ring_limit);
}

#define AT(member) ATH_AT(struct ath_set_choice, member)
static const struct ath_field choice_fields[] = {
    ATH_FIELD("groups", ATH_LIST_OF(ATH_FIELD_INT), .help = "the GPUs of each group by number",
              .rules = "{\"items\": {\"type\": \"array\", \"items\": {\"type\": \"integer\"}}}",
              .make = make_choice_groups),
    ATH_FIELD("ring_bandwidth_bytes_per_s", ATH_OF(ATH_FIELD_INT64),
              .help = "of the slowest link of the worst group's best ring, in one direction",
              .is_nullable = true, .make = make_ring_bandwidth),
    ATH_FIELD("ring_limit_bytes_per_s", ATH_OF(ATH_FIELD_INT64),
              .help = "no choice has a better ring than this one", .is_nullable = true,
              .make = make_ring_limit),
    ATH_FIELD("sum_bandwidth_bytes_per_s", AT(sum_bandwidth),
              .help = "sum over the pairs within the groups whose bandwidth is known"),
    ATH_FIELD("unknown_pairs", AT(unknown_count),
              .help = "pairs within the groups whose bandwidth is not known"),
    ATH_FIELD("left_bandwidth_bytes_per_s", AT(left_bandwidth),
              .help = "the same sum over the GPUs that stay free"),
    ATH_FIELD("is_exact", AT(is_exact),
              .help = "no choice is better; false if the search ended after its number of steps"),
    { .name = NULL },
};
#undef AT

static const void *find_next(const void *object)
{
    const struct ath_place_report *report = object;
    return report->answer->has_next ? &report->answer->next : NULL;
}

static const void *find_answer(const void *object)
{
    return ((const struct ath_place_report *)object)->answer;
}

ATH_FIELD_WORD(policy_word, enum ath_place_policy, ath_place_policy_word)

#define AT(member) ATH_AT(struct ath_place_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("policy", AT(policy), .word = policy_word, .word_count = ATH_PLACE_POLICY_COUNT),
    ATH_FIELD("near", AT(near), .help = "network port that --near names", .is_nullable = true),
    ATH_FIELD("free_gpus", ATH_AT(struct ath_place_answer, free_count), .find = find_answer,
              .help = "number of free GPUs"),
    ATH_FIELD("groups", ATH_AT_LIST(struct ath_place_report, groups, group_count),
              .fields = group_fields),
    ATH_FIELD("choice", ATH_AT_AS(ATH_FIELD_OBJECT, struct ath_place_answer, best),
              .help = "what the groups were compared by", .fields = choice_fields,
              .find = find_answer),
    ATH_FIELD("next", ATH_OF(ATH_FIELD_OBJECT),
              .help = "the best choice without one of these GPUs; null if there is none",
              .is_nullable = true, .fields = choice_fields, .find = find_next),
    ATH_FIELD("program", ATH_LIST_OF(ATH_FIELD_TEXT),
              .help = "the program and its arguments; a word that is not UTF-8 is null",
              .rules = "{\"items\": {\"type\": [\"string\", \"null\"]}}", .make = make_program),
    ATH_FIELD("why", ATH_LIST_OF(ATH_FIELD_TEXT), .help = "the reasons in words", .make = make_why),
    { .name = NULL },
};
#undef AT

/* ---- text ---- */

enum { LABEL_COLUMNS = 11 };

static void print_gpu(const struct ath_style *style, FILE *out, const struct ath_machine *machine,
                      size_t index)
{
    const struct ath_gpu *gpu = &machine->gpus[index];
    ath_auto_free char *model = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);
    ath_auto_free char *name = ath_xasprintf("GPU%zu", index);
    ATH_AUTO(ath_text) text = { 0 };
    char pci[ATH_PCI_TEXT];

    if (ath_pci_is_address(&gpu->pci))
        ath_text_add(&text, "%s", ath_pci_format(&gpu->pci, pci));
    ath_text_add_part(&text, "  ", "%s", model);
    if (gpu->numa_node >= 0)
        ath_text_add(&text, _(", NUMA node %d"), gpu->numa_node);
    if (gpu->memory_node >= 0)
        ath_text_add(&text, _(", its memory node %d"), gpu->memory_node);
    ath_style_print_row(style, out, LABEL_COLUMNS, name, text.data);
}

static void print_nodes(const struct ath_style *style, FILE *out,
                        const struct ath_place_group *group)
{
    ath_auto_free char *nodes = ath_idset_format(&group->nodes);
    ath_auto_free char *memory = ath_idset_format(&group->memory_nodes);
    ath_auto_free char *cpus = ath_idset_format(&group->cpus.cpus);
    ATH_AUTO(ath_text) text = { 0 };

    ath_text_add(&text, "%s", *nodes ? nodes : _("not known"));
    if (*memory)
        ath_text_add(&text, _("; GPU memory: %s"), memory);
    ath_style_print_row(style, out, LABEL_COLUMNS, _("NUMA nodes"), text.data);
    ath_text_free(&text);
    text = (struct ath_text){ 0 };
    ath_text_add(&text, "%s", *cpus ? cpus : _("not known"));
    if (*cpus) {
        size_t count = ath_idset_count(&group->cpus.cpus), cores = group->cpus.core_count;
        ath_text_add(&text, ngettext(" (%zu CPU", " (%zu CPUs", count), count);
        if (group->cpus.knows_cores)
            ath_text_add(&text, ngettext(", %zu core", ", %zu cores", cores), cores);
        ath_text_add(&text, ")");
    }
    ath_style_print_row(style, out, LABEL_COLUMNS, _("CPUs"), text.data);
}

/* A port that no driver has named is known by its PCI address, which --near takes as well. */
static const char *name_of(const struct ath_nic *nic, char pci[ATH_PCI_TEXT])
{
    if (nic->netdev || nic->rdma_device)
        return nic->netdev ? nic->netdev : nic->rdma_device;
    return nic->has_pci ? ath_pci_format(&nic->pci, pci) : _("a port without a name");
}

static void add_port_words(const struct ath_place_group *group, const struct ath_place_port *port,
                           struct ath_text *text)
{
    char pci[ATH_PCI_TEXT];

    ath_text_add_part(text, "; ", "%s", name_of(port->nic, pci));
    if (port->nic->netdev && port->nic->rdma_device)
        ath_text_add(text, " (%s)", port->nic->rdma_device);
    ath_text_add(text, " %s", ath_pci_class_word(port->class));
    if (port->gpu_count && port->gpu_count < group->gpu_count)
        ath_text_add(text, _(", nearest to %zu of the GPUs"), port->gpu_count);
    if (port->nic->link == ATH_LINK_DOWN)
        ath_text_add(text, "%s", _(", its link is down"));
}

static void print_ports(const struct ath_style *style, FILE *out,
                        const struct ath_place_group *group)
{
    ATH_AUTO(ath_text) text = { 0 };

    for (size_t i = 0; i < group->ports.count; i++)
        add_port_words(group, &group->ports.items[i], &text);
    ath_style_print_row(style, out, LABEL_COLUMNS, _("Network"),
                        text.data ? text.data : _("no port is known"));
}

static void print_command(const struct ath_style *style, FILE *out,
                          const struct ath_place_report *report,
                          const struct ath_place_group *group)
{
    ATH_AUTO(ath_text) text = { 0 };

    for (size_t i = 0; group->variables[i].name; i++)
        ath_text_add_part(&text, " ", "%s=%s", group->variables[i].name, group->variables[i].value);
    for (size_t i = 0; i < group->word_count; i++)
        ath_text_add_part(&text, " ", "%s", group->words[i]);
    for (size_t i = 0; i < report->program_word_count; i++) {
        ath_auto_free char *word = ath_words_shell(report->program[i]);
        ath_text_add_part(&text, " ", "%s", word);
    }
    struct ath_style wide = *style;
    wide.columns = 0; /* a line to copy is not broken */
    if (text.data)
        ath_style_print_row(&wide, out, LABEL_COLUMNS, _("Command"), text.data);
}

static void print_group(const struct ath_style *style, FILE *out,
                        const struct ath_place_report *report, const struct ath_place_group *group)
{
    for (size_t i = 0; i < group->gpu_count; i++)
        print_gpu(style, out, group->machine, group->gpus[i]);
    print_nodes(style, out, group);
    print_ports(style, out, group);
    print_command(style, out, report, group);
}

static void print_next(const struct ath_style *style, FILE *out,
                       const struct ath_place_report *report)
{
    const struct ath_set_choice *next = &report->answer->next;
    ATH_AUTO(ath_text) text = { 0 };

    for (size_t i = 0; report->answer->has_next && i < next->group_count; i++) {
        ath_auto_free char *gpus = ath_words_gpu_list(&next->gpus[i * next->size], next->size);
        ath_text_add_part(&text, " | ", "%s", gpus);
    }
    if (report->answer->has_next && next->size > 1) {
        ath_auto_free char *bandwidth = ath_words_bandwidth(next->ring_bandwidth);
        ath_text_add(&text, _(": %s at the slowest link"), bandwidth);
    }
    ath_style_print_row(style, out, LABEL_COLUMNS, _("Next best"),
                        text.data ? text.data : _("none"));
}

/* The words of `nvidia-smi topo -m` that the answer has: those of links in whole lines. */
struct shown {
    struct ath_texts links;
    bool classes[ATH_PCI_CLASS_COUNT];
};

/* Returns "NV2: 2 NVLinks in parallel". The caller frees it. */
static char *link_meaning(const char *word, int count)
{
    if (strncmp(word, "NV", 2) != 0)
        return ath_xasprintf("%s: %s", word, _("AMD's links between GPUs"));
    if (count < 0)
        return ath_xasprintf("%s: %s", word, _("NVLinks, their number is not known"));
    return ath_xasprintf(
        ngettext("%s: %d NVLink", "%s: %d NVLinks in parallel", (unsigned long)count), word, count);
}

static void note_link(struct shown *shown, const char *word, int count)
{
    ath_auto_free char *meaning = link_meaning(word, count);
    if (!ath_texts_has(&shown->links, meaning))
        ath_texts_add(&shown->links, meaning);
}

static void note_words(const struct ath_place_group *group, struct shown *shown)
{
    for (size_t i = 0; i < group->ports.count; i++)
        shown->classes[group->ports.items[i].class] = true;
    if (group->gpu_count == 1)
        return;
    struct ath_gpu_pair pair = ath_place_slowest_link(group);
    ath_auto_free char *word = ath_gpu_pair_word(group->machine, &pair);
    if (word && pair.links)
        note_link(shown, word, pair.links);
    else if (word)
        shown->classes[pair.class] = true;
}

/* Explains the words of the answer in one row. */
static void print_legend(const struct ath_style *style, FILE *out,
                         const struct ath_place_report *report)
{
    struct shown shown = { 0 };
    ATH_AUTO(ath_text) text = { 0 };

    for (size_t i = 0; i < report->group_count; i++)
        note_words(&report->groups[i], &shown);
    for (size_t i = 0; i < shown.links.count; i++)
        ath_text_add_part(&text, "; ", "%s", shown.links.items[i]);
    for (int class = 0; class < ATH_PCI_CLASS_COUNT; class ++)
        if (shown.classes[class])
            ath_text_add_part(&text, "; ", "%s: %s", ath_pci_class_word((enum ath_pci_class) class),
                              ath_words_class((enum ath_pci_class) class));
    ath_texts_free(&shown.links);
    if (text.data)
        ath_style_print_row(style, out, LABEL_COLUMNS, _("Legend"), text.data);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_place_report *report = data;
    struct ath_texts lines = ath_place_reasons(report);

    for (size_t i = 0; i < report->group_count; i++) {
        if (report->group_count > 1)
            fprintf(out, _("Group %zu of %zu\n"), i + 1, report->group_count);
        print_group(style, out, report, &report->groups[i]);
    }
    for (size_t i = 0; i < lines.count; i++)
        ath_style_print_row(style, out, LABEL_COLUMNS, i ? "" : _("Why"), lines.items[i]);
    if (report->policy != ATH_PLACE_NONE)
        print_next(style, out, report);
    print_legend(style, out, report);
    ath_texts_free(&lines);
}

const struct ath_view ath_place_view = {
    .schema = "aitherion.place/1",
    .title = "Output of `aitherion place --json`",
    .fields = fields,
    .to_text = to_text,
};
