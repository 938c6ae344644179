/* Asks the servers of `aitherion run` for their health before the program needs them. */
#include "config.h"

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/time_claim.h"
#include "cli/commands/run_work.h"
#include "cli/output/words.h"
#include "remote/session/open.h"

/* Logs the GPUs of a server that the key may use. first: the number of GPUs of the servers before
 * it. */
static void say_devices(const struct ath_runtime_health *health, size_t first)
{
    for (size_t i = 0; i < health->device_count; i++) {
        const struct ath_runtime_device *device = &health->devices[i];
        if (device->is_forbidden)
            continue;
        ath_auto_free char *served = device->memory_limit_bytes == ATH_UNKNOWN
                                         ? NULL
                                         : ath_words_size(device->memory_limit_bytes);
        ath_log(ATH_LOG_VERBOSE, _("GPU %d: %s%s%s"), (int)first++, device->name,
                served ? ", " : "", served ? served : "");
    }
}

static void say_server(const char *server, const struct ath_runtime_health *health, size_t first)
{
    ath_log(ATH_LOG_VERBOSE, health->node ? _("server %s: NUMA%s of %s") : _("server %s: %s%s"),
            server, health->node ? health->node : "",
            health->hostname ? health->hostname : _("not known"));
    say_devices(health, first);
    if (!health->device_count && health->problem_count)
        ath_log(ATH_LOG_NORMAL, _("warning: the runtime has no GPU: %s"),
                health->problems[0].message);
    else if (!health->device_count)
        ath_log(ATH_LOG_NORMAL, _("warning: the runtime has no GPU"));
}

/* Asks for the scores of the GPUs only if the command chooses some. An older server has none. */
static void add_gpus(struct ath_run_work *work, struct ath_session *session,
                     const struct ath_runtime_health *health)
{
    ATH_AUTO(ath_figures) figures = { 0 };
    struct ath_err ignored;

    bool has_figures = work->gpu_count && !ath_session_figures(session, &figures, &ignored);
    ath_server_gpus_add(&work->gpus, health, has_figures ? &figures : NULL);
}

static void warn_of_part(int asked_percent, int most_percent)
{
    if (most_percent && asked_percent > most_percent)
        ath_log(ATH_LOG_NORMAL,
                _("warning: the key may have %d percent of a GPU's multiprocessors, so the program "
                  "gets that, and not %d percent"),
                most_percent, asked_percent);
}

/* Warns if the row of the key allows less of the GPUs' time than the program asks for: the runtime
 * gives what the row allows. */
static void warn_of_claim(const struct ath_runtime_health *health)
{
    struct ath_time_claim asked, most = health->claim;
    struct ath_err unused;

    if (ath_client_time_claim(&asked, &unused))
        return;
    warn_of_part(asked.sm_percent, most.sm_percent);
    if (!asked.share_percent && !asked.priority)
        return;
    if (health->sharing == ATH_GPU_SHARING_UNKNOWN || health->sharing == ATH_GPU_SHARING_FREE) {
        ath_log(ATH_LOG_NORMAL,
                health->sharing == ATH_GPU_SHARING_FREE
                    ? _("warning: the runtime gives no turns (sharing: free): shares and "
                        "priorities have no effect")
                    : _("warning: the runtime is older than shares of a GPU's time: shares and "
                        "priorities have no effect"));
        return;
    }
    struct ath_time_claim given = asked;
    ath_time_claim_bound(&given, &most);
    if (given.share_percent != asked.share_percent)
        ath_log(ATH_LOG_NORMAL,
                _("warning: the key may have %d percent of a GPU's time, so the program gets that, "
                  "and not %d percent"),
                given.share_percent, asked.share_percent);
    if (given.priority != asked.priority && asked.priority)
        ath_log(ATH_LOG_NORMAL,
                _("warning: the key's highest priority is '%s', so the program gets that, and not "
                  "'%s'"),
                ath_time_priority_word((int)given.priority),
                ath_time_priority_word((int)asked.priority));
}

/* Checks the server first, since a program that finds no GPU reports it late and unclearly, or
 * continues without one. */
static int check_server(struct ath_run_work *work, const struct ath_reach_server *server,
                        struct ath_err *err)
{
    ATH_AUTO(ath_session) session = { .fd = -1 };
    ATH_AUTO(ath_runtime_health) health = { 0 };

    int status = ath_client_open(server->server, NULL, &session, err);
    if (!status)
        status = ath_session_health(&session, &health, err);
    if (status)
        return ath_reach_explain(&work->reach, server, status, err);
    work->is_simulated = health.is_simulated;
    say_server(server->server, &health, work->gpus.count);
    warn_of_claim(&health);
    add_gpus(work, &session, &health);
    return 0;
}

int ath_run_check_servers(struct ath_run_work *work, struct ath_err *err)
{
    int status = 0;
    for (size_t i = 0; !status && i < work->reach.count && !ath_client_is_disabled(); i++)
        status = check_server(work, &work->reach.items[i], err);
    return status;
}
