/* aitherion session limit: limits a program's GPU memory and its part of the GPUs' time. */
#include "config.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/time_claim.h"
#include "cli/claim_options.h"
#include "cli/commands/commands.h"
#include "cli/commands/session_id.h"
#include "cli/output/session_change.h"
#include "cli/reach.h"

enum { DEVICE_MAX = 1023 };

struct options {
    struct ath_reach_options reach;
    const char *device, *share, *priority; /* NULL: not given */
    bool is_capped, is_not_capped;
};

static int read_claim(const struct options *options, struct ath_claim_change *out,
                      struct ath_err *err)
{
    if (options->is_capped && options->is_not_capped)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--%s' and '--%s' exclude each other"),
                           "cap", "no-cap");
    out->cap = options->is_capped || options->is_not_capped ? options->is_capped : ATH_UNKNOWN;
    if (options->priority && ath_time_priority_parse(options->priority, &out->priority))
        return -EINVAL; /* one of its choices */
    return ath_claim_options_new_share(options->share, &out->share_percent, err);
}

static int read_size(const struct ath_cli *cli, const struct options *options,
                     struct ath_session_change *out, struct ath_err *err)
{
    if (cli->argument_count > 1) {
        out->device = 0;
        if (options->device && ath_parse_int(options->device, 0, DEVICE_MAX, &out->device))
            return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not the number of a GPU"),
                               options->device);
        return ath_session_limit_parse(cli->arguments[1], &out->limit_bytes, err);
    }
    if (options->device)
        return ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'--%s' is for a limit of memory"),
                           "device");
    if (ath_claim_change_is_empty(&out->claim)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("nothing to do: give a size or a share"));
        return ath_err_hint(err, -EINVAL,
                            "aitherion session limit 7 4G, aitherion session limit 7 --share 25");
    }
    return 0;
}

static int read_words(const struct ath_cli *cli, const struct options *options, uint64_t *out_id,
                      struct ath_session_change *out, struct ath_err *err)
{
    int status = ath_session_id_parse(cli->arguments[0], out_id, err);
    if (!status)
        status = read_claim(options, &out->claim, err);
    return status ? status : read_size(cli, options, out, err);
}

static const struct ath_runtime_session *find(const struct ath_runtime_sessions *sessions,
                                              uint64_t id)
{
    for (size_t i = 0; i < sessions->count; i++)
        if (sessions->items[i].id == id)
            return &sessions->items[i];
    return NULL;
}

/* Returns the memory that a session uses on a device. */
static int64_t used_by(const struct ath_runtime_session *session, int device)
{
    for (size_t i = 0; i < session->use_count; i++) {
        const struct ath_runtime_use *use = &session->uses[i];
        if ((int)use->device == device && use->memory_used_bytes != ATH_UNKNOWN)
            return use->memory_used_bytes;
    }
    return 0;
}

/* Refuses a cap for a session without a share. A runtime that is too old to say refuses itself. */
static int check_cap(const struct ath_runtime_session *session,
                     const struct ath_claim_change *claim, struct ath_err *err)
{
    int share = claim->share_percent == ATH_UNKNOWN ? session->turn.claim.share_percent
                                                    : claim->share_percent;
    if (claim->cap != 1 || share || !session->turn.claim.priority)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE,
                _("'--cap' keeps a session to its share, and this session has no share"));
    return ath_err_hint(err, -EINVAL, "--share 25 --cap");
}

static int make_changes(struct ath_session *session, const struct ath_session_change *change,
                        struct ath_err *err)
{
    int status = ath_claim_change_is_empty(&change->claim)
                     ? 0
                     : ath_session_change_claim(session, change->ids[0], &change->claim, err);
    if (status || change->device == ATH_UNKNOWN)
        return status;
    return ath_session_limit(session, change->ids[0], (uint32_t)change->device, change->limit_bytes,
                             err);
}

/* Notes what the reply says beside the change. */
static void note_claim(const struct ath_runtime_turn *before, struct ath_session_change *change)
{
    const struct ath_claim_change *claim = &change->claim;
    change->key_percent = before->key_percent;
    change->keeps_cap = !claim->share_percent && claim->cap == ATH_UNKNOWN &&
                        before->claim.is_capped && !before->is_key_capped;
}

/* Notes the priority that the session has now, which its key may bound. */
static void look_again(struct ath_session *session, struct ath_session_change *change)
{
    ATH_AUTO(ath_runtime_sessions) sessions = { 0 };
    struct ath_err ignored;

    if (!change->claim.priority || ath_session_list(session, &sessions, &ignored))
        return;
    const struct ath_runtime_session *now = find(&sessions, change->ids[0]);
    if (now)
        change->got_priority = now->turn.claim.priority;
}

static int limit(struct ath_session *session, const struct options *options,
                 struct ath_session_change *change, struct ath_err *err)
{
    ATH_AUTO(ath_runtime_sessions) sessions = { 0 };
    int status = ath_session_list(session, &sessions, err);
    if (!status)
        status = ath_session_id_check(&sessions, change->ids[0], &options->reach, err);
    if (status)
        return status;
    const struct ath_runtime_session *found = find(&sessions, change->ids[0]);
    if (change->device != ATH_UNKNOWN)
        change->used_bytes = used_by(found, change->device);
    note_claim(&found->turn, change);
    status = check_cap(found, &change->claim, err);
    if (status || change->is_dry_run)
        return status;
    status = make_changes(session, change, err);
    if (!status)
        look_again(session, change);
    return status;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_reach) reach = { 0 };
    ATH_AUTO(ath_session) session = { .fd = -1 };
    uint64_t id = 0;
    struct ath_session_change change = { .action = ATH_SESSION_LIMIT,
                                         .is_dry_run = cli->globals.is_dry_run,
                                         .ids = &id,
                                         .id_count = 1,
                                         .device = ATH_UNKNOWN,
                                         .limit_bytes = ATH_UNKNOWN,
                                         .used_bytes = ATH_UNKNOWN };

    int status = read_words(cli, options, &id, &change, err);
    if (!status)
        status = ath_reach_open(cli, &options->reach, ATH_REACH_ONE, &reach, err);
    if (!status)
        status = ath_reach_session(&reach, &reach.items[0], &session, err);
    if (!status)
        status = limit(&session, options, &change, err);
    if (status)
        return status;
    change.server = reach.items[0].server;
    return ath_cli_show_done(cli, &ath_session_change_view, &change, err);
}

static const struct ath_argument arguments[] = {
    { .name = "SESSION",
      .help = N_("number of the session, as `session list` shows it"),
      .completion = ATH_COMPLETE_SESSION },
    { .name = "SIZE",
      .help = N_("the most memory of a GPU, like 512M or 4G; none: no limit"),
      .is_optional = true },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "device",
      .type = ATH_OPTION_TEXT,
      .metavar = "N",
      .offset = offsetof(struct options, device),
      .help = N_("the GPU's number in the runtime's list, for SIZE (default: 0)") },
    { .name = "share",
      .type = ATH_OPTION_TEXT,
      .metavar = "P",
      .offset = offsetof(struct options, share),
      .help = N_("the session's share of its GPUs' time while others want them, in percent; none: "
                 "no share of its own") },
    { .name = "cap",
      .offset = offsetof(struct options, is_capped),
      .help = N_("never more than its share, even if no other program wants the GPU") },
    { .name = "no-cap",
      .offset = offsetof(struct options, is_not_capped),
      .help = N_("more than its share while no other program wants the GPU") },
    { .name = "priority",
      .type = ATH_OPTION_TEXT,
      .choices = ath_time_priorities,
      .offset = offsetof(struct options, priority),
      .help = N_("sessions of a higher priority go first, whatever the shares") },
    ATH_REACH_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion session limit 7 4G", N_("limit its memory of GPU 0") },
    { "aitherion session limit 7 none", N_("remove the limit") },
    { "aitherion session limit 7 --share 25 --cap",
      N_("give it a quarter of its GPUs' time, and never more") },
    { "aitherion session limit 7 --priority high", N_("let it go before the others") },
    { .command = NULL },
};

const struct ath_command ath_command_session_limit = {
    .name = "limit",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("limit a session's GPU memory and its share of the GPUs' time"),
    .description =
        N_("Limits the memory of a GPU that a program may use, in addition to the share for all "
           "sessions of the runtime together (vram_fraction of the document). Memory that the "
           "program has already stays. More is refused with CUDA's own out-of-memory error, and "
           "cuMemGetInfo reports the limit. The limit ends with the session.\n\n"
           "--share, --cap and --priority change what the program asked for with `aitherion run`: "
           "its share of the GPUs' time, from its next turn on. The row of the program's key in "
           "`identities` of the document still bounds it. Users may change the sessions of their "
           "own key, an administrator may change all sessions."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
