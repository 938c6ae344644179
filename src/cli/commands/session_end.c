/* aitherion session end: takes the GPUs from a program. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/commands/commands.h"
#include "cli/commands/session_id.h"
#include "cli/output/session_change.h"
#include "cli/reach.h"

struct options {
    struct ath_reach_options reach;
};

struct work {
    struct ath_reach reach;
    struct ath_session session;
    uint64_t *ids;
    size_t count;
};

static void work_free(struct work *work)
{
    ath_session_free(&work->session);
    ath_reach_free(&work->reach);
    free(work->ids);
}

static int read_ids(const struct ath_cli *cli, struct work *out, struct ath_err *err)
{
    for (size_t i = 0; i < cli->argument_count; i++) {
        int status = ath_session_id_parse(cli->arguments[i],
                                          ath_push(&out->ids, &out->count, sizeof *out->ids), err);
        if (status)
            return status;
    }
    return 0;
}

/* Checks all numbers before any session is ended. */
static int check_ids(struct work *work, const struct options *options, struct ath_err *err)
{
    ATH_AUTO(ath_runtime_sessions) sessions = { 0 };
    int status = ath_session_list(&work->session, &sessions, err);
    for (size_t i = 0; !status && i < work->count; i++)
        status = ath_session_id_check(&sessions, work->ids[i], &options->reach, err);
    return status;
}

static int end(struct work *work, struct ath_err *err)
{
    for (size_t i = 0; i < work->count; i++) {
        int status = ath_session_end(&work->session, work->ids[i], err);
        if (status && status != -ENOENT) /* the session ended by itself meanwhile */
            return status;
    }
    return 0;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(work) work = { .session.fd = -1 };

    int status = read_ids(cli, &work, err);
    if (!status)
        status = ath_reach_open(cli, &options->reach, ATH_REACH_ONE, &work.reach, err);
    if (!status)
        status = ath_reach_session(&work.reach, &work.reach.items[0], &work.session, err);
    if (!status)
        status = check_ids(&work, options, err);
    if (!status && !cli->globals.is_dry_run)
        status = end(&work, err);
    if (status)
        return status;
    const struct ath_session_change change = { .action = ATH_SESSION_END,
                                               .is_dry_run = cli->globals.is_dry_run,
                                               .server = work.reach.items[0].server,
                                               .ids = work.ids,
                                               .id_count = work.count,
                                               .device = ATH_UNKNOWN,
                                               .limit_bytes = ATH_UNKNOWN,
                                               .used_bytes = ATH_UNKNOWN };
    return ath_cli_show_done(cli, &ath_session_change_view, &change, err);
}

static const struct ath_argument arguments[] = {
    { .name = "SESSION",
      .help = N_("number of the session, as `session list` shows it"),
      .is_repeated = true,
      .completion = ATH_COMPLETE_SESSION },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    ATH_REACH_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion session end 7", N_("of the only runtime here") },
    { "aitherion session end 7 8 --numa 1", N_("two sessions of NUMA1") },
    { .command = NULL },
};

const struct ath_command ath_command_session_end = {
    .name = "end",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("end sessions and free their GPU memory"),
    .description =
        N_("Ends the process that serves each session. The program's GPU memory is free within a "
           "second, and its next CUDA call fails with CUDA_ERROR_DEVICE_UNAVAILABLE. The "
           "program itself keeps running. If a number does not exist, the command fails and ends "
           "no session."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
