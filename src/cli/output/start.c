/* A start, as text and as JSON. */
#include "config.h"

#include "cli/output/start.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/output/ending.h"
#include "cli/output/fields.h"
#include "cli/output/start_plan.h"
#include "cli/output/words.h"

bool ath_start_has_failed(const struct ath_start_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->items[i].outcome == ATH_START_FAILED)
            return true;
    return false;
}

/* ---- data ---- */

/* A node of the plan, and how its start ended. */
struct started {
    const struct ath_plan_node *node;
    const struct ath_start_result *result;
};

static const void *find_node(const void *object)
{
    return ((const struct started *)object)->node;
}

static const void *find_result(const void *object)
{
    return ((const struct started *)object)->result;
}

static const void *find_error(const void *object)
{
    const struct ath_start_result *result = find_result(object);
    return result->outcome == ATH_START_FAILED ? &result->err : NULL;
}

ATH_FIELD_WORD(outcome_word, enum ath_start_outcome, ath_start_outcome_word)

#define A_PORT "{\"minimum\": 1, \"maximum\": 65535}"

#define AT(member) ATH_AT(struct ath_plan_port, member)
static const struct ath_field port_fields[] = {
    ATH_FIELD("purpose", AT(purpose), .words = ath_start_plan_purposes),
    ATH_FIELD("protocol", AT(protocol), .words = ath_start_plan_protocols),
    ATH_FIELD("address", AT(host_address)),
    ATH_FIELD("port", AT(port), .rules = A_PORT),
    { .name = NULL },
};
#undef AT

#define NODE(member) ATH_AT(struct ath_plan_node, member)
#define RESULT(member) ATH_AT(struct ath_start_result, member)
static const struct ath_field node_fields[] = {
    ATH_FIELD("id", NODE(id), .help = "id of the NUMA entry", .find = find_node),
    ATH_FIELD("name", NODE(name), .find = find_node),
    ATH_FIELD("outcome", RESULT(outcome),
              .help = "`same`: the runtime already ran with these settings; `repaired`: the "
                      "runtime had lost its network and has it again",
              .word = outcome_word, .word_count = ATH_START_OUTCOME_COUNT, .find = find_result),
    ATH_FIELD("is_healthy", RESULT(is_healthy),
              .help = "true if the start waited for the runtime and it answered",
              .find = find_result),
    ATH_FIELD("reason", RESULT(reason), .help = "why the runtime was restarted",
              .is_nullable = true, .find = find_result),
    ATH_FIELD("error", ATH_OF(ATH_FIELD_OBJECT), .is_nullable = true, .fields = ath_error_fields,
              .find = find_error),
    ATH_FIELD("log", RESULT(log), .help = "last lines of the log, if the start failed",
              .find = find_result),
    ATH_FIELD("limits", RESULT(limits),
              .help = "settings that the system did not allow the process engine to make",
              .is_nullable = true, .find = find_result),
    ATH_FIELD("socket", NODE(socket), .help = "path of the socket on this machine",
              .find = find_node),
    ATH_FIELD("listen_address", NODE(listen_address),
              .help = "address to listen on, in the runtime's network", .find = find_node),
    ATH_FIELD("control_port", NODE(control_port), .rules = A_PORT, .find = find_node),
    ATH_FIELD("data_addresses", NODE(data_addresses),
              .help = "the addresses that programs get for large copies; none: these go to the "
                      "address of the calls",
              .find = find_node),
    ATH_FIELD("ports", ATH_AT_LIST(struct ath_plan_node, ports, port_count),
              .help = "ports that Docker publishes, or that the process listens on",
              .fields = port_fields, .find = find_node),
    ATH_FIELD("warnings", ATH_AT_LIST(struct ath_plan_node, warnings, warning_count),
              .fields = ath_start_plan_warning_fields, .find = find_node),
    { .name = NULL },
};
#undef NODE
#undef RESULT

static const void *find_plan(const void *object)
{
    return ((const struct ath_start_report *)object)->plan;
}

static const void *find_ends(const void *object)
{
    return ((const struct ath_start_report *)object)->ends;
}

static json_t *make_nodes(const void *object)
{
    const struct ath_start_report *report = object;
    json_t *list = json_array();

    for (size_t i = 0; i < report->results->count; i++) {
        const struct started one = { &report->plan->nodes[i], &report->results->items[i] };
        json_array_append_new(list, ath_fields_to_json(node_fields, &one));
    }
    return list;
}

#define AT(member) ATH_AT(struct ath_start_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("engine", AT(engine), .words = ath_words_engines),
    ATH_FIELD("where", AT(where), .help = "Docker's address, or the run folder"),
    ATH_FIELD("file", AT(document), .help = "path of the document"),
    ATH_FIELD("image", ATH_AT(struct ath_plan, image),
              .help = "name of the image; null for processes", .is_nullable = true,
              .find = find_plan),
    ATH_FIELD("is_image_built", AT(is_image_built),
              .help = "true if the image was missing, so it was built"),
    ATH_FIELD("is_sim", ATH_AT(struct ath_plan, is_sim), .help = "whether GPUs are simulated",
              .find = find_plan),
    ATH_FIELD("key_file", AT(key_path)),
    ATH_FIELD("is_key_new", AT(is_key_new)),
    ATH_FIELD("nodes", ATH_LIST_OF(ATH_FIELD_OBJECT), .fields = node_fields, .make = make_nodes),
    ATH_FIELD("ends", ATH_AT_LIST(struct ath_session_report, items, count), .help = ATH_ENDING_HELP,
              .fields = ath_ending_fields, .find = find_ends),
    { .name = NULL },
};
#undef AT

/* ---- text ---- */

static enum ath_role role_of(const struct ath_start_result *result)
{
    return result->outcome == ATH_START_FAILED ? ATH_ROLE_BAD : ATH_ROLE_PLAIN;
}

static char *words_of(const struct ath_plan_node *node, const struct ath_start_result *result)
{
    ath_auto_free char *reach = ath_start_plan_reach(node);
    const char *outcome = _(ath_start_outcome_meaning(result->outcome));

    if (result->outcome == ATH_START_FAILED)
        return ath_xasprintf("%s: %s", outcome, result->err.message);
    if (result->reason)
        return ath_xasprintf(_("%s (%s), %s"), outcome, result->reason, reach);
    return ath_xasprintf("%s%s%s", outcome, _(", "), reach);
}

static void print_indented(const struct ath_style *style, FILE *out, const char *text)
{
    ath_style_print(
        style, out,
        &(struct ath_paragraph){
            .prefix = "       ", .next_prefix = "       ", .text = text, .role = ATH_ROLE_DIM });
}

static void print_limits(const struct ath_style *style, FILE *out, char *limits)
{
    ath_auto_free char *hint = ath_words_limits();
    ath_start_plan_print_warning(style, out,
                                 &(struct ath_plan_warning){ .message = limits, .hint = hint });
}

static void print_node(const struct ath_style *style, FILE *out, const struct ath_plan_node *node,
                       const struct ath_start_result *result)
{
    ath_auto_free char *label = ath_xasprintf("NUMA%d", node->id);
    ath_auto_free char *words = words_of(node, result);

    ath_style_print(style, out,
                    &(struct ath_paragraph){ .label = label,
                                             .label_role = ATH_ROLE_NAME,
                                             .label_columns = strlen(label),
                                             .text = words,
                                             .role = role_of(result) });
    for (size_t i = 0; i < result->log.count; i++) {
        ath_auto_free char *line = ath_xasprintf("| %s", result->log.items[i]);
        print_indented(style, out, line);
    }
    if (result->outcome == ATH_START_FAILED) {
        ath_auto_free char *hint = ath_style_hint(style, result->err.hint);
        if (hint)
            print_indented(style, out, hint);
    }
    for (size_t i = 0; i < node->warning_count; i++)
        ath_start_plan_print_warning(style, out, &node->warnings[i]);
    if (result->limits && result->outcome != ATH_START_FAILED)
        print_limits(style, out, result->limits);
}

/* Returns whether only programs of this machine reach a node. */
static bool is_local(const struct ath_plan_node *node)
{
    const char *address = node->network == ATH_PLAN_HOST ? node->listen_address
                          : node->port_count             ? node->ports[0].host_address
                                                         : NULL;
    for (size_t i = 0; i < node->macvlan_count; i++)
        if (node->macvlans[i].address)
            return false;
    return !node->control_iface && address && ath_starts_with(address, "127.");
}

/* Says how other machines would reach the nodes. */
static void print_local(const struct ath_style *style, FILE *out,
                        const struct ath_start_report *report)
{
    ATH_AUTO(ath_text) names = { 0 };
    const struct ath_plan_node *first = NULL;

    for (size_t i = 0; i < report->results->count; i++) {
        const struct ath_plan_node *node = &report->plan->nodes[i];
        if (report->results->items[i].outcome == ATH_START_FAILED || !is_local(node))
            continue;
        ath_text_add_part(&names, _(", "), "NUMA%d", node->id);
        first = first ? first : node;
    }
    if (!first)
        return;
    ath_auto_free char *text = ath_words_only_here(style, names.data, first->id);
    ath_style_print(style, out, &(struct ath_paragraph){ .text = text });
}

static void print_head(const struct ath_style *style, FILE *out,
                       const struct ath_start_report *report)
{
    const char *sim = report->plan->is_sim ? _(", simulated GPUs") : "";
    ath_auto_free char *text = report->plan->is_process
                                   ? ath_xasprintf(_("Engine: processes of this machine%s"), sim)
                                   : ath_xasprintf(_("Engine: Docker at %s, image %s%s"),
                                                   report->where, report->plan->image, sim);
    ath_style_print(style, out, &(struct ath_paragraph){ .text = text });
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_start_report *report = data;

    print_head(style, out, report);
    for (size_t i = 0; i < report->results->count; i++)
        print_node(style, out, &report->plan->nodes[i], &report->results->items[i]);
    print_local(style, out, report);
    if (report->is_key_new) {
        ath_auto_free char *text =
            ath_xasprintf(_("made the shared key '%s'; other machines that use these runtimes need "
                            "it too: aitherion key --export"),
                          report->key_path);
        ath_auto_free char *whole = ath_style_suggest(style, text);
        ath_style_print(style, out, &(struct ath_paragraph){ .text = whole });
    }
    fprintf(out, "%s %s\n", _("Next:"), report->next);
}

const struct ath_view ath_start_view = {
    .schema = "aitherion.start/1",
    .title = "Output of `aitherion start --json`; for --dry-run see start-plan.json",
    .fields = fields,
    .to_text = to_text,
};

/* ---- the bar ---- */

void ath_start_bar_begin(struct ath_start_bar *bar, const struct ath_plan *plan)
{
    free(bar->steps);
    bar->plan = plan;
    bar->steps = ath_xalloc(plan->node_count * sizeof *bar->steps);
}

void ath_start_bar_free(struct ath_start_bar *bar)
{
    if (bar)
        free(bar->steps);
}

static double fraction_of(const struct ath_start_bar *bar)
{
    int sum = 0;
    for (size_t i = 0; i < bar->plan->node_count; i++)
        sum += bar->steps[i];
    return sum / (double)ATH_ENGINE_STEP_DONE / (double)bar->plan->node_count;
}

/* Nodes start at the same time. Without a bar, each step of each node is a line. */
void ath_start_bar_show(void *context, const struct ath_plan_node *node, enum ath_engine_step step)
{
    struct ath_start_bar *bar = context;
    const char *meaning = _(ath_engine_step_meaning(step));
    ath_auto_free char *note = ath_xasprintf("NUMA%d %s", node->id, meaning);
    bool is_worth_a_line = step != ATH_ENGINE_STEP_LOOK && step != ATH_ENGINE_STEP_DONE;

    bar->steps[node - bar->plan->nodes] = (int)step;
    if (bar->bar.is_terminal)
        ath_bar_show(&bar->bar,
                     &(struct ath_bar_step){
                         .phase = _("start"), .fraction = fraction_of(bar), .note = note },
                     note);
    else if (!bar->bar.is_silent && is_worth_a_line)
        ath_log(ATH_LOG_NORMAL, "NUMA%d: %s", node->id, meaning);
}
