/* Checks of what runtimes answer, and of the problems that they report. */

#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "health/check_runtime.h"

static void look_answer(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    const struct ath_health_session *local = &runtime->local, *network = &runtime->network;
    ath_auto_free char *name = ath_health_runtime_name(runtime);

    if (runtime->status->state == ATH_NODE_LOST_NETWORK || ath_health_has_failed(runtime))
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
        ath_health_hint_command(ath_health_wrong(health, name,
                                                 _("the runtime of %s does not answer: %s"), name,
                                                 silent->err.message),
                                "restart", runtime);
}

static bool could_ask(const struct ath_health *health)
{
    const struct ath_health_runtimes *runtimes = &health->facts->runtimes;
    return !runtimes->key_status;
}

bool ath_health_check_runtime_silent(struct ath_health *health)
{
    return could_ask(health) && ath_health_each_running(health, look_answer);
}

static void look_key(struct ath_health *health, const struct ath_health_runtime *runtime)
{
    const struct ath_health_session *refused =
        runtime->local.answer == ATH_ANSWER_REFUSED     ? &runtime->local
        : runtime->network.answer == ATH_ANSWER_REFUSED ? &runtime->network
                                                        : NULL;
    ath_auto_free char *name = ath_health_runtime_name(runtime);

    if (refused)
        ath_health_hint_command(
            ath_health_wrong(
                health, name,
                _("the runtime of %s has a different key than this machine has now: %s"), name,
                refused->err.message),
            "restart", runtime);
}

bool ath_health_check_key_refused(struct ath_health *health)
{
    return could_ask(health) && ath_health_each_running(health, look_key);
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
    ath_auto_free char *name = ath_health_runtime_name(runtime);

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

    ath_health_each_running(health, look_problems);
    for (size_t i = 0; i < runtimes->count; i++)
        has_asked |= runtimes->items[i].local.answer == ATH_ANSWER_FINE ||
                     runtimes->items[i].network.answer == ATH_ANSWER_FINE;
    return has_asked && ath_health_each_running(health, look_nothing);
}
