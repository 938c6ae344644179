/*
 * Checks of runtimes: the engine, the image and the key that they need, how each of them runs, what
 * it may use, and the problems that it reports.
 *
 * CUDA fails to start in a process whose cpuset.mems lacks the NUMA nodes of its GPUs' memory
 * (IBM/powerai#125). A container made before these nodes were online lacks them until it is made
 * again.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "health/check.h"

typedef void look_function(struct ath_health *health, const struct ath_health_runtime *runtime);

static bool is_running(const struct ath_health_runtime *runtime)
{
    return runtime->status && runtime->status->state > ATH_NODE_STOPPED;
}

/* Looks at every running runtime, except those of another document: only that document says how
 * they should run. Returns true if there is at least one. */
static bool each_running(struct ath_health *health, look_function *look)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    bool is_any = false;

    for (size_t i = 0; i < runtimes->count; i++)
        if (is_running(&runtimes->items[i]) && !runtimes->items[i].other) {
            look(health, &runtimes->items[i]);
            is_any = true;
        }
    return is_any;
}

static char *name_of(const struct ath_health_runtime *runtime)
{
    return ath_xasprintf("NUMA%d", runtime->id);
}

/* Hints at a command (start, restart, clean) that restarts or ends the runtime, and at the number
 * of programs that would end. */
static void hint_command(struct ath_health_finding *finding, const char *command,
                         const struct ath_health_runtime *runtime)
{
    if (is_running(runtime) && runtime->sessions)
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
    hint_command(finding, "start", runtime);
}

static void hint_err(struct ath_health_finding *finding, const struct ath_err *err)
{
    if (*err->hint)
        ath_health_hint(finding, "%s", err->hint);
}

/* ---- faults that a start would meet ---- */

static const struct {
    enum ath_fault_code fault;
    const char *hint;
} plan_mends[] = {
    { ATH_FAULT_DEVICE_MISSING,
      N_("the drivers make them: nvidia-modprobe -u -c 0 for GPUs, modprobe ib_uverbs for RDMA") },
    { ATH_FAULT_MEMORY_SMALL,
      N_("reserve fewer huge pages (/sys/devices/system/node/node*/hugepages), or: aitherion "
         "configure ID --memory-percent P") },
    { ATH_FAULT_BRIDGE_MISSING, N_("aitherion configure --set engine.network=host") },
};

static const char *plan_mend(const char *code)
{
    for (size_t i = 0; i < ATH_COUNT(plan_mends); i++)
        if (!strcmp(ath_fault_word(plan_mends[i].fault), code))
            return _(plan_mends[i].hint);
    return NULL;
}

/* Reports faults that only the plan finds, not config/check.c. */
bool ath_health_check_from_plan(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    const char *code = health->check->code;

    for (size_t i = 0; i < runtimes->plan_faults.count; i++) {
        const struct ath_fault *fault = &runtimes->plan_faults.items[i];
        if (strcmp(fault->code, code) != 0)
            continue;
        ath_auto_free char *place =
            ath_xasprintf("%s:%d:%d", fault->file, fault->line, fault->column);
        ath_health_hint(ath_health_wrong(health, place, "%s", fault->message), "%s",
                        plan_mend(code));
    }
    return runtimes->has_planned;
}

static void add_warning(struct ath_health *health, const struct ath_plan_node *node,
                        const struct ath_plan_warning *warning)
{
    ath_auto_free char *name = ath_xasprintf("NUMA%d", node->id);
    bool is_named = ath_starts_with(warning->message, name);
    struct ath_health_finding *finding =
        ath_health_wrong(health, warning->object ? warning->object : name, "%s%s%s",
                         is_named ? "" : name, is_named ? "" : ": ", warning->message);
    if (warning->hint)
        ath_health_hint(finding, "%s", warning->hint);
    else
        ath_health_hint(finding, "aitherion start %d --dry-run", node->id);
}

/* True if the node runs with simulated GPUs, so that it needs none of the document. */
static bool runs_simulated(const struct ath_health *health, int id)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    for (size_t i = 0; i < runtimes->count; i++) {
        const struct ath_health_runtime *runtime = &runtimes->items[i];
        if (runtime->id == id && is_running(runtime))
            return runtime->status->has_sim_flag || runtime->is_simulated;
    }
    return false;
}

bool ath_health_check_from_plan_warning(struct ath_health *health)
{
    const struct ath_plan *plan = &health->facts->runtimes.plan;

    for (size_t i = 0; i < plan->node_count; i++)
        for (size_t j = 0; j < plan->nodes[i].warning_count; j++) {
            const struct ath_plan_warning *warning = &plan->nodes[i].warnings[j];
            bool is_moot =
                warning->code == ATH_PLAN_W_NO_GPUS && runs_simulated(health, plan->nodes[i].id);
            if (!is_moot && !strcmp(ath_plan_warning_word(warning->code), health->check->code))
                add_warning(health, &plan->nodes[i], warning);
        }
    return plan->node_count > 0;
}

/* ---- engine, key and image ---- */

/* If this user may not ask Docker, its containers are unknown. If the document wants Docker and
 * nothing answers, that is a fault. */
bool ath_health_check_engine(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->is_known)
        return false;
    if (runtimes->docker_status && runtimes->docker_err.code == ATH_E_ENGINE_DENIED)
        hint_err(ath_health_unsure(health, "docker", _("could not tell what runs in Docker: %s"),
                                   runtimes->docker_err.message),
                 &runtimes->docker_err);
    else if (runtimes->docker_status)
        hint_err(ath_health_wrong(health, "docker", "%s", runtimes->docker_err.message),
                 &runtimes->docker_err);
    if (runtimes->survey_status)
        hint_err(ath_health_unsure(health, NULL, _("could not tell what runs: %s"),
                                   runtimes->survey_err.message),
                 &runtimes->survey_err);
    return true;
}

bool ath_health_check_key(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->is_known || !runtimes->has_key)
        return false; /* the first start makes the key */
    if (runtimes->key_status)
        hint_err(ath_health_unsure(health, NULL, _("could not ask the runtimes: %s"),
                                   runtimes->key_err.message),
                 &runtimes->key_err);
    return true;
}

bool ath_health_check_key_open(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->is_known || !runtimes->has_key)
        return false;
    if (runtimes->open_key)
        ath_health_hint(
            ath_health_wrong(health, NULL,
                             _("other users can read the shared key '%s', and so use the GPUs"),
                             runtimes->open_key),
            "chmod 600 %s", runtimes->open_key);
    return true;
}

bool ath_health_check_certificate(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    const struct ath_err *err = &runtimes->certificate_err;
    bool could_look = err->code != ATH_E_NO_ACCESS && err->code != ATH_E_LIBRARY;

    if (!runtimes->is_known || !runtimes->has_certificate)
        return false;
    if (runtimes->certificate_status && could_look)
        hint_err(ath_health_wrong(health, NULL, "%s", err->message), err);
    else if (runtimes->certificate_status)
        hint_err(ath_health_unsure(health, NULL, "%s", err->message), err);
    else if (runtimes->certificate_soon)
        hint_err(ath_health_warn(health, NULL, "%s", err->message), err);
    return true;
}

bool ath_health_check_image(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->needs_image)
        return false;
    if (runtimes->image_status)
        hint_err(ath_health_wrong(health, NULL, "%s", runtimes->image_err.message),
                 &runtimes->image_err);
    return true;
}

/* ---- how runtimes run ---- */

bool ath_health_check_runtime_other(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->is_known)
        return false;
    for (size_t i = 0; i < runtimes->count; i++) {
        const struct ath_health_runtime *runtime = &runtimes->items[i];
        ath_auto_free char *name = name_of(runtime);
        if (runtime->other && is_running(runtime))
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
        ath_auto_free char *name = name_of(runtime);
        if (!runtime->is_recorded)
            continue;
        is_any = true;
        if (is_running(runtime) || (runtime->status && runtime->status->problem))
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

/* True if the runtime has failed. After it answers again, Docker calls it unhealthy until Docker's
 * own next check, which takes longer on a busy machine. */
static bool has_failed(const struct ath_health_runtime *runtime)
{
    const struct ath_node_status *status = runtime->status;

    return status->state == ATH_NODE_RESTARTING ||
           (status->state == ATH_NODE_UNHEALTHY && !answers(runtime)) ||
           (status->state == ATH_NODE_STOPPED && status->problem);
}

static void say_failed(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    const struct ath_node_status *status = runtime->status;
    ath_auto_free char *name = name_of(runtime);
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
            if (has_failed(&runtimes->items[i]))
                say_failed(health, &runtimes->items[i]);
        }
    return is_any;
}

static void look_network(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    const struct ath_node_status *status = runtime->status;
    ath_auto_free char *name = name_of(runtime);
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
    return each_running(health, look_network);
}

/* ---- results of sessions ---- */

static void look_answer(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    const struct ath_health_session *local = &runtime->local, *network = &runtime->network;
    ath_auto_free char *name = name_of(runtime);

    if (runtime->status->state == ATH_NODE_LOST_NETWORK || has_failed(runtime))
        return; /* reported already */
    if (network->answer == ATH_ANSWER_SILENT && local->answer == ATH_ANSWER_FINE) {
        ath_health_hint(ath_health_wrong(health, name,
                                         _("the runtime of %s answers on its socket, but not at "
                                           "%s: %s"),
                                         name, network->server, network->err.message),
                        _("check which program listens there (ss -ltnp), and whether a firewall is "
                          "in between"));
        return;
    }
    const struct ath_health_session *silent = network->answer == ATH_ANSWER_SILENT ? network
                                              : local->answer == ATH_ANSWER_SILENT ? local
                                                                                   : NULL;
    if (silent)
        hint_command(ath_health_wrong(health, name, _("the runtime of %s does not answer: %s"),
                                      name, silent->err.message),
                     "restart", runtime);
}

static bool could_ask(const struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    return !runtimes->key_status;
}

bool ath_health_check_runtime_silent(struct ath_health *health)
{
    return could_ask(health) && each_running(health, look_answer);
}

static void look_key(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    const struct ath_health_session *refused =
        runtime->local.answer == ATH_ANSWER_REFUSED     ? &runtime->local
        : runtime->network.answer == ATH_ANSWER_REFUSED ? &runtime->network
                                                        : NULL;
    ath_auto_free char *name = name_of(runtime);

    if (refused)
        hint_command(ath_health_wrong(
                         health, name,
                         _("the runtime of %s has a different key than this machine has now: %s"),
                         name, refused->err.message),
                     "restart", runtime);
}

bool ath_health_check_key_refused(struct ath_health *health)
{
    return could_ask(health) && each_running(health, look_key);
}

/* Hints for the problems that a runtime reports (src/runtime), with the entry's id. */
static const struct {
    const char *code, *hint;
} problem_mends[] = {
    { "no-devices",
      N_("nvidia-smi shows whether the driver works; without a GPU: aitherion start %d --sim") },
    { "not-encrypted", N_("aitherion configure --encrypt auto, then: aitherion start %d") },
    { "gpu-missing", N_("nvidia-smi -L shows the GPUs that the driver has; aitherion configure %d "
                        "--gpus GPUS") },
};

const char *ath_health_problem_mend(const char *code)
{
    for (size_t i = 0; i < ATH_COUNT(problem_mends); i++)
        if (!strcmp(problem_mends[i].code, code))
            return _(problem_mends[i].hint);
    return NULL;
}

static void look_problems(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    ath_auto_free char *name = name_of(runtime);

    for (size_t i = 0; i < runtime->problem_count; i++) {
        const struct ath_health_problem *problem = &runtime->problems[i];
        const char *object = problem->object ? problem->object : problem->code;
        struct ath_health_finding *finding =
            problem->is_fault
                ? ath_health_wrong(health, name, _("the runtime of %s reports on '%s': %s"), name,
                                   object, problem->message)
                : ath_health_warn(health, name, _("the runtime of %s reports on '%s': %s"), name,
                                  object, problem->message);
        const char *mend = ath_health_problem_mend(problem->code);
        if (mend)
            ath_health_hint(finding, mend, runtime->id);
    }
}

static void look_nothing(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    (void)health;
    (void)runtime;
}

bool ath_health_check_runtime_problem(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    bool has_asked = false;

    each_running(health, look_problems);
    for (size_t i = 0; i < runtimes->count; i++)
        has_asked |= runtimes->items[i].local.answer == ATH_ANSWER_FINE ||
                     runtimes->items[i].network.answer == ATH_ANSWER_FINE;
    return has_asked && each_running(health, look_nothing);
}

/* ---- what runtimes may use ---- */

/* Returns the ids of the wanted set that are missing from the kernel's list; "" for none. Returns
 * NULL if the list is not known. The caller frees it. */
static char *lacking(const struct ath_idset *wanted, const char *list)
{
    ATH_AUTO(ath_idset) present = { 0 };
    ATH_AUTO(ath_idset) missing = { 0 };

    if (!list || ath_idset_parse_list(list, &present))
        return NULL;
    ath_idset_subtract(wanted, &present, &missing);
    return ath_idset_format(&missing);
}

static void look_mems(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    ath_auto_free char *name = name_of(runtime);
    ath_auto_free char *missing =
        runtime->wanted ? lacking(&runtime->wanted->memory_nodes, runtime->status->memory_nodes)
                        : NULL;

    if (!missing || !*missing)
        return;
    struct ath_health_finding *finding = ath_health_wrong(
        health, name,
        _("the runtime of %s may not use the memory of NUMA nodes %s (its cpuset.mems is %s): CUDA "
          "will not start if that is the memory of a GPU"),
        name, missing, runtime->status->memory_nodes);
    if (runtime->status->limits)
        ath_health_hint(finding, "%s", runtime->status->limits);
    else
        hint_command(finding, "restart", runtime);
}

bool ath_health_check_runtime_mems(struct ath_health *health)
{
    return each_running(health, look_mems);
}

static void look_cpus(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    ath_auto_free char *name = name_of(runtime);
    ath_auto_free char *wanted = runtime->wanted ? ath_idset_format(&runtime->wanted->cpus) : NULL;

    if (!wanted || !*wanted || !runtime->status->cpus || !strcmp(wanted, runtime->status->cpus))
        return;
    struct ath_health_finding *finding = ath_health_wrong(
        health, name, _("the runtime of %s may use the CPUs %s, but should use %s"), name,
        runtime->status->cpus, wanted);
    if (runtime->status->limits)
        ath_health_hint(finding, "%s", runtime->status->limits);
    else
        hint_command(finding, "restart", runtime);
}

bool ath_health_check_runtime_cpus(struct ath_health *health)
{
    return each_running(health, look_cpus);
}

static void look_memlock(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    ath_auto_free char *name = name_of(runtime);
    int64_t bytes = runtime->status->memlock_bytes;

    if (!runtime->wanted || !runtime->wanted->has_memlock || bytes == ATH_UNKNOWN ||
        bytes == INT64_MAX)
        return;
    ath_health_hint(
        ath_health_wrong(
            health, name,
            _("the runtime of %s may lock only %lld KiB of memory: RDMA and GPUs need more"), name,
            (long long)(bytes / 1024)),
        _("allow Docker to raise limits: LimitMEMLOCK=infinity in its systemd unit"));
}

bool ath_health_check_runtime_memlock(struct ath_health *health)
{
    return each_running(health, look_memlock);
}

/* ---- document and engine ---- */

static void look_drift(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    ath_auto_free char *name = name_of(runtime);

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
    return each_running(health, look_drift);
}

bool ath_health_check_runtime_unrecorded(struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;

    if (!runtimes->is_known || !health->facts->document)
        return false;
    for (size_t i = 0; i < runtimes->count; i++) {
        const struct ath_health_runtime *runtime = &runtimes->items[i];
        ath_auto_free char *name = name_of(runtime);
        if (runtime->status && !runtime->is_recorded && !runtime->other)
            hint_command(
                ath_health_wrong(health, name,
                                 _("there is a runtime of %s, but the document has no such entry"),
                                 name),
                "clean", runtime);
    }
    return runtimes->count > 0;
}
