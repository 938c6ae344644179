/* Finding the programs that a command would end, and asking about them. */
#include "config.h"

#include "cli/ending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/unknown.h"
#include "cli/output/ending.h"

void ath_ending_free(struct ath_ending *ending)
{
    if (!ending)
        return;
    ath_session_report_free(&ending->report);
    free(ending->processes);
    ath_reach_free(&ending->reach);
    *ending = (struct ath_ending){ 0 };
}

void ath_ending_add(struct ath_ending *ending, const struct ath_node_status *status)
{
    struct ath_reach *reach = &ending->reach;
    size_t count = reach->count;

    if (status->state <= ATH_NODE_STOPPED || status->pid == ATH_UNKNOWN)
        return;
    ath_reach_node(status, false, ath_push(&reach->items, &reach->count, sizeof *reach->items));
    *(int *)ath_push(&ending->processes, &count, sizeof *ending->processes) = status->sessions;
}

/* A runtime that does not answer may have programs, unless it has no process of a session. */
static bool may_have_programs(const struct ath_session_group *group, int processes)
{
    return group->status ? processes != 0 : group->sessions.count > 0;
}

void ath_ending_ask(struct ath_ending *ending, const struct ath_nodes *nodes)
{
    struct ath_reach *reach = &ending->reach;
    struct ath_session_report *report = &ending->report;
    ath_auto_free struct ath_session_group *all = ath_xalloc((reach->count + 1) * sizeof *all);

    reach->key = ath_xstrdup(nodes->has_key ? nodes->key_path : "");
    ath_reach_ask(reach, all);
    for (size_t i = 0; i < reach->count; i++) {
        if (may_have_programs(&all[i], ending->processes[i]))
            *(struct ath_session_group *)ath_push(&report->items, &report->count, sizeof *all) =
                all[i];
        else
            ath_session_group_free(&all[i]);
    }
}

static bool has_macvlan(const struct ath_node_status *status, const char *macvlan)
{
    for (size_t i = 0; i < status->macvlan_count; i++)
        if (!strcmp(status->macvlans[i].name, macvlan))
            return true;
    return false;
}

int ath_ending_find(const struct ath_cli *cli, const char *macvlan, struct ath_ending *out,
                    struct ath_err *err)
{
    const struct ath_reach_options all = { .numa = "all" };
    ATH_AUTO(ath_reach) reach = { 0 };
    struct ath_cli copy = *cli;
    copy.faults = (struct ath_faults){ 0 };

    int status = ath_reach_open(&copy, &all, ATH_REACH_ALL, &reach, err);
    ath_faults_free(&copy.faults);
    if (status)
        return status;
    for (size_t i = 0; i < reach.statuses.count; i++)
        if (!macvlan || has_macvlan(&reach.statuses.items[i], macvlan))
            ath_ending_add(out, &reach.statuses.items[i]);
    ath_ending_ask(out, &reach.nodes);
    return 0;
}

int ath_ending_confirm(const struct ath_cli *cli, const struct ath_ending *ending,
                       struct ath_err *err)
{
    const struct ath_session_report *report = &ending->report;

    if (!report->count)
        return 0;
    ath_auto_free char *words = ath_ending_words(report);
    if (cli->globals.is_yes) {
        ath_log(ath_cli_format(cli) == ATH_FORMAT_TEXT ? ATH_LOG_NORMAL : ATH_LOG_VERBOSE,
                _("ending running programs: %s"), words);
        return 0;
    }
    if (!ath_cli_can_ask(cli)) {
        ath_err_set(err, -EPERM, ATH_E_PROGRAMS_RUNNING, _("this would end running programs: %s"),
                    words);
        return ath_err_hint(err, -EPERM,
                            _("wait until they end (aitherion session list), or add --yes"));
    }
    ath_ending_print(&cli->style, stderr, report);
    if (ath_cli_confirm(cli, _("End these programs?")))
        return 0;
    return ath_err_set(err, -ECANCELED, ATH_E_INTERRUPTED, _("nothing was changed"));
}
