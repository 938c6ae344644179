/* Checks of how runtimes run, and whether they are what the document says. */
#include "config.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "health/check_runtime.h"

bool ath_health_is_running(const struct ath_health_runtime *runtime)
{
    return runtime->status && runtime->status->state > ATH_NODE_STOPPED;
}

bool ath_health_each_running(struct ath_health *health, ath_health_look_runtime *look)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    bool is_any = false;

    for (size_t i = 0; i < runtimes->count; i++)
        if (ath_health_is_running(&runtimes->items[i]) && !runtimes->items[i].other) {
            look(health, &runtimes->items[i]);
            is_any = true;
        }
    return is_any;
}

char *ath_health_runtime_name(const struct ath_health_runtime *runtime)
{
    return ath_xasprintf("NUMA%d", runtime->id);
}

void ath_health_hint_command(struct ath_health_finding *finding, const char *command,
                             const struct ath_health_runtime *runtime)
{
    if (ath_health_is_running(runtime) && runtime->sessions)
        ath_health_hint(finding,
                        ngettext("aitherion %s %d (asks before it ends %d running program)",
                                 "aitherion %s %d (asks before it ends %d running programs)",
                                 runtime->sessions),
                        command, runtime->id, (int)runtime->sessions);
    else
        ath_health_hint(finding, "aitherion %s %d", command, runtime->id);
}

static void hint_start(struct ath_health_finding *finding, const struct ath_health_runtime *runtime)
{
    ath_health_hint_command(finding, "start", runtime);
}

void ath_health_hint_err(struct ath_health_finding *finding, const struct ath_err *err)
{
    if (*err->hint)
        ath_health_hint(finding, "%s", err->hint);
}

/* ---- how runtimes run ---- */

bool ath_health_check_runtime_other(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->is_known)
        return false;
    for (size_t i = 0; i < runtimes->count; i++) {
        const struct ath_health_runtime *runtime = &runtimes->items[i];
        ath_auto_free char *name = ath_health_runtime_name(runtime);
        if (runtime->other && ath_health_is_running(runtime))
            ath_health_hint(
                ath_health_wrong(health, name,
                                 _("the runtime of %s was started from another document, '%s'"),
                                 name, runtime->other),
                "aitherion health -c '%s'", runtime->other);
    }
    return runtimes->count > 0;
}

bool ath_health_check_runtime_absent(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    bool is_any = false;

    for (size_t i = 0; i < runtimes->count; i++) {
        const struct ath_health_runtime *runtime = &runtimes->items[i];
        ath_auto_free char *name = ath_health_runtime_name(runtime);
        if (!runtime->is_recorded)
            continue;
        is_any = true;
        if (ath_health_is_running(runtime) || (runtime->status && runtime->status->problem))
            continue; /* another check reports a runtime that failed */
        hint_start(ath_health_wrong(health, name, _("the runtime of %s is not started"), name),
                   runtime);
    }
    return is_any;
}

static bool answers(const struct ath_health_runtime *runtime)
{
    return runtime->local.answer == ATH_ANSWER_FINE || runtime->network.answer == ATH_ANSWER_FINE;
}

bool ath_health_has_failed(const struct ath_health_runtime *runtime)
{
    const struct ath_node_status *status = runtime->status;

    return status->state == ATH_NODE_RESTARTING ||
           (status->state == ATH_NODE_UNHEALTHY && !answers(runtime)) ||
           (status->state == ATH_NODE_STOPPED && status->problem);
}

static void say_failed(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    const struct ath_node_status *status = runtime->status;
    ath_auto_free char *name = ath_health_runtime_name(runtime);
    ATH_AUTO(ath_text) text = { 0 };

    ath_text_add(&text, "%s",
                 status->problem ? status->problem : _(ath_node_state_meaning(status->state)));
    if (status->log.count)
        ath_text_add(&text, _("; its last message: %s"), ath_node_last_words(&status->log));
    struct ath_health_finding *finding =
        ath_health_wrong(health, name, _("the runtime of %s: %s"), name, text.data);
    if (status->hint)
        ath_health_hint(finding, "%s", status->hint);
    else
        hint_start(finding, runtime);
}

bool ath_health_check_runtime_failed(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    bool is_any = false;

    for (size_t i = 0; i < runtimes->count; i++)
        if (runtimes->items[i].status && !runtimes->items[i].other) {
            is_any = true;
            if (ath_health_has_failed(&runtimes->items[i]))
                say_failed(health, &runtimes->items[i]);
        }
    return is_any;
}

static void look_network(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    const struct ath_node_status *status = runtime->status;
    ath_auto_free char *name = ath_health_runtime_name(runtime);
    ATH_AUTO(ath_text) links = { 0 };

    for (size_t i = 0; i < status->macvlan_count; i++)
        if (!status->macvlans[i].is_there)
            ath_text_add_part(&links, ", ", "%s", status->macvlans[i].name);
    if (status->state != ATH_NODE_LOST_NETWORK && !links.length)
        return;
    hint_start(ath_health_wrong(health, name, _("the runtime of %s has lost its network: %s"), name,
                                links.length      ? links.data
                                : status->problem ? status->problem
                                                  : _("its pause container has ended")),
               runtime);
}

bool ath_health_check_network_lost(struct ath_health *health)
{
    return ath_health_each_running(health, look_network);
}

/* ---- document and engine ---- */

static void look_drift(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    ath_auto_free char *name = ath_health_runtime_name(runtime);

    if (!runtime->drift)
        return;
    struct ath_health_finding *finding =
        ath_health_wrong(health, name, _("the runtime of %s: %s"), name, runtime->drift);
    if (runtime->needs_restart)
        hint_start(finding, runtime);
    else
        ath_health_hint(finding, _("aitherion start %d (changes it without a restart)"),
                        runtime->id);
}

bool ath_health_check_runtime_drift(struct ath_health *health)
{
    return ath_health_each_running(health, look_drift);
}

bool ath_health_check_runtime_unrecorded(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->is_known || !health->facts->document)
        return false;
    for (size_t i = 0; i < runtimes->count; i++) {
        const struct ath_health_runtime *runtime = &runtimes->items[i];
        ath_auto_free char *name = ath_health_runtime_name(runtime);
        if (runtime->status && !runtime->is_recorded && !runtime->other)
            ath_health_hint_command(
                ath_health_wrong(health, name,
                                 _("there is a runtime of %s, but the document has no such entry"),
                                 name),
                "clean", runtime);
    }
    return runtimes->count > 0;
}
