/* A start as text and as data. */
#include "config.h"

#include "cli/output/start.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/output/json.h"
#include "cli/output/start_plan.h"

bool ath_start_has_failed(const struct ath_start_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->items[i].outcome == ATH_START_FAILED)
            return true;
    return false;
}

/* ---- data ---- */

static json_t *error_to_json(const struct ath_start_result *result)
{
    const char *hint = *result->err.hint ? result->err.hint : NULL;
    if (result->outcome != ATH_START_FAILED)
        return json_null();
    return json_pack("{s:s, s:o, s:o}", "code", ath_error_word(result->err.code), "message",
                     ath_json_text(result->err.message), "hint", ath_json_text(hint));
}

static json_t *ports_to_json(const struct ath_plan_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < node->port_count; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o, s:i}", "purpose", node->ports[i].purpose,
                                        "protocol", node->ports[i].protocol, "address",
                                        ath_json_text(node->ports[i].host_address), "port",
                                        node->ports[i].port));
    return list;
}

static json_t *node_to_json(const struct ath_plan_node *node, const struct ath_start_result *result)
{
    return json_pack("{s:i, s:o, s:s, s:b, s:o, s:o, s:o, s:o, s:s, s:i, s:o, s:o}", "id", node->id,
                     "name", ath_json_text(node->name), "outcome",
                     ath_start_outcome_word(result->outcome), "is_healthy", result->is_healthy,
                     "reason", ath_json_text(result->reason), "error", error_to_json(result), "log",
                     ath_json_texts(&result->log), "socket", ath_json_text(node->socket),
                     "listen_address", node->listen_address, "control_port", node->control_port,
                     "ports", ports_to_json(node), "warnings", ath_start_plan_warnings(node));
}

static json_t *to_json(const void *data)
{
    const struct ath_start_report *report = data;
    json_t *nodes = json_array();

    for (size_t i = 0; i < report->results->count; i++)
        json_array_append_new(nodes,
                              node_to_json(&report->plan->nodes[i], &report->results->items[i]));
    return json_pack("{s:s, s:o, s:o, s:o, s:b, s:b, s:o, s:b, s:o}", "engine", report->engine,
                     "where", ath_json_text(report->where), "file", ath_json_text(report->document),
                     "image", ath_json_text(report->plan->image), "is_image_built",
                     report->is_image_built, "is_sim", report->plan->is_sim, "key_file",
                     ath_json_text(report->key_path), "is_key_new", report->is_key_new, "nodes",
                     nodes);
}

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
        return ath_xasprintf("%s (%s), %s", outcome, result->reason, reach);
    return ath_xasprintf("%s, %s", outcome, reach);
}

static void print_indented(const struct ath_style *style, FILE *out, const char *text)
{
    ath_style_print(
        style, out,
        &(struct ath_paragraph){
            .prefix = "       ", .next_prefix = "       ", .text = text, .role = ATH_ROLE_DIM });
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
    if (result->outcome == ATH_START_FAILED && *result->err.hint) {
        ath_auto_free char *hint = ath_xasprintf(_("hint: %s"), result->err.hint);
        print_indented(style, out, hint);
    }
    for (size_t i = 0; i < node->warning_count; i++)
        ath_start_plan_print_warning(style, out, &node->warnings[i]);
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
    if (report->is_key_new) {
        ath_auto_free char *text =
            ath_xasprintf(_("made the shared key '%s'; other machines that use these runtimes need "
                            "it too: aitherion key --export"),
                          report->key_path);
        ath_style_print(style, out, &(struct ath_paragraph){ .text = text });
    }
    fprintf(out, "%s %s\n", _("Next:"), report->next);
}

const struct ath_view ath_start_view = { "aitherion.start/1", to_json, to_text, NULL, 0 };

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

/* Nodes work side by side: with lines instead of a bar each says its own steps. */
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
